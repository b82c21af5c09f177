//! What [`select`](super::select) comes to.

use std::sync::Arc;

use super::super::placed::{InPack, Placed};
use super::{HAD, SENT};
use crate::graph::Marks;
use crate::limits::Budget;
use crate::oid::ObjectId;
use crate::store::{Objects, PackView, StoreError};

/// The objects to be sent, and those the client is known to have.
#[derive(Debug)]
pub(in crate::server) struct Selection {
    pub(super) marks: Marks,
    /// What is sent besides, as bitmaps say.
    pub(super) sent: Option<InPack>,
    /// What the client has besides.
    pub(super) had: Option<InPack>,
}

impl Selection {
    /// What is sent, by the places it has in the packs of `store` now; what the client has is
    /// left.
    pub(in crate::server) fn take_placed<S: Objects + ?Sized>(
        &mut self,
        store: &S,
        packs: Vec<Arc<dyn PackView>>,
        budget: &Budget,
    ) -> Result<Placed, StoreError> {
        let ids = self.marks.with(SENT).map(|row| self.marks.id(row));
        Placed::new(self.sent.take(), packs, store.format(), ids, budget)
    }

    /// Whether the client is known to have an object.
    pub(in crate::server) fn is_had(&self, id: &ObjectId) -> bool {
        let by_bits = self.had.as_ref().is_some_and(|had| had.has_id(id).unwrap_or(false));
        by_bits || self.marks.has(id, HAD)
    }

    pub(super) fn is_sent(&self, id: &ObjectId) -> Result<bool, StoreError> {
        let by_bits = self.sent.as_ref().map_or(Ok(false), |sent| sent.has_id(id))?;
        Ok(by_bits || self.marks.has(id, SENT))
    }
}
