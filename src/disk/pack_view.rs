//! A pack on disk as a [`PackView`]: entries in the order they lie in, checked against the
//! index's checksums before they are copied, as git does.

use std::sync::Arc;

use super::pack::Pack;
use crate::limits::Budget;
use crate::oid::ObjectId;
use crate::pack::entry::EntryForm;
use crate::store::{PackView, StoreError, ViewedEntry, ViewedForm};

#[derive(Debug)]
pub(super) struct View {
    pack: Arc<Pack>,
    budget: Budget,
}

impl View {
    /// The tables it needs are paid from `budget`.
    pub(super) fn new(pack: Arc<Pack>, budget: &Budget) -> Self {
        Self { pack, budget: budget.clone() }
    }
}

impl PackView for View {
    fn count(&self) -> u32 {
        self.pack.index.len()
    }

    fn position(&self, id: &ObjectId) -> Result<Option<u32>, StoreError> {
        match self.pack.index.find(id) {
            Some(offset) => self.pack.ordinal(offset, &self.budget).map(Some),
            None => Ok(None),
        }
    }

    fn id_at(&self, at: u32) -> Result<ObjectId, StoreError> {
        let (offset, place) = self.pack.nth(at, &self.budget)?;
        let id = self.pack.index.id_at(place);
        id.ok_or_else(|| self.pack.damaged(offset, "the index has no entry"))
    }

    fn entry_at(&self, at: u32) -> Result<ViewedEntry, StoreError> {
        let pack = &*self.pack;
        let (offset, place) = pack.nth(at, &self.budget)?;
        let entry = pack.entry(offset)?;
        let form = match (entry.header.form, pack.base_of(&entry)?) {
            (EntryForm::Whole(kind), _) => ViewedForm::Whole(kind),
            (_, Some(base)) => ViewedForm::DeltaOf { base: pack.ordinal(base, &self.budget)? },
            (_, None) => return Err(pack.damaged(offset, "the delta's base is not there")),
        };
        let stream = pack.stream(&entry, &self.budget)?;
        // Indexes of version 1 have no checksums.
        if let Some(expected) = pack.index.crc32_at(place)
            && crc32fast::hash(pack.whole_entry(&entry, stream.len())?) != expected
        {
            return Err(pack.damaged(offset, "the entry does not have the index's checksum"));
        }
        Ok(ViewedEntry { form, inflated_size: entry.header.inflated_size, stream })
    }
}
