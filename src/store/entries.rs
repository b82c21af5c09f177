//! The table of a memory store: ids at their raw width, entries beside them, and a
//! seeded hash table from one to the other.
//!
//! The seed is this process's own, because ids come from peers. Growth is paid for
//! before it happens; what fits into capacity already paid for cannot fail.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::families::Families;
use super::raw_cache::Slot;
use super::segments::Place;
use crate::limits::{LimitExceeded, Reservation, Which};
use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};

/// An object that is held, or was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) form: Form,
    /// Bytes of the object.
    pub(super) size: u64,
    /// Where its raw copy was last put.
    pub(super) raw: Slot,
}

/// In which form an object's bytes are held.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// Raw only, at this place among the pinned: it was not received in packed form.
    Pinned(u32),
    /// A zlib stream.
    Packed {
        place: Place,
        inflated_size: u64,
        /// The entry that it is a delta of. It was held when this one became so, and goes
        /// together with it, so that no cycle can be.
        base: Option<u32>,
    },
    /// Not any more: it was evicted, and keeps its number for when it comes again.
    Gone,
}

/// Room that a table needs and does not have.
#[derive(Debug)]
pub(super) struct Growth {
    len: usize,
    /// What the whole table takes then; what it takes now is given back afterwards.
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct Entries {
    format: ObjectFormat,
    ids: Vec<u8>,
    entries: Vec<Entry>,
    table: HashTable<u32>,
    seed: RandomState,
    families: Families,
    held: usize,
    paid: Option<Reservation>,
}

impl Entries {
    pub(super) fn new(format: ObjectFormat) -> Self {
        Self {
            format,
            ids: Vec::new(),
            entries: Vec::new(),
            table: HashTable::new(),
            seed: RandomState::new(),
            families: Families::default(),
            held: 0,
            paid: None,
        }
    }

    /// How many there are, with those that are gone.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them are held.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Bytes of the tables, as paid for.
    pub(super) fn paid_bytes(&self) -> u64 {
        self.paid.as_ref().map_or(0, Reservation::bytes)
    }

    /// The entry of an object that is held, or was.
    pub(super) fn find_known(&self, id: &ObjectId) -> Option<u32> {
        let raw = id.as_bytes();
        let hash = self.seed.hash_one(raw);
        self.table.find(hash, |&entry| self.raw_id(entry) == raw).copied()
    }

    /// The entry of an object that is held.
    pub(super) fn find(&self, id: &ObjectId) -> Option<u32> {
        self.find_known(id).filter(|&entry| self.is_held(entry))
    }

    pub(super) fn is_held(&self, entry: u32) -> bool {
        self.entry(entry).is_some_and(|entry| !matches!(entry.form, Form::Gone))
    }

    pub(super) fn entry(&self, entry: u32) -> Option<&Entry> {
        self.entries.get(entry as usize)
    }

    pub(super) fn entry_mut(&mut self, entry: u32) -> Option<&mut Entry> {
        self.entries.get_mut(entry as usize)
    }

    /// The id of an entry that exists.
    pub(super) fn id(&self, entry: u32) -> ObjectId {
        ObjectId::from_raw(self.raw_id(entry)).unwrap_or(ObjectId::null(self.format))
    }

    /// The raw ids of what is held.
    pub(super) fn held_ids(&self) -> impl Iterator<Item = &[u8]> {
        let ids = self.ids.chunks_exact(self.format.raw_len()).zip(&self.entries);
        ids.filter(|(_, entry)| !matches!(entry.form, Form::Gone)).map(|(id, _)| id)
    }

    /// The room that `more` entries need, unless it is there already.
    pub(super) fn growth(&self, more: usize) -> Result<Option<Growth>, LimitExceeded> {
        let wanted = self.entries.len().saturating_add(more);
        if wanted <= self.entries.capacity() && wanted <= self.table.capacity() {
            return Ok(None);
        }
        let len = wanted.max(self.entries.len().saturating_mul(2)).max(MIN_ENTRIES);
        if u32::try_from(len).is_err() {
            return Err(LimitExceeded {
                which: Which::PackObjects,
                allowed: u64::from(u32::MAX),
                seen: wanted as u64,
            });
        }
        Ok(Some(Growth { len, bytes: self.bytes_for(len) }))
    }

    /// Grows, which `paid` pays for: old and new exist together while the entries move.
    pub(super) fn grow(&mut self, growth: Growth, paid: Reservation) {
        let more = growth.len.saturating_sub(self.entries.len());
        self.ids.reserve_exact(more * self.format.raw_len());
        self.entries.reserve_exact(more);
        self.families.reserve_exact(more);
        let raw_len = self.format.raw_len();
        let (ids, seed) = (&self.ids, &self.seed);
        self.table.reserve(growth.len.saturating_sub(self.table.len()), |&entry| {
            let start = entry as usize * raw_len;
            seed.hash_one(ids.get(start..start + raw_len).unwrap_or_default())
        });
        self.paid = Some(paid);
    }

