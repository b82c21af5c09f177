//! Refs that move, and commits that are no longer there, between one question and the
//! next.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gitsip::ErrorKind;
use gitsip::agent::PrefetchOptions;

use super::client::*;
use super::support::git::{File, Repo, Sandbox};
use super::support::http_server::{Behaviour, CannedResponse, HttpServer};

/// Puts another history in the place of `main`, and forgets the old one.
fn replace_history(origin: &Repo, text: &str) -> String {
    origin.git().run(["update-ref", "-d", "refs/heads/main"]);
    let id = origin.commit("main", &[File::new("a", text), File::new("b", "b\n")]);
    forget_unreachable(origin);
    id
}

fn forget_unreachable(origin: &Repo) {
    origin.git().run(["reflog", "expire", "--expire=now", "--all"]);
    origin.git().run(["gc", "-q", "--prune=now"]);
}

fn origin_with(sandbox: &Sandbox, any_sha1: Option<&str>) -> Repo {
    let origin = sandbox.bare("r.git");
    match any_sha1 {
        Some(value) => origin.git().run(["config", "uploadpack.allowAnySHA1InWant", value]),
        None => origin.git().run(["config", "--unset", "uploadpack.allowAnySHA1InWant"]),
    };
    origin.commit("main", &[File::new("a", "old\n"), File::new("b", "b\n")]);
    origin
}

#[test]
fn a_ref_that_moved_before_anything_was_fetched_is_listed_again_once() {
    for any_sha1 in [Some("true"), Some("false"), None] {
        let sandbox = Sandbox::new();
        let origin = origin_with(&sandbox, any_sha1);
        let server = HttpServer::start(sandbox.repos());
        run(async {
            let (_, snapshot) = head_of(&server, "r.git").await;
            let new = replace_history(&origin, "new\n");
            server.forget_requests();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "new\n");
            assert_eq!(snapshot.commit().to_string(), new);
            // The refusal, the list, the commit, the blob.
            assert_eq!(server.requests().len(), 4);

            let (_, snapshot) = head_of(&server, "r.git").await;
            let new = replace_history(&origin, "newer\n");
            server.forget_requests();
            let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
            assert_eq!(prefetched.commit.to_string(), new);
            assert_eq!(server.requests().len(), 3);
            assert_eq!(read(&snapshot, "a").await.unwrap(), "newer\n");
        });
    }
}

#[test]
fn a_ref_that_moved_while_its_commit_is_still_there_is_not_looked_at_again() {
    let sandbox = Sandbox::new();
    let origin = origin_with(&sandbox, None);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        origin.commit("main", &[File::new("a", "new\n")]);
        assert_eq!(read(&snapshot, "a").await.unwrap(), "old\n");
        assert_eq!(server.requests().len(), 4);
    });
}

#[test]
fn a_snapshot_whose_commit_is_gone_says_so_and_keeps_what_is_held() {
    let sandbox = Sandbox::new();
    let origin = origin_with(&sandbox, Some("true"));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        let old = snapshot.commit();
        assert_eq!(read(&snapshot, "b").await.unwrap(), "b\n");
        replace_history(&origin, "new\n");
        for error in [
            read(&snapshot, "a").await.unwrap_err(),
            grep(&snapshot, "x").await.unwrap_err(),
            snapshot.prefetch(&PrefetchOptions::default()).await.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "snapshot_gone"));
            let line = error.to_string();
            assert!(
                line.contains(&old.to_string()) && line.contains("take a new snapshot"),
                "{line}"
            );
            assert!(!line.contains('\n'), "{line}");
        }
        // It stays pinned: answers about two commits are never mixed.
        assert_eq!(snapshot.commit(), old);
        assert_eq!(read(&snapshot, "b").await.unwrap(), "b\n");
        let next = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(read(&next, "a").await.unwrap(), "new\n");
    });
}

#[test]
fn an_id_that_the_host_does_not_have_is_asked_for_once() {
    let sandbox = Sandbox::new();
    origin_with(&sandbox, Some("true"));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        let id = "0123456789".repeat(4);
        let snapshot = repo.snapshot(&id).await.unwrap();
        server.forget_requests();
        let error = read(&snapshot, "a").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "snapshot_gone"));
        assert!(error.to_string().contains(&id), "{error}");
        assert!(error.to_string().contains("name a branch, tag or other id"), "{error}");
        assert_eq!(server.requests().len(), 1);
    });
}

#[test]
fn a_ref_that_was_deleted_is_an_error_that_names_it() {
    let sandbox = Sandbox::new();
    let origin = origin_with(&sandbox, Some("true"));
    origin.git().run(["branch", "other", "main"]);
    origin.commit("other", &[File::new("c", "c\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let snapshot = open_here(&server, "r.git").await.snapshot("other").await.unwrap();
        origin.git().run(["update-ref", "-d", "refs/heads/other"]);
        forget_unreachable(&origin);
        let error = read(&snapshot, "c").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("'other'"), "{error}");
    });
}

#[test]
fn a_host_that_never_has_what_it_lists_is_given_up_on() {
    let sandbox = Sandbox::new();
    let origin = origin_with(&sandbox, Some("true"));
    let other = origin.commit("other", &[File::new("c", "c\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        let text = b"0029ERR upload-pack: not our ref 12345678".to_vec();
        let count = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&count);
        let hook = move |request: &_| {
            is_fetch(request).then(|| {
                seen.fetch_add(1, Ordering::SeqCst);
                CannedResponse::new(200, "application/x-git-upload-pack-result", text.clone())
            })
        };
        server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() });
        // The ref moves meanwhile, so that listing again makes sense, once.
        origin.git().run(["update-ref", "refs/heads/main", &other]);
        server.forget_requests();
        let error = read(&snapshot, "a").await.unwrap_err();
        assert_eq!(error.code(), "snapshot_gone");
        assert_eq!(count.load(Ordering::SeqCst), 2);
        assert_eq!(server.requests().len(), 3);
        let error = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap_err();
        assert_eq!(error.code(), "snapshot_gone");
    });
}

#[test]
fn calls_that_meet_the_same_move_agree_on_the_new_commit() {
    let sandbox = Sandbox::new();
    let origin = origin_with(&sandbox, Some("true"));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        let new = replace_history(&origin, "new\n");
        let tasks: Vec<_> = (0..6)
            .map(|number| {
                let snapshot = snapshot.clone();
                tokio::spawn(async move {
                    match number % 2 {
                        0 => read(&snapshot, "a").await,
                        _ => grep(&snapshot, "new").await.map(|hits| hits.join("\n")),
                    }
                })
            })
            .collect();
        for task in tasks {
            let answer = task.await.unwrap().unwrap();
            assert!(["new\n", "a:1:new"].contains(&answer.as_str()), "{answer}");
        }
        assert_eq!(snapshot.commit().to_string(), new);
    });
}
