//! What a search would cost, before a single file is fetched for it.
//!
//! Counting files takes folders, so these are fetched first, unless only what is held is to
//! be looked at. Sizes are asked of hosts that tell them. What files take on the way is not
//! known to anybody before they come: that is estimated from what those take that are held,
//! or else from what files take elsewhere.

use crate::error::Error;
use crate::limits::Reservation;
use crate::object::{EntryKind, Kind};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};
use crate::view::Step;
use crate::view::glob::PathFilter;
use crate::view::path;
use crate::view::walk::{Place, Walk, WalkEntry, WalkOptions};

use super::results::{EstimatedFrom, Plan};
use super::search::{TYPICAL_BLOB_BYTES, Walked};
use super::snapshot::Snapshot;
use super::source::Source;

/// What an id takes in the set of what is missing, and in the list that is asked for.
const BYTES_PER_BLOB: u64 = 4 * size_of::<ObjectId>() as u64;

/// Files that are held and looked at for an estimate: enough for a mean, and few to read.
const MAX_SAMPLES: u64 = 256;

/// Fewer say nothing about the others.
const MIN_SAMPLES: u64 = 16;

/// What is left of text that is packed: of git.git and of Linux between a fifth and a quarter.
const TYPICAL_PACKED_SHARE: u64 = 4;

/// How a plan is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanOptions {
    /// Fetch nothing for it, not even folders.
    pub held_only: bool,
}

impl<S: Source> Snapshot<S> {
    /// What a search of the files that pass `filter` would cost now, if it ended only where
    /// there are no more files. No file is fetched; folders are, and sizes from hosts that
    /// tell them, unless `options` say otherwise.
    ///
    /// # Errors
    ///
    /// `Limit` when there are more files than memory has room to count, and those of the
    /// transfer.
    pub async fn plan(&self, filter: &PathFilter, options: PlanOptions) -> Result<Plan, Error> {
        let mut tally = Tally::new(self.source().budget().empty());
        if options.held_only {
            let held = self.source().compute(|| self.tally_held(filter, &mut tally));
            held?;
        } else {
            let tree = self.tree().await?;
            let of_files = WalkOptions { filter: filter.clone(), ..WalkOptions::default() };
            let store = self.source().store();
            let mut counted = Ok(());
            let mut visit = |entry: &WalkEntry<'_>| {
                counted = tally.count(entry, store);
                counted.is_ok()
            };
            let walked = self.walk_tree(tree, of_files, &Place::default(), &mut visit).await;
            counted?;
            if let Walked::Failed(error, _) = walked {
                return Err(error);
            }
            let ids: Vec<ObjectId> = tally.missing.iter().map(|item| item.id).collect();
            self.sizes(&ids).await?;
        }
        Ok(tally.plan(self.commit(), |id| self.source().known_size(id)))
    }

    /// Counts what can be without fetching anything.
    fn tally_held(&self, filter: &PathFilter, tally: &mut Tally) -> Result<(), Error> {
        let store = self.source().store();
        let tree = match path::peel(store, &self.commit())? {
            Lookup::Ready(peeled) => peeled.tree,
            // They come together, if the host can do that.
            Lookup::Missing(_) => {
                tally.trees_missing = 1;
                return Ok(());
            }
        };
        let of_files = WalkOptions { filter: filter.clone(), ..WalkOptions::default() };
        let mut walk = Walk::new(tree, of_files, &self.repo().limits);
        loop {
            match walk.next(store, &self.watch())? {
                Step::Item(entry) => tally.count(&entry, store)?,
                Step::Missing(trees) => {
                    tally.trees_missing = trees.len() as u64;
                    return Ok(());
                }
                Step::Done => return Ok(()),
            }
        }
    }
}

/// What was counted so far.
struct Tally {
    files: u64,
    trees_missing: u64,
    missing: MissingSet,
    paid: Reservation,
    /// Of files that are held.
    samples: u64,
    sampled_bytes: u64,
    sampled_packed_bytes: u64,
}

impl Tally {
    fn new(paid: Reservation) -> Self {
        Self {
            files: 0,
            trees_missing: 0,
            missing: MissingSet::default(),
            paid,
            samples: 0,
            sampled_bytes: 0,
            sampled_packed_bytes: 0,
        }
    }

    fn count(&mut self, entry: &WalkEntry<'_>, store: &impl Objects) -> Result<(), Error> {
        if !matches!(entry.mode.kind(), EntryKind::Blob | EntryKind::Executable) {
            return Ok(());
        }
        self.files += 1;
        if store.contains(&entry.id)? {
            if self.samples < MAX_SAMPLES {
                self.sample(&entry.id, store)?;
            }
        } else if self.missing.insert(entry.id, Some(Kind::Blob)) {
            self.paid.grow(BYTES_PER_BLOB)?;
        }
        Ok(())
    }

    fn sample(&mut self, id: &ObjectId, store: &impl Objects) -> Result<(), Error> {
        let (Some(header), Some(packed)) = (store.header(id)?, store.packed(id)?) else {
            return Ok(());
        };
        self.samples += 1;
        self.sampled_bytes = self.sampled_bytes.saturating_add(header.size);
        let stream = packed.stream.len() as u64;
        self.sampled_packed_bytes = self.sampled_packed_bytes.saturating_add(stream);
        Ok(())
    }

    fn plan(&self, commit: ObjectId, known_size: impl Fn(&ObjectId) -> Option<u64>) -> Plan {
        let (mut bytes_known, mut of_unknown_size) = (0_u64, 0);
        for item in self.missing.iter() {
            match known_size(&item.id) {
                Some(size) => bytes_known = bytes_known.saturating_add(size),
                None => of_unknown_size += 1,
            }
        }
        let blobs_missing = self.missing.len() as u64;
        let is_complete = self.trees_missing == 0;
        let batches = blobs_missing.div_ceil(MissingSet::MAX_BLOBS as u64);
        let is_known_by_samples = self.samples >= MIN_SAMPLES;
        let (per_blob, packed, of_bytes) = match is_known_by_samples {
            true => (
                self.sampled_packed_bytes.div_ceil(self.samples),
                self.sampled_packed_bytes,
                self.sampled_bytes,
            ),
            false => (TYPICAL_BLOB_BYTES, 1, TYPICAL_PACKED_SHARE),
        };
        let of_known = u128::from(bytes_known) * u128::from(packed) / u128::from(of_bytes.max(1));
        let of_known = u64::try_from(of_known).unwrap_or(u64::MAX);
        let of_unknown = per_blob.saturating_mul(of_unknown_size);
        let from = if is_known_by_samples { EstimatedFrom::Held } else { EstimatedFrom::Typical };
        Plan {
            commit,
            is_complete,
            files: self.files,
            trees_missing: self.trees_missing,
            blobs_missing,
            requests: batches + u64::from(!is_complete),
            bytes_known,
            blobs_of_unknown_size: of_unknown_size,
            bytes_estimated: of_known.saturating_add(of_unknown),
            estimated_from: (blobs_missing > 0).then_some(from),
        }
    }
}
