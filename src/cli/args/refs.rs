//! `gitsip refs`.

use std::ffi::OsString;

use clap::Args;

use super::Common;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = REFS_HELP)]
pub(in crate::cli) struct Refs {
    /// Address as pasted, owner/repo, or local path
    pub(in crate::cli) repo: OsString,
    /// Only refs whose names end like this, such as main, 'v2.*'
    #[arg(value_name = "PATTERN")]
    pub(in crate::cli) patterns: Vec<OsString>,
    /// Only branches
    #[arg(short, long, visible_alias = "heads")]
    pub(in crate::cli) branches: bool,
    /// Only tags
    #[arg(short, long)]
    pub(in crate::cli) tags: bool,
    /// Neither HEAD nor what annotated tags point to
    #[arg(long)]
    pub(in crate::cli) refs: bool,
    /// Say which branch HEAD is
    #[arg(long)]
    pub(in crate::cli) symref: bool,
    /// version:refname or refname; - before it turns it round
    #[arg(long, value_name = "KEY", value_parser = parse_order, allow_hyphen_values = true)]
    pub(in crate::cli) sort: Option<Order>,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

/// How refs are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Order {
    /// Numbers in names compare as numbers.
    pub(in crate::cli) by_version: bool,
    pub(in crate::cli) reversed: bool,
}

fn parse_order(text: &str) -> Result<Order, String> {
    let (reversed, key) = match text.strip_prefix('-') {
        Some(key) => (true, key),
        None => (false, text),
    };
    match key {
        "refname" => Ok(Order { by_version: false, reversed }),
        "version:refname" | "v:refname" => Ok(Order { by_version: true, reversed }),
        _ => Err("refs are sorted by refname or version:refname".to_owned()),
    }
}

const REFS_HELP: &str = "\
Prints id, tab, name, as git ls-remote does; NAME^{} is what an annotated tag
points to. * and ? in a PATTERN match slashes too.

Examples:
  gitsip refs .
  gitsip refs . main --symref";
