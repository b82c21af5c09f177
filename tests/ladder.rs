//! Hosts that lack, refuse or ignore what a lazy read asks for: another way leads to git's
//! answer, it is told in words and before the bytes come, and nobody asks for ever.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

mod support;

#[path = "lazy_clone/client.rs"]
#[allow(dead_code)]
mod client;

use std::sync::{Arc, Mutex};

use client::{RemoteRepo, open_with, read, run};
use gitsip::agent::{PrefetchOptions, RemoteOptions};
use gitsip::client::ladder::Fallback;
use gitsip::client::progress::{Phase, ProgressListener};
use support::git::{File, Repo, Sandbox};
use support::http_server::{Behaviour, CannedResponse, HttpServer, Recorded};

const RESULT: &str = "application/x-git-upload-pack-result";

fn project(sandbox: &Sandbox) -> Repo {
    let repo = sandbox.bare("r.git");
    repo.commit("main", &[File::new("a", "old\n"), File::new("d/b", "b\n")]);
    repo.commit("main", &[File::new("a", "a\n"), File::new("d/b", "b\n")]);
    repo
}

/// Answers requests that `when` is for with `ERR` and `words`.
fn refusing(when: impl Fn(&str) -> bool + Send + Sync + 'static, words: &'static str) -> Behaviour {
    let line = format!("ERR {words}");
    let body = format!("{:04x}{line}", line.len() + 4);
    let hook = move |request: &Recorded| {
        when(&request.body_text()).then(|| CannedResponse::new(200, RESULT, body.clone()))
    };
    Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() }
}

/// What was told before larger transfers.
type Told = Arc<Mutex<Vec<Fallback>>>;

async fn open(server: &HttpServer) -> (RemoteRepo, Told) {
    let told = Told::default();
    let progress = ProgressListener::new({
        let told = Arc::clone(&told);
        move |progress| {
            if let Phase::Widening(fallback) = progress.phase {
                assert_eq!(progress.bytes, 0);
                told.lock().unwrap().push(fallback);
            }
        }
    });
    let options = RemoteOptions { progress, ..RemoteOptions::default() };
    (open_with(&server.url("r.git"), options).await.unwrap(), told)
}

/// Reads both files and prefetches twice, and gives the fetches that took, what was told,
/// and what is told of it afterwards.
async fn ask(server: &HttpServer) -> (usize, Vec<Fallback>, Vec<String>) {
    server.forget_requests();
    let (repo, told) = open(server).await;
    let snapshot = repo.snapshot("HEAD").await.unwrap();
    assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
    assert_eq!(read(&snapshot, "d/b").await.unwrap(), "b\n");
    for _ in 0..2 {
        let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (2, 0));
    }
    let told = told.lock().unwrap().clone();
    let fetches = server.requests().iter().filter(|r| r.body_text().contains("want ")).count();
    (fetches, told, repo.stats().fallbacks)
}

fn blob_ids(origin: &Repo) -> [String; 2] {
    ["main:a", "main:d/b"].map(|path| origin.git().run(["rev-parse", path]))
}

#[test]
fn case_34_a_host_that_refuses_the_filter_it_offers_is_asked_without_from_then_on() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let behaviour = |version_0_only| Behaviour {
        version_0_only,
        ..refusing(|body| body.contains("filter "), "filter 'blob:none' not supported")
    };
    for version_0_only in [false, true] {
        let server = HttpServer::start_with(sandbox.repos(), behaviour(version_0_only));
        let (fetches, told, after) = run(ask(&server));
        assert_eq!((fetches, told), (2, vec![Fallback::RefusesFilters]), "{after:?}");
        assert!(after.contains(&Fallback::RefusesFilters.to_string()), "{after:?}");
        assert_eq!(after.iter().filter(|line| line.contains("filter")).count(), 1, "{after:?}");
    }
}

#[test]
fn a_host_that_cannot_tell_sizes_sends_files_in_a_second_step() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let behaviour = refusing(|body| body.contains("blob:limit"), "filter 'blob:limit' not allowed");
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    run(async {
        let (repo, told) = open(&server).await;
        for asked in [3, 5] {
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            server.forget_requests();
            let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
            assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (2, 0));
            assert!(server.requests().len() <= asked);
        }
        assert_eq!(*told.lock().unwrap(), [], "no more came than was asked for");
        assert_eq!(repo.stats().fallbacks, [Fallback::RefusesSizes.to_string()]);
    });
}

