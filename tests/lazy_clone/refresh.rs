//! A second snapshot after the branch has moved: what is held is not sent again.

use std::collections::BTreeSet;

use gitsip::agent::{CloneOptions, PrefetchOptions};
use gitsip::protocol::Filter;

use super::client::*;
use super::support::git::{File, Repo, Sandbox};
use super::support::http_server::HttpServer;

/// 30 folders with 4 files each; those in `changed` are of another `round`.
fn files(round: u64, changed: &[u64]) -> Vec<File> {
    let file = |number: u64| {
        let seed = if changed.contains(&number) { 1000 * round + number } else { number };
        let text = [&noise(seed, 2000)[..], b"\nneedle\n"].concat();
        File::new(format!("d{:02}/sub/f{number:03}.txt", number % 30), text)
    };
    (0..120).map(file).collect()
}

/// What a refresh from `old` to `new` sent, which must be little.
#[track_caller]
fn assert_only_changes(
    server: &HttpServer,
    sandbox: &Sandbox,
    origin: &Repo,
    old: &str,
    new: &str,
) {
    let sent = objects_sent(server, sandbox, origin);
    assert_each_once(&sent);
    let changed: BTreeSet<_> =
        objects_of(origin, new).difference(&objects_of(origin, old)).cloned().collect();
    let sent: BTreeSet<_> = sent.into_iter().collect();
    assert_eq!(sent, changed);
    assert!(server.requests().len() <= 3, "{} requests", server.requests().len());
    let (ours, least) = (server.response_bytes(), packed_bytes(origin, changed));
    assert!(ours * 10 <= least * 12, "{ours} bytes for {least}");
}

#[test]
fn a_prefetch_after_the_branch_moved_brings_what_changed_in_three_requests() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let old = origin.commit("main", &files(0, &[]));
    origin.repack();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        // Several commits on, of which only the last is asked for.
        origin.commit("main", &files(7, &[5, 50]));
        let new = origin.commit("main", &files(1, &[3, 33, 64]));
        origin.repack();
        server.forget_requests();
        let next = repo.snapshot("main").await.unwrap();
        assert_eq!(next.commit().to_string(), new);
        let prefetched = next.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (120, 0));
        assert_only_changes(&server, &sandbox, &origin, &old, &new);
        // The first snapshot is still what it was.
        assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 120);
        assert_eq!(server.requests().len(), 3);
    });
}

#[test]
fn a_grep_after_the_branch_moved_brings_what_changed_in_three_requests() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let old = origin.commit("main", &files(0, &[]));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 120);
        let new = origin.commit("main", &files(1, &[3, 33, 64]));
        server.forget_requests();
        let next = repo.snapshot("main").await.unwrap();
        assert_eq!(grep(&next, "needle").await.unwrap().len(), 120);
        assert_only_changes(&server, &sandbox, &origin, &old, &new);
    });
}

#[test]
fn a_branch_that_went_back_is_read_as_cheaply_as_one_that_went_on() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let older = origin.commit("main", &files(1, &[3, 33, 64]));
    let old = origin.commit("main", &files(0, &[]));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        origin.git().run(["update-ref", "refs/heads/main", &older]);
        server.forget_requests();
        let next = repo.snapshot("main").await.unwrap();
        assert_eq!(next.commit().to_string(), older);
        next.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_only_changes(&server, &sandbox, &origin, &old, &older);
    });
}

