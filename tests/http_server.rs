//! The test server is itself tested with the real `git` as its client, and its faults
//! with a bare socket.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use support::git::{File, Git, Repo, Sandbox};
use support::http_server::{Auth, Behaviour, CannedResponse, HttpServer};

#[test]
fn a_full_clone_brings_every_object_once() {
    let (sandbox, repo) = sandbox_with_history();
    let server = HttpServer::start(sandbox.repos());
    let clone = clone(&sandbox, &server.url("a.git"), &["--bare"]);

    assert_eq!(clone.run(["rev-parse", "HEAD"]), repo.git().run(["rev-parse", "main"]));
    let sent = server.objects_sent();
    let expected = repo.git().run(["rev-list", "--objects", "--all", "--no-object-names"]);
    assert_eq!(sent.len(), expected.lines().count(), "none twice");
    let sent: BTreeSet<&str> = sent.iter().map(String::as_str).collect();
    assert_eq!(sent, expected.lines().collect());
}

#[test]
fn a_shallow_clone_gets_one_commit() {
    let (sandbox, _repo) = sandbox_with_history();
    let server = HttpServer::start(sandbox.repos());
    let clone = clone(&sandbox, &server.url("a.git"), &["--bare", "--depth=1"]);

    assert_eq!(clone.run(["rev-list", "--all", "--count"]), "1");
    assert_eq!(clone.run(["cat-file", "-p", "HEAD:src/one.txt"]), "one, changed");
}

#[test]
fn a_blobless_clone_gets_no_blob_and_fetches_one_when_asked() {
    let (sandbox, repo) = sandbox_with_history();
    let server = HttpServer::start(sandbox.repos());
    let clone =
        clone(&sandbox, &server.url("a.git"), &["--bare", "--depth=1", "--filter=blob:none"]);

    let blob = repo.git().run(["rev-parse", "main:src/one.txt"]);
    assert!(!server.objects_sent().contains(&blob));
    server.forget_requests();
    assert_eq!(clone.run(["cat-file", "-p", &blob]), "one, changed");
    assert_eq!(server.objects_sent(), [blob]);
}

#[test]
fn requests_are_recorded_with_their_protocol_and_their_bytes() {
    let (sandbox, _repo) = sandbox_with_history();
    let server = HttpServer::start(sandbox.repos());
    clone(&sandbox, &server.url("a.git"), &["--bare"]);

    let requests = server.requests();
    let asked: Vec<_> = requests.iter().map(|r| (r.method.as_str(), r.path.as_str())).collect();
    let fetch = ("POST", "/a.git/git-upload-pack");
    assert_eq!(asked, [("GET", "/a.git/info/refs"), fetch, fetch]);
    assert_eq!(requests[0].query, "service=git-upload-pack");
    assert_eq!(requests[0].header("git-protocol"), Some("version=2"));
    assert!(requests[1].body_text().contains("command=ls-refs"));
    assert!(requests[2].body_text().contains("command=fetch"));
    assert!(requests.iter().all(|r| r.status == 200 && r.complete));
    assert!(requests.iter().all(|r| r.response_bytes == r.response_body.len() as u64));
    assert_eq!(requests[2].connection, requests[0].connection, "the connection is kept");
}

#[test]
fn a_server_of_version_0_answers_version_0() {
    let (sandbox, _repo) = sandbox_with_history();
    let behaviour = Behaviour { version_0_only: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    clone(&sandbox, &server.url("a.git"), &["--bare"]);

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].body_text().contains("multi_ack_detailed"));
}

#[test]
fn a_request_that_git_gzips_is_understood() {
    let (sandbox, repo) = sandbox_with_history();
    let mut history = String::new();
    for number in 0..400 {
        history.push_str(&format!("commit refs/heads/b{number}\n"));
        history.push_str("committer A U Thor <author@example.com> 1700000000 +0000\n");
        history.push_str(&format!("data 4\n{number:03}\n\n"));
    }
    repo.fast_import(history.as_bytes());
    let server = HttpServer::start(sandbox.repos());
    let clone = clone(&sandbox, &server.url("a.git"), &["--bare"]);

    let gzipped = |r: &support::http_server::Recorded| r.header("content-encoding").is_some();
    assert!(server.requests().iter().any(gzipped));
    assert_eq!(clone.run(["for-each-ref", "--format=x", "refs/heads"]).lines().count(), 402);
}

#[test]
fn a_push_in_chunks_arrives() {
    let (sandbox, repo) = sandbox_with_history();
    repo.git().run(["config", "http.receivepack", "true"]);
    let server = HttpServer::start(sandbox.repos());
    let source = sandbox.bare("source.git");
    // Does not compress, so that the push is larger than git's buffer.
    let noise: Vec<u8> =
        (0_u32..100_000).flat_map(|n| n.wrapping_mul(n * 40_503).to_le_bytes()).collect();
    let commit = source.commit("noise", &[File::new("noise", noise)]);
    let url = server.url("a.git");
    source.git().run(["-c", "http.postBuffer=65536", "push", "--quiet", &url, "noise"]);

    assert_eq!(repo.git().run(["rev-parse", "noise"]), commit);
    let requests = server.requests();
    assert!(requests.iter().any(|r| r.header("transfer-encoding") == Some("chunked")));
}

