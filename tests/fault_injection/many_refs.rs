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

/// Opens the repository, lists all refs and resolves one.
async fn list(host: &InProcess, budget: &Budget, refs: usize) {
    let repo = open(host, budget).await.unwrap();
    assert_eq!(repo.refs(&[]).await.unwrap().len(), refs);
    let snapshot = repo.snapshot("topic/0000500").await.unwrap();
    assert_eq!(snapshot.commit().to_string(), format!("{:040x}", 501));
}

/// The time of so many times.
async fn time(host: &InProcess, budget: &Budget, refs: usize, times: usize) -> Duration {
    host.forget_requests();
    let begun = Instant::now();
    for _ in 0..times {
        list(host, budget, refs).await;
    }
    begun.elapsed()
}

fn median(mut times: [Duration; 3]) -> f64 {
    times.sort();
    times[1].as_secs_f64()
}

#[test]
fn a_hundred_times_as_many_refs_take_a_hundred_times_as_long() {
    const MANY: usize = 100_000;
    const FEW: usize = 1_000;
    /// Of one time with many to a hundred with few, which a busy machine slows down alike.
    /// Quadratic would be 100; above 1 is room for caches that overflow.
    const MAX_RATIO: f64 = 1.5;
    /// What is quadratic is always slow, and a machine only sometimes.
    const TRIES: usize = 6;

    let sandbox = sandbox();
    run(async {
        for version in [0, 2] {
            let (few, many) = (host(&sandbox, version, FEW), host(&sandbox, version, MANY));
            let budget = Budget::new(64 << 20);
            let mut ratios: Vec<f64> = Vec::new();
            while ratios.iter().all(|ratio| *ratio > MAX_RATIO) {
                assert!(ratios.len() < TRIES, "version {version}: {ratios:?}");
                let (mut short, mut long) = ([Duration::ZERO; 3], [Duration::ZERO; 3]);
                for (short, long) in short.iter_mut().zip(&mut long) {
                    *short = time(&few, &budget, FEW, MANY / FEW).await;
                    *long = time(&many, &budget, MANY, 1).await;
                }
                ratios.push(median(long) / median(short));
            }
            // What it is, which in version 0 is all refs; all refs; and those one may be.
            let requests = if version == 0 { 2 } else { 3 };
            assert_eq!(many.requests().len(), requests, "none for each ref");
        }
    });
}

#[test]
fn each_ref_occupies_what_it_is_and_its_line_and_never_more_than_three_times_that() {
    let sandbox = sandbox();
    run(async {
        for version in [0, 2] {
            // Also just after the list has doubled, when the old one and the new one are held.
            for refs in [1_000, 1_025, 65_537, 100_000] {
                let host = host(&sandbox, version, refs);
                let budget = Budget::new(64 << 20);
                list(&host, &budget, refs).await;
                let allowed = refs as u64 * MAX_BYTES_PER_REF + FIXED_BYTES;
                let peak = budget.peak_bytes();
                assert!(peak <= allowed, "version {version}, {refs} refs: {peak} of {allowed}");
                assert_eq!(budget.used_bytes(), 0);
            }
        }
    });
}

/// An old list, and one of twice its length that is half full, of refs with three ids and
/// two names in them; and a line each.
const MAX_BYTES_PER_REF: u64 = 3 * size_of::<gitsip::store::Ref>() as u64 + 72;
/// Whatever else a client holds from the start.
const FIXED_BYTES: u64 = 1 << 10;

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