#[test]
fn a_branch_that_was_rewritten_joins_what_is_held_as_long_as_the_host_knows_it() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let base = origin.commit("main", &files(9, &[100]));
    let old = origin.commit("main", &files(0, &[]));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        origin.git().run(["update-ref", "refs/heads/main", &base]);
        let new = origin.commit("main", &files(1, &[3, 33, 64]));
        server.forget_requests();
        let next = repo.snapshot("main").await.unwrap();
        next.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_only_changes(&server, &sandbox, &origin, &old, &new);

        // The host has forgotten what it sent: the trees come again, the blobs do not.
        origin.git().run(["update-ref", "refs/heads/main", &base]);
        let newest = origin.commit("main", &files(2, &[4, 34]));
        origin.git().run(["reflog", "expire", "--expire=now", "--all"]);
        origin.git().run(["gc", "-q", "--prune=now"]);
        assert!(!origin.git().output(["cat-file", "-e", &old]).status.success());
        server.forget_requests();
        let last = repo.snapshot("main").await.unwrap();
        assert_eq!(grep(&last, "needle").await.unwrap().len(), 120);
        assert_eq!(last.commit().to_string(), newest);
        assert!(server.requests().len() <= 3);
        let blobs = objects_sent(&server, &sandbox, &origin)
            .into_iter()
            .filter(|id| origin.git().run(["cat-file", "-t", id]) == "blob")
            .count();
        assert_eq!(blobs, 2);
    });
}

#[test]
fn a_snapshot_that_was_only_partly_held_is_refreshed_and_read_like_any_other() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &files(0, &[]));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        let held = read(&snapshot, "d03/sub/f033.txt").await.unwrap();
        let new = origin.commit("main", &files(1, &[3]));
        let next = repo.snapshot("main").await.unwrap();
        // Changed, held and never fetched.
        assert_ne!(read(&next, "d03/sub/f003.txt").await.unwrap(), held);
        assert_eq!(read(&next, "d03/sub/f033.txt").await.unwrap(), held);
        read(&next, "d04/sub/f004.txt").await.unwrap();
        assert_eq!(grep(&next, "needle").await.unwrap().len(), 120);
        let sent = objects_sent(&server, &sandbox, &origin);
        assert_each_once(&sent);
        let sent: BTreeSet<_> = sent.into_iter().collect();
        assert!(objects_of(&origin, &new).is_subset(&sent));
    });
}

#[test]
fn who_goes_back_and_forth_between_branches_pays_for_each_object_once() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &files(0, &[]));
    origin.commit("other", &files(1, &(60..120).collect::<Vec<_>>()));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        for round in 2..5 {
            for branch in ["main", "other"] {
                let snapshot = repo.snapshot(branch).await.unwrap();
                assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 120);
            }
            origin.commit("main", &files(round, &[1, 2]));
            origin.commit("other", &files(round + 10, &(60..120).collect::<Vec<_>>()));
        }
        assert_each_once(&objects_sent(&server, &sandbox, &origin));
    });
}

#[test]
fn large_files_that_did_not_change_are_left_out_again() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let large = File::new("large", "x".repeat(2 << 20));
    origin.commit("main", &[large.clone(), File::new("a", "1\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        origin.commit("main", &[large, File::new("a", "2\n")]);
        server.forget_requests();
        let next = repo.snapshot("main").await.unwrap();
        let prefetched = next.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (1, 1));
        // A commit, a tree, a blob.
        assert_eq!(objects_sent(&server, &sandbox, &origin).len(), 3);
        assert_eq!(read(&next, "a").await.unwrap(), "2\n");
    });
}

#[test]
fn a_snapshot_joins_what_a_clone_brought() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let old = origin.commit("main", &files(0, &[]));
    let server = HttpServer::start(sandbox.repos());
    run(async {
        for filter in [None, Some(Filter::BlobNone), Some(Filter::TreeDepth(0))] {
            let keeps_trees = !matches!(filter, Some(Filter::TreeDepth(_)));
            origin.git().run(["update-ref", "refs/heads/main", &old]);
            let (repo, snapshot) = head_of(&server, "r.git").await;
            let options = CloneOptions { filter, ..CloneOptions::default() };
            repo.source().clone_history(&[snapshot.commit()], &options).await.unwrap();
            origin.commit("main", &files(1, &[3]));
            server.forget_requests();
            let next = repo.snapshot("main").await.unwrap();
            read(&next, "d03/sub/f003.txt").await.unwrap();
            let sent = objects_sent(&server, &sandbox, &origin).len();
            // A commit, three trees, a blob; or all trees when none was held.
            assert_eq!(sent, if keeps_trees { 5 } else { 63 });
            assert_eq!(grep(&next, "needle").await.unwrap().len(), 120);
            assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 120);
        }
    });
}
