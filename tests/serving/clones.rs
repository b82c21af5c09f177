//! Clones of every kind, in every version, from objects stored in every way.

use super::history::{Storage, repository};
use super::support::git::{Git, Sandbox};
use super::{Copy, Server, clone, succeeded};

const KINDS: &[&[&str]] = &[
    &[],
    &["--mirror"],
    &["--single-branch"],
    &["--single-branch", "--no-tags", "--branch=side"],
    &["--depth=1"],
    &["--depth=3"],
    &["--depth=50"],
    &["--depth=2", "--no-single-branch"],
    &["--shallow-since=1700000400"],
    &["--shallow-exclude=old"],
    &["--filter=blob:none"],
    &["--filter=blob:limit=2k"],
    &["--filter=tree:0"],
    &["--filter=tree:1"],
    &["--filter=tree:2"],
    &["--filter=object:type=commit"],
    &["--filter=object:type=tree"],
    &["--filter=combine:tree:3+blob:limit=2000"],
    &["--depth=1", "--filter=blob:none"],
    &["--depth=1", "--filter=tree:0"],
];

#[track_caller]
fn compare(storage: Storage, format: &str, versions: &[u8]) {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", storage, format);
    for version in versions {
        for (number, options) in KINDS.iter().enumerate() {
            let [ours, theirs] = [Server::Ours, Server::Git].map(|server| {
                let to = sandbox.path().join(format!("{server:?}-{version}-{number}.git"));
                succeeded(&clone(&sandbox, server, *version, options, source.path(), &to));
                Copy::of(&Git::new(&to, sandbox.path().join("home")), &to)
            });
            assert!(!ours.objects.is_empty());
            assert_eq!(ours, theirs, "version {version}, {options:?}");
        }
    }
}

#[test]
fn from_one_pack() {
    compare(Storage::Packed, "sha1", &[0, 2]);
}

#[test]
fn from_loose_objects() {
    compare(Storage::Loose, "sha1", &[2]);
}

#[test]
fn from_packs_that_share_objects_and_loose_ones() {
    compare(Storage::Mixed, "sha1", &[1, 2]);
}

#[test]
fn of_a_sha_256_repository() {
    compare(Storage::Packed, "sha256", &[0, 2]);
}

/// Everything is asked for, so what is sent is what is stored: nothing is inflated or
/// compressed, and the pack is as large as git's.
#[test]
fn a_clone_of_everything_copies_the_pack() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let [ours, theirs] = [Server::Ours, Server::Git].map(|server| {
        let to = sandbox.path().join(format!("{server:?}.git"));
        succeeded(&clone(&sandbox, server, 2, &["--mirror"], source.path(), &to));
        let packs = std::fs::read_dir(to.join("objects/pack")).unwrap();
        let packs = packs.map(|entry| entry.unwrap().path());
        let mut packs = packs.filter(|path| path.extension().is_some_and(|end| end == "pack"));
        std::fs::metadata(packs.next().unwrap()).unwrap().len()
    });
    assert!(ours * 100 <= theirs * 105, "{ours} bytes, git's has {theirs}");
}

#[test]
fn an_empty_repository_is_a_clone_with_a_warning() {
    let sandbox = Sandbox::new();
    let source = sandbox.strict_bare("source.git", &["-b", "weird"]);
    for version in [0, 1, 2] {
        let to = sandbox.path().join(format!("{version}.git"));
        succeeded(&clone(&sandbox, Server::Ours, version, &[], source.path(), &to));
        if version == 2 {
            let head = Git::new(&to, sandbox.path().join("home")).run(["symbolic-ref", "HEAD"]);
            assert_eq!(head, "refs/heads/weird");
        }
    }
}

/// A clone of a clone that is cut: the boundary is passed on. (Without filters: git 2.47 as a
/// client asks its own server without end for what is behind the boundary.)
#[test]
fn a_shallow_repository_is_served_as_far_as_it_goes() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let cut = sandbox.path().join("cut.git");
    let options = ["--depth=3", "--no-single-branch"];
    succeeded(&clone(&sandbox, Server::Git, 2, &options, source.path(), &cut));
    for version in [0, 2] {
        for options in [&[][..], &["--depth=1"], &["--depth=2"]] {
            let [ours, theirs] = [Server::Ours, Server::Git].map(|server| {
                let to = sandbox.path().join(format!("{server:?}-{version}-{}", options.concat()));
                succeeded(&clone(&sandbox, server, version, options, &cut, &to));
                Copy::of(&Git::new(&to, sandbox.path().join("home")), &to)
            });
            assert_eq!(ours, theirs, "version {version}, {options:?}");
        }
    }
}
