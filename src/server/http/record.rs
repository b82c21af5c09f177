//! What is noted of a request while it is handled: one line in the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::StatusCode;

use crate::server::PackWork;

/// A request that is over.
#[derive(Clone, Debug)]
pub struct Handled {
    /// Counted from 1 since the start.
    pub id: u64,
    /// The method and the path as they came.
    pub method: String,
    /// As it came, percent-encoded.
    pub path: String,
    /// The repository that was asked for, whether or not it is there.
    pub repository: Option<String>,
    /// What was asked, in a word: `refs`, `fetch`.
    pub kind: &'static str,
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
    listener: Option<Listener>,
}

impl Record {
    pub(super) fn begin(
        id: u64,
        method: &http::Method,
        path: &str,
        listener: Option<Listener>,
    ) -> Self {
        let now = Handled {
            id,
            method: method.to_string(),
            path: path.to_owned(),
            repository: None,
            kind: "other",
            status: None,
            bytes_in: 0,
            bytes_out: 0,
            pack: PackWork::default(),
            took: Duration::ZERO,
            worked: Duration::ZERO,
            outcome: Outcome::Gone,
            error: None,
        };
        Self(Arc::new(Kept { begun: Instant::now(), now: Mutex::new(now), listener }))
    }

    /// What is known so far, to add to.
    pub(super) fn note(&self) -> MutexGuard<'_, Handled> {
        self.0.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(listener) = &self.listener else { return };
        let now = self.now.get_mut().unwrap_or_else(PoisonError::into_inner);
        now.took = self.begun.elapsed();
        listener(now);
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.note().fmt(f)
    }
}