#[test]
fn a_host_without_objects_by_id_sends_whole_snapshots_once() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let ids = blob_ids(&origin);
    for words in ["upload-pack: not our ref", "want 12 not valid"] {
        let ids = ids.clone();
        let refuses = move |body: &str| ids.iter().any(|id| body.contains(id));
        let server = HttpServer::start_with(sandbox.repos(), refusing(refuses, words));
        // The trees, a file that is refused, everything; nothing for the second file.
        let (fetches, told, after) = run(ask(&server));
        assert_eq!((fetches, told), (3, vec![Fallback::RefusesIds]), "{words}");
        assert_eq!(after, [Fallback::RefusesIds.to_string()]);

        // A later commit comes whole at once, and ids are not tried again.
        run(async {
            let (repo, _) = open(&server).await;
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
            let old = origin.git().run(["rev-parse", "main~1"]);
            server.forget_requests();
            let snapshot = repo.snapshot(&old).await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "old\n");
            assert_eq!(server.requests().len(), 1);
        });
    }
}

/// What is told of a host of this version that has `fallback`.
fn told_of(version: u8, fallback: Fallback) -> Vec<String> {
    let old = (version < 2).then_some(Fallback::OldVersion(version));
    old.into_iter().chain([fallback]).map(|fallback| fallback.to_string()).collect()
}

/// The ways to refuse what is asked for that say nothing of ids.
fn refusals(version: u8) -> [CannedResponse; 5] {
    // Whole, but for a pack.
    let no_pack = if version == 0 { "0008NAK\n" } else { "0000" };
    [
        CannedResponse::new(400, "text/plain", "TF401041: not as expected"),
        CannedResponse::new(403, "text/plain", "no"),
        CannedResponse::new(500, "text/html", "<h1>oops"),
        CannedResponse::new(200, RESULT, ""),
        CannedResponse::new(200, RESULT, no_pack),
    ]
}

/// A host of this version that answers so what `when` is for.
fn answering(
    version: u8,
    answer: &CannedResponse,
    when: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> Behaviour {
    let answer = answer.clone();
    Behaviour::default()
        .speaking(version)
        .answering_first(move |request| when(&request.body_text()).then(|| answer.clone()))
}

#[test]
fn hosts_that_refuse_ids_by_a_status_or_with_nothing_send_whole_snapshots_once() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    for version in [0, 2] {
        for answer in &refusals(version) {
            let ids = blob_ids(&origin);
            let refuses = move |body: &str| ids.iter().any(|id| body.contains(id));
            let server =
                HttpServer::start_with(sandbox.repos(), answering(version, answer, refuses));
            let (fetches, told, after) = run(ask(&server));
            let what = format!("version {version}, {}", answer.status);
            assert_eq!((fetches, told), (3, vec![Fallback::RefusesIds]), "{what}");
            assert_eq!(after, told_of(version, Fallback::RefusesIds), "{what}");
        }
    }
}

#[test]
fn a_host_that_answers_everything_so_is_an_error_after_one_more_question() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    for version in [0, 2] {
        for (answer, words) in refusals(version).iter().zip([
            "answered 400 ('TF401041: not as expected')",
            "answered 403 ('no')",
            "answered 500",
            "the answer is empty",
        ]) {
            let server =
                HttpServer::start_with(sandbox.repos(), Behaviour::default().speaking(version));
            run(async {
                let (repo, _) = open(&server).await;
                let snapshot = repo.snapshot("HEAD").await.unwrap();
                snapshot.ls("").await.unwrap();
                server.forget_requests();
                server.set_behaviour(answering(version, answer, |body| body.contains("want ")));
                let error = read(&snapshot, "a").await.unwrap_err();
                assert!(error.to_string().contains(words), "version {version}: {error}");
                assert_eq!(server.requests().len(), 2, "version {version}: {error}");
                let learnt = repo.stats().fallbacks;
                assert!(!learnt.contains(&Fallback::RefusesIds.to_string()), "{learnt:?}");
                // It was no more than trouble: ids are asked for again, and come.
                server.set_behaviour(Behaviour::default().speaking(version));
                server.forget_requests();
                assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
                assert_eq!(server.requests().len(), 1, "version {version}");
            });
        }
    }
}

#[test]
fn wants_that_are_silently_dropped_are_noticed_and_come_another_way() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let [a, _] = blob_ids(&origin);
    for version in [0, 2] {
        let behaviour = Behaviour::default().speaking(version).dropping([a.clone()]);
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        let (fetches, told, after) = run(ask(&server));
        assert_eq!((fetches, told), (3, vec![Fallback::LeavesOutIds]), "version {version}");
        assert_eq!(after, told_of(version, Fallback::LeavesOutIds), "version {version}");
    }
}

