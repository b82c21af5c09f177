//! `gitsip cat`.

use std::ffi::OsString;

use clap::Args;

use super::{AtRef, Common};
use crate::view::lines::LineRange;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = CAT_HELP)]
pub(in crate::cli) struct Cat {
    /// Address as pasted, owner/repo, or local path
    pub(in crate::cli) repo: OsString,
    /// Files, each at --ref, or at REF in REF:PATH
    #[arg(value_name = "PATH")]
    pub(in crate::cli) paths: Vec<OsString>,
    /// Only lines A to B, counted from 1: A:B, A:, :B or A
    #[arg(long, value_name = "A:B")]
    pub(in crate::cli) lines: Option<LineRange>,
    /// Number the lines as they are in their file
    #[arg(short, long)]
    pub(in crate::cli) number: bool,
    #[command(flatten)]
    pub(in crate::cli) at: AtRef,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

const CAT_HELP: &str = "\
Links are followed inside the repository. A file whose name has a colon wins over
REF:PATH. The address of a file's page says what to print:
https://github.com/OWNER/REPO/blob/REF/PATH#L10-L20.

Examples:
  gitsip cat . README.md -n --lines 1:5
  gitsip cat . HEAD:README.md src/main.rs";
