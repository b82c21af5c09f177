//! Each host x each operation.

use gitsip::Error;
use gitsip::agent::RemoteOptions;
use gitsip::client::credentials::Auth;

use super::operations::{Operation, origin};
use super::support::git::Sandbox;
use super::support::http_server::in_process::run;
use super::support::http_server::{InProcess, Profile};

pub(crate) fn options(profile: Profile) -> RemoteOptions {
    let auth = profile.token().map(|token| Auth::Bearer(token.to_owned()));
    RemoteOptions { auth, ..RemoteOptions::default() }
}

/// Fails unless the answer is git's.
#[track_caller]
pub(crate) fn check(
    profile: Profile,
    operation: Operation,
    answer: Result<Vec<String>, Error>,
    expected: &[String],
) {
    match answer {
        Ok(answer) => assert_eq!(answer, expected, "{operation:?} of {profile:?}"),
        Err(error) => panic!("{operation:?} of {profile:?}: {error}"),
    }
}

#[test]
fn every_host_answers_every_operation_as_git_does() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    for operation in Operation::ALL {
        let expected = operation.expected(&origin);
        for profile in Profile::ALL {
            let host = InProcess::new(sandbox.repos(), profile.behaviour());
            let url = host.url(&profile.address("r"));
            let answer = run(operation.ask(host.clone(), &url, options(profile)));
            check(profile, operation, answer, &expected);
            let filters = host.requests().iter().any(|r| r.body_text().contains("filter "));
            assert!(profile.has_filter() || !filters, "{profile:?} was asked for what it lacks");
        }
    }
}

#[test]
fn a_host_is_asked_as_often_as_it_takes_and_no_more() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for profile in Profile::ALL {
        let host = InProcess::new(sandbox.repos(), profile.behaviour());
        let url = host.url(&profile.address("r"));
        run(Operation::Cat.ask(host.clone(), &url, options(profile))).unwrap();
        // What it is; its refs, which version 0 tells with that; the trees and the file,
        // apart only where that can be told; and one more to be sent to another address.
        let refs = usize::from(profile.version() == 2);
        let apart = usize::from(profile.has_filter());
        let moved = usize::from(profile == Profile::GitLab);
        assert_eq!(host.requests().len(), 2 + refs + apart + moved, "{profile:?}");
    }
}
