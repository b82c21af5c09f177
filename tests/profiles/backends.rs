//! git's own `http-backend`, as old and as strict as it can be made: each version of the
//! protocol, with and without filters, with and without objects by id.

use std::sync::{Arc, Mutex};

use gitsip::agent::RemoteOptions;
use gitsip::client::ladder::Fallback;
use gitsip::client::progress::{Phase, ProgressListener};

use super::operations::{Operation, origin};
use super::support::git::Sandbox;
use super::support::http_server::in_process::run;
use super::support::http_server::{Behaviour, InProcess};

#[test]
fn every_backend_answers_every_operation_as_git_does() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    let expected = Operation::ALL.map(|operation| (operation, operation.expected(&origin)));
    for version in [0, 1, 2] {
        for filter in ["false", "true"] {
            for any_id in ["false", "true"] {
                let behaviour = || {
                    Behaviour::default()
                        .speaking(version)
                        .configured("uploadpack.allowFilter", filter)
                        .configured("uploadpack.allowAnySHA1InWant", any_id)
                };
                for (operation, expected) in &expected {
                    let what =
                        format!("{operation:?}, version {version}, filter {filter}, ids {any_id}");
                    let host = InProcess::new(sandbox.repos(), behaviour());
                    let url = host.url("r.git");
                    let options = RemoteOptions::default();
                    let answer = run(operation.ask(host.clone(), &url, options));
                    assert_eq!(&answer.unwrap(), expected, "{what}");
                    if *operation == Operation::Cat {
                        assert!(host.requests().len() <= 4, "{what}");
                    }
                }
            }
        }
    }
}

/// What a host can do it says, so nothing is tried in vain: what it is; its refs, which
/// versions 0 and 1 tell with that; the trees and then the file, or everything at once.
#[test]
fn first_contact_costs_no_request_more_than_the_best_rung_and_a_larger_one_is_told() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    for (version, filter, requests) in [
        (0, "true", 3),
        (0, "false", 2),
        (1, "true", 3),
        (1, "false", 2),
        (2, "true", 4),
        (2, "false", 3),
    ] {
        for any_id in ["false", "true"] {
            let what = format!("version {version}, filter {filter}, ids {any_id}");
            let behaviour = Behaviour::default()
                .speaking(version)
                .configured("uploadpack.allowFilter", filter)
                .configured("uploadpack.allowAnySHA1InWant", any_id);
            let host = InProcess::new(sandbox.repos(), behaviour);
            let told = Arc::<Mutex<Vec<_>>>::default();
            let progress = ProgressListener::new({
                let told = Arc::clone(&told);
                move |progress| {
                    if let Phase::Widening(fallback) = progress.phase {
                        assert_eq!(progress.bytes, 0, "before the first byte");
                        told.lock().unwrap().push(fallback);
                    }
                }
            });
            let options = RemoteOptions { progress, ..RemoteOptions::default() };
            let url = host.url("r.git");
            let answer = run(Operation::Cat.ask(host.clone(), &url, options));
            assert_eq!(answer.unwrap(), Operation::Cat.expected(&origin), "{what}");
            assert_eq!(host.requests().len(), requests, "{what}");
            let widened = (filter == "false").then_some(Fallback::CannotFilter);
            assert_eq!(*told.lock().unwrap(), widened.into_iter().collect::<Vec<_>>(), "{what}");
        }
    }
}
