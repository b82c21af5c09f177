//! How many requests and bytes questions cost, and that no object is paid for twice.

use std::sync::Mutex;

use gitsip::agent::{CloneOptions, PrefetchOptions, RemoteOptions, Source};
use gitsip::client::progress::{Phase, ProgressListener};
use gitsip::protocol::Filter;
use gitsip::store::Objects;
use gitsip::view::glob::PathFilter;
use gitsip::view::grep::GrepOptions;
use gitsip::{Budget, Limits};

use super::client::*;
use super::support::git::{File, Repo, Sandbox};
use super::support::http_server::HttpServer;

/// Some folders of text, with history.
fn project(sandbox: &Sandbox, name: &str) -> Repo {
    let repo = sandbox.bare(name);
    for round in 0..4_u64 {
        let mut files = vec![File::new("a/b.txt", format!("round {round}\n"))];
        for number in 0..40 {
            let text = format!("file {number} needle\n{}\n", "line\n".repeat(number as usize));
            files.push(File::new(format!("src/m{}/f{number}.txt", number % 7), text));
        }
        files.push(File::new("noise.txt", noise(round, 3000)));
        repo.commit("main", &files);
    }
    repo.repack();
    repo
}

#[test]
fn opening_is_one_request_and_no_object() {
    let sandbox = Sandbox::new();
    project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open_here(&server, "r.git").await;
        assert_eq!(server.requests().len(), 1);
        assert_eq!((repo.stats().requests, repo.stats().objects), (1, 0));
        repo.snapshot("HEAD").await.unwrap();
        assert_eq!(server.requests().len(), 2);
        assert_eq!(server.objects_sent(), [""; 0]);
    });
}

#[test]
fn one_file_costs_four_requests_no_history_and_hardly_more_than_gits_partial_clone() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        assert_eq!(read(&snapshot, "a/b.txt").await.unwrap(), "round 3\n");
        assert_eq!(server.requests().len(), 4);
    });
    let sent = server.objects_sent();
    let all = objects_of(&origin, &origin.git().run(["rev-parse", "main"]));
    assert!(sent.iter().all(|id| all.contains(id)), "history was sent");
    // One commit, ten trees, one blob.
    assert_eq!(sent.len(), 12);
    let ours = server.response_bytes();

    server.forget_requests();
    let url = server.url("r.git");
    let git = sandbox.git();
    git.run(["clone", "-q", "--filter=blob:none", "--depth", "1", "--bare", &url, "partial.git"]);
    git.run(["-C", "partial.git", "cat-file", "-p", "HEAD:a/b.txt"]);
    let gits = server.response_bytes();
    assert!(ours * 10 <= gits * 12, "{ours} bytes, git {gits}");
}

#[test]
fn a_cold_snapshot_is_prefetched_in_one_fetch_and_then_costs_nothing() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (42, 0));
        assert_eq!(fetches(&server).len(), 1);
        assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 40);
        assert_eq!(walk(&snapshot).await.unwrap().len(), 42);
        read(&snapshot, "noise.txt").await.unwrap();
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_eq!(server.requests().len(), 3);
        let all = objects_of(&origin, &snapshot.commit().to_string());
        assert_eq!(repo.stats().objects, all.len() as u64);
    });
}

/// One small file and two that are larger than 1 MiB by a byte and by much.
fn with_large_files(sandbox: &Sandbox) -> Repo {
    let repo = sandbox.bare("large.git");
    repo.commit(
        "main",
        &[
            File::new("exact", "x".repeat(1 << 20)),
            File::new("huge", format!("{}\nneedle\n", "y".repeat(2 << 20))),
            File::new("over", "z".repeat((1 << 20) + 1)),
            File::new("small", "needle\n"),
        ],
    );
    repo
}

#[test]
fn files_over_a_mebibyte_wait_for_who_reads_them_and_no_prefetch_brings_them() {
    let sandbox = Sandbox::new();
    with_large_files(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "large.git").await;
        for _ in 0..2 {
            let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
            assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (2, 2));
            assert_eq!(fetches(&server).len(), 1, "an exact mebibyte is not over it");
        }
        assert_eq!(read(&snapshot, "over").await.unwrap().len(), (1 << 20) + 1);
        assert_eq!(fetches(&server).len(), 2);
        let hits = grep(&snapshot, "needle").await.unwrap();
        assert_eq!(hits, ["huge:2:needle", "small:1:needle"]);
        assert_eq!(fetches(&server).len(), 3);
        assert_each_once(&server.objects_sent());
    });
}

