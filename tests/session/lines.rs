//! The lines themselves, word for word, and in which order they come.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::{Session, command, is_last};
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let files = [
        File::new("README.md", "# Title\nTODO: write\n"),
        File::new("src/a.c", "int a; // TODO\n"),
        File::new("src/b.c", "int b; // TODO\n"),
    ];
    sandbox.bare("r.git").commit("main", &files);
    sandbox
}

/// A conversation with each request answered before the next. `GITSIP_UPDATE=1 cargo test
/// --test session` writes what is compared here.
#[test]
fn a_conversation_goes_word_for_word() {
    let sandbox = sandbox();
    let mut session = Session::start(&sandbox, ["repos/r.git"]);
    let mut transcript = String::new();
    for request in [
        json!({"id": 1, "method": "version"}),
        json!({"id": "a", "method": "refs", "params": {}}),
        json!({"id": 2, "method": "ls", "params": {"path": "src"}}),
        json!({"id": 3, "method": "read", "params": {"paths": ["README.md"], "lines": "2"}}),
        json!({"id": 4, "method": "grep", "params": {"patterns": ["TODO"], "limit": 1}}),
        json!({"id": 5, "method": "grep", "params": {"patterns": ["int"], "output_mode": "files", "stream": true}}),
        json!({"id": -6, "method": "cancel", "params": {"id": 5}}),
        json!({"id": 7, "method": "ls", "params": {"ref": "mian"}}),
        json!({"id": 8, "method": "gerp"}),
        json!({"id": 9, "method": "grep", "params": {"patern": []}}),
        json!({"id": 10, "method": "grep", "params": {"patterns": ["x"], "limit": "1"}}),
        json!({"id": 11, "method": "read", "params": {"paths": [1]}}),
        json!({"id": 12, "method": "repos", "params": {"all": true}}),
        json!({"id": 13, "method": "ls", "repo": "x"}),
        json!({"id": 14}),
        json!({"id": 1.5, "method": "version"}),
        json!(["no", "object"]),
    ] {
        session.send(&request);
        transcript += &format!("> {request}\n");
        loop {
            let mut line = session.line();
            if let Some(stats) = line.pointer_mut("/answer/stats/elapsed_ms") {
                *stats = json!(0);
            }
            transcript += &format!("< {line}\n");
            if is_last(&line) {
                break;
            }
        }
    }
    session.finish_quietly();
    let transcript =
        transcript.replace(sandbox.path().canonicalize().unwrap().to_str().unwrap(), "");
    compare("tests/golden/session.txt", &transcript);
}

#[test]
fn items_and_progress_come_before_the_answer_and_nothing_behind_it() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    let params = json!({"patterns": ["TODO"], "stream": true, "progress": true});
    let id = session.request("grep", params);
    let lines = session.lines_of(id);
    let paths: Vec<&Value> =
        lines.iter().filter_map(|line| line.pointer("/item/path/text")).collect();
    assert_eq!(paths, ["README.md", "src/a.c", "src/b.c"], "in the order of a page");
    let phases: Vec<&str> =
        lines.iter().filter_map(|line| line.pointer("/progress/phase")?.as_str()).collect();
    assert!(phases.contains(&"receiving"), "{phases:?}");
    let answer = &lines.last().unwrap()["answer"];
    assert_eq!((&answer["schema"], answer.get("items")), (&json!("gitsip.grep/1"), None));

    // Unasked, there is neither.
    let id = session.request("grep", json!({"patterns": ["TODO"]}));
    assert_eq!(session.lines_of(id).len(), 1);
    session.finish_quietly();
}

#[test]
fn a_file_of_requests_is_answered_to_its_end() {
    let sandbox = sandbox();
    let mut requests = b"\xef\xbb\xbf{\"id\":0,\"method\":\"version\"}\r\n\n \t\r\n".to_vec();
    for id in 1..=300 {
        let path = ["README.md", "src/a.c", "src/b.c"][id % 3];
        let request = json!({"id": id, "method": "read", "params": {"paths": [path]}});
        requests.extend_from_slice(format!("{request}\r\n").as_bytes());
    }
    // Without an end.
    requests.extend_from_slice(b"{\"id\":301,\"method\":\"version\"}");
    let file = sandbox.path().join("requests.jsonl");
    std::fs::write(&file, requests).unwrap();
    let input = std::fs::File::open(file).unwrap();
    let output = command(&sandbox, ["repos/r.git"]).stdin(input).output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    let mut ids: Vec<u64> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert!(line["answer"]["schema"].is_string(), "{line}");
            line["id"].as_u64().unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..=301).collect::<Vec<_>>());
}

#[test]
fn pages_go_on_at_their_cursor() {
    let sandbox = sandbox();
    let mut session = Session::start(&sandbox, ["repos/r.git"]);
    let whole = session.ask("grep", json!({"patterns": ["TODO"]}));
    let (mut items, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = json!({"patterns": ["TODO"], "limit": 1, "cursor": cursor});
        let page = session.ask("grep", params);
        items.extend(page["items"].as_array().unwrap().clone());
        cursor = page["next"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(Value::Array(items), whole["items"]);
    session.finish_quietly();
}

#[test]
fn the_schema_that_is_answered_is_the_one_that_is_shipped() {
    let sandbox = sandbox();
    let mut session = Session::start(&sandbox, [] as [&str; 0]);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/gitsip.json");
    let shipped: Value = serde_json::from_slice(&std::fs::read(shipped).unwrap()).unwrap();
    assert_eq!(session.ask("schema", json!({}))["items"], json!([shipped]));
    session.finish_quietly();
}

#[test]
fn no_input_is_no_error() {
    let sandbox = sandbox();
    let output = command(&sandbox, ["repos/r.git"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), vec![], vec![]));
}

#[track_caller]
fn compare(path: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("GITSIP_UPDATE").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, want, "{path} is not what is said now; GITSIP_UPDATE=1 writes it");
}
