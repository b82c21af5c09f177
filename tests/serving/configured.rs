//! What a repository's own configuration says of its clients, as git's own server takes it.

use std::path::Path;

use super::history::{Storage, repository};
use super::support::git::{File, Git, Repo, Sandbox};
use super::{Copy, Server, clone, succeeded};

/// A repository whose configuration is what a test says.
struct Configured {
    repo: Repo,
    /// What is in it anyway.
    base: String,
}

impl Configured {
    fn new(sandbox: &Sandbox) -> Self {
        let repo = repository(sandbox, "source.git", Storage::Packed, "sha1");
        repo.git().run(["config", "--remove-section", "uploadpack"]);
        let base = std::fs::read_to_string(repo.path().join("config")).unwrap();
        Self { repo, base }
    }

    fn set(&self, settings: &[(&str, &str)]) {
        let mut text = self.base.clone();
        for (key, value) in settings {
            let (section, name) = key.split_once('.').unwrap();
            text.push_str(&format!("[{section}]\n\t{name} = {value}\n"));
        }
        std::fs::write(self.repo.path().join("config"), text).unwrap();
    }
}

fn listed(sandbox: &Sandbox, server: Server, version: u8, repo: &Path) -> String {
    let version = format!("protocol.version={version}");
    let upload_pack = format!("--upload-pack={}", server.command());
    let args = ["-c", &version, "ls-remote", "--symref", &upload_pack];
    sandbox.git().run(args.map(Into::into).iter().chain([&repo.as_os_str().to_owned()]))
}

#[test]
fn hidden_refs_are_the_ones_that_git_hides() {
    let sandbox = Sandbox::new();
    let configured = Configured::new(&sandbox);
    for (settings, hidden, shown) in [
        (
            &[("transfer.hideRefs", "refs/tags"), ("uploadpack.hideRefs", "!refs/tags/v1")][..],
            "refs/tags/v2",
            "refs/tags/v1",
        ),
        (
            &[("uploadpack.hideRefs", "^refs/heads/"), ("transfer.hideRefs", "!^refs/heads/side/")],
            "refs/heads/main",
            "refs/heads/side",
        ),
        (
            &[("uploadpack.hideRefs", "!refs/tags/v1"), ("transfer.hideRefs", "refs/tags")],
            "refs/tags/v1",
            "refs/heads/main",
        ),
        (
            &[("transfer.hideRefs", "HEAD"), ("receive.hideRefs", "refs/heads")],
            "HEAD",
            "refs/heads/main",
        ),
        (
            &[("transfer.hideRefs", "refs/heads/main"), ("transfer.hideRefs", "refs/tags/v")],
            "refs/heads/main",
            "refs/tags/v1",
        ),
    ] {
        configured.set(settings);
        for version in [0, 2] {
            let [ours, theirs] = [Server::Ours, Server::Git]
                .map(|server| listed(&sandbox, server, version, configured.repo.path()));
            assert_eq!(ours, theirs, "version {version}, {settings:?}");
            let has = |name: &str| ours.lines().any(|line| line.ends_with(&format!("\t{name}")));
            assert!(!has(hidden) && has(shown), "{ours}");
        }
    }
}

/// In version 0, where git looks whether a want is allowed. That what refs reach is allowed
/// without a word is this server's own.
#[test]
fn wants_are_the_ones_that_git_allows() {
    const TIP: &str = "uploadpack.allowTipSHA1InWant";
    const REACHABLE: &str = "uploadpack.allowReachableSHA1InWant";
    const HIDDEN: (&str, &str) = ("uploadpack.hideRefs", "refs/heads/secret");
    let sandbox = Sandbox::new();
    let configured = Configured::new(&sandbox);
    let repo = &configured.repo;
    repo.commit("secret", &[File::new("secret", "before\n")]);
    repo.commit("secret", &[File::new("secret", "hidden\n")]);
    for settings in [
        &[(REACHABLE, "false")][..],
        &[(REACHABLE, "no"), (TIP, "yes")],
        &[(REACHABLE, "0"), (TIP, "0")],
        &[(REACHABLE, "1")],
        &[(REACHABLE, "1"), (TIP, "0"), ("uploadpack.allowAnySHA1InWant", "1")],
    ] {
        configured.set(&[settings, &[HIDDEN]].concat());
        let mut answers = Vec::new();
        for want in ["main", "main~2", "secret", "secret~1"] {
            let id = repo.git().run(["rev-parse", want]);
            let [ours, theirs] = [Server::Ours, Server::Git].map(|server| {
                let client = sandbox.path().join(format!("{server:?}-{want}"));
                _ = std::fs::remove_dir_all(&client);
                sandbox.git().run(["init", "-q", "--bare", client.to_str().unwrap()]);
                let git = Git::new(&client, sandbox.path().join("home"));
                let upload_pack = format!("--upload-pack={}", server.command());
                let repo = repo.path().to_str().unwrap();
                let args = ["-c", "protocol.version=0", "fetch", "-q", &upload_pack, repo, &id];
                git.output(args).status.success()
            });
            assert_eq!(ours, theirs, "{want}, {settings:?}");
            answers.push(ours);
        }
        assert!(answers[0]);
        assert_eq!(answers[2..] == [true, true], settings.contains(&(REACHABLE, "1")));
    }
}

#[test]
fn filters_that_a_repository_forbids_are_not_offered() {
    let sandbox = Sandbox::new();
    let configured = Configured::new(&sandbox);
    configured.set(&[("uploadpack.allowFilter", "false")]);
    let repo = &configured.repo;
    for version in [0, 2] {
        let [ours, theirs] = [Server::Ours, Server::Git].map(|server| {
            let to = sandbox.path().join(format!("{server:?}-{version}.git"));
            let options = ["--filter=blob:none", "--depth=1"];
            succeeded(&clone(&sandbox, server, version, &options, repo.path(), &to));
            Copy::of(&Git::new(&to, sandbox.path().join("home")), &to)
        });
        assert_eq!(ours, theirs, "version {version}");
    }
}

/// What cannot be understood may have been meant to hide something.
#[test]
fn a_configuration_that_makes_no_sense_serves_nobody() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("source.git", &[]);
    repo.git().run(["config", "uploadpack.allowFilter", "perhaps"]);
    for server in [Server::Ours, Server::Git] {
        let to = sandbox.path().join("copy.git");
        assert!(!clone(&sandbox, server, 2, &[], repo.path(), &to).status.success());
    }
}
