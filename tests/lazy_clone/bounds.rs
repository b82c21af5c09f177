//! Repositories that are too large for the limits they are read under: numbers in the error,
//! and smaller questions go on being answered.

use gitsip::ErrorKind;
use gitsip::agent::Source as _;
use gitsip::limits::Which;

use super::client::*;
use super::pack_builder::blob_id;
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;

#[test]
fn what_is_over_a_limit_is_said_with_numbers_and_smaller_questions_still_work() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let files = [
        File::new("large", noise(1, 300_000)),
        File::new("long", "x".repeat(200_000)),
        File::new("small", "small\n"),
    ];
    origin.commit("main", &files);
    let server = HttpServer::start(sandbox.repos());
    let url = server.url("r.git");
    run(async {
        for (options, path, which) in [
            (limits(|limits| limits.max_pack_bytes = 100_000), "large", Which::PackBytes),
            (limits(|limits| limits.max_object_bytes = 100_000), "long", Which::ObjectBytes),
            (limits(|limits| limits.max_memory = 200_000), "large", Which::Memory),
        ] {
            let repo = open_with(&url, options).await.unwrap();
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(read(&snapshot, "small").await.unwrap(), "small\n");
            let (objects, used) = (repo.stats().objects, repo.source().budget().used_bytes());
            let error = read(&snapshot, path).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            let limit = error.limit().unwrap();
            assert_eq!(limit.which, which);
            assert!(limit.seen > limit.allowed);
            assert!(error.to_string().contains(&limit.allowed.to_string()), "{error}");
            // What can be fetched again may have made room.
            let is_evicting = which == Which::Memory;
            assert!(repo.stats().objects == objects || is_evicting);
            assert!(repo.source().budget().used_bytes() <= used);
            grep(&snapshot, "small").await.unwrap_err();
            assert_eq!(walk(&snapshot).await.unwrap().len(), 3);
            assert_eq!(read(&snapshot, "small").await.unwrap(), "small\n");
        }
    });
}

#[test]
fn too_many_refs_are_a_limit_and_a_ref_by_its_name_is_still_found() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[File::new("a", "a\n")]);
    let id = origin.git().run(["rev-parse", "main"]);
    let refs: String = (0..300).map(|n| format!("create refs/tags/t{n} {id}\n")).collect();
    origin.git().bytes_with_input(["update-ref", "--stdin"], refs.as_bytes());
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let count = limits(|limits| limits.max_refs = 100);
        let bytes = limits(|limits| limits.max_ref_bytes = 3_000);
        for (options, which) in [(count, Which::Refs), (bytes, Which::RefBytes)] {
            let repo = open_with(&server.url("r.git"), options).await.unwrap();
            let used = repo.source().budget().used_bytes();
            let error = repo.refs(&[]).await.unwrap_err();
            assert_eq!(error.limit().unwrap().which, which);
            assert_eq!(repo.source().budget().used_bytes(), used);
            let snapshot = repo.snapshot("t299").await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        }
    });
}

/// Ten levels of ten folders that are all the same: a handful of objects, 10^10 paths.
fn bomb(sandbox: &Sandbox) {
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[File::new("a", "a\n")]);
    let mut entry = format!("100644 blob {}", blob_id(b"a\n"));
    for _ in 0..10 {
        let listing: String = (0..10).map(|name| format!("{entry}\tf{name}\n")).collect();
        let tree = origin.git().bytes_with_input(["mktree"], listing.as_bytes());
        entry = format!("040000 tree {}", String::from_utf8(tree).unwrap().trim());
    }
    let tree = entry.split(' ').next_back().unwrap();
    let commit = origin.git().run(["commit-tree", "-m", "bomb", tree]);
    origin.git().run(["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn a_handful_of_objects_with_endless_paths_ends_by_a_limit_and_what_came_before_is_true() {
    let sandbox = Sandbox::new();
    bomb(&sandbox);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let options = limits(|limits| {
            limits.max_memory = 4 << 20;
            limits.max_walk_entries = 60_000;
        });
        let repo = open_with(&server.url("r.git"), options).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(snapshot.ls("f3/f4").await.unwrap().entries.len(), 10);
        let error = snapshot.glob("**").await.unwrap_err();
        assert_eq!(error.limit().unwrap().which, Which::Memory, "{error}");
        let mut paths = 0;
        let walked = snapshot.walk(Default::default(), |entry| {
            paths += 1;
            assert!(entry.path.starts_with(b"f0/f0/"));
            true
        });
        assert_eq!(walked.await.unwrap_err().limit().unwrap().which, Which::WalkEntries);
        assert!(paths > 50_000);
        let error = grep(&snapshot, "nothing").await.unwrap_err();
        assert_eq!(error.limit().unwrap().which, Which::WalkEntries);
        let error = snapshot.prefetch(&Default::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let path = "f9/".repeat(9) + "f9";
        assert_eq!(read(&snapshot, &path).await.unwrap(), "a\n");
        assert!(repo.source().budget().used_bytes() < 1 << 20);
    });
}
