//! Does real git get from `gitsip upload-pack` what it gets from its own, object by object?

#![allow(clippy::unwrap_used)]

#[path = "serving/bitmaps.rs"]
mod bitmaps;
#[path = "serving/clones.rs"]
mod clones;
#[path = "serving/configured.rs"]
mod configured;
#[path = "serving/copy.rs"]
mod copy;
#[path = "serving/fetches.rs"]
mod fetches;
#[path = "serving/history.rs"]
mod history;
#[cfg(target_os = "linux")]
#[path = "serving/loose_opens.rs"]
mod loose_opens;
#[path = "serving/refusals.rs"]
mod refusals;
#[path = "serving/repacks.rs"]
mod repacks;
#[path = "serving/sizes.rs"]
mod sizes;
mod support;

use std::path::Path;
use std::process::{Command, Output};

use copy::Copy;
use support::git::Sandbox;

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