    /// Adds an entry that is not there yet, into room that was [paid for](Self::grow).
    pub(super) fn push(&mut self, id: &ObjectId, entry: Entry) -> u32 {
        let index = self.entries.len() as u32;
        self.ids.extend_from_slice(id.as_bytes());
        self.entries.push(Entry { form: Form::Gone, ..entry });
        self.families.push();
        let raw_len = self.format.raw_len();
        let (ids, seed) = (&self.ids, &self.seed);
        self.table.insert_unique(seed.hash_one(id.as_bytes()), index, |&entry| {
            let start = entry as usize * raw_len;
            seed.hash_one(ids.get(start..start + raw_len).unwrap_or_default())
        });
        self.restore(index, entry.form);
        index
    }

    /// An entry that is gone is held in `form` from now on.
    pub(super) fn restore(&mut self, index: u32, form: Form) {
        let Some(entry) = self.entries.get_mut(index as usize) else { return };
        entry.form = form;
        self.held += 1;
        if let Form::Packed { base: Some(base), .. } = form {
            self.families.join(index, base);
        }
    }

    /// An entry is held no more; how it was. Its deltas go to `orphans`: they are of no use
    /// without it.
    pub(super) fn lose(&mut self, index: u32, orphans: &mut Vec<u32>) -> Option<Entry> {
        let entry = self.entries.get_mut(index as usize)?;
        let was = *entry;
        if let Form::Gone = was.form {
            return None;
        }
        (entry.form, entry.raw) = (Form::Gone, Slot::None);
        self.held -= 1;
        if let Form::Packed { base: Some(base), .. } = was.form {
            self.families.leave(index, base);
        }
        self.families.disband(index, orphans);
        Some(was)
    }

    fn raw_id(&self, entry: u32) -> &[u8] {
        let len = self.format.raw_len();
        let start = entry as usize * len;
        self.ids.get(start..start + len).unwrap_or_default()
    }

    /// An upper bound of what tables for `len` entries occupy, with what a store notes of them
    /// elsewhere: in which segment they are (in a vector that doubles), and who goes next.
    fn bytes_for(&self, len: usize) -> u64 {
        let buckets = (len as u64 * 8 / 7 + 1).next_power_of_two().max(8);
        let noted = 3 * size_of::<u32>();
        let per_entry =
            self.format.raw_len() + size_of::<Entry>() + Families::BYTES_PER_ENTRY + noted;
        len as u64 * per_entry as u64 + buckets * 5 + 64
    }
}

const MIN_ENTRIES: usize = 64;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::Budget;

    fn entry(size: u64) -> Entry {
        Entry { kind: Kind::Blob, form: Form::Pinned(0), size, raw: Slot::default() }
    }

    fn make_room(entries: &mut Entries, budget: &Budget) -> Result<(), LimitExceeded> {
        if let Some(growth) = entries.growth(1)? {
            let paid = budget.reserve(growth.bytes)?;
            entries.grow(growth, paid);
        }
        Ok(())
    }

    /// Ids that a table hashing by any few bytes of them would put into one bucket.
    fn colliding(i: u32) -> ObjectId {
        let mut raw = [0xab; 20];
        raw[8..12].copy_from_slice(&i.to_be_bytes());
        ObjectId::from_raw(&raw).unwrap()
    }

    #[test]
    fn ids_made_to_collide_are_found_and_paid_for() {
        let budget = Budget::new(1 << 30);
        let mut entries = Entries::new(ObjectFormat::Sha1);
        for i in 0..50_000 {
            make_room(&mut entries, &budget).unwrap();
            assert_eq!(entries.push(&colliding(i), entry(u64::from(i))), i);
        }
        for i in 0..50_000 {
            let found = entries.find(&colliding(i)).unwrap();
            assert_eq!(entries.entry(found).unwrap().size, u64::from(i));
            assert_eq!(entries.id(found), colliding(i));
        }
        assert_eq!(entries.find(&colliding(50_000)), None);
        let real = entries.ids.capacity()
            + entries.entries.capacity() * size_of::<Entry>()
            + entries.table.allocation_size();
        assert!(real as u64 <= entries.paid_bytes(), "{real} > {}", entries.paid_bytes());
        assert_eq!(budget.used_bytes(), entries.paid_bytes());
    }

    #[test]
    fn each_table_hashes_in_its_own_way() {
        let hash = || Entries::new(ObjectFormat::Sha1).seed.hash_one(colliding(0).as_bytes());
        assert_ne!(hash(), hash());
    }

    #[test]
    fn a_refused_growth_changes_nothing() {
        let budget = Budget::new(12_000);
        let mut entries = Entries::new(ObjectFormat::Sha256);
        let mut pushed = 0;
        while make_room(&mut entries, &budget).is_ok() {
            let id = ObjectId::from_raw(&[pushed; 32]).unwrap();
            entries.push(&id, entry(0));
            pushed += 1;
        }
        assert_eq!(entries.len(), 64);
        assert!(entries.find(&ObjectId::from_raw(&[63; 32]).unwrap()).is_some());
    }
}
