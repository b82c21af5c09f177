//! Packs as whoever serves sees them: entries by the order they lie in, to be copied.
//!
//! A server sends most entries as they are packed. It needs to know which objects lie in
//! which pack, in which order, and which entry of the *same* pack a delta is against; ids
//! are of no use for that, and looking each of them up is what copying costs otherwise.

use std::fmt;

use bytes::Bytes;

use super::StoreError;
use crate::object::Kind;
use crate::oid::ObjectId;

/// One pack, whose entries are numbered in the order they lie in it.
///
/// It stays readable while it is held, whatever happens to the store's list of packs. As long
/// as a pack is in that list, a store gives the same [`Arc`](std::sync::Arc) for it.
pub trait PackView: fmt::Debug + Send + Sync {
    /// How many entries it has.
    fn count(&self) -> u32;

    /// The entry with the object `id`.
    ///
    /// # Errors
    /// [`StoreError::Limit`] when there is no memory for the table that tells.
    fn position(&self, id: &ObjectId) -> Result<Option<u32>, StoreError>;

    /// The object of the entry `at`.
    ///
    /// # Errors
    /// When there is no such entry, or no memory for the table that tells.
    fn id_at(&self, at: u32) -> Result<ObjectId, StoreError>;

    /// The entry `at`, its bytes checked as far as that needs no inflating.
    ///
    /// # Errors
    /// When there is no such entry, it is damaged, or its base is not in the pack.
    fn entry_at(&self, at: u32) -> Result<ViewedEntry, StoreError>;

    /// What its commits reach, where that was worked out beforehand.
    fn reachability(&self) -> Option<&dyn Reachability> {
        None
    }
}

/// What commits of a pack reach, all of which is in the pack: bitmaps.
///
/// Sets of entries are bits: `n % 64` of word `n / 64` is entry `n`.
pub trait Reachability {
    /// Adds to `words` what the commit `id` reaches, itself too; whether that is known.
    ///
    /// # Errors
    /// [`StoreError::Limit`] when there is no memory for it.
    fn add_reached_by(&self, id: &ObjectId, words: &mut [u64]) -> Result<bool, StoreError>;

    /// Adds to `words` all entries of `kind`.
    ///
    /// # Errors
    /// [`StoreError::Limit`] when there is no memory for it.
    fn add_of_kind(&self, kind: Kind, words: &mut [u64]) -> Result<(), StoreError>;
}

/// An entry of a [`PackView`].
#[derive(Clone, Debug)]
pub struct ViewedEntry {
    /// What the stream means.
    pub form: ViewedForm,
    /// Bytes the stream inflates to (of the delta, for a delta).
    pub inflated_size: u64,
    /// The zlib stream, without the entry's header.
    pub stream: Bytes,
}

/// What the stream of a [`ViewedEntry`] means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewedForm {
    /// The object's content.
    Whole(Kind),
    /// A delta against another entry of the same pack.
    DeltaOf {
        /// The number of that entry.
        base: u32,
    },
}
