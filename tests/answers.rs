//! The one format of answers: pages that join, cursors that belong to one question, work
//! that can be stopped, and the JSON that every face writes.

#![allow(clippy::unwrap_used)]

#[path = "answers/budgets.rs"]
mod budgets;
#[path = "answers/cursors.rs"]
mod cursors;
#[path = "answers/golden.rs"]
mod golden;
#[path = "answers/pages.rs"]
mod pages;
#[path = "answers/plans.rs"]
mod plans;
#[path = "answers/questions.rs"]
mod questions;
#[path = "answers/stops.rs"]
mod stops;
#[path = "support/mod.rs"]
mod support;

use gitsip::agent::{Answer, Ask, Remote, RemoteOptions, Repo, Stop};
use gitsip::{Error, Limits};

use support::git::Sandbox;
use support::http_server::Behaviour;
use support::http_server::in_process::{self, InProcess};

type Held = Repo<Remote<InProcess>>;

/// A host of `repos/r.git`.
fn host(sandbox: &Sandbox) -> InProcess {
    InProcess::new(sandbox.repos(), Behaviour::default())
}

/// A repository of which nothing is held yet.
fn open(host: &InProcess) -> Held {
    let options = RemoteOptions::default();
    let remote = in_process::run(Remote::open(host.clone(), &host.url("r.git"), options));
    Repo::new(remote.unwrap(), Limits::default())
}

fn ask<Q: Ask>(repo: &Held, query: &Q) -> Result<Answer<Q::Item>, Error> {
    in_process::run(query.ask(repo, &Stop::default()))
}
