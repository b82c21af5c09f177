//! How far a transfer or a search has come. What all transfers of a repository took is in the
//! [journal](super::journal).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::ladder::Fallback;

/// What is going on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Asking the host what it is.
    Connecting,
    /// Listing refs.
    Listing,
    /// The host prepares what was asked for.
    Waiting,
    /// Objects arrive.
    Receiving,
    /// The last deltas are resolved.
    Resolving,
    /// What is held is searched: `objects` are files, and `bytes` those of their text.
    Searching,
    /// The answer has ended, in whichever way; only its bytes are told.
    Over,
    /// The host asks for patience: the request is sent again after this time.
    Pausing(Duration),
    /// More than was asked for is about to come, because the host does not do better.
    Widening(Fallback),
}

/// One report of a transfer or of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is going on.
    pub phase: Phase,
    /// Objects received so far in this transfer, or files searched.
    pub objects: u64,
    /// Objects that will come, once the host has said so.
    pub total_objects: Option<u64>,
    /// Bytes received so far in this transfer, or searched.
    pub bytes: u64,
}

/// Who wants to know: called from wherever bytes are taken, so it should be quick.
#[derive(Clone)]
pub struct ProgressListener(Option<Arc<Listen>>);

type Listen = dyn Fn(&Progress) + Send + Sync;

impl ProgressListener {
    /// Nobody.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Calls `listen` with each report.
    pub fn new(listen: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listen)))
    }

    pub(crate) fn report(&self, progress: Progress) {
        if let Some(listen) = &self.0 {
            listen(&progress);
        }
    }
}

impl Default for ProgressListener {
    fn default() -> Self {
        Self::none()
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "ProgressListener(set)"
        } else {
            "ProgressListener(none)"
        })
    }
}
