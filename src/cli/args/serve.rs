//! `gitsip serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::common::{parse_size, parse_time};
use crate::server::ServeOptions;

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = SERVE_HELP)]
pub(in crate::cli) struct Serve {
    /// The folder that repositories are in, at any depth
    #[arg(value_name = "DIR")]
    pub(in crate::cli) root: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8418")]
    pub(in crate::cli) addr: SocketAddr,
    /// Listen at this socket file instead
    #[arg(long, value_name = "PATH", conflicts_with = "addr")]
    pub(in crate::cli) unix: Option<PathBuf>,
    /// Who may read what; the README has its form
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) auth_file: Option<PathBuf>,
    /// Name of --addr for clients, beside localhost
    #[arg(long, value_name = "HOST", conflicts_with = "unix")]
    pub(in crate::cli) served_as: Vec<String>,
    /// Origin whose pages may ask: https://HOST, or *
    #[arg(long, value_name = "ORIGIN")]
    pub(in crate::cli) cors: Vec<String>,
    /// Pass git of pages on to this host; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(in crate::cli) proxy_allow: Vec<String>,
    /// Print requests as lines of text or json [text]
    #[arg(long, value_name = "FORM", value_enum, default_value = "text")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(in crate::cli) log_format: LogFormat,
    /// Memory of all requests together: 64MiB, 1g [512M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(in crate::cli) max_memory: Option<u64>,
    /// Requests that are worked on at once [256]
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_requests: Option<usize>,
    /// Wait so long for others before the answer is 503 [10]
    #[arg(long, value_name = "TIME", value_parser = parse_time, hide_short_help = true)]
    pub(in crate::cli) max_wait: Option<Duration>,
    /// Give up clients that do next to nothing [60]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(in crate::cli) stall_timeout: Option<Duration>,
    #[command(flatten)]
    pub(in crate::cli) access: Access,
}

/// What clients may have. A repository's own configuration may take from it.
#[derive(Debug, Args)]
pub(in crate::cli) struct Access {
    /// Serve objects that no ref reaches by their ids
    #[arg(long)]
    allow_any_want: bool,
    /// Refs that are not served, as transfer.hideRefs has them
    #[arg(long, value_name = "REF")]
    hide_refs: Vec<String>,
}

impl Access {
    pub(in crate::cli) fn options(&self) -> ServeOptions {
        ServeOptions {
            allow_any_want: self.allow_any_want,
            hidden_refs: self.hide_refs.iter().map(|name| name.as_str().into()).collect(),
            ..ServeOptions::default()
        }
    }
}

/// How the line for a request looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum LogFormat {
    Json,
    Text,
}

const SERVE_HELP: &str = "\
Clients clone http://IP:PORT/PATH/IN/DIR. HTTPS is the business of a proxy.

Examples:
  gitsip serve . --unix git.sock
  gitsip serve .. --addr 0.0.0.0:8418 --log-format json";