#[test]
fn a_cold_grep_is_one_fetch_where_large_files_are_a_small_part_of_the_memory() {
    let sandbox = Sandbox::new();
    with_large_files(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        // The largest has 2 MiB, of which 256 MiB have 128.
        for (max_memory, expected) in
            [(512 << 20, 1), (280 << 20, 1), (255 << 20, 2), (64 << 20, 2)]
        {
            server.forget_requests();
            let options = limits(|limits| limits.max_memory = max_memory);
            let repo = open_with(&server.url("large.git"), options).await.unwrap();
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            let hits = grep(&snapshot, "needle").await.unwrap();
            assert_eq!(hits, ["huge:2:needle", "small:1:needle"]);
            assert_eq!(fetches(&server).len(), expected, "{max_memory}");
            assert_each_once(&server.objects_sent());
            let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
            assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (4, 0));
        }
    });
}

#[test]
fn large_files_that_do_not_fit_at_once_do_not_keep_a_search_from_the_small_ones() {
    let sandbox = Sandbox::new();
    let mut files = vec![File::new("a", "needle\n")];
    files.extend((0..4).map(|number| File::new(format!("b{number}"), noise(number, 3 << 19))));
    sandbox.bare("large.git").commit("main", &files);
    let server = HttpServer::start(sandbox.repos());
    // Somebody else has nearly all of the memory while the first objects arrive.
    let budget = Budget::new(512 << 20);
    let (shared, taken) = (budget.clone(), Mutex::new((0, None)));
    let progress = ProgressListener::new(move |progress| {
        let (times, held) = &mut *taken.lock().unwrap();
        match progress.phase {
            Phase::Receiving if *times == 0 => {
                *held = Some(shared.reserve((508 << 20) - shared.used_bytes()).unwrap());
                *times += 1;
            }
            Phase::Over => drop(held.take()),
            _ => {}
        }
    });
    run(async {
        let options = RemoteOptions { budget: Some(budget), progress, ..RemoteOptions::default() };
        let repo = open_with(&server.url("large.git"), options).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(grep(&snapshot, "needle").await.unwrap(), ["a:1:needle"]);
        let fetches = fetches(&server);
        let wants =
            |bytes: &str| fetches.iter().filter(|it| it.body_text().contains(bytes)).count();
        // All at once, then folders and a batch of files.
        assert_eq!((wants("blob:limit=4"), wants("blob:none"), fetches.len()), (1, 2, 3));
    });
}

#[test]
fn the_size_and_the_paths_of_a_prefetch_are_the_callers() {
    let sandbox = Sandbox::new();
    with_large_files(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    let sized = |max_blob_bytes| PrefetchOptions { max_blob_bytes, ..PrefetchOptions::default() };
    run(async {
        let (_, snapshot) = head_of(&server, "large.git").await;
        let prefetched = snapshot.prefetch(&sized(Some(100))).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (1, 3));
        let prefetched = snapshot.prefetch(&sized(Some(7))).await.unwrap();
        assert_eq!(prefetched.blobs_left_out, 3);
        let prefetched = snapshot.prefetch(&sized(None)).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (4, 0));
        assert_eq!(fetches(&server).len(), 2);

        let (_, snapshot) = head_of(&server, "large.git").await;
        server.forget_requests();
        let all = snapshot.prefetch(&sized(None)).await.unwrap();
        assert_eq!((all.blobs_held, fetches(&server).len()), (4, 1));

        let (_, snapshot) = head_of(&server, "large.git").await;
        server.forget_requests();
        let filter = PathFilter::new(&["s*"], &[] as &[&str], &Limits::default()).unwrap();
        let options = PrefetchOptions { filter, ..PrefetchOptions::default() };
        let some = snapshot.prefetch(&options).await.unwrap();
        assert_eq!((some.blobs_held, some.blobs_left_out), (1, 0));
        // One commit with its tree, one blob.
        assert_eq!(server.objects_sent().len(), 3);
    });
}