#[test]
fn one_want_dropped_among_others_is_noticed_too() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    for version in [0, 2] {
        for id in blob_ids(&origin) {
            let behaviour = Behaviour::default().speaking(version).dropping([id]);
            let server = HttpServer::start_with(sandbox.repos(), behaviour);
            run(async {
                let (repo, told) = open(&server).await;
                let snapshot = repo.snapshot("HEAD").await.unwrap();
                let read = snapshot.read_many(&["a", "d/b"], Default::default()).await.unwrap();
                assert!(read.iter().all(Result::is_ok), "version {version}: {read:?}");
                assert_eq!(*told.lock().unwrap(), [Fallback::LeavesOutIds]);
                assert_eq!(repo.stats().fallbacks, told_of(version, Fallback::LeavesOutIds));
            });
        }
    }
}

#[test]
fn a_host_that_has_lost_a_commit_is_believed_after_one_more_question() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, _) = open(&server).await;
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        snapshot.ls("").await.unwrap();
        server.forget_requests();
        server.set_behaviour(refusing(|body| body.contains("want "), "upload-pack: not our ref"));
        let error = read(&snapshot, "a").await.unwrap_err();
        assert_eq!(error.code(), "snapshot_gone");
        assert_eq!(server.requests().len(), 2);
        assert_eq!(repo.stats().fallbacks, [""; 0], "nothing was learnt from a loss");
    });
}

#[test]
fn case_23_filters_that_are_ignored_cost_nothing_more_and_are_told() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    // git answers as if it had not been asked to leave anything out.
    let commit = origin.git().run(["rev-parse", "main"]);
    let plain = HttpServer::start(sandbox.repos());
    origin.git().run(["config", "uploadpack.allowFilter", "false"]);
    run(async {
        let (repo, _) = open(&plain).await;
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        read(&snapshot, "a").await.unwrap();
    });
    origin.git().run(["config", "uploadpack.allowFilter", "true"]);
    let whole = plain.requests().pop().unwrap().response_body;
    let hook = move |request: &Recorded| {
        let is_commit = request.body_text().contains(&commit);
        is_commit.then(|| CannedResponse::new(200, RESULT, whole.clone()))
    };
    let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let (fetches, _, after) = run(ask(&server));
    assert_eq!(fetches, 1);
    assert_eq!(after, [Fallback::IgnoresFilters.to_string()]);
}

#[test]
fn a_host_that_lists_all_refs_whatever_is_asked_gives_those_asked_for() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let id = origin.git().run(["rev-parse", "main"]);
    let lines = ["HEAD", "refs/heads/main", "refs/tags/x"].map(|name| format!("{id} {name}\n"));
    let mut body: String =
        lines.iter().map(|line| format!("{:04x}{line}", line.len() + 4)).collect();
    body.push_str("0000");
    let hook = move |request: &Recorded| {
        let lists = request.body_text().contains("command=ls-refs");
        lists.then(|| CannedResponse::new(200, RESULT, body.clone()))
    };
    let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    run(async {
        let (repo, _) = open(&server).await;
        let refs = repo.refs(&["refs/heads/".into()]).await.unwrap();
        assert_eq!(
            refs.iter().map(|r| r.name.to_string()).collect::<Vec<_>>(),
            ["refs/heads/main"]
        );
        assert_eq!(repo.stats().fallbacks, [Fallback::IgnoresPrefixes.to_string()]);
    });
}

#[test]
fn a_host_that_refuses_to_cut_history_sends_all_of_it_after_a_warning() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let behaviour = refusing(|body| body.contains("deepen "), "shallow clones are not supported");
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let (fetches, told, after) = run(ask(&server));
    assert_eq!((fetches, told), (4, vec![Fallback::RefusesDepth]), "{after:?}");
    assert_eq!(after, [Fallback::RefusesDepth.to_string()]);
}

#[test]
fn case_23_without_filters_the_warning_comes_before_the_bytes() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    origin.git().run(["config", "uploadpack.allowFilter", "false"]);
    let server = HttpServer::start(sandbox.repos());
    let (fetches, told, after) = run(ask(&server));
    assert_eq!((fetches, told), (1, vec![Fallback::CannotFilter]));
    assert_eq!(after, [Fallback::CannotFilter.to_string()]);

    let phases = Arc::<Mutex<Vec<Phase>>>::default();
    let progress = ProgressListener::new({
        let phases = Arc::clone(&phases);
        move |progress| phases.lock().unwrap().push(progress.phase)
    });
    run(async {
        let options = RemoteOptions { progress, ..RemoteOptions::default() };
        let repo = open_with(&server.url("r.git"), options).await.unwrap();
        read(&repo.snapshot("HEAD").await.unwrap(), "a").await.unwrap();
    });
    let phases = phases.lock().unwrap();
    let at = |phase| phases.iter().position(|other| *other == phase).unwrap();
    assert!(at(Phase::Widening(Fallback::CannotFilter)) < at(Phase::Waiting), "{phases:?}");
}
