//! `--cache`: what was fetched is kept for the next process.

use std::path::PathBuf;

use clap::Args;

use super::common::parse_size;
use crate::cache::{Cache, DEFAULT_CACHE_BYTES};

/// Where to keep what was fetched.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct CacheArgs {
    /// Keep what is fetched in this folder [$GITSIP_CACHE]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The most that --cache keeps: 512M, 4GiB [1G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    cache_size: Option<u64>,
}

impl CacheArgs {
    /// The cache that is meant, if one is; an empty name is none. `warn` says what went wrong
    /// with it.
    pub(in crate::cli) fn open(&self, warn: impl Fn(&str) + Send + Sync + 'static) -> Cache {
        let named = || std::env::var_os(VARIABLE).map(PathBuf::from);
        let path = self.cache.clone().or_else(named).filter(|path| !path.as_os_str().is_empty());
        match path {
            None => Cache::default(),
            Some(path) => Cache::new(path, self.cache_size.unwrap_or(DEFAULT_CACHE_BYTES), warn),
        }
    }
}

const VARIABLE: &str = "GITSIP_CACHE";
