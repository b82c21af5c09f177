//! `gitsip mcp`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;

use super::cache::CacheArgs;
use super::common::{parse_size, parse_time};
use crate::cli::network::Network;
use crate::mcp::DEFAULT_REPLY_BYTES;

#[derive(Clone, Debug, Args)]
#[command(args_override_self = true, after_help = MCP_HELP)]
pub(in crate::cli) struct Mcp {
    /// Serve HTTP here, at /mcp, not standard input
    #[arg(long, value_name = "IP:PORT")]
    pub(in crate::cli) addr: Option<SocketAddr>,
    /// Let --addr be one that other machines reach; there is no login
    #[arg(long, requires = "addr")]
    pub(in crate::cli) expose: bool,
    /// Name of --addr for clients, beside localhost
    #[arg(long = "served-as", value_name = "HOST", requires = "addr")]
    pub(in crate::cli) names: Vec<String>,
    /// Variable with a token, in place of GITSIP_TOKEN
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) token_env: Option<String>,
    /// Host that the token is for [github.com]
    #[arg(long = "token-host", value_name = "HOST")]
    pub(in crate::cli) token_hosts: Vec<String>,
    /// Memory of all repositories together: 64MiB, 1g [512M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(in crate::cli) max_memory: Option<u64>,
    /// Repositories that are kept between calls
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub(in crate::cli) max_repos: usize,
    /// Bytes of a reply, unless a call asks for more
    #[arg(long, value_name = "N", default_value_t = DEFAULT_REPLY_BYTES)]
    pub(in crate::cli) max_reply: usize,
    /// End a call after this time with what it has found: 30, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(in crate::cli) timeout: Option<Duration>,
    #[command(flatten)]
    pub(in crate::cli) cache: CacheArgs,
    #[command(flatten)]
    pub(in crate::cli) network: Network,
}

const MCP_HELP: &str = "\
Tools: git_refs, git_ls, git_tree, git_read, git_glob, git_grep; all only read.
Repositories are read at public addresses only; --allow-host names others.

Examples:
  gitsip mcp
  gitsip mcp --addr 127.0.0.1:8420
  gitsip mcp --token-env GITHUB_TOKEN --allow-host git.corp.example";
