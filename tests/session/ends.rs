//! How a session ends: with its input, its output, or the user.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::client::{Session, command};
use super::support::git::{File, Sandbox};
use super::support::http_server::{Behaviour, HttpServer};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n".repeat(20_000))]);
    sandbox
}

#[test]
fn what_is_under_way_when_the_input_ends_is_answered() {
    let sandbox = sandbox();
    let behaviour =
        Behaviour { delay: std::time::Duration::from_millis(100), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    let asked = [
        session.request("ls", json!({})),
        session.request("grep", json!({"patterns": ["needle"], "limit": 3})),
    ];
    let (lines, status, said) = session.finish();
    assert_eq!((status.code(), &said[..]), (Some(0), ""));
    for id in asked {
        let end = lines.iter().find(|line| line["id"] == id).unwrap();
        assert!(end["answer"].is_object(), "{end}");
    }
}

#[test]
fn an_output_that_nobody_reads_ends_it_quietly() {
    let sandbox = sandbox();
    let mut child = command(&sandbox, ["repos/r.git"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let request =
        json!({"id": 1, "method": "grep", "params": {"patterns": ["needle"], "stream": true}});
    writeln!(input, "{request}").unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(serde_json::from_str::<Value>(&line).unwrap()["item"].is_object());
    drop(output);
    // The input stays open: it is the output that ends it.
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said), (Some(0), String::new()));
    drop(input);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_the_output_is_one_line_and_12() {
    let sandbox = sandbox();
    let mut child = command(&sandbox, ["repos/r.git"])
        .stdin(Stdio::piped())
        .stdout(OpenOptions::new().write(true).open("/dev/full").unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended before all is written.
    let mut input = child.stdin.take().unwrap();
    for id in 0..10 {
        drop(writeln!(input, "{}", json!({"id": id, "method": "ls"})));
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(12), 1), "{said}");
    assert!(said.starts_with("gitsip: io: standard output cannot be written: "), "{said}");
}

#[cfg(unix)]
#[test]
fn an_input_that_cannot_be_read_is_12() {
    let sandbox = sandbox();
    let folder = std::fs::File::open(sandbox.path()).unwrap();
    let output = command(&sandbox, ["repos/r.git"]).stdin(folder).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(12), 1), "{said}");
    assert!(said.contains("standard input cannot be read"), "{said}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_is_130_whatever_is_under_way() {
    let sandbox = sandbox();
    let behaviour = Behaviour { silent: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let mut session = Session::start(&sandbox, [server.url("r.git")]);
    session.request("ls", json!({}));
    session.ask("version", json!({}));
    let pid = rustix::process::Pid::from_child(&session.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = session.child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_repository_of_the_command_line_that_is_none_is_said_before_anything_is_read() {
    let sandbox = sandbox();
    let output = command(&sandbox, ["./none.git"]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(3), 1), "{said}");
}
