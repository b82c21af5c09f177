//! The same over a real socket: gitsip and git itself against each host.

use std::path::Path;
use std::time::{Duration, Instant};

use gitsip::agent::RemoteOptions;
use gitsip::transport::{HttpOptions, HttpTransport};

use super::hosts::{check, options};
use super::operations::{Operation, origin};
use super::support::git::{Git, Sandbox};
use super::support::http_server::{Behaviour, HttpServer, Profile, Recorded, Redirect};
use super::support::runtime::run;

async fn read(url: &str, stall_timeout: Duration) -> Result<Vec<String>, gitsip::Error> {
    let options = HttpOptions { stall_timeout, ..HttpOptions::default() };
    let transport = HttpTransport::new(options).unwrap();
    Operation::Cat.ask(transport, url, RemoteOptions::default()).await
}

#[test]
fn every_host_answers_every_operation_over_a_socket_as_git_does() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    for profile in Profile::ALL {
        let server = HttpServer::start_with(sandbox.repos(), profile.behaviour());
        let url = server.url(&profile.address("r"));
        for operation in Operation::ALL {
            let transport = HttpTransport::new(HttpOptions::default()).unwrap();
            let answer = run(operation.ask(transport, &url, options(profile)));
            check(profile, operation, answer, &operation.expected(&origin));
        }
    }
}

#[test]
fn git_itself_takes_each_of_them_for_a_host() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    for profile in Profile::ALL {
        let server = HttpServer::start_with(sandbox.repos(), profile.behaviour());
        let url = server.url(&profile.address("r"));
        let target = sandbox.path().join(format!("{profile:?}"));
        let header = profile.token().map_or_else(String::new, |token| {
            format!("http.extraHeader=Authorization: Bearer {token}")
        });
        let auth = if header.is_empty() { vec![] } else { vec!["-c", &header] };
        let args = auth.into_iter().chain(["clone", "--quiet", "--bare", "--depth=1", &url]);
        sandbox.git().run(args.map(Path::new).chain([target.as_path()]));
        let clone = Git::new(&target, sandbox.path().join("home"));
        assert_eq!(clone.run(["rev-parse", "HEAD"]), origin.git().run(["rev-parse", "main"]));
        let version = if profile.version() == 2 { "command=fetch" } else { "multi_ack" };
        let fetched = |request: &Recorded| request.body_text().contains(version);
        assert!(server.requests().iter().any(fetched), "{profile:?}");
    }
}

#[test]
fn a_compressed_body_is_read_by_git_and_by_gitsip() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    let gzip = Behaviour { gzip: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), gzip);
    let url = server.url("r.git");
    let target = sandbox.path().join("clone");
    let args = ["clone", "--quiet", "--bare", &url].map(Path::new);
    sandbox.git().run(args.into_iter().chain([target.as_path()]));
    let clone = Git::new(&target, sandbox.path().join("home"));
    assert_eq!(clone.run(["rev-parse", "HEAD"]), origin.git().run(["rev-parse", "main"]));

    let answer = run(read(&url, Duration::from_secs(30))).unwrap();
    assert_eq!(answer, Operation::Cat.expected(&origin));
}

#[test]
fn an_advertisement_on_another_port_is_followed() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    let there = HttpServer::start(sandbox.repos());
    let elsewhere = Redirect::Elsewhere(format!("http://{}", there.address()));
    let here = Behaviour::default().redirecting(302, elsewhere);
    let server = HttpServer::start_with(sandbox.repos(), here);
    let answer = run(read(&server.url("r.git"), Duration::from_secs(30))).unwrap();
    assert_eq!(answer, Operation::Cat.expected(&origin));
    assert_eq!((server.requests().len(), there.requests().len()), (1, 4));
    let length = server.requests()[0].response_bytes;
    assert_eq!(length, 0, "a redirect has no body");
}

#[test]
fn a_host_that_never_says_a_word_is_left() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let silent = Behaviour { silent: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), silent);
    let begun = Instant::now();
    let error = run(read(&server.url("r.git"), Duration::from_millis(100))).unwrap_err();
    assert_eq!(error.code(), "stalled", "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}
