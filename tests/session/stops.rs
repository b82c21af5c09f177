//! Requests that are cancelled, that run out of time, and that wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Session;
use super::support::git::{File, Sandbox};
use super::support::http_server::{Behaviour, HttpServer};

/// A host that never answers, and a repository on this machine.
fn silent() -> (Sandbox, HttpServer) {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n".repeat(100))]);
    let behaviour = Behaviour { silent: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    (sandbox, server)
}

#[test]
fn a_cancelled_request_ends_at_once_and_the_session_goes_on() {
    let (sandbox, server) = silent();
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    let asked = session.request("grep", json!({"patterns": ["x"]}));
    let begun = Instant::now();
    while server.requests().is_empty() {
        assert!(begun.elapsed() < super::client::PATIENCE, "the host is asked");
        std::thread::sleep(Duration::from_millis(1));
    }
    let cancelled = session.ask("cancel", json!({"id": asked}));
    assert_eq!(cancelled["items"], json!([{"id": asked}]));
    let error = &session.end_of(asked)["error"];
    assert_eq!((&error["kind"], &error["code"]), (&json!("cancelled"), &json!("cancelled")));
    // Once more there is nothing to cancel, nor for an id that never was.
    for id in [json!(asked), json!("none")] {
        assert_eq!(session.ask("cancel", json!({"id": id}))["items"], json!([]));
    }
    let answer = session.ask("ls", json!({"repo": "repos/r.git"}));
    assert_eq!(answer["items"][0]["path"]["text"], "a");
    session.finish_quietly();
}

#[test]
fn a_request_does_not_cancel_itself() {
    let (sandbox, _server) = silent();
    let mut session = Session::start(&sandbox, [] as [&str; 0]);
    session.send(&json!({"id": "me", "method": "cancel", "params": {"id": "me"}}));
    assert_eq!(session.end_of("me")["answer"]["items"], json!([]));
    session.finish_quietly();
}

#[test]
fn a_search_that_streams_can_be_cancelled_and_says_nothing_more() {
    let (sandbox, _server) = silent();
    let big = sandbox.bare("big.git");
    big.commit("main", &[File::new("many", "hello there\n".repeat(300_000))]);
    let mut session = Session::start(&sandbox, ["repos/big.git"]);
    let id = session.request("grep", json!({"patterns": ["hello"], "stream": true}));
    let first = session.line();
    assert_eq!((&first["id"], first["item"].is_object()), (&json!(id), true));
    let cancel = session.request("cancel", json!({"id": id}));
    let items = session.lines_of(id).len();
    assert!(items < 200_000, "{items} came after it was cancelled");
    assert_eq!(session.end_of(cancel)["answer"]["items"], json!([{"id": id}]));
    session.finish_quietly();
}

#[test]
fn time_that_is_up_is_an_error_or_a_part_of_the_answer() {
    let (sandbox, server) = silent();
    for (words, params) in [
        (vec![server.url("r.git")], json!({"patterns": ["x"], "timeout_ms": 50})),
        (vec![server.url("r.git"), "--timeout".into(), "50ms".into()], json!({"patterns": ["x"]})),
    ] {
        let mut session = Session::start(&sandbox, words);
        let error = session.fail("grep", params);
        assert_eq!((&error["kind"], &error["code"]), (&json!("cancelled"), &json!("deadline")));
        session.finish_quietly();
    }
    let mut session = Session::start(&sandbox, [] as [&str; 0]);
    let params = json!({"repo": "repos/r.git", "patterns": ["needle"], "timeout_ms": 60_000});
    assert_eq!(session.ask("grep", params)["truncated"], Value::Null);
    session.finish_quietly();
}

#[test]
fn more_requests_than_are_answered_at_once_wait_and_can_be_cancelled_meanwhile() {
    let (sandbox, server) = silent();
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    let asked: Vec<u64> = (0..100).map(|_| session.request("ls", json!({}))).collect();
    // The last one waits for its turn behind those that wait for the host.
    for &id in asked.iter().rev() {
        let cancelled = session.ask("cancel", json!({"id": id}));
        let end = session.end_of(id);
        assert_eq!(end["error"]["code"], "cancelled", "{end}");
        assert_eq!(cancelled["items"], json!([{"id": id}]));
    }
    session.finish_quietly();
    assert_eq!(server.requests().iter().filter(|request| request.method != "GET").count(), 0);
}

#[test]
fn an_id_that_is_under_way_is_not_taken_twice_and_is_free_afterwards() {
    let (sandbox, server) = silent();
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    session.send(&json!({"id": 7, "method": "ls"}));
    for line in [json!({"id": 7, "method": "version"}), json!({"id": 7, "method": "gerp"})] {
        session.send(&line);
        let refused = session.line();
        assert_eq!(refused["id"], Value::Null, "it would be taken for the end of the first");
        assert!(refused["error"]["code"].is_string(), "{refused}");
    }
    session.send(&json!({"id": "7", "method": "version"}));
    assert!(session.end_of("7")["answer"].is_object(), "a text is no number");
    session.ask("cancel", json!({"id": 7}));
    assert_eq!(session.end_of(7)["error"]["code"], "cancelled");
    session.send(&json!({"id": 7, "method": "version"}));
    assert!(session.end_of(7)["answer"].is_object());
    session.finish_quietly();
}
