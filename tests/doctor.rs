//! `doctor` against every host that is known, every version and strictness of git's own
//! backend, and hosts that misbehave: it says what they do, in few and small requests, and
//! always ends.

#![allow(clippy::unwrap_used)]

#[path = "doctor/backends.rs"]
mod backends;
#[path = "doctor/hostile.rs"]
mod hostile;
#[path = "doctor/hosts.rs"]
mod hosts;
#[path = "doctor/knobs.rs"]
mod knobs;
#[cfg(feature = "cli")]
#[path = "doctor/over_a_socket.rs"]
mod over_a_socket;
#[path = "support/mod.rs"]
mod support;

use gitsip::agent::{Diagnosis, DoctorOptions, Examined, MAX_DOCTOR_REQUESTS, examine};
use gitsip::client::credentials::Auth;
use support::git::{File, Repo, Sandbox};
use support::http_server::in_process::run;
use support::http_server::{Behaviour, InProcess, Profile};

/// Two commits, the older one tagged twice.
pub(crate) fn origin(sandbox: &Sandbox) -> Repo {
    let origin = sandbox.bare("r.git");
    let files = |text: &'static str| {
        [File::new("README", text), File::new("src/lib.rs", "fn needle() {}\n")]
    };
    origin.commit("main", &files("old\n"));
    let git = origin.git();
    git.run(["tag", "light", "main"]);
    git.run(["tag", "-a", "-m", "first", "v1", "main"]);
    git.run(["branch", "other", "main"]);
    origin.commit("main", &files("new\n"));
    origin
}

/// What is found out about `r.git` behind a server that behaves so, and what was sent.
pub(crate) fn examined(sandbox: &Sandbox, behaviour: Behaviour) -> (Examined, InProcess) {
    let host = InProcess::new(sandbox.repos(), behaviour);
    let answer = run(examine(&host, &host.url("r.git"), DoctorOptions::default()));
    let examined = answer.unwrap();
    check_cost(&examined.diagnosis, &host);
    (examined, host)
}

/// That few requests were sent, and no answer was read beyond its cap.
#[track_caller]
pub(crate) fn check_cost(diagnosis: &Diagnosis, host: &InProcess) {
    let requests = host.requests();
    assert_eq!(diagnosis.requests, requests.len() as u64);
    let redirects = diagnosis.redirects.len() as u64;
    assert!(diagnosis.requests <= MAX_DOCTOR_REQUESTS + redirects, "{}", diagnosis.requests);
    for request in &requests {
        // What is over the cap is the rest of the last chunk.
        let cap = diagnosis.max_answer_bytes + (64 << 10);
        assert!(request.response_bytes <= cap, "{}", request.response_bytes);
    }
    let sent: u64 = requests.iter().map(|request| request.response_bytes).sum();
    assert_eq!(diagnosis.bytes_received, sent);
}

/// The verdict on `name`, with a mark when the host offers it.
#[track_caller]
pub(crate) fn verdict(diagnosis: &Diagnosis, name: &str) -> String {
    let finding = diagnosis.findings.iter().find(|finding| finding.name == name);
    let finding = finding.unwrap_or_else(|| panic!("nothing of '{name}'"));
    let offered = if finding.offered == Some(true) { "offered, " } else { "" };
    format!("{offered}{}", finding.verdict)
}

/// Asserts verdicts by name.
#[track_caller]
pub(crate) fn check(what: &str, diagnosis: &Diagnosis, expected: &[(&str, &str)]) {
    for (name, expected) in expected {
        let found = verdict(diagnosis, name);
        assert_eq!(found, *expected, "{name} of {what}: {:#?}", diagnosis.findings);
    }
}

pub(crate) fn options(profile: Profile) -> DoctorOptions {
    let auth = profile.token().map(|token| Auth::Bearer(token.to_owned()));
    DoctorOptions { auth, ..DoctorOptions::default() }
}