#[test]
fn credentials_are_asked_for_and_accepted() {
    let (sandbox, _repo) = sandbox_with_history();
    let auth = Auth::Basic { user: "ann".into(), password: "s3cret".into() };
    let behaviour = Behaviour { auth: Some(auth), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);

    let refused = sandbox.git().output(["ls-remote", &server.url("a.git")]);
    assert!(!refused.status.success());
    assert_eq!(server.requests()[0].status, 401);
    let url = server.url("a.git").replace("//", "//ann:s3cret@");
    assert!(sandbox.git().run(["ls-remote", &url]).contains("refs/heads/main"));
}

#[test]
fn a_redirect_leads_to_the_repository() {
    let (sandbox, _repo) = sandbox_with_history();
    let server = HttpServer::start(sandbox.repos());
    let redirect = Some(("/old".to_owned(), server.url("a.git")));
    server.set_behaviour(Behaviour { redirect, ..Behaviour::default() });

    assert!(sandbox.git().run(["ls-remote", &server.url("old")]).contains("refs/heads/main"));
    assert_eq!(server.requests()[0].status, 302);
}

#[test]
fn a_hook_answers_in_gits_place() {
    let (sandbox, _repo) = sandbox_with_history();
    let server = HttpServer::start(sandbox.repos());
    let hook: support::http_server::Hook = Box::new(|request| {
        let refused = CannedResponse::new(503, "text/plain", "later").with("Retry-After", "7");
        (request.number == 1).then_some(refused)
    });
    server.set_behaviour(Behaviour { hook: Some(hook), ..Behaviour::default() });

    let answers = exchange(&server, &[REFS, REFS]);
    assert!(answers.contains("HTTP/1.1 503 Service Unavailable\r\n"), "{answers}");
    assert!(
        answers.ends_with("Retry-After: 7\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlater")
    );
}

#[test]
fn a_body_is_cut_where_the_fault_says() {
    let (sandbox, _repo) = sandbox_with_history();
    let faults_when: support::http_server::When = Box::new(|request| request.method == "POST");
    let cut =
        Behaviour { cut_after: Some(100), faults_when: Some(faults_when), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), cut);
    let url = server.url("a.git");
    let target = sandbox.path().join("clone");
    let clone = sandbox.git().output([Path::new("clone"), Path::new(&url), &target]);

    assert!(!clone.status.success());
    let requests = server.requests();
    assert!(requests[0].complete, "a GET is no POST");
    assert_eq!((requests[1].response_bytes, requests[1].complete), (100, false));
}

#[test]
fn a_stalled_body_waits_for_the_client_and_not_for_ever() {
    let (sandbox, _repo) = sandbox_with_history();
    let stall = Behaviour { stall_after: Some(10), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), stall);

    let mut socket = TcpStream::connect(server.address()).unwrap();
    socket.write_all(REFS.as_bytes()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut answer = Vec::new();
    let error = socket.read_to_end(&mut answer).unwrap_err();
    assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
    assert!(answer.ends_with(b"\r\n\r\na\r\n001e# serv\r\n"));

    let stopping = Instant::now();
    drop(server);
    assert!(stopping.elapsed() < Duration::from_secs(5));
}

#[test]
fn small_chunks_carry_the_same_clone() {
    let (sandbox, repo) = sandbox_with_history();
    let small = Behaviour { max_chunk_bytes: Some(1), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), small);
    let clone = clone(&sandbox, &server.url("a.git"), &["--bare"]);
    assert_eq!(clone.run(["rev-parse", "HEAD"]), repo.git().run(["rev-parse", "main"]));
}

/// A repository `a.git` with two commits, a tag and a second branch.
fn sandbox_with_history() -> (Sandbox, Repo) {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("a.git");
    repo.commit("main", &[File::new("README", "hello\n"), File::new("src/one.txt", "one\n")]);
    let files = [
        File::new("README", "hello\n"),
        File::new("src/one.txt", "one, changed\n"),
        File::executable("src/run \"it\".sh", "#!/bin/sh\n"),
        File::symlink("link", "src/one.txt"),
        File::submodule("module", "0123456789012345678901234567890123456789"),
        File::new(b"caf\xe9", "latin\n"),
    ];
    repo.commit("main", &files);
    repo.git().run(["branch", "other", "main~1"]);
    repo.git().run(["tag", "-a", "-m", "first", "v1", "main~1"]);
    (sandbox, repo)
}

fn clone(sandbox: &Sandbox, url: &str, options: &[&str]) -> Git {
    let target = sandbox.path().join("clone");
    let mut args = vec!["clone", "--quiet"];
    args.extend(options);
    args.push(url);
    sandbox.git().run(args.iter().map(Path::new).chain([target.as_path()]));
    Git::new(target, sandbox.path().join("home"))
}

/// Sends `requests` on one connection and reads until the server closes, which the last
/// request asks it to.
fn exchange(server: &HttpServer, requests: &[&str]) -> String {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let (last, first) = requests.split_last().unwrap();
    for request in first {
        socket.write_all(request.as_bytes()).unwrap();
    }
    let last = last.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    socket.write_all(last.as_bytes()).unwrap();
    let mut answers = String::new();
    socket.read_to_string(&mut answers).unwrap();
    answers
}

const REFS: &str = "GET /a.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: test\r\n\r\n";
