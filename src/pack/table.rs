//! Tables that are spent from the budget as they grow: one row per entry of a pack.
//!
//! Nothing here is ever sized by a declared count, and ids take the raw width of their
//! repository.

use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU32, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::limits::{Budget, LimitExceeded, Reservation};
use crate::oid::{ObjectFormat, ObjectId};

/// A vector whose capacity is reserved.
pub(super) struct Table<T> {
    rows: Vec<T>,
    held: Reservation,
}

impl<T> Table<T> {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { rows: Vec::new(), held: budget.empty() }
    }

    pub(super) fn push(&mut self, row: T) -> Result<(), LimitExceeded> {
        self.make_room(1)?;
        self.rows.push(row);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.rows.pop()
    }

    /// Room for `more` rows, doubling what there is.
    fn make_room(&mut self, more: usize) -> Result<(), LimitExceeded> {
        let (len, capacity) = (self.rows.len(), self.rows.capacity());
        if capacity - len >= more {
            return Ok(());
        }
        let wanted = capacity.saturating_mul(2).max(len + more).max(64);
        // While the rows move, both the old place and the new one exist.
        self.held.grow(wanted as u64 * size_of::<T>() as u64)?;
        self.rows.reserve_exact(wanted - len);
        self.held.resize(self.rows.capacity() as u64 * size_of::<T>() as u64)
    }
}

impl<T> std::ops::Deref for Table<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<T> std::ops::DerefMut for Table<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }
}

/// Ids side by side, 20 or 32 bytes each, in words that several threads may set: each
/// the ids of entries of its own. Nobody reads an id while it is set.
pub(super) struct RawIds {
    words: Table<AtomicU32>,
    format: ObjectFormat,
}

impl RawIds {
    pub(super) fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self { words: Table::new(budget), format }
    }

    pub(super) fn push(&mut self, id: &ObjectId) -> Result<(), LimitExceeded> {
        self.words.make_room(self.words_each())?;
        self.words.rows.extend(words_of(id).map(AtomicU32::new));
        Ok(())
    }

    pub(super) fn set(&self, at: u32, id: &ObjectId) {
        let start = at as usize * self.words_each();
        for (place, word) in self.words[start..].iter().zip(words_of(id)) {
            place.store(word, Ordering::Relaxed);
        }
    }

    pub(super) fn at(&self, at: u32) -> ObjectId {
        let (width, start) = (self.format.raw_len(), at as usize * self.words_each());
        let mut raw = [0; 32];
        for (place, word) in raw[..width].chunks_exact_mut(4).zip(&self.words[start..]) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        ObjectId::from_raw(&raw[..width]).unwrap_or(ObjectId::null(self.format))
    }

    fn words_each(&self) -> usize {
        self.format.raw_len() / 4
    }
}

fn words_of(id: &ObjectId) -> impl Iterator<Item = u32> {
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u32::from_ne_bytes(*word));
    id.as_bytes().chunks_exact(4).map(word)
}

/// From an id to its row in a [`RawIds`]. Seeded: peers choose ids.
pub(super) struct IdIndex {
    rows: HashTable<u32>,
    seed: DefaultHashBuilder,
    held: Reservation,
}

impl IdIndex {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { rows: HashTable::new(), seed: DefaultHashBuilder::default(), held: budget.empty() }
    }

    pub(super) fn find(&self, ids: &RawIds, id: &ObjectId) -> Option<u32> {
        self.rows.find(self.hash(id), |&row| ids.at(row) == *id).copied()
    }

    /// Adds `row`, unless a row with its id is there already.
    pub(super) fn insert(&mut self, ids: &RawIds, row: u32) -> Result<(), LimitExceeded> {
        let id = ids.at(row);
        if self.find(ids, &id).is_some() {
            return Ok(());
        }
        if self.rows.len() == self.rows.capacity() {
            // A row is four bytes and one of control; a table is at least 7/16 full
            // after it has doubled.
            let wanted = (2 * self.rows.capacity()).max(64);
            self.held.grow(wanted as u64 * 12)?;
            self.rows.reserve(wanted - self.rows.len(), |&row| {
                self.seed.hash_one(ids.at(row).as_bytes())
            });
            self.held.resize(self.rows.allocation_size() as u64)?;
        }
        self.rows
            .insert_unique(self.hash(&id), row, |&row| self.seed.hash_one(ids.at(row).as_bytes()));
        Ok(())
    }

    fn hash(&self, id: &ObjectId) -> u64 {
        self.seed.hash_one(id.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_pays_for_its_capacity_and_gives_it_back() {
        let budget = Budget::new(1 << 20);
        let mut table = Table::new(&budget);
        for row in 0..1_000_u64 {
            table.push(row).unwrap();
            assert_eq!(budget.used_bytes(), table.rows.capacity() as u64 * 8);
        }
        assert!(table.rows.capacity() < 2_100);
        assert_eq!(table.pop(), Some(999));
        drop(table);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_table_that_cannot_grow_keeps_its_rows() {
        let budget = Budget::new(64 * 8 + 100);
        let mut table = Table::new(&budget);
        let pushed = (0..1_000_u64).take_while(|&row| table.push(row).is_ok()).count();
        assert_eq!(pushed, 64);
        assert_eq!((table.len(), table[63]), (64, 63));
    }

    #[test]
    fn the_first_row_with_an_id_is_found_and_paid_for() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let budget = Budget::new(1 << 20);
            let (mut ids, mut index) = (RawIds::new(format, &budget), IdIndex::new(&budget));
            let id = |n: u32| {
                let mut raw = vec![0; format.raw_len()];
                raw[..4].copy_from_slice(&n.to_be_bytes());
                ObjectId::from_raw(&raw).unwrap()
            };
            for row in 0..600 {
                ids.push(&id(row % 500)).unwrap();
                index.insert(&ids, row).unwrap();
                assert!(budget.used_bytes() >= index.rows.allocation_size() as u64);
            }
            for n in 0..500 {
                assert_eq!(index.find(&ids, &id(n)), Some(n));
            }
            assert_eq!(index.find(&ids, &id(500)), None);
            ids.set(7, &id(1_000));
            assert_eq!(ids.at(7), id(1_000));
        }
    }
}
