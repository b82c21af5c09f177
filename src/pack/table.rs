//! Tables that are spent from the budget as they grow: one row per entry of a pack.
//!
//! Nothing here is ever sized by a declared count, and ids take the raw width of their
//! repository.

use std::hash::BuildHasher as _;

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

/// Ids side by side, 20 or 32 bytes each.
pub(super) struct RawIds {
    bytes: Table<u8>,
    width: usize,
}

impl RawIds {
    pub(super) fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self { bytes: Table::new(budget), width: format.raw_len() }
    }

    pub(super) fn push(&mut self, id: &ObjectId) -> Result<(), LimitExceeded> {
        self.bytes.make_room(self.width)?;
        self.bytes.rows.extend_from_slice(id.as_bytes());
        Ok(())
    }

    pub(super) fn set(&mut self, at: u32, id: &ObjectId) {
        let start = at as usize * self.width;
        self.bytes[start..start + self.width].copy_from_slice(id.as_bytes());
    }

    pub(super) fn at(&self, at: u32) -> &[u8] {
        let start = at as usize * self.width;
        &self.bytes[start..start + self.width]
    }
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

    pub(super) fn find(&self, ids: &RawIds, id: &[u8]) -> Option<u32> {
        self.rows.find(self.seed.hash_one(id), |&row| ids.at(row) == id).copied()
    }

    /// Adds `row`, unless a row with its id is there already.
    pub(super) fn insert(&mut self, ids: &RawIds, row: u32) -> Result<(), LimitExceeded> {
        if self.find(ids, ids.at(row)).is_some() {
            return Ok(());
        }
        if self.rows.len() == self.rows.capacity() {
            // A row is four bytes and one of control; a table is at least 7/16 full
            // after it has doubled.
            let wanted = (2 * self.rows.capacity()).max(64);
            self.held.grow(wanted as u64 * 12)?;
            self.rows.reserve(wanted - self.rows.len(), |&row| self.seed.hash_one(ids.at(row)));
            self.held.resize(self.rows.allocation_size() as u64)?;
        }
        let hash = self.seed.hash_one(ids.at(row));
        self.rows.insert_unique(hash, row, |&row| self.seed.hash_one(ids.at(row)));
        Ok(())
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
                assert_eq!(index.find(&ids, id(n).as_bytes()), Some(n));
            }
            assert_eq!(index.find(&ids, id(500).as_bytes()), None);
            ids.set(7, &id(1_000));
            assert_eq!(ids.at(7), id(1_000).as_bytes());
        }
    }
}
