//! Hosts that are broken or mean: the examination ends in time, says what happened, and
//! one question that fails does not end the others.

use std::time::Duration;

use gitsip::ErrorKind;
use gitsip::agent::{DoctorOptions, examine};

use super::support::git::Sandbox;
use super::support::http_server::in_process::run;
use super::support::http_server::{Behaviour, CannedResponse, InProcess};
use super::{check_cost, examined, origin, verdict};

const PROBES: [&str; 3] = ["filter tree:0", "depth 1", "filter blob:none"];

fn posts(behaviour: Behaviour) -> Behaviour {
    Behaviour {
        faults_when: Some(Box::new(|r| r.body_text().contains("command=fetch"))),
        ..behaviour
    }
}

#[test]
fn what_breaks_in_every_fetch_is_told_of_every_fetch() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let git = Behaviour::default;
    let words = "out of \x1b[31mcoffee";
    let shown = "out of \\x1b[31mcoffee";
    let rows = [
        ("ERR", posting("text/plain", packet(&format!("ERR {words}"))), "refused", shown),
        ("band 3 at once", git().dying_after(0, words), "refused", shown),
        ("band 3 later", git().dying_after(40, words), "failed", shown),
        ("trailers", git().with_wrong_trailers(), "failed", "checksum"),
        ("cut", posts(Behaviour { cut_after: Some(20), ..git() }), "failed", "broke"),
        ("stalled", posts(Behaviour { stall_after: Some(20), ..git() }), "failed", "broke"),
        ("garbage", posting("text/plain", b"\0\xff no packets".to_vec()), "failed", "length"),
        ("a page", posting("text/html", b"<!DOCTYPE html>".to_vec()), "failed", "web page"),
        ("nothing", posting("text/plain", Vec::new()), "refused", "without a word"),
    ];
    for (what, behaviour, expected, says) in rows {
        let (answer, _) = examined(&sandbox, behaviour);
        assert!(answer.error.is_none(), "{what}");
        let diagnosis = &answer.diagnosis;
        let found = verdict(diagnosis, PROBES[0]);
        assert_eq!(found, format!("offered, {expected}"), "{what}: {:#?}", diagnosis.findings);
        let note = &diagnosis.findings.iter().find(|f| f.name == PROBES[0]).unwrap().note;
        assert!(note.contains(says), "{what}: {note}");
        assert!(!note.contains(|c: char| c.is_control()), "{what}: {note:?}");
        assert_eq!(verdict(diagnosis, "version 2"), "honoured", "{what}");
        assert_eq!(verdict(diagnosis, "version 0"), "honoured", "{what}");
    }
}

fn packet(text: &str) -> Vec<u8> {
    format!("{:04x}{text}", text.len() + 4).into_bytes()
}

/// Answers fetches with this.
fn posting(content_type: &'static str, body: Vec<u8>) -> Behaviour {
    Behaviour::default().answering_first(move |request| {
        let is_fetch = request.body_text().contains("command=fetch");
        is_fetch.then(|| CannedResponse::new(200, content_type, body.clone()))
    })
}

#[test]
fn an_answer_without_end_is_cut_off_wherever_it_is() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let progress = [&b"000dpackfile\n"[..], &b"0009\x02....".repeat(1 << 20)].concat();
    let keepalives = [&b"000dpackfile\n"[..], &b"0005\x01".repeat(1 << 20)].concat();
    let sections = b"000eodd words\n0009line\n".repeat(1 << 18);
    let stored = endless_pack();
    for (what, body, expected) in [
        ("progress", progress, "unknown"),
        ("keepalives", keepalives, "unknown"),
        ("lines", sections, "unknown"),
        // It announces the same with a filter and without.
        ("pack", stored, "ignored"),
    ] {
        let (answer, host) = examined(&sandbox, posting("text/plain", body));
        let found = verdict(&answer.diagnosis, PROBES[0]);
        assert_eq!(found, format!("offered, {expected}"), "{what}");
        let fetches = host.requests().into_iter().filter(|r| r.body_text().contains("fetch"));
        assert!(fetches.clone().all(|fetch| fetch.response_bytes < 400 << 10), "{what}");
        assert!(fetches.count() > 3, "{what}");
    }
    let endless = Behaviour::default().answering_first(|request| {
        let body = b"0032aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1\n".repeat(1 << 17);
        (request.method == "GET").then(|| CannedResponse::new(200, "text/plain", body))
    });
    let (answer, _) = examined(&sandbox, endless);
    assert!(answer.error.is_some());
}

/// A blob that goes on and on, in blocks that are not compressed.
fn endless_pack() -> Vec<u8> {
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x02".to_vec();
    // A blob of 8 MiB, as git writes sizes.
    pack.extend_from_slice(&[0xb0, 0x80, 0x80, 0x20, 0x78, 0x01]);
    for _ in 0..40 {
        pack.extend_from_slice(&[0, 0xff, 0xff, 0, 0]);
        pack.extend_from_slice(&[7; 0xffff]);
    }
    let mut body = b"000dpackfile\n".to_vec();
    for piece in pack.chunks(60_000) {
        body.extend_from_slice(format!("{:04x}\x01", piece.len() + 5).as_bytes());
        body.extend_from_slice(piece);
    }
    body
}

#[test]
fn a_host_that_falls_silent_is_left_after_two_questions() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let silent = posts(Behaviour { silent: true, ..Behaviour::default() });
    let host = InProcess::new(sandbox.repos(), silent);
    let patient = DoctorOptions { max_time: Duration::from_secs(600), ..DoctorOptions::default() };
    let answer = run(examine(&host, &host.url("r.git"), patient)).unwrap();
    assert!(answer.error.is_none());
    let diagnosis = &answer.diagnosis;
    assert_eq!(verdict(diagnosis, "filter tree:0"), "offered, failed");
    assert_eq!(verdict(diagnosis, "depth 1"), "offered, failed");
    let note = &diagnosis.findings.iter().find(|f| f.name == "filter blob:none").unwrap().note;
    assert_eq!(note, "not asked: the host has fallen silent");
    assert!(host.requests().len() <= 8, "{}", host.requests().len());

    let dead = Behaviour { silent: true, ..Behaviour::default() };
    let host = InProcess::new(sandbox.repos(), dead);
    let error = run(examine(&host, &host.url("r.git"), DoctorOptions::default())).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "stalled"));
}

#[test]
fn a_slow_host_is_asked_until_the_time_is_up() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let slow = Behaviour { delay: Duration::from_secs(9), ..Behaviour::default() };
    let host = InProcess::new(sandbox.repos(), slow);
    let answer = run(examine(&host, &host.url("r.git"), DoctorOptions::default())).unwrap();
    check_cost(&answer.diagnosis, &host);
    assert!(host.requests().len() <= 8, "{}", host.requests().len());
    let findings = &answer.diagnosis.findings;
    assert!(findings.iter().any(|finding| finding.note == "not asked: the time is up"));
    assert_eq!(verdict(&answer.diagnosis, "version 2"), "honoured");
}
