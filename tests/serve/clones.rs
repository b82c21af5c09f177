//! Clones of every kind over HTTP, beside those of git's own server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::copy::Copy;
use super::history::{Storage, repository};
use super::server::{Server, clone};
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;

const KINDS: &[&[&str]] = &[
    &[],
    &["--mirror"],
    &["--single-branch", "--no-tags", "--branch=side"],
    &["--depth=1"],
    &["--depth=3", "--no-single-branch"],
    &["--shallow-since=1700000400"],
    &["--filter=blob:none"],
    &["--filter=tree:0"],
    &["--filter=blob:limit=2k"],
];

#[test]
fn every_kind_in_every_version_is_what_git_gives() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "group/source.git", Storage::Packed, "sha1");
    let theirs = HttpServer::start(sandbox.repos());
    let ours = Server::start(&sandbox, &[]);
    for version in [0, 1, 2] {
        // Version 1 is version 0 with one more line.
        let kinds = if version == 1 { &KINDS[..1] } else { KINDS };
        for (number, options) in kinds.iter().enumerate() {
            let [ours, theirs] =
                [("ours", ours.url("group/source")), ("theirs", theirs.url("group/source.git"))]
                    .map(|(who, url)| {
                        let to = sandbox.path().join(format!("{who}-{version}-{number}.git"));
                        Copy::of(&clone(&sandbox, version, options, &url, &to), &to)
                    });
            assert!(!ours.objects.is_empty());
            assert_eq!(ours, theirs, "version {version}, {options:?}");
        }
    }
}

/// What a client that is cut at the tip fetches, step by step, is what git's own server gives.
#[test]
fn history_is_deepened_and_made_whole_and_tags_follow() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let theirs = HttpServer::start(sandbox.repos());
    let ours = Server::start(&sandbox, &[]);
    for version in [0, 2] {
        let urls = [("ours", ours.url("source.git")), ("theirs", theirs.url("source.git"))];
        let clients = urls.map(|(who, url)| {
            let to = sandbox.path().join(format!("{who}-{version}.git"));
            (clone(&sandbox, version, &["--depth=1", "--no-tags"], &url, &to), to)
        });
        for step in [
            &["--deepen=2", "origin", "main"][..],
            &["--no-tags", "origin", "side:side"],
            &["--tags", "origin"],
            &["--unshallow", "origin", "+refs/*:refs/*"],
        ] {
            let version = format!("protocol.version={version}");
            let [ours, theirs] = [&clients[0], &clients[1]].map(|(git, to)| {
                git.run(["-c", &version, "fetch", "-q"].iter().chain(step));
                let shallow = std::fs::read_to_string(to.join("shallow")).unwrap_or_default();
                let mut shallow: Vec<String> = shallow.lines().map(str::to_owned).collect();
                shallow.sort_unstable();
                (git.run(["for-each-ref"]), shallow)
            });
            assert_eq!(ours, theirs, "{version}, {step:?}");
        }
        let [ours, theirs] = [&clients[0], &clients[1]].map(|(git, to)| Copy::of(git, to));
        assert_eq!(ours, theirs, "version {version}");
        assert_eq!(ours.refs, source.git().run(["for-each-ref"]));
    }
}

#[test]
fn clones_at_once_are_all_whole() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let server = Server::start(&sandbox, &["--max-requests", "3", "--max-wait", "60"]);
    let head = source.git().run(["rev-parse", "main"]);
    thread::scope(|scope| {
        for number in 0..64 {
            let (sandbox, server, head) = (&sandbox, &server, &head);
            scope.spawn(move || {
                let to = sandbox.path().join(format!("{number}.git"));
                let git = clone(sandbox, 2, &["--depth=1"], &server.url("source.git"), &to);
                assert_eq!(std::fs::read_to_string(to.join("shallow")).unwrap().trim(), head);
                // A client has looked whether it lacks anything; some look closer.
                if number % 16 == 0 {
                    git.run(["fsck", "--strict"]);
                }
            });
        }
    });
}

/// Whatever git does with the files meanwhile, nobody misses an object.
#[test]
fn clones_are_whole_while_the_repository_is_packed_and_pruned() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let tidying = scope.spawn(|| {
            let mut rounds = 0;
            while !is_over.load(Ordering::Relaxed) {
                source.commit("main", &[File::new("round", format!("{rounds}\n"))]);
                let gc = ["gc", "--quiet", "--prune=now"];
                for words in [&gc[..], &["repack", "-adq"], &["prune", "--expire=now"]] {
                    source.git().run(words);
                }
                rounds += 1;
            }
            rounds
        });
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (sandbox, server) = (&sandbox, &server);
                scope.spawn(move || {
                    for number in 0..3 {
                        let to = sandbox.path().join(format!("{client}-{number}.git"));
                        let options = [&["--mirror"][..], &["--depth=1"]][client % 2];
                        clone(sandbox, 2, options, &server.url("source"), &to);
                    }
                })
            })
            .collect();
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(ended.iter().all(Result::is_ok));
        assert!(tidying.join().unwrap() > 0);
    });
}
