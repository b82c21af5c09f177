//! `gitsip ls`.

use std::ffi::OsString;

use clap::Args;

use super::{AtRef, Common};

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = LS_HELP)]
pub(in crate::cli) struct Ls {
    /// Address as pasted, owner/repo, or local path
    pub(in crate::cli) repo: OsString,
    /// Folder or file in the repository
    #[arg(default_value = "", hide_default_value = true)]
    pub(in crate::cli) path: OsString,
    /// All files below, at any depth
    #[arg(short, long)]
    pub(in crate::cli) recursive: bool,
    /// Mode, type, id and size of each, as git ls-tree -l
    #[arg(short, long)]
    pub(in crate::cli) long: bool,
    /// Names as they are, each ended by a NUL
    #[arg(short = 'z', long)]
    pub(in crate::cli) null: bool,
    #[command(flatten)]
    pub(in crate::cli) at: AtRef,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

const LS_HELP: &str = "\
Paths are from the root; folders end with a slash. Sizes are shown where they
cost nothing.

Examples:
  gitsip ls .
  gitsip ls . src -l
  gitsip ls . -r";
