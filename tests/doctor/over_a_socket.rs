//! The command over a real socket: what it prints, how it ends.

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::origin;
use super::support::git::{Sandbox, isolate};
use super::support::http_server::{Auth, Behaviour, HttpServer, Profile};

fn doctor(sandbox: &Sandbox, words: &[&str], token: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.env("TOKEN", token).arg("doctor").args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn people_get_a_table_and_programs_one_document() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for profile in Profile::ALL {
        let server = HttpServer::start_with(sandbox.repos(), profile.behaviour());
        let url = server.url(&profile.address("r"));
        let token = profile.token().map(|token| format!("Bearer {token}"));
        let mut words = vec![url.as_str()];
        words.extend(token.iter().flat_map(|_| ["--token-env", "TOKEN"]));
        let token = token.unwrap_or_default();

        let output = doctor(&sandbox, &words, &token);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{profile:?}");
        let table = text(&output.stdout);
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        for part in [&url, "HTTP/1.1", "filter blob:none", "Reading one file takes"] {
            assert!(table.contains(part), "{part}: {table}");
        }
        assert!(token.is_empty() || !table.contains(&token));

        words.push("--json");
        let output = doctor(&sandbox, &words, &token);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{profile:?}");
        assert_eq!(text(&output.stdout).lines().count(), 1);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["schema"], "gitsip.doctor/1");
        assert_eq!(json["git"]["version"], profile.version());
        assert_eq!(json["http"]["version"], "HTTP/1.1");
        let findings = json["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 24, "{findings:?}");
        let verdicts = ["honoured", "ignored", "refused", "failed", "unknown"];
        assert!(findings.iter().all(|f| verdicts.iter().any(|known| f["verdict"] == *known)));
        assert_eq!(json["requests"].as_u64().unwrap() * 2, server.requests().len() as u64);
    }
}

#[test]
fn compression_is_told_where_it_is_met() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for gzip in [false, true] {
        let behaviour = Behaviour { gzip, ..Behaviour::default() };
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        let output = doctor(&sandbox, &[&server.url("r.git")], "");
        let table = text(&output.stdout);
        let line = table.lines().find(|line| line.starts_with("gzip")).unwrap();
        assert!(line.contains(if gzip { "honoured" } else { "ignored" }), "{line}");
        assert!(table.contains("Reading one file takes 4 requests"), "{table}");
    }
}

#[test]
fn what_keeps_a_read_from_a_host_is_the_exit_status_and_says_what_to_do() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let auth = Auth::Basic { user: "me".into(), password: "secret".into() };
    let private = HttpServer::start_with(
        sandbox.repos(),
        Behaviour { auth: Some(auth), ..Behaviour::default() },
    );
    let url = private.url("r.git");
    let output = doctor(&sandbox, &[&url], "");
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stdout).contains("wanted (Basic), none given"), "{output:?}");
    let error = text(&output.stderr);
    assert!(error.contains("pass --token-env NAME") && error.lines().count() == 1, "{error}");
    let output = doctor(&sandbox, &[&url, "--token-env", "TOKEN"], "me:wrong!");
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stdout).contains("were not accepted"), "{output:?}");
    let output = doctor(&sandbox, &[&url, "--token-env", "TOKEN"], "me:secret");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    assert!(text(&output.stdout).contains("those given were accepted"), "{output:?}");

    let page = HttpServer::start_with(sandbox.repos(), Behaviour::default().html());
    let output = doctor(&sandbox, &[&page.url("r.git"), "--json"], "");
    assert_eq!(output.status.code(), Some(3));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["failure"]["message"].as_str().unwrap().contains("web page"), "{json}");
    assert!(json["git"].is_null());

    for (words, status, says) in [
        (["http://127.0.0.1:1/r.git"], 5, "refused the connection"),
        (["."], 2, "a path has no host"),
        (["http://"], 2, "no repository address"),
    ] {
        let output = doctor(&sandbox, &words, "");
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert_eq!(text(&output.stdout), "");
        assert!(text(&output.stderr).contains(says), "{output:?}");
    }
}

#[test]
fn a_host_that_says_nothing_more_is_left_at_the_timeout_with_what_it_said() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let behaviour = Behaviour {
        silent: true,
        faults_when: Some(Box::new(|request| request.method == "POST")),
        ..Behaviour::default()
    };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let begun = Instant::now();
    let output = doctor(&sandbox, &[&server.url("r.git"), "--timeout", "3s"], "");
    assert!(begun.elapsed() < Duration::from_secs(25));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let table = text(&output.stdout);
    assert!(table.contains("it did not answer within"), "{table}");
    assert!(table.contains("version 2           -        honoured"), "{table}");
}
