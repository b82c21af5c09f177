//! `gitsip tree`.

use std::ffi::OsString;

use clap::Args;

use super::{AtRef, Common};

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = TREE_HELP)]
pub(in crate::cli) struct Tree {
    /// Address as pasted, owner/repo, or local path
    pub(in crate::cli) repo: OsString,
    /// Folder in the repository
    #[arg(default_value = "", hide_default_value = true)]
    pub(in crate::cli) path: OsString,
    /// Levels of folders that are shown
    #[arg(short = 'L', long = "depth", value_name = "N", default_value_t = 2)]
    pub(in crate::cli) depth: u32,
    /// Entries in all, shared among the folders of a level [200]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_entries: Option<usize>,
    /// Folders only
    #[arg(short = 'd', long)]
    pub(in crate::cli) folders: bool,
    #[command(flatten)]
    pub(in crate::cli) at: AtRef,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

/// Entries of a picture: what people look at in one go.
pub(in crate::cli) const DEFAULT_MAX_ENTRIES: usize = 200;

const TREE_HELP: &str = "\
The number behind a folder is that of all files below it. No file is fetched.

Examples:
  gitsip tree .
  gitsip tree . src -d -L 3";
