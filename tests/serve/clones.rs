//! Clones of every kind over HTTP, beside those of git's own server.

use std::thread;

use super::copy::Copy;
use super::history::{Storage, repository};
use super::server::{Server, clone};
use super::support::git::Sandbox;
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

#[test]
fn clones_at_once_are_all_whole() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let server = Server::start(&sandbox, &["--max-requests", "3"]);
    let refs = source.git().run(["for-each-ref"]);
    thread::scope(|scope| {
        for number in 0..12 {
            let (sandbox, server, refs) = (&sandbox, &server, &refs);
            scope.spawn(move || {
                let to = sandbox.path().join(format!("{number}.git"));
                let git = clone(sandbox, 2, &["--mirror"], &server.url("source.git"), &to);
                assert_eq!(&Copy::of(&git, &to).refs, refs);
            });
        }
    });
}
