//! Walks and searches of a snapshot: cursors that are fed until they have everything, or
//! whoever asked has enough, or there is nothing left to spend.

use crate::client::progress::{Phase, Progress, ProgressListener};
use crate::error::Error;
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet};
use crate::view::Step;
use crate::view::glob::PathFilter;
use crate::view::grep::{FilePlace, Grep, GrepOptions, GrepStats, Matcher, Sink, Tell};
use crate::view::likely::Turn;
use crate::view::walk::{Place, Walk, WalkEntry, WalkOptions};

use super::drive::{Rounds, is_out_of_memory};
use super::results::{GrepSummary, Unsearched};
use super::snapshot::Snapshot;
use super::source::Source;
use super::unsearched;

/// How a walk ended.
pub(super) enum Walked {
    Done,
    /// At the entry that is here, which was not wanted any more.
    Stopped(Place),
    /// Behind what was handed out, which is here.
    Failed(Error, Place),
}

/// How far a search has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    /// The files that are searched now; `None` for all of them in one turn.
    pub(super) turn: Option<Turn>,
    /// See [`Grep::place`].
    pub(super) place: Place,
    /// Where in the file that is there.
    pub(super) within: Option<FilePlace>,
}

/// How a search ended.
pub(super) struct Searched {
    pub(super) stats: GrepStats,
    /// Where it goes on, if it ended early.
    pub(super) reached: Reached,
    pub(super) error: Option<Error>,
    /// What was left out, where a budget may be why.
    pub(super) unsearched: Option<Unsearched>,
}

impl<S: Source> Snapshot<S> {
    /// Searches the files of this snapshot and hands what it finds to `sink`, in path
    /// order. A search that nothing restricts fetches the snapshot whole when no commit is
    /// held yet; any other fetches what it needs in batches.
    ///
    /// With a [budget](Self::within) of requests, bytes or time it gives what it found until
    /// that was spent, and says what it left out. Files whose names are not those of text
    /// come behind all others then.
    ///
    /// # Errors
    ///
    /// Those of `sink` and of the transfer. What was handed out before is true and partial.
    pub async fn grep(
        &self,
        matcher: Matcher,
        options: GrepOptions,
        sink: &mut impl Sink,
    ) -> Result<GrepSummary, Error> {
        let start = Reached { turn: self.first_turn(), ..Reached::default() };
        let Searched { stats, error, unsearched, .. } =
            self.search(matcher, options, start, sink).await;
        let truncated = match error {
            None => None,
            Some(error) => Some(self.spending().why_ended(&error).ok_or(error)?),
        };
        let unsearched = unsearched.filter(|_| truncated.is_some());
        Ok(GrepSummary { truncated, unsearched, ..GrepSummary::of(self.commit(), &stats) })
    }

    /// The turn that a search begins with.
    pub(super) fn first_turn(&self) -> Option<Turn> {
        self.spending().is_tight().then_some(Turn::First)
    }

