//! What is sent again, after which wait, and what is not.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use gitsip::ErrorKind;
use gitsip::client::retry::RetryOptions;

use super::net::{Net, run, sandbox};
use super::raw_server::{read_head, serve};
use super::support::http_server::{Behaviour, CannedResponse, HttpServer, Recorded};

/// Answers the first `times` requests with `refusal`.
fn busy(times: usize, refusal: CannedResponse) -> Behaviour {
    let hook = move |request: &Recorded| (request.number < times).then(|| refusal.clone());
    Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() }
}

fn refusal(status: u16) -> CannedResponse {
    CannedResponse::new(status, "text/plain", "the tea is hot\n")
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn case_32_a_host_that_asks_for_patience_gets_as_much_as_it_names() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let now = "Fri, 31 Dec 1999 23:59:00 GMT";
    for status in [429, 503] {
        for (wait, answer) in [
            (7, refusal(status).with("Retry-After", "7")),
            (
                45,
                refusal(status).with("Date", now).with("Retry-After", &now.replace(":00 ", ":45 ")),
            ),
        ] {
            server.forget_requests();
            server.set_behaviour(busy(2, answer));
            let net = Net::new();
            let repo = net.open(&server.url("r.git"), RetryOptions::default()).unwrap();
            assert_eq!(net.waits(), [secs(wait), secs(wait)]);
            assert_eq!(server.requests().len(), 3);
            assert_eq!(repo.stats().requests, 3, "each try is counted");
        }
    }
}

#[test]
fn a_command_is_sent_again_too_word_for_word() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let net = Net::new();
    let repo = net.open(&server.url("r.git"), RetryOptions::default()).unwrap();
    server.forget_requests();
    server.set_behaviour(busy(1, refusal(503)));
    run(repo.snapshot("HEAD")).unwrap();
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[0].body.is_empty());
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn without_a_time_the_waits_grow_and_end() {
    let sandbox = sandbox();
    let server = HttpServer::start_with(sandbox.repos(), busy(usize::MAX, refusal(503)));
    let net = Net::new();
    let error = net.open(&server.url("r.git"), RetryOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains("answered 503 ('the tea is hot')"), "{error}");
    let waits = net.waits();
    assert_eq!((waits.len(), server.requests().len()), (3, 4));
    for (wait, whole) in waits.iter().zip([1, 2, 4]) {
        assert!((secs(whole) / 2..=secs(whole)).contains(wait), "{waits:?}");
    }
}

#[test]
fn case_32_patience_has_an_end_and_the_error_names_the_wait() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let url = server.url("r.git");
    let soon = RetryOptions { deadline: Some(secs(10)), ..RetryOptions::default() };
    let calm = RetryOptions::default();
    for (named, retry, waits) in [
        ("3600", &calm, vec![]),
        ("12", &soon, vec![]),
        ("4", &soon, vec![4, 4]),
        ("9", &calm, vec![9; 3]),
    ] {
        for status in [429, 503] {
            server.forget_requests();
            server.set_behaviour(busy(usize::MAX, refusal(status).with("Retry-After", named)));
            let net = Net::new();
            let error = net.open(&url, retry.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RateLimited, "{error}");
            for words in ["the tea is hot", &format!("in {named} seconds")] {
                assert!(error.to_string().contains(words), "{error}");
            }
            let expected: Vec<_> = waits.iter().map(|&wait| secs(wait)).collect();
            assert_eq!(net.waits(), expected, "{named}");
            assert_eq!(server.requests().len(), waits.len() + 1);
        }
    }
}

#[test]
fn a_connection_cut_before_an_answer_is_tried_once_more() {
    for (cuts, found) in [(1, true), (2, false)] {
        let seen = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&seen);
        let address = serve(move |mut stream| {
            read_head(&mut stream).unwrap();
            if count.fetch_add(1, Ordering::Relaxed) >= cuts {
                advertise(&mut stream);
            }
        });
        let net = Net::new();
        let opened = net.open(&format!("http://{address}/r.git"), RetryOptions::default());
        assert_eq!(opened.as_ref().err().map(gitsip::Error::code), (!found).then_some("cut"));
        assert_eq!(seen.load(Ordering::Relaxed), 2);
        assert!(net.waits().is_empty());
    }
}

#[test]
fn a_command_cut_before_its_answer_is_tried_once_more() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let address = serve(move |mut stream| {
        let head = read_head(&mut stream).unwrap();
        if head.starts_with("GET ") {
            return advertise(&mut stream);
        }
        // All of it is taken, so that closing is no reset.
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
        if count.fetch_add(1, Ordering::Relaxed) > 0 {
            answer(&mut stream, "result", &format!("0032{} HEAD\n0000", "1".repeat(40)));
        }
    });
    let repo = Net::new().open(&format!("http://{address}/r.git"), RetryOptions::default());
    let refs = run(repo.unwrap().refs(&[])).map(|refs| refs.len());
    assert_eq!(refs.unwrap_or_else(|error| panic!("{error}")), 1);
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[test]
fn nothing_is_sent_again_after_bytes_of_its_answer_came() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let net = Net::new();
    let repo = net.open(&server.url("r.git"), RetryOptions::default()).unwrap();
    let snapshot = run(repo.snapshot("HEAD")).unwrap();
    for cut_after in [0, 40] {
        server.forget_requests();
        let cut_after = Some(cut_after);
        server.set_behaviour(Behaviour { cut_after, ..Behaviour::default() });
        let error = run(snapshot.read_path("a", Default::default())).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "cut", "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

fn advertise(stream: &mut TcpStream) {
    let lines = ["version 2\n", "ls-refs=unborn\n", "fetch=shallow filter\n"];
    let packets = lines.map(|line| format!("{:04x}{line}", line.len() + 4)).concat();
    answer(stream, "advertisement", &format!("001e# service=git-upload-pack\n0000{packets}0000"));
}

fn answer(stream: &mut TcpStream, kind: &str, body: &str) {
    let content_type = format!("application/x-git-upload-pack-{kind}");
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
    .unwrap();
}
