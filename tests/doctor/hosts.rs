//! The hosts that are known, and `HOSTS.md`, which is made of what is found out about them.
//!
//! With `GITSIP_UPDATE=1` the file is written anew.

use std::path::Path;

use gitsip::agent::{Diagnosis, examine};

use super::support::git::Sandbox;
use super::support::http_server::in_process::run;
use super::support::http_server::{InProcess, Profile};
use super::{check, check_cost, options, origin};

fn diagnose(sandbox: &Sandbox, profile: Profile) -> Diagnosis {
    let host = InProcess::new(sandbox.repos(), profile.behaviour());
    let url = host.url(&profile.address("r"));
    let examined = run(examine(&host, &url, options(profile))).unwrap();
    assert!(examined.error.is_none(), "{profile:?}: {:?}", examined.error);
    check_cost(&examined.diagnosis, &host);
    examined.diagnosis
}

#[test]
fn each_host_is_told_from_the_others() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for profile in Profile::ALL {
        let diagnosis = diagnose(&sandbox, profile);
        let git = diagnosis.git.as_ref().unwrap();
        assert_eq!(git.version, profile.version(), "{profile:?}");
        let what = format!("{profile:?}");
        let filter = if profile.has_filter() { "offered, honoured" } else { "refused" };
        let expected = [("filter tree:0", filter), ("depth 1", "offered, honoured")];
        check(&what, &diagnosis, &expected);
        assert_eq!(diagnosis.redirects.len(), usize::from(profile == Profile::GitLab));
        assert_eq!(diagnosis.auth.wanted, Some(profile.token().is_some()), "{profile:?}");
    }
}

#[test]
fn the_table_of_hosts_is_what_the_doctor_finds() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let table = document(&Profile::ALL.map(|profile| (profile, diagnose(&sandbox, profile))));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("HOSTS.md");
    if std::env::var_os("GITSIP_UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, table, "run the test with GITSIP_UPDATE=1 and look at what changed");
}

fn document(hosts: &[(Profile, Diagnosis)]) -> String {
    let mut text = PREFACE.to_owned();
    text.push_str("\n|");
    for (profile, _) in hosts {
        text.push_str(&format!(" | {}", title(*profile)));
    }
    text.push_str(" |\n|---|");
    text.push_str(&"---|".repeat(hosts.len()));
    for finding in &hosts[0].1.findings {
        let name = &finding.name;
        // What is carried by HTTP depends on what stands before the program.
        if name.starts_with("CORS") || name == "gzip" {
            continue;
        }
        text.push_str(&format!("\n| {name}"));
        for (_, diagnosis) in hosts {
            let found = diagnosis.findings.iter().find(|finding| finding.name == *name);
            let cell = found.map_or("", |found| match (found.offered, found.verdict.as_str()) {
                (_, "honoured") => "yes",
                (Some(true), "unknown") => "offered",
                (Some(false), "unknown") | (None, "unknown") => "-",
                (Some(true), "refused") => "offered, refused",
                (Some(true), "ignored") => "offered, ignored",
                (_, verdict) => verdict,
            });
            text.push_str(&format!(" | {cell}"));
        }
        text.push_str(" |");
    }
    text.push_str("\n\n## What that means\n");
    for (profile, diagnosis) in hosts {
        text.push_str(&format!("\n**{}**", title(*profile)));
        if let Some(hop) = diagnosis.redirects.first() {
            let end = hop.to.rsplit('/').next().unwrap();
            text.push_str(&format!(" redirects to `{end}` ({}).", hop.status));
        } else if diagnosis.auth.wanted == Some(true) {
            text.push_str(&format!(" wants credentials ({}).", diagnosis.auth.schemes.join(", ")));
        } else {
            text.push('.');
        }
        for sentence in diagnosis.meaning.iter().filter(|line| !line.starts_with("Web pages")) {
            text.push_str(&format!(" {sentence}"));
        }
        text.push('\n');
    }
    text
}

fn title(profile: Profile) -> &'static str {
    match profile {
        Profile::Artifacts => "Artifacts",
        Profile::Azure => "Azure DevOps",
        Profile::Gerrit => "Gerrit",
        Profile::GitHub => "GitHub",
        Profile::GitLab => "GitLab",
        Profile::Gitea => "Gitea, Forgejo",
        Profile::KernelOrg => "kernel.org",
    }
}

const PREFACE: &str = "\
# Hosts, and what they do

What `gitsip doctor` finds out about the hosts that are modelled in the tests
(`tests/support/http_server/profiles.rs`): each advertises what the real host is known to
advertise, over git's own `http-backend`. So the table says what gitsip meets there, and is
no promise of theirs; ask the real one with `gitsip doctor ADDRESS`. This file is written by
`GITSIP_UPDATE=1 cargo test --test doctor`.

*yes*: it does it. *refused*: it says no. *ignored*: it answers as if not asked. *-*: not
there to be asked for, or no answer can show it. Tried on a public repository of two
commits; of private ones a token is given.
";
