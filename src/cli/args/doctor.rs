//! `gitsip doctor`.

use std::ffi::OsString;

use clap::Args;

use super::Common;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = DOCTOR_HELP)]
pub(in crate::cli) struct Doctor {
    /// Address as pasted, or owner/repo
    pub(in crate::cli) repo: OsString,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

const DOCTOR_HELP: &str = "\
Asks small questions about the commit at HEAD, and tells what comes, not what is
promised: 'honoured' does it, 'ignored' answers as if not asked, 'refused' says
no. At most 19 requests, no answer over 256 KiB, 60 s unless a time is given.
HOSTS.md has what is known of hosts.

Example:
  gitsip doctor https://github.com/git/git";
