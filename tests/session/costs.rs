//! What questions cost in a session: nothing twice.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Session;
use super::support::corpus::sources;
use super::support::git::{File, Git, Repo, Sandbox};
use super::support::http_server::{Behaviour, HttpServer, Recorded};

const PATTERNS: [&str; 10] =
    ["foo", "bar", "return", "[a-z]+_[a-z]+", "TODO", "^ *if", "x$", "int", "the", "no such text"];

fn project(sandbox: &Sandbox) -> (Repo, Vec<File>) {
    let repo = sandbox.bare("r.git");
    let mut files = sources(150, 900, 7);
    // As translations are: over a mebibyte, and searched like the others.
    files.push(File::new("po/all.po", format!("{}\n", ".".repeat(71)).repeat(15_000)));
    repo.commit("main", &files);
    repo.repack();
    (repo, files)
}

#[test]
fn ten_searches_and_five_reads_cost_one_transfer_and_no_object_comes_twice() {
    let sandbox = Sandbox::new();
    let (repo, files) = project(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    for pattern in PATTERNS {
        let answer = session.ask("grep", json!({"patterns": [pattern]}));
        assert!(hits(&answer) == grep(&repo.git(), pattern), "{pattern}");
    }
    for file in &files[..5] {
        let path = String::from_utf8(file.path().to_vec()).unwrap();
        let answer = session.ask("read", json!({"paths": [path]}));
        assert_eq!(answer["items"][0]["text"]["text"], text(file.content()));
    }
    session.finish_quietly();
    assert_eq!(server.requests().iter().filter(|request| is_fetch(request)).count(), 1);
    each_once(&server);
}

#[test]
fn a_plan_and_a_budget_are_params_like_others() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    let plan = session.ask("plan", json!({"globs": ["*.po"]}));
    assert_eq!((&plan["schema"], &plan["items"][0]["files"]), (&"gitsip.plan/1".into(), &1.into()));
    assert_eq!(plan["items"][0]["requests"], 2);
    let search = json!({"patterns": ["x"], "globs": ["*.po"], "budget": {"max_requests": 1}});
    let cut = session.ask("grep", search);
    assert_eq!((&cut["truncated"], &cut["stats"]["requests"]), (&"requests".into(), &1.into()));
    let search = json!({"patterns": ["x"], "globs": ["*.po"], "budget": {"max_requests": 2}});
    let whole = session.ask("grep", search);
    assert_eq!((&whole["truncated"], &whole["stats"]["requests"]), (&Value::Null, &2.into()));
    session.finish_quietly();
}

#[test]
fn thirty_two_requests_at_once_are_right_and_nothing_is_fetched_twice() {
    let sandbox = Sandbox::new();
    let (repo, files) = project(&sandbox);
    let behaviour = Behaviour {
        faults_when: Some(Box::new(is_fetch)),
        delay: Duration::from_millis(50),
        ..Behaviour::default()
    };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    let mut asked = BTreeMap::new();
    for number in 0..32 {
        let (method, params) = match number % 4 {
            0 => ("grep", json!({"patterns": [PATTERNS[number / 4]]})),
            1 => ("read", json!({"paths": [text(files[number].path())]})),
            2 => ("ls", json!({"recursive": true})),
            _ => ("grep", json!({"patterns": [PATTERNS[number / 4]], "globs": ["*.c"]})),
        };
        asked.insert(session.request(method, params), number);
    }
    for (id, number) in asked {
        let end = session.end_of(id);
        let answer = &end["answer"];
        match number % 4 {
            0 => assert!(hits(answer) == grep(&repo.git(), PATTERNS[number / 4]), "{number}"),
            1 => assert_eq!(answer["items"][0]["text"]["text"], text(files[number].content())),
            2 => assert_eq!(answer["items"].as_array().map(Vec::len), Some(files.len()), "{end}"),
            _ => {
                let expected = grep(&repo.git(), PATTERNS[number / 4]);
                let of_c = |hit: &String| hit.split(':').next().unwrap().ends_with(".c");
                assert_eq!(hits(answer), expected.into_iter().filter(of_c).collect::<Vec<_>>());
            }
        }
    }
    session.finish_quietly();
    each_once(&server);
    let openings = server.requests().iter().filter(|request| request.method == "GET").count();
    assert_eq!(openings, 1, "it is opened once");
}

