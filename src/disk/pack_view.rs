//! A pack on disk as a [`PackView`]: entries in the order they lie in, checked against the
//! index's checksums before they are copied, as git does.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::helpers;
use super::pack::Pack;
use crate::limits::{Budget, PaidVec, Reservation};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::bitmap::PackBitmap;
use crate::pack::entry::EntryForm;
use crate::store::{PackView, Reachability, StoreError, ViewedEntry, ViewedForm};

#[derive(Debug)]
pub(super) struct View {
    pack: Arc<Pack>,
    budget: Budget,
    bitmap: OnceLock<Option<Bitmap>>,
}

/// Bitmaps, whose tables are paid for.
#[derive(Debug)]
struct Bitmap {
    bits: PackBitmap<Bytes>,
    _paid: Reservation,
}

impl View {
    /// The tables it needs are paid from `budget`.
    pub(super) fn new(pack: Arc<Pack>, budget: &Budget) -> Self {
        Self { pack, budget: budget.clone(), bitmap: OnceLock::new() }
    }

    /// The bitmaps beside the pack, if there are such that can be used.
    fn bitmap(&self) -> Option<&Bitmap> {
        self.bitmap.get_or_init(|| self.open_bitmap()).as_ref()
    }

    fn open_bitmap(&self) -> Option<Bitmap> {
        let path = self.pack.path().with_extension("bitmap");
        let index = &self.pack.index;
        let bits = helpers::open(&path, |bytes| {
            PackBitmap::parse(bytes, index.format(), index.len(), &index.pack_checksum())
        })?;
        let paid = self.budget.reserve(bits.table_bytes());
        let paid = paid.map_err(|error| helpers::ignore(&path, &error.to_string())).ok()?;
        Some(Bitmap { bits, _paid: paid })
    }

    /// Adds bits that `flip` makes of none.
    fn add(
        &self,
        words: &mut [u64],
        flip: impl FnOnce(&PackBitmap<Bytes>, &mut [u64]) -> bool,
    ) -> Result<bool, StoreError> {
        let Some(Bitmap { bits, .. }) = self.bitmap() else { return Ok(false) };
        let mut flipped = PaidVec::new(&self.budget);
        flipped.lengthen(words.len(), 0)?;
        let is_known = flip(bits, &mut flipped);
        // Runs of ones may go on after the last entry.
        let spare = (words.len() * 64).saturating_sub(self.pack.index.len() as usize);
        if let Some(last) = flipped.last_mut().filter(|_| spare < 64) {
            *last &= u64::MAX >> spare;
        }
        words.iter_mut().zip(&flipped).for_each(|(word, flipped)| *word |= flipped);
        Ok(is_known)
    }
}

impl Reachability for View {
    fn add_reached_by(&self, id: &ObjectId, words: &mut [u64]) -> Result<bool, StoreError> {
        let place = self.pack.index.position(id);
        let Some(place) = place.filter(|&at| self.bitmap().is_some_and(|all| all.bits.knows(at)))
        else {
            return Ok(false);
        };
        self.add(words, |bits, words| bits.flip_reached(place, words))
    }

    fn add_of_kind(&self, kind: Kind, words: &mut [u64]) -> Result<(), StoreError> {
        let flip = |bits: &PackBitmap<Bytes>, words: &mut [u64]| {
            bits.flip_kind(kind, words);
            true
        };
        self.add(words, flip).map(drop)
    }
}

impl PackView for View {
    fn reachability(&self) -> Option<&dyn Reachability> {
        self.bitmap().map(|_| self as &dyn Reachability)
    }

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
