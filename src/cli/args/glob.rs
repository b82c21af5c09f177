//! `gitsip glob`.

use std::ffi::OsString;

use clap::Args;

use super::{AtRef, Common, Types};

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = GLOB_HELP)]
pub(in crate::cli) struct Glob {
    /// Address as pasted, owner/repo, or local path
    pub(in crate::cli) repo: OsString,
    /// Such as '*.rs', 'src/**/*.c' or 'docs/'
    #[arg(required_unless_present_any = ["type", "type-not"])]
    pub(in crate::cli) pattern: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) types: Types,
    /// Names as they are, each ended by a NUL
    #[arg(short = 'z', long)]
    pub(in crate::cli) null: bool,
    #[command(flatten)]
    pub(in crate::cli) at: AtRef,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

const GLOB_HELP: &str = "\
A pattern without a slash is a name at any depth; ** crosses folders.

Examples:
  gitsip glob . '*.md'
  gitsip glob . 'src/**/*.rs'
  gitsip glob . -t markdown";
