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

/// A host that lists so many branches in the way of this version of the protocol, whatever
/// is asked for.
fn host(sandbox: &Sandbox, version: u8, refs: usize) -> InProcess {
    let mut body = String::new();
    let mut capabilities = "";
    if version == 0 {
        body.push_str("001e# service=git-upload-pack\n0000");
        capabilities = "\0 multi_ack side-band-64k ofs-delta shallow filter agent=git/2.17.0";
    }
    for number in 0..refs {
        let line = format!("{:040x} refs/heads/topic/{number:07}{capabilities}\n", number + 1);
        write!(body, "{:04x}{line}", line.len() + 4).unwrap();
        capabilities = "";
    }
    body.push_str("0000");
    let behaviour = Behaviour::default().answering_first(move |request| {
        let lists = if version == 0 {
            request.method == "GET"
        } else {
            request.body_text().contains("command=ls-refs")
        };
        let kind = if version == 0 { "advertisement" } else { "result" };
        let content_type = format!("application/x-git-upload-pack-{kind}");
        lists.then(|| CannedResponse::new(200, &content_type, body.clone()))
    });
    InProcess::new(sandbox.repos(), behaviour)
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    sandbox
}

async fn open(host: &InProcess, budget: &Budget) -> Result<Repo<Remote<InProcess>>, Error> {
    let options = RemoteOptions { budget: Some(budget.clone()), ..RemoteOptions::default() };
    let remote = Remote::open(host.clone(), &host.url("r.git"), options).await?;
    Ok(Repo::new(remote, Limits::default()))
}

/// Opens the repository, lists all refs and resolves one; how many there are and the best
/// time of three.
async fn list(host: &InProcess, budget: &Budget) -> (usize, Duration) {
    let mut best = Duration::MAX;
    let mut count = 0;
    for _ in 0..3 {
        let begun = Instant::now();
        let repo = open(host, budget).await.unwrap();
        count = repo.refs(&[]).await.unwrap().len();
        let snapshot = repo.snapshot("topic/0000500").await.unwrap();
        assert_eq!(snapshot.commit().to_string(), format!("{:040x}", 501));
        best = best.min(begun.elapsed());
    }
    (count, best)
}

#[test]
fn a_hundred_thousand_refs_take_a_hundred_times_as_long_as_a_thousand() {
    let sandbox = sandbox();
    run(async {
        for version in [0, 2] {
            let mut times = Vec::new();
            for refs in [1_000, 100_000] {
                let host = host(&sandbox, version, refs);
                let budget = Budget::new(64 << 20);
                let (count, time) = list(&host, &budget).await;
                assert_eq!(count, refs);
                let peak = budget.peak_bytes();
                assert!(peak < refs as u64 * 400 + (1 << 20), "{peak}");
                assert_eq!(budget.used_bytes(), 0);
                assert!(host.requests().len() <= 3 * 3, "no request for each ref");
                times.push(time);
            }
            // Quadratic would be 10,000 times; between the two is room for a slow machine.
            let floor = times[0].max(Duration::from_micros(500));
            assert!(times[1] < floor * 1_000, "version {version}: {times:?}");
        }
    });
}

#[test]
fn refs_that_do_not_fit_are_a_limit_error_and_all_memory_comes_back() {
    let sandbox = sandbox();
    run(async {
        for version in [0, 2] {
            let host = host(&sandbox, version, 100_000);
            let budget = Budget::new(2 << 20);
            let error = match open(&host, &budget).await {
                Ok(repo) => repo.refs(&[]).await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            assert_eq!(error.limit().map(|limit| limit.which), Some(Which::Memory), "{error}");
            assert_eq!(budget.used_bytes(), 0, "version {version}");
        }
    });
}
