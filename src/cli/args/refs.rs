//! `gitsip refs`.

use std::ffi::OsString;

use clap::Args;

use super::Common;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = REFS_HELP)]
pub(in crate::cli) struct Refs {
    /// Address as pasted, owner/repo, or local path
    pub(in crate::cli) repo: OsString,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

const REFS_HELP: &str = "\
Prints id, tab, name, as git ls-remote does; NAME^{} is what an annotated tag points to.

Example:
  gitsip refs .";
