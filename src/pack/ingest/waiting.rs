//! What waits for its base: resolved at times while the pack arrives, and at its end.
//!
//! A delta whose base's bytes are not at hand when it comes needs work further up its chain.
//! Deltas of one family come close together, so that work is done for many of them at once,
//! on every thread there is. Bytes that come meanwhile wait in the system's buffers; after
//! the last one no more is left to do than what makes a round worth its while.

use super::{EntryStore, Ingest, IngestStats, Resolved};
use crate::limits::{Interrupt, SharedWorkers, Workers};
use crate::pack::PackError;
use crate::pack::delta::DeltaSizes;
use crate::pack::entries::Entries;
use crate::pack::resolve::{Crew, Resolver, Until};

/// Deltas that wait, and when it is worth a round to resolve them.
pub(super) struct Backlog {
    workers: SharedWorkers,
    /// What they will come to, as far as they say.
    bytes: u64,
    /// How much is worth a round.
    worth: u64,
}

impl Backlog {
    /// One more waits.
    pub(super) fn add(&mut self, delta: &[u8]) {
        let made = DeltaSizes::parse(delta).map_or(0, |sizes| sizes.result);
        self.bytes = self.bytes.saturating_add(made);
    }

    /// A round looks at every entry of the pack, of which `entries` are here, and must do far
    /// more than that.
    fn is_worth_it(&self, entries: u32) -> bool {
        let looks = self.worth / ENTRIES_OF_A_ROUND * u64::from(entries);
        self.bytes >= self.worth.saturating_add(looks)
    }

    /// A round that came to little must not be followed by many: what waits may wait for
    /// objects that never come.
    fn was_done(&mut self, resolved_bytes: u64) {
        if resolved_bytes < self.bytes / 2 {
            self.worth = self.worth.saturating_mul(2);
        }
        self.bytes = 0;
    }
}

impl<S: EntryStore> Ingest<S> {
    /// Has what waits for its base resolved on the threads of `workers` whenever it comes to
    /// `round_bytes` of objects for each of them, or somewhat more in a pack of very many, so
    /// that little is left after the last byte. The store must be able to lend its streams at
    /// any time. To be called before the first push.
    #[must_use]
    pub fn resolving_early(mut self, workers: SharedWorkers, round_bytes: u64) -> Self {
        let worth = round_bytes.saturating_mul(workers.threads() as u64);
        self.backlog = Some(Backlog { workers, bytes: 0, worth });
        self
    }

    /// Resolves what waits for its base on the caller's thread, and gives back the store
    /// with every object of the pack in it.
    ///
    /// Fails when the pack is not complete or a delta's base was in neither the pack nor
    /// the store; the store is dropped then.
    pub fn finish(self, interrupt: &dyn Interrupt) -> Result<(S, IngestStats), PackError> {
        let resolved = self.complete_on(&Crew::Alone(interrupt))?;
        Ok((resolved.store, resolved.stats))
    }

    /// The same on the threads of `workers`, with a table of all entries. Which thread
    /// makes what changes nothing about the result.
    pub fn finish_on(
        self,
        workers: &dyn Workers,
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<Resolved<S>, PackError> {
        self.complete_on(&Crew::Together(workers, interrupt))
    }

    /// Resolves what waits, when that is worth it.
    pub(super) fn catch_up(&mut self, interrupt: &(dyn Interrupt + Sync)) -> Result<(), PackError> {
        let entries = self.tree.len();
        let Some(mut backlog) = self.backlog.take_if(|backlog| backlog.is_worth_it(entries)) else {
            return Ok(());
        };
        let before = self.rules.resolved_bytes();
        self.resolve(&Crew::Together(&backlog.workers, interrupt), Until::More)?;
        backlog.was_done(self.rules.resolved_bytes() - before);
        self.backlog = Some(backlog);
        Ok(())
    }

    fn complete_on(mut self, crew: &Crew<'_>) -> Result<Resolved<S>, PackError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let checksum = self.parser.finish()?;
        self.resolve(crew, Until::End)?;
        self.stats.objects = u64::from(self.parser.completed());
        self.stats.resolved_bytes = self.rules.resolved_bytes();
        match self.tree.unresolved() {
            // Their bases may be among the blobs that were not looked at.
            Some(PackError::Unresolved { count, .. }) if self.stats.left_out_unnamed > 0 => {
                self.stats.left_out_unnamed += count;
            }
            Some(error) => return Err(error),
            None => {}
        }
        let Self { store, stats, tree, .. } = self;
        Ok(Resolved { store, stats, checksum, entries: Entries::of(tree) })
    }

    fn resolve(&mut self, crew: &Crew<'_>, until: Until) -> Result<(), PackError> {
        self.stats.received_bytes = self.parser.offset();
        self.stats.left_out_unnamed += self.tree.leave_out_below()?;
        let resolver = Resolver {
            namer: self.namer,
            tree: &mut self.tree,
            store: &mut self.store,
            rules: &self.rules,
            stats: &mut self.stats,
            budget: &self.budget,
        };
        resolver.run(crew, until)
    }
}

/// Bytes of objects that make a round of [`resolving_early`](Ingest::resolving_early) worth its
/// while, for each thread: some hundredths of a second's work.
pub const EARLY_ROUND_BYTES: u64 = 16 << 20;
/// Looking at so many entries takes about as long as making objects of 16 MiB.
const ENTRIES_OF_A_ROUND: u64 = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::delta::DeltaEncoder;

    #[test]
    fn deltas_whose_bases_never_come_cause_few_rounds_whatever_they_promise() {
        let workers = SharedWorkers::default();
        let mut backlog = Backlog { workers, bytes: 0, worth: EARLY_ROUND_BYTES };
        let promise = DeltaEncoder::new(1, 1 << 30).finish();
        let mut rounds = 0;
        for entry in 0..1_000_000 {
            backlog.add(&promise);
            if backlog.is_worth_it(entry) {
                backlog.was_done(0);
                rounds += 1;
            }
        }
        assert!((2..40).contains(&rounds), "{rounds}");
    }

    #[test]
    fn a_round_is_due_again_when_as_much_waits_as_before() {
        let workers = SharedWorkers::default();
        let mut backlog = Backlog { workers, bytes: 0, worth: EARLY_ROUND_BYTES };
        let delta = DeltaEncoder::new(1, EARLY_ROUND_BYTES).finish();
        for _ in 0..5 {
            backlog.add(&delta);
            assert!(!backlog.is_worth_it(1 << 10), "every entry costs a look");
            backlog.add(&delta);
            assert!(backlog.is_worth_it(1 << 10));
            backlog.was_done(2 * EARLY_ROUND_BYTES);
        }
    }
}
