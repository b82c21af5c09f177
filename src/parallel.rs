//! Threads for work that comes in parts: [`Pool`], the [`Workers`] of native programs.
//!
//! The threads are rayon's, few and kept. They are started by the first work that has
//! more than one part, so that a program which never has any starts none. Whoever brings
//! work takes part in it: a pool of two has one thread of its own. Nothing here knows
//! what the work is, and nothing below this rank knows that there are threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::limits::{SharedWorkers, Workers};

/// A few threads that are kept.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use gitsip::Workers as _;
/// use gitsip::parallel::Pool;
///
/// let sum = AtomicUsize::new(0);
/// Pool::new(2).run(10, &|part| {
///     sum.fetch_add(part, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
#[derive(Debug)]
pub struct Pool {
    threads: usize,
    /// The threads beside the caller's; `None` when the system gave none.
    others: OnceLock<Option<ThreadPool>>,
}

impl Pool {
    /// A pool in which `threads` parts run at once, at least one and at most
    /// [`MAX_THREADS`](Self::MAX_THREADS). No thread is started yet.
    pub fn new(threads: usize) -> Self {
        Self { threads: threads.clamp(1, Self::MAX_THREADS), others: OnceLock::new() }
    }

    /// Threads of one pool at most: a search is bound by memory long before, and a packet
    /// of work by what it hands out in order.
    pub const MAX_THREADS: usize = 16;

    /// The pool of this process: as many threads as there are processors for it. Everything
    /// that shares it shares them.
    pub fn shared() -> SharedWorkers {
        static SHARED: OnceLock<SharedWorkers> = OnceLock::new();
        let of_processors = || {
            let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
            SharedWorkers::new(Arc::new(Self::new(processors)))
        };
        SHARED.get_or_init(of_processors).clone()
    }

    /// A pool of its own, to lend.
    pub fn of(threads: usize) -> SharedWorkers {
        SharedWorkers::new(Arc::new(Self::new(threads)))
    }

    fn others(&self) -> Option<&ThreadPool> {
        let start = || {
            ThreadPoolBuilder::new()
                .num_threads(self.threads - 1)
                .thread_name(|number| format!("gitsip-{number}"))
                .build()
                .ok()
        };
        self.others.get_or_init(start).as_ref()
    }
}

impl Workers for Pool {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(part) = take(&next, n) {
                job(part);
            }
        };
        let helpers = n.min(self.threads).saturating_sub(1);
        match if helpers > 0 { self.others() } else { None } {
            Some(others) => others.in_place_scope(|scope| {
                (0..helpers).for_each(|_| scope.spawn(|_| work()));
                work();
            }),
            None => work(),
        }
    }
}

/// The number of the next part that nobody has taken.
fn take(next: &AtomicUsize, n: usize) -> Option<usize> {
    let part = next.fetch_add(1, Ordering::Relaxed);
    (part < n).then_some(part)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Barrier, Mutex};
    use std::thread::{self, ThreadId};

    use super::*;

    /// Which threads ran the parts, in the order of the parts.
    fn threads_of(pool: &Pool, n: usize) -> Vec<ThreadId> {
        let ran = Mutex::new(vec![None; n]);
        pool.run(n, &|part| {
            let before = ran.lock().unwrap()[part].replace(thread::current().id());
            assert_eq!(before, None, "part {part} is run once");
        });
        ran.into_inner().unwrap().into_iter().map(Option::unwrap).collect()
    }

    #[test]
    fn every_part_is_run_once() {
        for threads in [0, 1, 2, 5, usize::MAX] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads.clamp(1, Pool::MAX_THREADS));
            for n in [0, 1, 2, 7, 1_000] {
                assert_eq!(threads_of(&pool, n).len(), n);
            }
        }
    }

    #[test]
    fn parts_run_at_once_and_on_the_same_threads_again() {
        let pool = Pool::new(3);
        let mut seen = HashSet::new();
        for _ in 0..50 {
            let all_there = Barrier::new(3);
            let ran = Mutex::new(HashSet::new());
            // Would wait for ever if fewer than three ran at once.
            pool.run(3, &|_| {
                all_there.wait();
                ran.lock().unwrap().insert(thread::current().id());
            });
            let ran = ran.into_inner().unwrap();
            assert!(ran.len() == 3 && ran.contains(&thread::current().id()));
            seen.extend(ran);
        }
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn work_of_one_part_starts_no_thread() {
        let pool = Pool::new(4);
        assert_eq!(threads_of(&pool, 1), [thread::current().id()]);
        assert!(pool.others.get().is_none());
    }

    #[test]
    fn parts_may_have_parts() {
        let (pool, sum) = (Pool::new(2), AtomicUsize::new(0));
        pool.run(10, &|outer| {
            pool.run(10, &|inner| {
                sum.fetch_add(outer * 10 + inner, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 4_950);
    }

    #[test]
    fn a_part_that_panics_is_the_callers_panic_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        let panicked = thread::scope(|scope| {
            let run = || pool.run(100, &|part| assert!(part != 50, "part 50"));
            scope.spawn(run).join().is_err()
        });
        assert!(panicked);
        assert_eq!(threads_of(&pool, 100).len(), 100);
    }
}
