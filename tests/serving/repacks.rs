//! A server that goes on while its repository is repacked.

use std::fs::read_to_string;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use gitsip::disk::Repository;
use gitsip::limits::NeverInterrupt;
use gitsip::pktline;
use gitsip::server::stdio::serve;
use gitsip::server::{ServeOptions, Served, Talk};
use gitsip::store::Objects as _;
use gitsip::{Budget, Limits};

use super::history::{Storage, repository};
use super::support::git::{Git, Repo, Sandbox};

/// A request for everything that refs name.
fn request(source: &Repo) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut line = |text: &str| pktline::encode(&mut bytes, text.as_bytes()).unwrap();
    line("command=fetch\n");
    bytes.extend_from_slice(b"0001");
    let mut line = |text: &str| pktline::encode(&mut bytes, text.as_bytes()).unwrap();
    line("ofs-delta\n");
    for id in source.git().run(["for-each-ref", "--format=%(objectname)"]).lines() {
        line(&format!("want {id}\n"));
    }
    line("done\n");
    bytes.extend_from_slice(b"0000");
    bytes
}

/// The ids in the pack that answers `request`.
fn ids(served: &Served<Repository>, request: &[u8], sandbox: &Sandbox, to: &str) -> String {
    let talk = Talk { version: 2, stateless: true, advertise_only: false };
    let mut answer = Vec::new();
    serve(served, talk, &mut Cursor::new(request), &mut answer, &NeverInterrupt).unwrap();
    let mut pack = Vec::new();
    let mut rest = &answer[..];
    while let Some((len, after)) = rest.split_at_checked(4) {
        let len = usize::from_str_radix(std::str::from_utf8(len).unwrap(), 16).unwrap();
        let (data, after) = after.split_at(len.saturating_sub(4));
        if data.first() == Some(&1) {
            pack.extend_from_slice(&data[1..]);
        }
        rest = after;
    }
    let copy = sandbox.strict_bare(to, &[]);
    copy.git().bytes_with_input(["index-pack", "--stdin", "--strict"], &pack);
    all_ids(&copy.git())
}

fn all_ids(git: &Git) -> String {
    git.run(["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"])
}

/// Whether this process still has a deleted file below `folder` mapped.
fn holds_deleted(folder: &Path) -> bool {
    let maps = read_to_string("/proc/self/maps").unwrap_or_default();
    let folder = folder.display().to_string();
    maps.lines().any(|line| line.contains(&folder) && line.ends_with("(deleted)"))
}

#[test]
fn a_repack_is_noticed_and_what_was_deleted_is_let_go() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let (limits, budget) = (Limits::default(), Budget::new(64 << 20));
    let repository = Repository::open(source.path(), &limits, &budget).unwrap();
    let served = Served::new(repository.clone(), ServeOptions::default(), &limits, &budget);
    let request = request(&source);
    assert_eq!(ids(&served, &request, &sandbox, "before.git"), all_ids(&source.git()));

    source.repack();
    assert_eq!(ids(&served, &request, &sandbox, "after.git"), all_ids(&source.git()));
    let packs = repository.packs();
    assert_eq!(packs.len(), 1);
    assert!(Arc::ptr_eq(&packs[0], &repository.packs()[0]));
    assert!(!holds_deleted(source.path()));
}
