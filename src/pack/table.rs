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
