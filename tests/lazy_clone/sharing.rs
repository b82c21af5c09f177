//! Many calls at once on one repository, and calls that nobody waits for any more.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use gitsip::agent::{PrefetchOptions, Remote, RemoteOptions, Repo, Snapshot, Source as _};
use gitsip::client::progress::{Phase, Progress, ProgressListener};
use gitsip::transport::HttpTransport;
use gitsip::view::glob::PathFilter;
use gitsip::view::grep::GrepOptions;
use gitsip::view::walk::WalkOptions;
use gitsip::{Budget, ErrorKind, Limits};

use super::client::*;
use super::support::git::{File, Sandbox};
use super::support::http_server::{Behaviour, HttpServer};

const PATIENCE: Duration = Duration::from_secs(30);

fn project(sandbox: &Sandbox) {
    let origin = sandbox.bare("r.git");
    let file = |number: usize| {
        File::new(format!("d{}/f{number:02}", number % 5), format!("needle {number}\n"))
    };
    origin.commit("main", &(0..60).map(file).collect::<Vec<_>>());
    origin.repack();
}

fn is_shared<T: Clone + Send + Sync + 'static>() {}
fn moves<T: Send>(_: T) {}

/// Compiles when every future can move between threads.
macro_rules! futures_of_move {
    ($source:ty) => {{
        let check = |repo: &Repo<$source>, snapshot: &Snapshot<$source>| {
            let mut hits = Hits::default();
            moves(repo.refs(&[]));
            moves(repo.snapshot("x"));
            moves(snapshot.prefetch(&PrefetchOptions::default()));
            moves(snapshot.read_path("x", Default::default()));
            moves(snapshot.read_many(&["x"], Default::default()));
            moves(snapshot.read_lines("x", "1:2".parse().unwrap()));
            moves(snapshot.ls("x"));
            moves(snapshot.stat("x"));
            moves(snapshot.glob("x"));
            moves(snapshot.walk(WalkOptions::default(), |_| true));
            let matcher = gitsip::view::grep::Matcher::new(&[], &Default::default()).unwrap();
            moves(snapshot.grep(matcher, GrepOptions::default(), &mut hits));
        };
        let _ = check;
    }};
}

#[test]
fn repositories_are_shared_between_threads_and_their_futures_move() {
    is_shared::<RemoteRepo>();
    is_shared::<RemoteSnapshot>();
    is_shared::<Remote<HttpTransport>>();
    futures_of_move!(Remote<HttpTransport>);
    moves(open("x"));
    #[cfg(feature = "disk")]
    {
        is_shared::<Repo<gitsip::disk::Local>>();
        is_shared::<Snapshot<gitsip::disk::Local>>();
        futures_of_move!(gitsip::disk::Local);
    }
}

#[test]
fn sixteen_tasks_at_once_fetch_each_object_once_and_get_the_right_answers() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let slow = |request: &_| is_fetch(request);
    let behaviour = || Behaviour {
        faults_when: Some(Box::new(slow)),
        delay: Duration::from_millis(15),
        ..Behaviour::default()
    };
    let server = HttpServer::start_with(sandbox.repos(), behaviour());
    run(async {
        for round in 0..3 {
            server.forget_requests();
            let (_, snapshot) = head_of(&server, "r.git").await;
            let tasks: Vec<_> = (0..16)
                .map(|task| {
                    let snapshot = snapshot.clone();
                    tokio::spawn(async move { ask(&snapshot, task, round).await })
                })
                .collect();
            for task in tasks {
                tokio::time::timeout(PATIENCE, task).await.expect("nobody hangs").unwrap();
            }
            assert_each_once(&server.objects_sent());
        }
    });
}

/// Some questions that overlap with those of other tasks, in an order of the task's own.
async fn ask(snapshot: &RemoteSnapshot, task: usize, round: usize) {
    let path = |number: usize| format!("d{}/f{:02}", number % 5, number);
    for step in 0..4 {
        match (task + step + round) % 4 {
            0 => {
                let number = (task * 7 + step) % 60;
                let text = read(snapshot, &path(number)).await.unwrap();
                assert_eq!(text, format!("needle {number}\n"));
            }
            1 => {
                let numbers: Vec<_> = (0..10).map(|n| (n * (task + 1)) % 60).collect();
                let paths: Vec<_> = numbers.iter().map(|&n| path(n)).collect();
                let answers = snapshot.read_many(&paths, Default::default()).await.unwrap();
                assert!(answers.iter().all(Result::is_ok));
            }
            // The first round never searches everything, so that batches meet.
            2 if round > 0 => assert_eq!(grep(snapshot, "needle").await.unwrap().len(), 60),
            _ => {
                let folder = format!("d{}", task % 5);
                let none: &[&str] = &[];
                let filter = PathFilter::new(none, &[&folder], &Limits::default()).unwrap();
                let options = GrepOptions { filter, ..GrepOptions::default() };
                let hits = grep_with(snapshot, "needle", options).await.unwrap();
                assert_eq!(hits.len(), 12);
            }
        }
    }
}

/// The answer, unless it takes more than `polls`; then the future is dropped.
async fn within_polls<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut left = polls;
    let mut future = pin!(future);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

