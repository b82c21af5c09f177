//! Repositories and hosts that do not answer as hoped: one error object each, and the
//! session goes on.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::client::Session;
use super::support::git::{File, Sandbox};
use super::support::http_server::{Auth, Behaviour, HttpServer};

#[test]
fn each_is_one_error_and_the_session_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("README.md", "hello\n")]);
    sandbox.bare("empty.git");
    let server = HttpServer::start(sandbox.repos());
    let auth = Some(Auth::Bearer("secret".into()));
    let behaviour = Behaviour { auth, ..Behaviour::default() };
    let private = HttpServer::start_with(sandbox.repos(), behaviour);
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();

    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    for (repo, kind, word) in [
        (server.url("none.git"), "not_found", "none.git"),
        (private.url("r.git"), "auth", "--token-env NAME"),
        (server.url("empty.git"), "not_found", "no commit"),
        (format!("http://{dead}/r.git"), "transport", "127.0.0.1"),
        ("http://host.invalid/r.git".into(), "transport", "host.invalid"),
        ("no/such/path".into(), "not_found", "no address and no path"),
        ("git@host:owner/repo".into(), "usage", "https://host/owner/repo"),
        ("https://github.com/a/b/tree/main/src".into(), "usage", "give https://github.com/a/b"),
        ("http://h/\u{1b}[31m\n".into(), "usage", ""),
    ] {
        let error = session.fail("ls", json!({"repo": repo}));
        let message = error["message"].as_str().unwrap();
        assert_eq!(error["kind"], kind, "{repo}: {message}");
        assert!(message.contains(word), "{repo}: {message}");
        assert!(!message.contains(['\u{1b}', '\n']), "{message}");
    }
    for (params, word) in [
        (json!({"ref": "mian"}), "did you mean 'main'"),
        (json!({"path": "REDME.md"}), "README.md"),
    ] {
        let error = session.fail("ls", params);
        assert_eq!(error["kind"], "not_found");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    assert_eq!(session.ask("ls", json!({}))["items"][0]["path"]["text"], "README.md");
    let kept = session.ask("repos", json!({}));
    let kept: Vec<&Value> =
        kept["items"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(kept, [&json!(server.url("empty.git")), &json!(server.url("r.git"))]);
    session.finish_quietly();
}

#[test]
fn a_repository_may_be_named_by_each_request_and_must_be_where_there_are_none_or_two() {
    let sandbox = Sandbox::new();
    for name in ["a", "b"] {
        sandbox.bare(&format!("{name}.git")).commit("main", &[File::new(name, "")]);
    }
    for words in [&[][..], &["repos/a.git", "repos/b.git"]] {
        let mut session = Session::start(&sandbox, words);
        let error = session.fail("ls", json!({}));
        assert_eq!(error["code"], "bad_params");
        assert!(error["message"].as_str().unwrap().contains("'repo' is missing"), "{error}");
        for name in ["a", "b"] {
            let answer = session.ask("ls", json!({"repo": format!("repos/{name}.git")}));
            assert_eq!(answer["items"][0]["path"]["text"], name);
        }
        session.finish_quietly();
    }
}

#[test]
fn a_token_goes_to_the_repository_of_the_command_line_and_to_no_other() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "")]);
    let start = || {
        let auth = Some(Auth::Basic { user: "me".into(), password: "s3cret".into() });
        HttpServer::start_with(sandbox.repos(), Behaviour { auth, ..Behaviour::default() })
    };
    let (mine, other) = (start(), start());
    let mut command = super::client::command(&sandbox, [mine.url("r.git")]);
    command.env("GITSIP_TOKEN", "me:s3cret");
    let requests = [
        json!({"id": 1, "method": "ls"}),
        json!({"id": 2, "method": "ls", "params": {"repo": other.url("r.git")}}),
    ];
    let file = sandbox.path().join("requests");
    std::fs::write(&file, format!("{}\n{}", requests[0], requests[1])).unwrap();
    let output = command.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    for line in printed.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["id"].as_u64() {
            Some(1) => assert!(line["answer"].is_object(), "{line}"),
            _ => assert_eq!(line["error"]["kind"], "auth", "{line}"),
        }
    }
    assert_eq!(printed.lines().count(), 2);
    assert!(!printed.contains("s3cret"));
    let carried = |request: &_| {
        super::support::http_server::Recorded::header(request, "authorization").is_some()
    };
    assert!(mine.requests().iter().any(carried) && !other.requests().iter().any(carried));
}
