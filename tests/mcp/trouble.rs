//! Whatever goes wrong is one error, and the server goes on.

#[cfg(target_os = "linux")]
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::process::{ExitStatus, Stdio};

use serde_json::{Value, json};

use super::client::{call, code, command, connect, connect_to, text, try_call};
use super::support::git::{File, Sandbox};
use super::support::http_server::{Auth, Behaviour, CannedResponse, HttpServer};
use super::support::runtime::run;
use super::talk::Talk;

const SECRET: &str = "s3cret-t0ken";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n")]);
    sandbox.bare("empty.git");
    sandbox
}

#[test]
fn each_question_that_is_none_gets_one_error_and_the_server_goes_on() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        let url = server.url("r.git");
        for (tool, arguments, expected) in [
            ("git_ls", json!({}), "bad_arguments"),
            ("git_ls", json!({"repo": 5}), "bad_arguments"),
            ("git_ls", json!({"repo": url, "paht": "a"}), "bad_arguments"),
            ("git_ls", json!({"repo": url, "limit": "many"}), "bad_arguments"),
            ("git_ls", json!({"repo": url, "limit": -1}), "bad_arguments"),
            ("git_ls", json!({"repo": url, "max_bytes": "x"}), "bad_arguments"),
            (
                "git_grep",
                json!({"repo": url, "patterns": ["a"], "output_mode": "all"}),
                "bad_arguments",
            ),
            ("git_ls", json!({"repo": "/etc"}), "no_address"),
            ("git_ls", json!({"repo": "."}), "no_address"),
            ("git_ls", json!({"repo": "file:///etc"}), "usage"),
            ("git_ls", json!({"repo": "https://github.com/a/b/blob/main/c"}), "bad_arguments"),
            ("git_ls", json!({"repo": url, "cursor": "x"}), "bad_cursor"),
            ("git_ls", json!({"repo": url, "ref": "mian"}), "not_found"),
            ("git_ls", json!({"repo": url, "path": "b"}), "not_found"),
            ("git_grep", json!({"repo": url, "patterns": ["("]}), "pattern"),
            ("git_grep", json!({"repo": url, "patterns": []}), "pattern"),
            ("git_ls", json!({"repo": server.url("none.git")}), "no_repository"),
            ("git_ls", json!({"repo": server.url("empty.git")}), "unborn"),
            ("git_ls", json!({"repo": "http://no-such-host.invalid/r"}), "dns"),
        ] {
            let result = call(&client, tool, arguments.clone()).await;
            let found = code(&result).to_owned();
            assert_eq!(found, expected, "{arguments}: {}", text(&result));
            assert!(text(&result).starts_with(&format!("gitsip: error {found};")));
        }
        let error = try_call(&client, "git_push", json!({"repo": url})).await.unwrap_err();
        assert!(error.to_string().contains("there is no such tool"), "{error}");
        let result = call(&client, "git_ls", json!({"repo": url})).await;
        assert_eq!(result.is_error, Some(false));
    });
}

#[test]
fn what_is_no_message_gets_one_error_and_the_next_one_is_read() {
    let sandbox = sandbox();
    let mut talk = Talk::begin(&sandbox);
    let mut ask = |line: &str| -> Value {
        talk.say_line(line);
        talk.hear()
    };
    for (line, code, id) in [
        ("{", -32700, Value::Null),
        ("\u{1b}\u{0}", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"{"id": "x", "method": 5}"#, -32600, json!("x")),
        (&"9".repeat(5 << 20), -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":2,"method":"no/such"}"#, -32601, json!(2)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}"#, -32600, json!(3)),
    ] {
        let answer = ask(line);
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], id, "{answer}");
    }
    assert_eq!(ask(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#)["id"], 4);
    assert!(talk.end(), "it ends with its input");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_the_output_is_one_line_and_12() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (status, said) = end_with_open_input(full.into());
    assert_eq!((status.code(), said.lines().count()), (Some(12), 1), "{said}");
    assert!(said.starts_with("gitsip: io: standard output cannot be written: "), "{said}");
}

#[test]
fn an_output_that_nobody_reads_ends_it_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (status, said) = end_with_open_input(writer.into());
    assert_eq!((status.code(), said), (Some(0), String::new()));
}

/// How a server ends, and what it says, that writes a first answer to `output`.
fn end_with_open_input(output: Stdio) -> (ExitStatus, String) {
    let sandbox = sandbox();
    let mut command = command(&sandbox, &[]);
    command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    writeln!(input, "{}", Talk::first()).unwrap();
    let mut said = String::new();
    server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (server.wait().unwrap(), said)
}

#[test]
fn hosts_that_are_not_public_are_read_by_name_only() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let port = server.address().port();
    run(async {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gitsip"));
        command.args(["mcp", "--allow-host", "other.example"]);
        let client = connect_to(command).await;
        for host in ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "10.0.0.1", "169.254.169.254"] {
            let repo = format!("http://{host}:{port}/r.git");
            let result = call(&client, "git_ls", json!({"repo": repo})).await;
            assert_eq!(code(&result), "forbidden_address", "{host}");
            assert!(text(&result).contains("--allow-host"), "{}", text(&result));
        }
        assert!(server.requests().is_empty());
    });
}

#[test]
fn a_host_leads_nobody_to_a_host_that_is_not_allowed() {
    let sandbox = sandbox();
    let inside = HttpServer::start(sandbox.repos());
    let target = format!("http://localhost:{}/r.git/info/refs", inside.address().port());
    let redirect = CannedResponse::redirect(302, &target);
    let hook = Box::new(move |_: &_| Some(redirect.clone()));
    let behaviour = Behaviour { hook: Some(hook), ..Behaviour::default() };
    let outside = HttpServer::start_with(sandbox.repos(), behaviour);
    run(async {
        let client = connect(&sandbox, &[]).await;
        let result = call(&client, "git_ls", json!({"repo": outside.url("r.git")})).await;
        assert_eq!(code(&result), "forbidden_address");
        assert!(inside.requests().is_empty());
    });
}

#[test]
fn a_token_goes_to_its_host_only_and_is_in_no_reply() {
    let sandbox = sandbox();
    let auth = Some(Auth::Bearer(SECRET.to_owned()));
    let behaviour = Behaviour { auth, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let origin = format!("http://{}", server.address());
    run(async {
        for (options, is_sent) in [(&["--token-host", &origin][..], true), (&[], false)] {
            server.forget_requests();
            let mut command = command(&sandbox, options);
            command.env("GITSIP_TOKEN", format!("Bearer {SECRET}"));
            let client = connect_to(command).await;
            let result = call(&client, "git_ls", json!({"repo": server.url("r.git")})).await;
            assert_eq!(result.is_error, Some(!is_sent), "{}", text(&result));
            let sent = server.requests().iter().any(|request| {
                request.header("authorization").is_some_and(|value| value.contains(SECRET))
            });
            assert_eq!(sent, is_sent);
            assert!(!serde_json::to_string(&result).unwrap().contains(SECRET));
        }
        let client = connect(&sandbox, &[]).await;
        let repo = server.url("none.git").replace("http://", &format!("http://me:{SECRET}@"));
        let result = call(&client, "git_ls", json!({"repo": repo})).await;
        assert!(!serde_json::to_string(&result).unwrap().contains(SECRET), "{result:?}");
    });
}