#[test]
fn no_object_is_sent_twice_in_whatever_order_questions_come() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    let filter = PathFilter::new(&["*f1*.txt"], &["src"], &Limits::default()).unwrap();
    run(async {
        for order in ["lcwgpG", "Gpgwcl", "cGl", "gGc", "fGp", "pf", "wfcG", "1Gp"] {
            server.forget_requests();
            let (_, snapshot) = head_of(&server, "r.git").await;
            for question in order.chars() {
                match question {
                    'l' => drop(snapshot.ls("src").await.unwrap()),
                    'c' => drop(read(&snapshot, "src/m1/f1.txt").await.unwrap()),
                    'w' => drop(walk(&snapshot).await.unwrap()),
                    'g' => assert_eq!(snapshot.glob("src/*/f1?.txt").await.unwrap().len(), 10),
                    'p' => drop(snapshot.prefetch(&PrefetchOptions::default()).await.unwrap()),
                    'f' => {
                        let search = GrepOptions { filter: filter.clone(), ..Default::default() };
                        let hits = grep_with(&snapshot, "needle", search).await.unwrap();
                        assert_eq!(hits.len(), 11);
                    }
                    '1' => drop(
                        snapshot.read_many(&["noise.txt", "a/b.txt"], Default::default()).await,
                    ),
                    _ => assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 40),
                }
            }
            let sent = server.objects_sent();
            assert_each_once(&sent);
            let all = objects_of(&origin, &snapshot.commit().to_string());
            assert!(sent.iter().all(|id| all.contains(id)), "{order}");
            assert!(fetches(&server).len() <= 3, "{order}: {} fetches", fetches(&server).len());
        }
    });
}

#[test]
fn any_number_of_paths_is_one_request_for_their_blobs() {
    let sandbox = Sandbox::new();
    project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        let paths: Vec<_> = (0..40).map(|n| format!("src/m{}/f{n}.txt", n % 7)).collect();
        let answers = snapshot.read_many(&paths, Default::default()).await.unwrap();
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(server.requests().len(), 4);
    });
}

#[test]
fn each_tree_is_read_once_by_each_cursor() {
    let sandbox = Sandbox::new();
    project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        let reads = || {
            let stats = repo.source().store().stats();
            stats.raw_hits + stats.inflates
        };
        let before = reads();
        walk(&snapshot).await.unwrap();
        assert_eq!(reads() - before, 10, "the root, a, src and seven folders below it");
        let before = reads();
        grep(&snapshot, "needle").await.unwrap();
        assert_eq!(reads() - before, 10, "the text of the files is at hand since it arrived");
    });
}

#[test]
fn a_host_without_filters_is_asked_as_few_times_as_it_can_be() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    origin.git().run(["config", "uploadpack.allowFilter", "false"]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (repo, snapshot) = head_of(&server, "r.git").await;
        assert!(!repo.source().capabilities().fetch.unwrap().filter);
        assert_eq!(read(&snapshot, "a/b.txt").await.unwrap(), "round 3\n");
        assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 40);
        let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
        assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (42, 0));
        assert_eq!(server.requests().len(), 3);
        assert!(server.requests().iter().all(|r| !r.body_text().contains("filter")));
        assert_each_once(&server.objects_sent());

        // After the branch moved, what is held is left out, as with a filter.
        origin.commit(
            "main",
            &[File::new("a/b.txt", "new\n"), File::new("noise.txt", noise(3, 3000))],
        );
        server.forget_requests();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(read(&snapshot, "a/b.txt").await.unwrap(), "new\n");
        assert_eq!(server.requests().len(), 2);
        // A commit, two trees, a blob.
        assert_eq!(objects_sent(&server, &sandbox, &origin).len(), 4);
    });
}

#[test]
fn a_clone_brings_history_to_a_depth_with_a_filter_or_all_of_it() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let count = |args: &[&str]| {
            let args = [&["rev-list", "--objects"], args, &["main"]].concat();
            origin.git().run(args).lines().count() as u64
        };
        for (depth, filter, expected) in [
            (None, None, count(&[])),
            (None, Some(Filter::BlobNone), count(&["--filter=blob:none"])),
            (None, Some(Filter::BlobLimit(1000)), count(&["--filter=blob:limit=1000"])),
            (None, Some(Filter::TreeDepth(0)), 4),
            (std::num::NonZeroU32::new(2), Some(Filter::TreeDepth(1)), 4),
        ] {
            let (repo, snapshot) = head_of(&server, "r.git").await;
            let options = CloneOptions { depth, filter };
            let remote = repo.source();
            let cloned = remote.clone_history(&[snapshot.commit()], &options).await.unwrap();
            assert_eq!(cloned.new_objects, expected, "{options:?}");
            assert_eq!(cloned.shallow.len(), usize::from(depth.is_some()));
            assert!(!cloned.filter_ignored);
            let oldest = gitsip::ObjectId::from_hex(
                origin.git().run(["rev-list", "--max-parents=0", "main"]).as_bytes(),
            );
            let has_root = remote.store().contains(&oldest.unwrap()).unwrap();
            assert_eq!(has_root, depth.is_none());
            // What was left out comes when it is asked for.
            assert_eq!(grep(&snapshot, "needle").await.unwrap().len(), 40);
        }
    });
}
