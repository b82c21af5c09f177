//! When is it over, and who waits meanwhile?
//!
//! Work is counted up before it can be taken and down when it is done, after what came of
//! it was counted up: at zero there is none, and none can come. An error or a panic ends
//! it too. Threads without work sleep, and so do those that wait for memory; the latter
//! only while another works, who may give some back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::pack::PackError;

pub(super) struct Tally {
    /// Work that is not done: places and tasks.
    pending: AtomicUsize,
    over: AtomicBool,
    /// Threads that sleep for want of work, or are about to.
    sleepers: AtomicUsize,
    /// Threads that neither sleep nor wait for memory.
    busy: AtomicUsize,
    error: Mutex<Option<PackError>>,
    woken: Condvar,
}

impl Tally {
    /// A tally of `pending` pieces of work.
    pub(super) fn new(pending: usize) -> Self {
        Self {
            pending: AtomicUsize::new(pending),
            over: AtomicBool::new(pending == 0),
            sleepers: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            error: Mutex::new(None),
            woken: Condvar::new(),
        }
    }

    /// A thread begins to take part, until what this gives is dropped. Should it panic,
    /// it is over for all of them.
    pub(super) fn join(&self) -> Present<'_> {
        self.busy.fetch_add(1, Ordering::SeqCst);
        Present(self)
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// There will be one more piece of work.
    pub(super) fn add_one(&self) {
        self.pending.fetch_add(1, Ordering::Relaxed);
    }

    /// A piece of work is done, and what came of it is counted.
    pub(super) fn finish_one(&self) {
        if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end();
        }
    }

    /// It failed: nobody goes on. Of several errors the one that is nearest to the
    /// pack's start is kept.
    pub(super) fn fail(&self, error: PackError) {
        let mut kept = self.lock();
        let is_nearer = kept.as_ref().is_none_or(|kept| error.offset() < kept.offset());
        if is_nearer {
            *kept = Some(error);
        }
        drop(kept);
        self.end();
    }

    pub(super) fn into_error(self) -> Option<PackError> {
        self.error.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Work was put where others can take it: wakes a sleeper.
    pub(super) fn wake_one(&self) {
        // Together with the fence of a sleeper: either it is seen here, or it sees the
        // work.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            drop(self.lock());
            self.woken.notify_one();
        }
    }

    /// Sleeps until there may be work.
    pub(super) fn sleep(&self, has_work: impl Fn() -> bool) {
        let kept = self.lock();
        self.busy.fetch_sub(1, Ordering::SeqCst);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if !self.is_over() && !has_work() {
            self.wait(kept, SLEEP);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        self.busy.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits a little for memory that a busy thread may give back; `false` when no other
    /// is busy, or it is over.
    pub(super) fn wait_for_memory(&self) -> bool {
        let others = self.busy.fetch_sub(1, Ordering::SeqCst) > 1;
        let waits = others && !self.is_over();
        if waits {
            self.wait(self.lock(), MEMORY_WAIT);
        }
        self.busy.fetch_add(1, Ordering::SeqCst);
        waits
    }

    fn end(&self) {
        self.over.store(true, Ordering::Release);
        drop(self.lock());
        self.woken.notify_all();
    }

    fn wait<'a>(&'a self, kept: MutexGuard<'a, Option<PackError>>, most: Duration) {
        drop(self.woken.wait_timeout(kept, most).unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, Option<PackError>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That a thread takes part.
pub(super) struct Present<'a>(&'a Tally);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        // Left early, by a panic: the others would wait for its work for ever.
        if !self.0.is_over() {
            self.0.end();
        }
    }
}

/// Nothing depends on it: a sleeper that was not woken looks again by itself.
const SLEEP: Duration = Duration::from_millis(50);
/// About as long as one large object takes.
const MEMORY_WAIT: Duration = Duration::from_millis(1);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
