//! What a server lets its clients do, and how much of it at once.

use std::path::PathBuf;
use std::time::Duration;

use crate::limits::{Limits, SharedWorkers};
use crate::server::ServeOptions;

/// How a folder is served.
#[derive(Clone, Debug)]
pub struct HostingOptions {
    /// The folder. Repositories are found in it and below it as they are asked for.
    pub root: PathBuf,
    /// What clients may do with each repository.
    pub serve: ServeOptions,
    /// `max_memory` is for all repositories together.
    pub limits: Limits,
    /// Threads for what can be computed in parts.
    pub workers: SharedWorkers,
    /// Requests that are worked on at once; each has a thread, which mostly waits for its
    /// client. 256 by default: a client that downloads over a slow line holds one all the time.
    pub max_requests: usize,
    /// How long a request waits for others before it is told to come again: 10 s.
    pub max_wait: Duration,
    /// What may pass before the first byte of an answer: 10 minutes, for the walk over a huge
    /// repository that nobody asked for before.
    pub max_preparation: Duration,
    /// What may pass while a client takes nothing, and the span over which
    /// [`min_bytes_per_second`](Self::min_bytes_per_second) counts: 60 s.
    pub max_stall: Duration,
    /// The least that a client may send or take: 1,024.
    pub min_bytes_per_second: u64,
    /// Bytes of a request as they are sent: 32 MiB, haves and wants of a million refs.
    pub max_request_bytes: u64,
    /// Bytes of a request that was gzip'd: 96 MiB, as for a million refs; a bomb ends here.
    pub max_inflated_bytes: u64,
    /// Repositories that are kept open between requests: 256.
    pub max_open: usize,
    /// After which time a search answers with what it has found: 30 s.
    pub max_search: Duration,
    /// Origins whose pages may read answers, such as `https://example.org`; `*` is all. None.
    pub cors: Vec<String>,
    /// Names that a request's `Host` may have beside `localhost` and addresses; others are
    /// answered with 421. `None`, the default, is for whatever name: where there are logins, and
    /// where a proxy or a firewall decides who asks. Without them a server that a browser can
    /// reach should have `Some`, or any page can read what it serves, by a name that its owner
    /// lets point here.
    pub served_as: Option<Vec<String>>,
}

impl HostingOptions {
    /// Serves `root`, as the fields say.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            serve: ServeOptions::default(),
            limits: Limits::default(),
            workers: SharedWorkers::default(),
            max_requests: 256,
            max_wait: Duration::from_secs(10),
            max_preparation: Duration::from_secs(600),
            max_stall: Duration::from_secs(60),
            min_bytes_per_second: 1024,
            max_request_bytes: 32 << 20,
            max_inflated_bytes: 96 << 20,
            max_open: 256,
            max_search: Duration::from_secs(30),
            cors: Vec::new(),
            served_as: None,
        }
    }
}
