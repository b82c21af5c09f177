//! Hosts with very many refs: the time it takes to read them grows as their number does,
//! and what they occupy is paid for.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use gitsip::agent::{Remote, RemoteOptions, Repo};
use gitsip::limits::Which;
use gitsip::{Budget, Error, ErrorKind, Limits};

use super::support::git::{File, Sandbox};
use super::support::http_server::in_process::run;
use super::support::http_server::{Behaviour, CannedResponse, InProcess};

/// A host whose `ls-refs` lists so many branches, whatever is asked for.
fn host(sandbox: &Sandbox, refs: usize) -> InProcess {
    let mut body = String::new();
    for number in 0..refs {
        let line = format!("{:040x} refs/heads/topic/{number:07}\n", number + 1);
        write!(body, "{:04x}{line}", line.len() + 4).unwrap();
    }
    body.push_str("0000");
    let behaviour = Behaviour::default().answering_first(move |request| {
        request
            .body_text()
            .contains("command=ls-refs")
            .then(|| CannedResponse::new(200, "application/x-git-upload-pack-result", body.clone()))
    });
    InProcess::new(sandbox.repos(), behaviour)
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    sandbox
}

async fn open(host: &InProcess, budget: &Budget) -> Repo<Remote<InProcess>> {
    let options = RemoteOptions { budget: Some(budget.clone()), ..RemoteOptions::default() };
    let remote = Remote::open(host.clone(), &host.url("r.git"), options).await.unwrap();
    Repo::new(remote, Limits::default())
}

/// Lists all refs and resolves one; how many there are and the best time of three.
async fn list(host: &InProcess, budget: &Budget) -> Result<(usize, Duration), Error> {
    let repo = open(host, budget).await;
    let mut best = Duration::MAX;
    let mut count = 0;
    for _ in 0..3 {
        let begun = Instant::now();
        count = repo.refs(&[]).await?.len();
        let snapshot = repo.snapshot("topic/0000500").await?;
        assert_eq!(snapshot.commit().to_string(), format!("{:040x}", 501));
        best = best.min(begun.elapsed());
    }
    Ok((count, best))
}

#[test]
fn a_hundred_thousand_refs_take_a_hundred_times_as_long_as_a_thousand() {
    let sandbox = sandbox();
    run(async {
        let mut times = Vec::new();
        for refs in [1_000, 100_000] {
            let host = host(&sandbox, refs);
            let budget = Budget::new(64 << 20);
            let (count, time) = list(&host, &budget).await.unwrap();
            assert_eq!(count, refs);
            assert!(budget.peak_bytes() < refs as u64 * 400 + (1 << 20), "{}", budget.peak_bytes());
            assert_eq!(host.requests().len(), 1 + 3 * 2, "no request for each ref");
            times.push(time);
        }
        // Quadratic would be 10,000 times; between the two is room for a slow machine.
        let floor = times[0].max(Duration::from_micros(200));
        assert!(times[1] < floor * 1_000, "{times:?}");
    });
}

#[test]
fn refs_that_do_not_fit_are_a_limit_error_and_all_memory_comes_back() {
    let sandbox = sandbox();
    run(async {
        let host = host(&sandbox, 100_000);
        let budget = Budget::new(2 << 20);
        let repo = open(&host, &budget).await;
        let before = budget.used_bytes();
        let error = repo.refs(&[]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert_eq!(error.limit().map(|limit| limit.which), Some(Which::Memory), "{error}");
        assert_eq!(budget.used_bytes(), before);
    });
}
