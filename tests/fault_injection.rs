//! A recorded conversation with git, replayed with a fault at every byte: cut by the
//! network, ended too early by whoever stands between, held for ever. Each gives an error
//! or the right answer; nothing of half an answer is stored or paid for, and what was
//! asked is answered when the network is well again.

#![allow(clippy::unwrap_used)]

#[path = "fault_injection/many_refs.rs"]
mod many_refs;
#[path = "fault_injection/recording.rs"]
mod recording;
#[cfg(feature = "http-client")]
#[path = "fault_injection/stalls.rs"]
mod stalls;
#[path = "support/mod.rs"]
mod support;

use gitsip::ErrorKind;
use support::http_server::Behaviour;
use support::http_server::in_process::run;

use recording::{Client, Recording};

#[test]
fn a_conversation_cut_at_any_byte_is_an_error_or_the_right_answer() {
    for_each_answer(|recording, request, length| {
        for end in 0..=length {
            let fault = Behaviour { cut_after: Some(end as u64), ..recording.faithful() };
            check(recording, request, end, fault);
        }
    });
}

#[test]
fn an_answer_that_ends_too_early_is_an_error_or_the_right_answer() {
    for_each_answer(|recording, request, length| {
        for end in 0..=length {
            check(recording, request, end, recording.shortened(request, end));
        }
    });
}

#[test]
fn an_answer_with_any_byte_changed_is_an_error_or_the_right_answer() {
    for_each_answer(|recording, request, length| {
        // What is advertised and listed is not signed: another name there is another name.
        let signed = request >= recording.first_fetch();
        for at in 0..length {
            let outcome = replay(recording, request, recording.changed(request, at));
            if let (true, Ok(text)) = (signed, &outcome) {
                assert_eq!(text, recording::TEXT, "byte {at} of answer {request}");
            }
        }
    });
}

/// Each answer of a conversation in each version of the protocol.
fn for_each_answer(test: impl Fn(&Recording, usize, usize)) {
    for version in VERSIONS {
        let recording = Recording::new(version);
        assert!(recording.answers.len() > 2, "there is more than an advertisement");
        for (request, answer) in recording.answers.iter().enumerate() {
            test(&recording, request, answer.len());
        }
    }
}

/// Reads the file while answer `request` has a fault, and says what must hold.
#[track_caller]
fn check(recording: &Recording, request: usize, end: usize, fault: Behaviour) {
    let whole = end == recording.answers[request].len();
    match replay(recording, request, fault) {
        Ok(text) => assert_eq!(text, recording::TEXT),
        Err(error) => {
            assert!(!whole, "answer {request} is whole: {error}");
            assert!(
                matches!(error.kind(), ErrorKind::Transport | ErrorKind::Malformed),
                "answer {request} up to byte {end}: {error}"
            );
        }
    }
}

/// Reads the file while answer `request` has a fault: what came of it. Nothing of the
/// answer stays, and the same client reads the file when the fault is gone.
#[track_caller]
fn replay(
    recording: &Recording,
    request: usize,
    fault: Behaviour,
) -> Result<String, gitsip::Error> {
    run(async {
        let mut client = Client::new(recording.host(Behaviour {
            faults_when: Some(Box::new(move |seen| seen.number == request)),
            ..fault
        }));
        let answer = client.read().await;
        if let Err(error) = &answer {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
            let (objects, used_bytes) = recording.held_before(client.requests());
            assert_eq!(client.objects(), objects, "answer {request}: {error}");
            assert!(
                client.budget().used_bytes() <= used_bytes,
                "answer {request}: {error}: {} bytes of {used_bytes}",
                client.budget().used_bytes()
            );
            client.heal(recording.faithful());
            assert_eq!(client.read().await.unwrap(), recording::TEXT, "after {error}");
        }
        let budget = client.budget().clone();
        drop(client);
        assert_eq!(budget.used_bytes(), 0);
        answer
    })
}

const VERSIONS: [u8; 2] = [0, 2];
