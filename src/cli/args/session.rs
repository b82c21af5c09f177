//! `gitsip session`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::cache::CacheArgs;
use super::common::{parse_size, parse_time};
use super::help::EVERYWHERE;
use crate::cli::network::Network;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = SESSION_HELP)]
pub(in crate::cli) struct Session {
    /// Repository for requests that name none
    #[arg(value_name = "REPO")]
    pub(in crate::cli) repos: Vec<OsString>,
    /// Variable with a token, in place of GITSIP_TOKEN
    #[arg(long, value_name = "NAME", help_heading = EVERYWHERE)]
    pub(in crate::cli) token_env: Option<String>,
    /// Host that the token is for [REPO's, or github.com]
    #[arg(long = "token-host", value_name = "HOST")]
    pub(in crate::cli) token_hosts: Vec<String>,
    /// Time for requests that name none: 30, 2m
    #[arg(long = "timeout", value_name = "TIME", value_parser = parse_time, help_heading = EVERYWHERE)]
    pub(in crate::cli) default_timeout: Option<Duration>,
    /// Memory of all repositories together: 64MiB, 2G [512M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = EVERYWHERE)]
    pub(in crate::cli) max_memory: Option<u64>,
    /// Repositories kept while nobody asks them [16]
    #[arg(long, value_name = "N", default_value_t = 16, hide_default_value = true)]
    pub(in crate::cli) max_repos: usize,
    /// Say what is asked of hosts; -vv says more
    #[arg(short, long, action = ArgAction::Count, help_heading = EVERYWHERE)]
    pub(in crate::cli) verbose: u8,
    #[command(flatten, next_help_heading = EVERYWHERE)]
    pub(in crate::cli) cache: CacheArgs,
    #[command(flatten, next_help_heading = EVERYWHERE)]
    pub(in crate::cli) network: Network,
}

const SESSION_HELP: &str = "\
A request is a line {\"id\": 1, \"method\": \"grep\", \"params\": {..}}, and its answer
{\"id\": 1, \"answer\": {..}} or {\"id\": 1, \"error\": {..}}, each when it is ready.
Methods: refs ls tree stat read glob grep prefetch plan, open close repos,
cancel, version schema. README.md has their params.

Example:
  gitsip session https://github.com/git/git < requests.jsonl";
