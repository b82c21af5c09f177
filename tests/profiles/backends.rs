//! git's own `http-backend`, as old and as strict as it can be made: each version of the
//! protocol, with and without filters, with and without objects by id.

use gitsip::agent::RemoteOptions;

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
