//! A repository with everything a selection can get wrong: merges, branches from different
//! times, tags of all kinds, deltas of deltas.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::process;
use std::sync::{Mutex, PoisonError};

use super::support::git::{File, Repo, Sandbox, copy_folder};

/// How its objects lie on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// Every object in a file of its own.
    Loose,
    /// One pack with deltas.
    Packed,
    /// A pack, a smaller one with copies of what is in the first, and loose objects.
    Mixed,
}

/// A repository `repos/NAME`, its history stored as `storage`.
///
/// It takes some sixty processes of git to build, so that it is built once for each form and
/// kept beside what is compiled, under a name that this file and git's version are part of.
pub(crate) fn repository(sandbox: &Sandbox, name: &str, storage: Storage, format: &str) -> Repo {
    static KEPT: Mutex<()> = Mutex::new(());
    let mut hasher = DefaultHasher::new();
    (include_str!("history.rs"), sandbox.git().run(["--version"])).hash(&mut hasher);
    let key = format!("history-{:016x}-{storage:?}-{format}", hasher.finish());
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(key);
    let building = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if !kept.is_dir() {
        let own = Sandbox::new();
        let partial = kept.with_extension(process::id().to_string());
        copy_folder(built(&own, storage, format).path(), &partial);
        // Whoever came first with the same is as good.
        if fs::rename(&partial, &kept).is_err() {
            fs::remove_dir_all(&partial).unwrap();
        }
    }
    drop(building);
    sandbox.copied(&kept, name, COMMITS)
}

fn built(sandbox: &Sandbox, storage: Storage, format: &str) -> Repo {
    let repo = sandbox.strict_bare("built.git", &[&format!("--object-format={format}")]);
    for option in ["allowFilter", "allowAnySHA1InWant", "advertiseRefInWant"] {
        repo.git().run(["config", &format!("uploadpack.{option}"), "true"]);
    }
    let module = if format == "sha1" { "12".repeat(20) } else { "12".repeat(32) };
    let files = |number| files(number, &module);
    for number in 0..12 {
        repo.commit("main", &files(number));
    }
    repo.git().run(["branch", "old", "main~8"]);
    repo.git().run(["branch", "side", "main~5"]);
    if storage == Storage::Mixed {
        repo.repack();
    }
    repo.commit("side", &files(100));
    repo.commit("side", &files(101));
    merge(&repo, "main", "side");
    repo.commit("main", &files(13));
    repo.git().run(["tag", "light", "main~2"]);
    repo.git().run(["tag", "-a", "-m", "one", "v1", "old"]);
    repo.git().run(["tag", "-a", "-m", "of a tag", "v1-again", "v1"]);
    repo.git().run(["tag", "-a", "-m", "two", "v2", "main"]);
    repo.git().run(["tag", "-a", "-m", "of a tree", "folder", "main~3:src"]);
    repo.git().run(["tag", "-a", "-m", "of a file", "file", "main:file0"]);
    repo.git().run(["tag", "bare-file", "main~4:src/file1"]);
    match storage {
        Storage::Loose => {}
        Storage::Packed => repo.repack(),
        Storage::Mixed => {
            repo.git().run(["repack", "-dq"]);
            let packed = repo.path().join("objects/pack/pack");
            let ids = repo.git().bytes(["rev-list", "--objects", "main~3", "side"]);
            let args = [OsStr::new("pack-objects"), OsStr::new("-q"), packed.as_os_str()];
            repo.git().bytes_with_input(args, &ids);
            repo.commit("late", &files(14));
        }
    }
    repo
}

/// No repository has more of them, so that later ones are younger.
const COMMITS: u64 = 16;

/// Files that change a little with each number, and some that never do.
fn files(number: usize, module: &str) -> Vec<File> {
    let mut files = vec![File::new("same", "never changes\n"), File::new("empty", "")];
    for at in 0..12 {
        let mut text = String::new();
        for line in 0..60 {
            let changed = line == number % 60 || at == 3 && line == 7;
            let what = if changed { number } else { 0 };
            writeln!(text, "line {line} of file {at}: {what}").unwrap();
        }
        let folder = ["", "src/", "src/deep/er/", "docs/"][at % 4];
        files.push(File::new(format!("{folder}file{at}"), text));
    }
    files.push(File::new("big", "x".repeat(20_000 + number)));
    files.push(File::executable("src/run", "#!/bin/sh\n"));
    files.push(File::symlink("link", "src/run"));
    files.push(File::submodule("module", module));
    files
}

/// Merges `other` into `branch`, with the files that `branch` has.
fn merge(repo: &Repo, branch: &str, other: &str) {
    let tree = repo.git().run(["rev-parse", &format!("{branch}^{{tree}}")]);
    let parents = [branch, other].map(|name| repo.git().run(["rev-parse", name]));
    let args = ["commit-tree", "-m", "merge", "-p", &parents[0], "-p", &parents[1], &tree];
    let date = "1700009999 +0000";
    let mut command = repo.git().command();
    command.args(args).env("GIT_COMMITTER_DATE", date).env("GIT_AUTHOR_DATE", date);
    let id = String::from_utf8(command.output().unwrap().stdout).unwrap();
    repo.git().run(["update-ref", &format!("refs/heads/{branch}"), id.trim()]);
}
