//! What a client with something of its own gets: news, more of history, files of a partial
//! clone.

use std::path::PathBuf;

use super::history::{Storage, repository};
use super::support::git::{File, Git, Repo, Sandbox};
use super::{Copy, Server, clone, succeeded};

/// A clone that goes on asking the same server.
struct Client {
    git: Git,
    folder: PathBuf,
    version: u8,
}

impl Client {
    fn new(sandbox: &Sandbox, server: Server, version: u8, options: &[&str], of: &Repo) -> Self {
        let folder = sandbox.path().join(format!("{server:?}-{version}.git"));
        _ = std::fs::remove_dir_all(&folder);
        succeeded(&clone(sandbox, server, version, options, of.path(), &folder));
        let git = Git::new(&folder, sandbox.path().join("home"));
        git.run(["config", "remote.origin.uploadpack", &server.command()]);
        Self { git, folder, version }
    }

    #[track_caller]
    fn fetch(&self, args: &[&str]) {
        let version = format!("protocol.version={}", self.version);
        let words = ["-c", &version, "fetch", "--quiet", "origin"];
        let output = self.git.output(words.iter().chain(args));
        succeeded(&output);
    }

    #[track_caller]
    fn copy(&self) -> Copy {
        Copy::of(&self.git, &self.folder)
    }
}

/// The same steps against both servers come to the same repository.
#[track_caller]
fn compare(storage: Storage, options: &[&str], steps: &[&[&str]]) {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", storage, "sha1");
    for version in [0, 2] {
        let clients = [Server::Ours, Server::Git]
            .map(|server| Client::new(&sandbox, server, version, options, &source));
        for step in steps {
            for client in &clients {
                client.fetch(step);
            }
            let [ours, theirs] = [&clients[0], &clients[1]].map(Client::copy);
            assert_eq!(ours, theirs, "version {version}, {step:?}");
        }
    }
}

const ALL: &str = "+refs/*:refs/*";

#[test]
fn history_is_deepened_and_made_whole() {
    compare(
        Storage::Packed,
        &["--depth=1"],
        &[
            &["--depth=2", "main"],
            &["--deepen=1", "main"],
            &["--depth=1", "main"],
            &["--shallow-since=1700000300", "main"],
            &["--unshallow", ALL],
        ],
    );
}

#[test]
fn branches_join_one_by_one() {
    for storage in [Storage::Packed, Storage::Mixed] {
        compare(
            storage,
            &["--single-branch", "--branch=old"],
            &[&["side:side"], &["main:main"], &["--tags", ALL]],
        );
    }
}

#[test]
fn tags_of_what_is_fetched_come_along() {
    compare(Storage::Packed, &["--single-branch", "--branch=old", "--no-tags"], &[&["main:main"]]);
}

#[test]
fn news_are_sent_without_what_is_known() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    for version in [0, 1, 2] {
        let client = Client::new(&sandbox, Server::Ours, version, &["--mirror"], &source);
        let before = client.copy().objects.len();
        for round in 0..3 {
            let text = format!("version {version}, round {round}\n");
            source.commit("main", &[File::new("new", text)]);
            client.fetch(&[ALL]);
            let after = client.copy();
            assert_eq!(after.refs, source.git().run(["for-each-ref"]));
            // A commit, a tree, a file.
            assert_eq!(after.objects.len(), before + 3 * (round + 1));
        }
        client.fetch(&[ALL]);
    }
}

/// What a partial clone lacks it asks for by id, also after the commit it is in is no tip.
#[test]
fn a_partial_clone_gets_its_files_later() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    // Without trees git asks for each by a process of its own: one commit is enough.
    for (options, which) in [("--filter=blob:none", "--all"), ("--filter=tree:0", "--max-count=1")]
    {
        let client = Client::new(&sandbox, Server::Ours, 2, &[options], &source);
        for path in ["main:src/file1", "main~9:file0", "old:docs/file3", "folder^{tree}:file1"] {
            let ours = client.git.bytes(["cat-file", "blob", path]);
            assert_eq!(ours, source.git().bytes(["cat-file", "blob", path]), "{path}");
        }
        client.git.run(["rev-list", "--objects", "main", which]);
        client.git.run(["fsck", "--strict"]);
    }
}
