//! Taking in a pack without its blobs, apart from some: for a snapshot that is larger than
//! memory, of a host that sends all of it or nothing.
//!
//! A blob is hashed as it arrives and, unless it is one of those to keep, forgotten. Its
//! content may stay for a while as the base of deltas that follow, as far as memory allows.
//! A delta of a blob that is gone by then cannot be made: it is left out unseen, and nobody
//! knows its id; so is a blob that is too large to be held for a moment. A delta that is to
//! be kept and whose base is not becomes a whole object. Commits, trees and tags are kept
//! as ever.
//!
//! What is left out is simply not there afterwards: nothing that a pack says about itself is
//! believed, and an object that is there has the content that its id stands for.

use hashbrown::HashSet;

use super::{EntryStore, Ingest};
use crate::limits::Budget;
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::PackError;
use crate::pack::entry::{EntryForm, EntryHeader};
use crate::pack::tree::{Base, DeltaTree};

/// Which blobs of a pack are kept.
#[derive(Clone, Debug, Default)]
pub enum KeepBlobs {
    /// All of them.
    #[default]
    All,
    /// These, as far as they can be told from the others within memory; and a few that others
    /// than these would be made from again.
    Only(HashSet<ObjectId>),
}

/// What an ingest that leaves blobs out goes by.
pub(super) struct Lean {
    wanted: HashSet<ObjectId>,
    /// Bytes of a blob that is looked at, at most.
    largest: u64,
}

impl Lean {
    pub(super) fn new(blobs: KeepBlobs, budget: &Budget) -> Option<Self> {
        match blobs {
            KeepBlobs::All => None,
            KeepBlobs::Only(wanted) => {
                Some(Self { wanted, largest: budget.limit_bytes() / LARGEST_SHARE })
            }
        }
    }

    /// Whether an entry that begins will be left out, whatever it holds.
    pub(super) fn skips(&self, header: &EntryHeader, base: Base, tree: &DeltaTree) -> bool {
        match (header.form, base) {
            (EntryForm::Whole(kind), _) => self.is_too_large(kind, header.inflated_size),
            (_, Base::Entry(base)) => {
                let base = tree.record(base);
                let is_too_large =
                    base.kind().is_some_and(|kind| self.is_too_large(kind, header.inflated_size));
                is_too_large || base.is_unnamed()
            }
            (_, Base::None | Base::Waiting(_)) => false,
        }
    }

    /// Whether an object is not even looked at.
    pub(super) fn is_too_large(&self, kind: Kind, size: u64) -> bool {
        kind == Kind::Blob && size > self.largest
    }

    pub(super) fn keeps(&self, kind: Kind, id: &ObjectId) -> bool {
        kind != Kind::Blob || self.wanted.contains(id)
    }
}

impl<S: EntryStore> Ingest<S> {
    /// Leaves a blob out whose id nobody knows.
    pub(super) fn leave_out(&mut self, entry: u32) -> Result<(), PackError> {
        self.store.abandon();
        self.store.end()?;
        self.tree.left_out_unnamed(entry);
        self.stats.left_out_unnamed += 1;
        Ok(())
    }
}

/// The part of the memory that one blob may have for a moment: its stream takes as much
/// again, and twice that while it moves.
const LARGEST_SHARE: u64 = 4;
