//! Does real git get from `gitsip upload-pack` what it gets from its own, object by object?

#![allow(clippy::unwrap_used)]

#[path = "serving/clones.rs"]
mod clones;
#[path = "serving/fetches.rs"]
mod fetches;
#[path = "serving/history.rs"]
mod history;
#[path = "serving/refusals.rs"]
mod refusals;
mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use support::git::{Git, Sandbox};

/// Which program a client runs on the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    Git,
    Ours,
}

impl Server {
    /// As `--upload-pack` and `remote.origin.uploadpack` want it.
    fn command(self) -> String {
        match self {
            Self::Git => "git upload-pack".to_owned(),
            Self::Ours => format!("'{}' upload-pack", env!("CARGO_BIN_EXE_gitsip")),
        }
    }
}

/// A client's copy, and what git makes of it.
#[derive(Debug, PartialEq, Eq)]
struct Copy {
    objects: BTreeSet<String>,
    refs: String,
    shallow: BTreeSet<String>,
}

impl Copy {
    /// What is in the repository of `git`, which is sound.
    #[track_caller]
    fn of(git: &Git, folder: &Path) -> Self {
        git.run(["fsck", "--strict", "--no-dangling"]);
        let list = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"];
        let shallow = std::fs::read_to_string(folder.join("shallow")).unwrap_or_default();
        Self {
            objects: git.run(list).lines().map(str::to_owned).collect(),
            refs: git.run(["for-each-ref"]),
            shallow: shallow.lines().map(str::to_owned).collect(),
        }
    }
}

/// `git clone` of `source` with `options`, in protocol `version`.
fn clone(
    sandbox: &Sandbox,
    server: Server,
    version: u8,
    options: &[&str],
    source: &Path,
    to: &Path,
) -> Output {
    let mut command: Command = sandbox.git().command();
    command.arg("-c").arg(format!("protocol.version={version}"));
    command.args(["clone", "--quiet", "--no-local", "--bare"]);
    command.arg(format!("--upload-pack={}", server.command()));
    command.args(options).arg(source).arg(to);
    command.output().unwrap()
}

#[track_caller]
fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
