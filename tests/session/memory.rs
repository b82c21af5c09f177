//! What a session's process takes, by what the system says of it.

use serde_json::json;

use super::client::Session;
use super::support::corpus::sources;
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;

const LIMIT_KIB: u64 = 12 << 10;

/// Text of more than the limit, of which packed streams take less than half.
fn large_project(sandbox: &Sandbox) -> super::support::git::Repo {
    let repo = sandbox.bare("large.git");
    repo.commit("main", &sources(600, 30_000, 11));
    repo.repack();
    repo
}

/// The most that was ever resident, in KiB.
fn peak_kib(session: &Session) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn twenty_searches_of_more_text_than_memory_are_right_and_stay_within_it() {
    let sandbox = Sandbox::new();
    let large = large_project(&sandbox);
    sandbox.bare("small.git").commit("main", &[File::new("a", "needle\n")]);
    let server = HttpServer::start(sandbox.repos());
    let words = ["--max-memory".to_owned(), format!("{LIMIT_KIB}KiB")];
    let mut session = Session::start(&sandbox, words);
    let (small, url) = (server.url("small.git"), server.url("large.git"));
    session.ask("grep", json!({"repo": small, "patterns": ["needle"]}));
    let before = peak_kib(&session);
    session.ask("prefetch", json!({"repo": url}));
    for round in 0..20 {
        let pattern = ["TODO", "return", "no such text", "[a-z]+_x"][round % 4];
        let question = json!({"repo": url, "patterns": [pattern], "output_mode": "files"});
        let answer = session.ask("grep", question);
        let paths = answer["items"].as_array().unwrap().iter();
        let paths: Vec<&str> = paths.map(|item| item["path"]["text"].as_str().unwrap()).collect();
        let expected = large.git().output(["grep", "-l", "-E", "-e", pattern, "main"]).stdout;
        let expected = String::from_utf8(expected).unwrap();
        let expected: Vec<&str> =
            expected.lines().map(|line| line.strip_prefix("main:").unwrap()).collect();
        assert!(paths == expected, "{pattern}");
    }
    // Half as much again, for what allocators keep and answers take.
    let grown = peak_kib(&session) - before;
    assert!(grown <= LIMIT_KIB * 3 / 2, "{grown} KiB more than the {before} of a small one");
    session.finish_quietly();
}