#[test]
fn memory_is_told_of_each_repository_and_given_back() {
    let sandbox = Sandbox::new();
    sandbox.bare("small.git").commit("main", &[File::new("a", "needle\n")]);
    let noise: Vec<u8> = (0..400_000_u64).map(|i| b'!' + (i * i / 7 % 90) as u8).collect();
    sandbox.bare("large.git").commit("main", &[File::new("a", noise)]);
    let server = HttpServer::start(sandbox.repos());
    let (small, large) = (server.url("small.git"), server.url("large.git"));
    let mut session = Session::start(&sandbox, [&small, &large]);
    assert_eq!(session.ask("repos", json!({}))["items"], json!([]), "nothing is asked for ahead");
    for repo in [&small, &large] {
        session.ask("grep", json!({"repo": repo, "patterns": ["needle"]}));
    }
    let held = |session: &mut Session| -> BTreeMap<String, (u64, u64)> {
        let answer = session.ask("repos", json!({}));
        let number = |item: &Value, name: &str| item[name].as_u64().unwrap();
        let items = answer["items"].as_array().unwrap();
        let of = |item| (number(item, "memory_bytes"), number(item, "objects"));
        items.iter().map(|item| (item["name"].as_str().unwrap().into(), of(item))).collect()
    };
    let both = held(&mut session);
    assert_eq!(both.len(), 2);
    let ((a, of_a), (b, of_b)) = (both[&small], both[&large]);
    assert_eq!((of_a, of_b), (3, 3));
    assert!(a > 0 && b > a + 100_000, "each its own: {both:?}");

    let closed = session.ask("close", json!({"repo": large}));
    assert_eq!(closed["items"][0]["name"], large);
    assert_eq!(held(&mut session), BTreeMap::from([(small, (a, of_a))]));
    assert_eq!(session.ask("close", json!({"repo": large}))["items"], json!([]));
    session.finish_quietly();
}

#[test]
fn spellings_of_one_repository_are_one() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("r.git");
    repo.commit("main", &[File::new("a", "needle\n")]);
    let mut session = Session::start(&sandbox, [] as [&str; 0]);
    let absolute = repo.path().to_str().unwrap().to_owned();
    for spelling in ["repos/r.git", "./repos/../repos/r.git/", &absolute] {
        session.ask("ls", json!({"repo": spelling}));
    }
    assert_eq!(session.ask("repos", json!({}))["items"].as_array().unwrap().len(), 1);
    session.finish_quietly();
}

/// The hits of an answer as `git grep -n` prints them.
fn hits(answer: &Value) -> Vec<String> {
    let line = |hit: &Value| {
        let text = |name: &str| hit[name]["text"].as_str().unwrap().to_owned();
        format!("{}:{}:{}", text("path"), hit["line"], text("text"))
    };
    answer["items"].as_array().unwrap().iter().map(line).collect()
}

fn grep(git: &Git, pattern: &str) -> Vec<String> {
    let words = ["grep", "-n", "-I", "-E", "-e", pattern, "main"];
    let output = git.output(words);
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.split_terminator('\n');
    lines.map(|line| line.strip_prefix("main:").unwrap().to_owned()).collect()
}

fn is_fetch(request: &Recorded) -> bool {
    request.body_text().contains("command=fetch")
}

#[track_caller]
fn each_once(server: &HttpServer) {
    let sent = server.objects_sent();
    let distinct: HashSet<&String> = sent.iter().collect();
    assert!(!sent.is_empty());
    assert_eq!(distinct.len(), sent.len(), "an object was sent twice");
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