    /// Walks `tree` from `start` on, fetching what it needs, until `visit` returns `false`.
    pub(super) async fn walk_tree(
        &self,
        tree: ObjectId,
        options: WalkOptions,
        start: &Place,
        visit: &mut impl FnMut(&WalkEntry<'_>) -> bool,
    ) -> Walked {
        let source = self.source();
        let mut walk = Walk::new(tree, options, &self.repo().limits).starting_at(start);
        let mut rounds = Rounds::default();
        loop {
            let step = source.compute(|| {
                loop {
                    match walk.next(source.store(), &self.watch()) {
                        Ok(Step::Item(entry)) if visit(&entry) => {}
                        step => return step.map(|step| step.map(drop)),
                    }
                }
            });
            let fetched = match step {
                Ok(Step::Missing(missing)) => self.fetch(&mut rounds, &missing).await,
                Ok(Step::Item(())) => return Walked::Stopped(walk.place()),
                Ok(Step::Done) => return Walked::Done,
                Err(error) => Err(error.into()),
            };
            if let Err(error) = fetched {
                return Walked::Failed(error, walk.next_place());
            }
        }
    }

    /// Searches from `start` on, fetching what it needs, until `sink` has enough.
    pub(super) async fn search(
        &self,
        matcher: Matcher,
        options: GrepOptions,
        start: Reached,
        sink: &mut impl Sink,
    ) -> Searched {
        let (source, filter) = (self.source(), options.filter.clone());
        let tree = match self.begin_search(&filter).await {
            Ok(tree) => tree,
            Err(error) => {
                let unsearched = Some(Unsearched::default());
                return Searched {
                    stats: GrepStats::default(),
                    reached: start,
                    error: Some(error),
                    unsearched,
                };
            }
        };
        let grep = Grep::new(tree, matcher, options, &self.repo().limits)
            .starting_at(&start.place, start.within)
            .with_workers(source.workers().clone())
            .telling(tell(source.progress()));
        let mut grep = match start.turn {
            Some(turn) => grep.in_turns(turn),
            None => grep,
        };
        let mut pace = Pace::default();
        let mut rounds = Rounds::default();
        let error = loop {
            let affordable =
                self.spending().allowance.bytes_left().map(|left| pace.batch_len(left));
            let fitting = source.batch_len();
            grep.ask_for_at_most(affordable.map_or(fitting, |blobs| blobs.min(fitting)));
            let step = source.compute(|| grep.run(source.store(), sink, &self.watch()));
            let fetched = match step {
                Ok(Lookup::Ready(_)) => break None,
                Ok(Lookup::Missing(missing)) => {
                    if !grep.is_amid_batch() {
                        rounds.let_go();
                    }
                    let fetched = self.fetch_at(&mut pace, &mut rounds, &missing).await;
                    match fetched {
                        // What is kept of the batch before may be in its way: then the size
                        // of this one is not to blame.
                        Err(error) if is_out_of_memory(&error) && rounds.let_go() => Ok(()),
                        // What did not come is asked for again in smaller batches.
                        Err(error) if is_divisible(&missing) && is_out_of_memory(&error) => {
                            source.could_not_hold(missing.len());
                            Ok(())
                        }
                        fetched => fetched,
                    }
                }
                Err(error) => Err(error),
            };
            if let Err(error) = fetched {
                break Some(error);
            }
        };
        if grep.has_told() {
            source.progress().report(report(Phase::Over, grep.stats()));
        }
        let reached = Reached { turn: grep.turn(), place: grep.place(), within: None };
        let is_left_out = error.as_ref().is_some_and(|it| self.spending().why_ended(it).is_some());
        let unsearched = is_left_out.then(|| {
            let limits = &self.repo().limits;
            let size = |id: &ObjectId| source.known_size(id);
            let store = source.store();
            source.compute(|| unsearched::count(store, size, tree, &filter, &reached, limits))
        });
        Searched { stats: *grep.stats(), reached, error, unsearched }
    }

    /// The root tree; before that all files in one request, where that is best.
    async fn begin_search(&self, filter: &PathFilter) -> Result<ObjectId, Error> {
        if filter.is_unrestricted() && self.spending().lets_all_come_at_once() {
            self.fetch_to_search().await?;
        }
        self.tree().await
    }

    /// Fetches `missing` and learns from it what files cost.
    async fn fetch_at(
        &self,
        pace: &mut Pace,
        rounds: &mut Rounds,
        missing: &MissingSet,
    ) -> Result<(), Error> {
        let allowance = &self.spending().allowance;
        let are_blobs = missing.iter().next().is_some_and(|item| item.kind == Some(Kind::Blob));
        let (true, Some(before)) = (are_blobs, allowance.bytes_left()) else {
            return self.fetch(rounds, missing).await;
        };
        if before < pace.bytes_per_blob() {
            return Err(allowance.too_few_bytes().into());
        }
        self.fetch(rounds, missing).await?;
        let came = before.saturating_sub(allowance.bytes_left().unwrap_or(before));
        pace.blobs += missing.len() as u64;
        pace.bytes = pace.bytes.saturating_add(came);
        Ok(())
    }
}

/// Hands on to `progress` how far a search has come.
fn tell(progress: &ProgressListener) -> Tell {
    let progress = progress.clone();
    Tell::new(move |stats| progress.report(report(Phase::Searching, stats)))
}

fn report(phase: Phase, stats: &GrepStats) -> Progress {
    let GrepStats { files_searched: objects, bytes_searched: bytes, .. } = *stats;
    Progress { phase, objects, total_objects: None, bytes }
}

/// How many files are asked for at once where their bytes are counted.
#[derive(Debug, Default)]
struct Pace {
    /// What came so far.
    blobs: u64,
    bytes: u64,
}

impl Pace {
    /// What one more will take, about.
    fn bytes_per_blob(&self) -> u64 {
        self.bytes.checked_div(self.blobs).map_or(TYPICAL_BLOB_BYTES, |bytes| bytes.max(1))
    }

    /// How many take half of the bytes that are `left`, so that not all is lost where they
    /// are larger than those before.
    fn batch_len(&self, left: u64) -> usize {
        let blobs = usize::try_from(left / 2 / self.bytes_per_blob()).unwrap_or(usize::MAX);
        blobs.clamp(MIN_BATCH, MissingSet::MAX_BLOBS)
    }
}

/// Whether less than all of `missing` can be asked for.
fn is_divisible(missing: &MissingSet) -> bool {
    missing.len() > 1 && missing.iter().all(|item| item.kind == Some(Kind::Blob))
}

/// Bytes that a file takes in a pack, about, as long as nothing is known of a repository.
pub(super) const TYPICAL_BLOB_BYTES: u64 = 3 << 10;
/// Files that are asked for at once at least: one by one they would cost more requests than
/// bytes.
const MIN_BATCH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_as_large_as_what_came_lets_hope() {
        let mut pace = Pace::default();
        assert_eq!(pace.batch_len(0), MIN_BATCH);
        assert_eq!(pace.batch_len(100 * TYPICAL_BLOB_BYTES), 50);
        assert_eq!(pace.batch_len(u64::MAX), MissingSet::MAX_BLOBS);
        (pace.blobs, pace.bytes) = (10, 1_000);
        assert_eq!((pace.bytes_per_blob(), pace.batch_len(20_000)), (100, 100));
        pace.bytes = 0;
        assert_eq!(pace.bytes_per_blob(), 1);
    }
}
