//! What is noted of a request while it is handled: one line in the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;

use super::metrics::Metrics;
use crate::server::PackWork;

/// A request that is over.
#[derive(Clone, Debug)]
pub struct Handled {
    /// Counted from 1 since the start.
    pub id: u64,
    /// The method and the path as they came.
    pub method: String,
    /// As it came, percent-encoded; of what is passed on to other hosts, what is asked there.
    pub path: String,
    /// The repository that was asked for, whether or not it is there.
    pub repository: Option<String>,
    /// Who asked, as the [`Authorizer`](super::Authorizer) knows them; `None` for anybody.
    pub principal: Option<String>,
    /// What was asked.
    pub kind: Kind,
    /// The status that was sent; `None` when the client was gone before.
    pub status: Option<StatusCode>,
    /// Bytes of the request's body.
    pub bytes_in: u64,
    /// Bytes of the answer's body that were handed on.
    pub bytes_out: u64,
    /// What was done for packs.
    pub pack: PackWork,
    /// From the request's head to the end of the answer.
    pub took: Duration,
    /// How long its thread computed: neither waiting for the client nor for others.
    pub worked: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong, in words for who runs the server.
    pub error: Option<String>,
}

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// For objects, and in version 2 also for refs.
    Fetch,
    /// For the lines that match.
    Grep,
    /// For a folder.
    Ls,
    /// For nothing that is served.
    Other,
    /// For the page of all repositories.
    Page,
    /// For what another host has.
    Proxy,
    /// For a file.
    Raw,
    /// What the server can do, and in old versions for refs.
    Refs,
    /// How the server is.
    Status,
}

impl Kind {
    /// A stable lower-case word.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Grep => "grep",
            Self::Ls => "ls",
            Self::Other => "other",
            Self::Page => "page",
            Self::Proxy => "proxy",
            Self::Raw => "raw",
            Self::Refs => "refs",
            Self::Status => "status",
        }
    }
}

/// Each kind once.
pub(super) const KINDS: [Kind; 9] = [
    Kind::Fetch,
    Kind::Grep,
    Kind::Ls,
    Kind::Other,
    Kind::Page,
    Kind::Proxy,
    Kind::Raw,
    Kind::Refs,
    Kind::Status,
];

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The answer was handed on to its end.
    Done,
    /// The client went away, or was too slow.
    Gone,
    /// It was answered with why it is not answered.
    Refused,
}

impl Outcome {
    /// Each outcome once.
    pub(super) const ALL: [Self; 3] = [Self::Done, Self::Gone, Self::Refused];

    /// A stable lower-case word.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Gone => "gone",
            Self::Refused => "refused",
        }
    }
}

/// Called with each request that is over.
pub(super) type Listener = Arc<dyn Fn(&Handled) + Send + Sync>;

/// A request that is under way. The last one who holds it reports it.
#[derive(Clone)]
pub(super) struct Record(Arc<Kept>);

struct Kept {
    begun: Instant,
    now: Mutex<Handled>,
    metrics: Arc<Metrics>,
    listener: Option<Listener>,
}

impl Record {
    pub(super) fn begin(
        id: u64,
        method: &http::Method,
        path: &str,
        metrics: &Arc<Metrics>,
        listener: Option<Listener>,
    ) -> Self {
        metrics.begin();
        let now = Handled {
            id,
            method: method.to_string(),
            path: path.to_owned(),
            repository: None,
            principal: None,
            kind: Kind::Other,
            status: None,
            bytes_in: 0,
            bytes_out: 0,
            pack: PackWork::default(),
            took: Duration::ZERO,
            worked: Duration::ZERO,
            outcome: Outcome::Gone,
            error: None,
        };
        let (begun, metrics) = (Instant::now(), Arc::clone(metrics));
        Self(Arc::new(Kept { begun, now: Mutex::new(now), metrics, listener }))
    }

    /// What is known so far, to add to.
    pub(super) fn note(&self) -> MutexGuard<'_, Handled> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let now = self.now.get_mut().unwrap_or_else(PoisonError::into_inner);
        now.took = self.begun.elapsed();
        self.metrics.end(now);
        if let Some(listener) = &self.listener {
            listener(now);
        }
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.note().fmt(f)
    }
}
