//! The entries of a pack whose every object is known: what an index is made of.

use super::tree::DeltaTree;
use crate::object::Kind;
use crate::oid::ObjectId;

/// Every entry of a pack, numbered from 0 in the order of their offsets.
pub struct Entries(DeltaTree);

impl Entries {
    pub(super) fn of(tree: DeltaTree) -> Self {
        Self(tree)
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where `entry` begins in the pack.
    ///
    /// # Panics
    ///
    /// As an index of a slice, when there are not so many entries.
    pub fn offset(&self, entry: u32) -> u64 {
        self.0.record(entry).offset
    }

    /// Its object's id; panics as [`offset`](Self::offset).
    pub fn id(&self, entry: u32) -> ObjectId {
        self.0.id(entry)
    }

    /// Its object's kind; panics as [`offset`](Self::offset).
    pub fn kind(&self, entry: u32) -> Kind {
        self.0.record(entry).kind().unwrap_or(Kind::Blob)
    }

    /// How many deltas there are from a whole object, here or outside the pack, to it;
    /// panics as [`offset`](Self::offset).
    pub fn depth(&self, entry: u32) -> u32 {
        self.0.record(entry).depth()
    }

    /// The objects outside the pack that deltas of it were made against.
    pub fn outside_bases(&self) -> impl Iterator<Item = ObjectId> {
        self.0.groups().outside()
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entries").field("len", &self.len()).finish_non_exhaustive()
    }
}