#[test]
fn a_call_dropped_at_any_point_leaves_a_repository_that_answers() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let behaviour = Behaviour {
        faults_when: Some(Box::new(is_fetch)),
        max_chunk_bytes: Some(900),
        chunk_delay: Duration::from_millis(1),
        ..Behaviour::default()
    };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    run(async {
        let mut finished = [false; 3];
        for (kind, finished) in finished.iter_mut().enumerate() {
            let mut polls = 0;
            while !*finished && polls < 200 {
                let budget = Budget::new(Limits::default().max_memory);
                let options =
                    RemoteOptions { budget: Some(budget.clone()), ..RemoteOptions::default() };
                let repo = open_with(&server.url("r.git"), options).await.unwrap();
                let snapshot = repo.snapshot("HEAD").await.unwrap();
                *finished = match kind {
                    0 => within_polls(polls, grep(&snapshot, "needle")).await.is_some(),
                    1 => within_polls(polls, read(&snapshot, "d3/f03")).await.is_some(),
                    _ => {
                        let options = PrefetchOptions::default();
                        within_polls(polls, snapshot.prefetch(&options)).await.is_some()
                    }
                };
                let answer = tokio::time::timeout(PATIENCE, read(&snapshot, "d2/f07"));
                assert_eq!(answer.await.expect("nobody hangs").unwrap(), "needle 7\n");
                if polls % 3 == 0 {
                    assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 60);
                }
                drop((repo, snapshot));
                wait_until(|| budget.used_bytes() == 0).await;
                polls += 1 + polls / 4;
            }
        }
        assert_eq!(finished, [true; 3], "the last of each was not dropped");
    });
}

async fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "it never came to that");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The first fetch goes wrong as `faults` say, the others go well.
fn first_fetch(faults: Behaviour) -> Behaviour {
    let first = AtomicBool::new(true);
    let when = move |request: &_| is_fetch(request) && first.swap(false, Ordering::SeqCst);
    Behaviour { faults_when: Some(Box::new(when)), ..faults }
}

#[test]
fn who_waits_for_a_call_that_is_dropped_goes_on_by_himself() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        server
            .set_behaviour(first_fetch(Behaviour { stall_after: Some(60), ..Default::default() }));
        let stalled = tokio::spawn({
            let snapshot = snapshot.clone();
            async move { grep(&snapshot, "needle").await }
        });
        wait_until(|| !fetches(&server).is_empty()).await;
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let snapshot = snapshot.clone();
                tokio::spawn(async move { read(&snapshot, "d2/f07").await })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(fetches(&server).len(), 1, "all wait for the first");
        assert!(waiting.iter().all(|task| !task.is_finished()));
        stalled.abort();
        for task in waiting {
            let answer = tokio::time::timeout(PATIENCE, task).await.expect("nobody hangs");
            assert_eq!(answer.unwrap().unwrap(), "needle 7\n");
        }
        assert_eq!(fetches(&server).len(), 3);
    });
}

#[test]
fn who_waits_for_a_call_that_fails_goes_on_by_himself() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        let faults = Behaviour {
            cut_after: Some(60),
            delay: Duration::from_millis(80),
            ..Default::default()
        };
        server.set_behaviour(first_fetch(faults));
        let failing = tokio::spawn({
            let snapshot = snapshot.clone();
            async move { read(&snapshot, "d2/f07").await }
        });
        wait_until(|| !fetches(&server).is_empty()).await;
        let waiting = read(&snapshot, "d2/f07");
        let answer = tokio::time::timeout(PATIENCE, waiting).await.expect("nobody hangs");
        assert_eq!(answer.unwrap(), "needle 7\n");
        assert_eq!(failing.await.unwrap().unwrap_err().kind(), ErrorKind::Transport);
    });
}

#[test]
fn progress_tells_the_phases_in_order_and_the_stats_what_the_server_counted() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let told = Arc::new(Mutex::new(Vec::<Progress>::new()));
    let listener = Arc::clone(&told);
    let options = RemoteOptions {
        progress: ProgressListener::new(move |progress| listener.lock().unwrap().push(*progress)),
        ..RemoteOptions::default()
    };
    run(async {
        let repo = open_with(&server.url("r.git"), options).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        {
            let mut told = told.lock().unwrap();
            let mut phases: Vec<_> = told.iter().map(|progress| progress.phase).collect();
            phases.dedup();
            let all = [
                Phase::Connecting,
                Phase::Over,
                Phase::Listing,
                Phase::Over,
                Phase::Waiting,
                Phase::Receiving,
                Phase::Resolving,
                Phase::Over,
            ];
            assert_eq!(phases, all);
            assert!(told.iter().filter(|p| p.phase == Phase::Waiting).any(|p| p.bytes == 0));
            let [.., last, over] = &told[..] else { panic!("{told:?}") };
            assert_eq!((last.objects, last.total_objects), (67, Some(67)));
            for end in [last, over] {
                assert_eq!(end.bytes, fetches(&server)[0].response_bytes);
            }
            told.clear();
        }
        assert_eq!(snapshot.repo().stats().objects, 67);

        // A failure is counted as far as it came.
        server.set_behaviour(Behaviour { cut_after: Some(30), ..Behaviour::default() });
        repo.refs(&[]).await.unwrap_err();
        server.set_behaviour(Behaviour::default());
        repo.refs(&[]).await.unwrap();
        let stats = repo.stats();
        assert_eq!(stats.requests, server.requests().len() as u64);
        assert_eq!(stats.bytes_received, server.response_bytes());
        assert_eq!(stats.memory.used_bytes, repo.source().budget().used_bytes());
    });
}
