//! Clones and fetches from a repository with bitmaps: git with the same ones sends the same.

use super::history::{Storage, repository};
use super::support::git::{File, Git, Sandbox};
use super::{Copy, Server, clone, succeeded};

#[test]
fn clones_and_fetches_are_the_same_as_from_git() {
    for (format, option) in [("sha1", "--filter=blob:none"), ("sha256", "--mirror")] {
        let sandbox = Sandbox::new();
        let source = repository(&sandbox, "source.git", Storage::Loose, format);
        source.git().run(["repack", "-adbq"]);
        let clients = [Server::Ours, Server::Git].map(|server| {
            let to = sandbox.path().join(format!("{server:?}.git"));
            succeeded(&clone(&sandbox, server, 2, &[option], source.path(), &to));
            let git = Git::new(&to, sandbox.path().join("home"));
            git.run(["config", "remote.origin.uploadpack", &server.command()]);
            (git, to)
        });
        let compare = || {
            let [ours, theirs] = clients.each_ref().map(|(git, to)| Copy::of(git, to));
            assert_eq!(ours, theirs, "{option}");
        };
        compare();
        source.commit("side", &[File::new("new", "new\n"), File::new("same", "never changes\n")]);
        source.git().run(["branch", "third", "main~2"]);
        for (git, _) in &clients {
            succeeded(&git.output(["fetch", "--quiet", "origin", "+refs/heads/*:refs/heads/*"]));
        }
        compare();
    }
}
