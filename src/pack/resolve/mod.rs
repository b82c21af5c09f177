//! Rounds of resolving: everything that arrival could not resolve.
//!
//! A round goes depth first: a child is inflated only when it is taken, siblings share one
//! immutable base, and the last of them frees it before its own children are gone down
//! into, so a chain needs two buffers a thread however long it is. No recursion.
//!
//! `task` is the work; `stack` runs it on one thread, `steal` on several. Both begin at
//! the same [`Place`]s and share one [`Phase`]. Which thread makes what changes no result.

mod stack;
#[cfg(feature = "parallel")]
mod steal;
mod task;

use std::sync::{Mutex, MutexGuard, PoisonError};

use self::task::{Task, Worker};
use super::PackError;
use super::buffers::Live;
use super::hash::Namer;
use super::ingest::{EntryStore, IngestStats};
use super::rules::Rules;
use super::table::Table;
use super::tree::{Base, DeltaTree};
use crate::limits::{Budget, Interrupt, LimitExceeded, Workers};

#[cfg(not(feature = "parallel"))]
use self::stack::run_here as run_on;
#[cfg(feature = "parallel")]
use self::steal::run_on;

/// Where to begin going down.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Below an entry that is resolved.
    Entry(u32),
    /// Below the object outside the pack that a group waits for.
    Outside(u32),
}

/// What every worker sees. Nothing here is locked for long: the store while it is told of
/// one object, the others next to never.
struct Phase<'a, S: EntryStore> {
    tree: &'a DeltaTree,
    streams: &'a S::Streams,
    store: Mutex<&'a mut S>,
    rules: &'a Rules,
    namer: Namer,
    received_bytes: u64,
    /// Whether contents that the store kept are bases.
    lends: bool,
    /// Places whose content the store let go of before they were begun at.
    evicted: Mutex<Table<u32>>,
    live: Live,
}

impl<'a, S: EntryStore> Phase<'a, S> {
    fn store(&self) -> MutexGuard<'_, &'a mut S> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn evicted(&self) -> MutexGuard<'_, Table<u32>> {
        self.evicted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a worker puts tasks, and what it does when memory is short.
trait Queue {
    fn push(&mut self, task: Task) -> Result<(), PackError>;

    /// Waits for other workers to give memory back; `false` when there are none at work.
    fn wait_for_memory(&mut self) -> bool;
}

/// What workers did.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    inflated_bytes: u64,
    deltas: u64,
}

/// How the workers are run: on one thread, or on several.
pub(super) enum Crew<'a> {
    /// On the caller's thread.
    Alone(&'a dyn Interrupt),
    /// On the threads of whoever lends some.
    Together(&'a dyn Workers, &'a (dyn Interrupt + Sync)),
}

/// When a round is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// More of the pack is to come, and a base that is missed may be in it.
    More,
    /// All of it is here.
    End,
}

/// Resolves what waits of one pack.
pub(super) struct Resolver<'a, S> {
    pub(super) namer: Namer,
    pub(super) tree: &'a mut DeltaTree,
    pub(super) store: &'a mut S,
    pub(super) rules: &'a Rules,
    pub(super) stats: &'a mut IngestStats,
    pub(super) budget: &'a Budget,
}

impl<S: EntryStore> Resolver<'_, S> {
    /// Resolves every delta whose base is in the pack and, at its end, those whose base is
    /// held by the store.
    pub(super) fn run(mut self, crew: &Crew<'_>, until: Until) -> Result<(), PackError> {
        let places = self.below_resolved()?;
        let evicted = self.round(&places, true, crew)?;
        // What the store let go of meanwhile is made from further up, and now from what
        // cannot be let go of.
        let places = self.further_up(&evicted)?;
        self.round(&places, false, crew)?;
        if let Until::More = until {
            self.tree.forget_index();
            return Ok(());
        }
        // One after another: what comes of the first may be what the second waits for,
        // and which thread is faster must not matter.
        for group in 0..self.tree.groups().len() {
            if self.tree.groups().waits_for(group).is_some() {
                self.go_down(&[Place::Outside(group)], false, crew)?;
            }
        }
        Ok(())
    }

    /// Goes down from `places`; those whose content the store let go of before.
    fn round(
        &mut self,
        places: &[Place],
        lends: bool,
        crew: &Crew<'_>,
    ) -> Result<Table<u32>, PackError> {
        if places.is_empty() {
            return Ok(Table::new(self.budget));
        }
        self.tree.put_heaviest_last()?;
        self.go_down(places, lends, crew)
    }

    fn go_down(
        &mut self,
        places: &[Place],
        lends: bool,
        crew: &Crew<'_>,
    ) -> Result<Table<u32>, PackError> {
        let streams = self.store.lend_streams();
        let phase = Phase {
            tree: &*self.tree,
            streams: &streams,
            store: Mutex::new(&mut *self.store),
            rules: self.rules,
            namer: self.namer,
            received_bytes: self.stats.received_bytes,
            lends,
            evicted: Mutex::new(Table::new(self.budget)),
            live: Live::default(),
        };
        let done = match *crew {
            Crew::Alone(interrupt) => stack::run(&phase, places, self.budget, interrupt),
            Crew::Together(workers, interrupt) => {
                run_on(workers, &phase, places, self.budget, interrupt)
            }
        };
        let Phase { evicted, live, .. } = phase;
        self.store.take_streams_back(streams);
        let done = done?;
        self.stats.inflated_bytes += done.inflated_bytes;
        self.stats.deltas_deferred += done.deltas;
        self.stats.peak_live_bytes = self.stats.peak_live_bytes.max(live.peak_bytes());
        Ok(evicted.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Entries below which something waits, or, where their content is not kept, the
    /// nearest entry above them whose content is kept or whole.
    fn below_resolved(&mut self) -> Result<Table<Place>, LimitExceeded> {
        let mut places = Table::new(self.budget);
        for entry in 0..self.tree.len() {
            let record = self.tree.record(entry);
            if let (None, Base::Entry(base)) = (record.kind(), self.tree.base(entry))
                && self.tree.record(base).kind().is_some()
                && let Some(root) = self.climb(base, true)
            {
                places.push(Place::Entry(root))?;
            }
        }
        Ok(places)
    }

    /// The places to begin at so that the way leads through `evicted`.
    fn further_up(&mut self, evicted: &[u32]) -> Result<Table<Place>, LimitExceeded> {
        let mut places = Table::new(self.budget);
        for &entry in evicted {
            if let base @ Base::Entry(above) = self.tree.base(entry) {
                self.tree.hang_below(entry, base);
                if let Some(root) = self.climb(above, false) {
                    places.push(Place::Entry(root))?;
                }
            }
        }
        Ok(places)
    }

    /// Hangs a resolved `entry` and what is above it below their bases, up to where the
    /// content can be had, and returns that place; nothing if the way is hung already.
    fn climb(&mut self, entry: u32, lends: bool) -> Option<u32> {
        let mut at = entry;
        while self.tree.mark_rebuild(at) {
            match self.tree.base(at) {
                Base::Entry(base) if !(lends && self.store.content(at).is_some()) => {
                    self.tree.hang_below(at, Base::Entry(base));
                    at = base;
                }
                _ => return Some(at),
            }
        }
        None
    }
}
