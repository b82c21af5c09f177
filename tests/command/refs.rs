//! `gitsip refs` beside `git ls-remote`.

use crate::support::git::{File, Repo};
use crate::support::world::{World, one_line, text};

/// Refs of every kind.
pub(crate) fn many_refs(world: &World) -> Repo {
    let repo = world.sandbox.bare("refs.git");
    repo.commit("main", &[File::new("f", "1\n")]);
    let git = repo.git();
    for branch in ["feature/main", "v2", "b/v2.1", "caf\u{e9}"] {
        git.run(["branch", branch]);
    }
    for tag in ["v1.9", "v1.10", "v2.0", "v2.0-rc1", "v02", "x/v2.1", "x}", "v001"] {
        git.run(["tag", tag]);
    }
    git.run(["tag", "-a", "-m", "one", "v1.2"]);
    git.run(["tag", "-a", "-m", "two", "v10", "v1.2"]);
    git.run(["update-ref", "refs/changes/01/1", "main"]);
    git.run(["update-ref", "refs/remotes/o/main", "main"]);
    git.run(["symbolic-ref", "refs/remotes/o/HEAD", "refs/remotes/o/main"]);
    repo
}

#[test]
fn patterns_and_flags_choose_what_ls_remote_chooses() {
    let world = World::new();
    let repo = many_refs(&world);
    let (local, url) = (repo.path().to_str().unwrap(), world.server.url("refs.git"));
    for words in [
        &["main"][..],
        &["v2.*"],
        &["v2.*", "main"],
        &["tags/v*"],
        &["refs/heads/main"],
        &["refs/tags/v1*"],
        &["ma?n"],
        &["v[12].*"],
        &["v[!12]*"],
        &["v1.2^{}"],
        &["HEAD"],
        &["*"],
        &["/main"],
        &["heads"],
        &["[[:alpha:]]2"],
        &["["],
        &["\\v2"],
        &["--tags"],
        &["--heads"],
        &["-b"],
        &["-b", "-t"],
        &["-t", "v2*"],
        &["--refs"],
        &["--refs", "--tags"],
        &["--symref"],
        &["--symref", "HEAD"],
        &["--symref", "main"],
        &["--sort=version:refname"],
        &["--sort=-version:refname", "--tags"],
        &["--sort=-v:refname"],
        &["--sort=refname"],
        &["--sort=-refname", "v1*"],
    ] {
        // Branches had another name before 2.46.
        let (flags, patterns): (Vec<&str>, Vec<&str>) =
            words.iter().partition(|word| word.starts_with('-'));
        let gits = flags.iter().map(|flag| if *flag == "-b" { "--heads" } else { flag });
        let gits = ["ls-remote"].into_iter().chain(gits).chain(["."]).chain(patterns);
        let want = repo.git().bytes(gits);
        for repo in [local, &url] {
            let ours = world.gitsip(["refs", repo].iter().chain(words));
            assert_eq!(text(&ours.stdout), text(&want), "{repo} {words:?} {ours:?}");
            let status = i32::from(want.is_empty());
            assert_eq!(ours.status.code(), Some(status), "{words:?}");
            assert_eq!(text(&ours.stderr), "");
        }
    }
}

#[test]
fn the_host_is_asked_only_for_what_may_match() {
    let world = World::new();
    many_refs(&world);
    let url = world.server.url("refs.git");
    for (words, prefixes) in [
        (&["--tags"][..], &["refs/tags/"][..]),
        (&["-b", "-t", "v2*"], &["refs/heads/", "refs/tags/"]),
        (&["refs/tags/v1*", "refs/heads/main"], &["refs/tags/v1", "refs/heads/main"]),
        (&["main"], &[]),
    ] {
        world.server.forget_requests();
        world.out(["refs", url.as_str()].iter().chain(words));
        let requests = world.server.requests();
        let body = &requests.last().unwrap().body;
        let asked: Vec<&str> =
            text(body).lines().filter_map(|line| Some(line.split_once("ref-prefix ")?.1)).collect();
        assert_eq!(asked, prefixes, "{words:?}");
    }
}

#[test]
fn a_key_that_refs_have_not_is_refused() {
    let world = World::new();
    let output = world.gitsip(["refs", &world.url, "--sort", "taggerdate"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(one_line(&output).contains("refname or version:refname"), "{output:?}");
}
