//! Lines that are no requests: each is one error object, and the next line is read as ever.

use bstr::ByteSlice as _;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::client::{PATIENCE, Session};
use super::support::git::{File, Sandbox};

fn session() -> (Sandbox, Session) {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n")]);
    let session = Session::start(&sandbox, ["repos/r.git"]);
    (sandbox, session)
}

/// Bytes of any kind, and requests that are nearly right.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just(json!("grep")),
        Just(json!("read")),
        Just(json!("ls")),
        Just(json!("cancel")),
        Just(json!("close")),
        Just(json!("open")),
        Just(json!("x")),
        Just(json!(1)),
        Just(json!(null)),
        Just(json!(-1.5)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!(["", {"bytes": "!"}])),
        Just(json!({"text": "a"})),
        Just(json!({})),
        Just(json!(u64::MAX)),
        Just(json!("\u{0}\u{1b}\u{202e}")),
    ];
    let name = prop::sample::select(vec![
        "repo",
        "ref",
        "path",
        "paths",
        "patterns",
        "globs",
        "lines",
        "limit",
        "max_bytes",
        "cursor",
        "timeout_ms",
        "stream",
        "progress",
        "id",
        "depth",
        "before",
        "\u{7f}",
        "",
    ]);
    let params = prop::collection::btree_map(name, word.clone(), 0..4);
    let request =
        (word.clone(), word, params, any::<bool>()).prop_map(|(id, method, params, is_whole)| {
            let mut line =
                json!({"id": id, "method": method, "params": params}).to_string().into_bytes();
            if !is_whole {
                line.truncate(line.len() / 2);
            }
            line
        });
    let bytes = prop::collection::vec(any::<u8>(), 0..80);
    prop_oneof![bytes, request]
        .prop_map(|line| line.into_iter().filter(|byte| *byte != b'\n').collect())
}

#[test]
fn no_line_ends_a_session() {
    let (_sandbox, mut session) = session();
    let mut runner = TestRunner::default();
    for number in 0..400 {
        let line = lines().new_tree(&mut runner).unwrap().current();
        session.write(&[&line[..], b"\n"].concat());
        let id = format!("probe {number}");
        session.send(&json!({"id": id, "method": "version"}));
        let probe = session.end_of(id);
        assert!(probe["answer"].is_object(), "after {:?}: {probe}", line.as_bstr());
    }
    let (rest, status, said) = session.finish();
    assert_eq!((status.code(), &said[..]), (Some(0), ""));
    for line in rest {
        assert!(
            ["answer", "error", "item", "progress"].iter().any(|word| line.get(word).is_some())
        );
    }
}

#[test]
fn each_line_that_is_no_request_is_one_error() {
    let (_sandbox, mut session) = session();
    let deep = "[".repeat(200_000);
    let wide = format!("[{}0]", "[],".repeat(300_000));
    for line in [
        "x",
        "{",
        "[]",
        "null",
        "\"text\"",
        "1",
        "{}",
        "{\"id\":1}",
        "{\"method\":\"ls\"}",
        "{\"id\":[],\"method\":\"ls\"}",
        "{\"id\":1e400,\"method\":\"ls\"}",
        "\u{0}",
        &deep,
        &wide,
        "{\"id\":{\"id\":{}},\"method\":\"ls\",\"params\":{}}",
        "{\"id\":\"x\",\"method\":\"ls\",\"params\":[]}",
        "{\"id\":123456789012345678901234567890,\"method\":\"ls\"}",
    ] {
        session.write(format!("{line}\n").as_bytes());
        let said = session.line();
        let error = &said["error"];
        assert_eq!(error["kind"], "usage", "{said}");
        assert!(error["message"].as_str().unwrap().len() < 3_000, "{said}");
    }
    session.write(b"\xff\xfe{}\n");
    assert_eq!(session.line()["error"]["code"], "bad_json");
    session.ask("ls", json!({}));
    session.finish_quietly();
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_costs_no_memory() {
    let (_sandbox, mut session) = session();
    session.ask("version", json!({}));
    let before = resident(&session);
    let piece = vec![b'['; 1 << 20];
    for _ in 0..64 {
        session.write(&piece);
    }
    session.write(b"\n");
    let said = session.line();
    assert_eq!((&said["id"], &said["error"]["code"]), (&Value::Null, &json!("too_long")));
    let grown = resident(&session).saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes");

    // The longest that is none, with a text that fills it.
    let empty = json!({"id": "long", "method": "glob", "params": {"patterns": [""]}}).to_string();
    let fill = "x".repeat((1 << 20) - empty.len());
    session.send(&json!({"id": "long", "method": "glob", "params": {"patterns": [fill]}}));
    assert_ne!(session.end_of("long")["error"]["code"], "too_long");
    session.send(&json!({"id": "long", "method": "glob", "params": {"patterns": [fill + "x"]}}));
    assert_eq!(session.line()["error"]["code"], "too_long");
    session.finish_quietly();
}

#[test]
fn requests_that_nobody_reads_the_answers_of_are_not_read_without_end() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n".repeat(2_000))]);
    let mut child = super::client::command(&sandbox, ["repos/r.git"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let (sender, written) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        use std::io::Write as _;
        for id in 0..20_000_u64 {
            let params = json!({"paths": ["a"]});
            let line = json!({"id": id, "method": "read", "params": params});
            if writeln!(input, "{line}").is_err() || sender.send(id).is_err() {
                break;
            }
        }
    });
    // It stops reading: what is written comes to a stand.
    let mut last = 0;
    while let Ok(id) = written.recv_timeout(PATIENCE.min(std::time::Duration::from_secs(3))) {
        last = id;
    }
    assert!(last < 19_999, "all were read");
    child.kill().unwrap();
    child.wait().unwrap();
    writer.join().unwrap();
}

/// Bytes of memory that the process occupies, where the system tells it.
fn resident(session: &Session) -> u64 {
    let path = format!("/proc/{}/status", session.child.id());
    let Ok(status) = std::fs::read_to_string(path) else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}
