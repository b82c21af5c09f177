//! Objects seen on a walk, each once, with a byte of marks.
//!
//! Ids lie side by side in their raw width, and are found by a seeded hash: peers choose
//! ids. What the table occupies is spent from the budget before it grows.

use std::hash::BuildHasher as _;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::limits::{Budget, LimitExceeded, Reservation, Which};
use crate::oid::{ObjectFormat, ObjectId};

/// A set of objects; each has a row, counted from 0 in the order they were added, and
/// eight marks of whoever made the set.
///
/// ```
/// use gitsip::graph::Marks;
/// use gitsip::{Budget, ObjectFormat};
///
/// const SEEN: u8 = 1;
/// let mut marks = Marks::new(ObjectFormat::Sha1, &Budget::new(1 << 20));
/// let row = marks.row(&ObjectFormat::Sha1.empty_tree())?;
/// assert!(!marks.add(row, SEEN));
/// assert!(marks.add(row, SEEN));
/// assert_eq!(marks.id(row), ObjectFormat::Sha1.empty_tree());
/// # Ok::<(), gitsip::limits::LimitExceeded>(())
/// ```
#[derive(Debug)]
pub struct Marks {
    format: ObjectFormat,
    /// Ids in their raw width, one after the other.
    ids: Vec<u8>,
    marks: Vec<u8>,
    rows: HashTable<u32>,
    seed: DefaultHashBuilder,
    held: Reservation,
}

impl Marks {
    /// An empty set of ids of `format`, paid from `budget`.
    pub fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self {
            format,
            ids: Vec::new(),
            marks: Vec::new(),
            rows: HashTable::new(),
            seed: DefaultHashBuilder::default(),
            held: budget.empty(),
        }
    }

    /// The row of `id`, which is added without marks when it is new.
    ///
    /// # Errors
    /// When memory is spent. An id of the other format is never equal to one of this.
    pub fn row(&mut self, id: &ObjectId) -> Result<u32, LimitExceeded> {
        self.make_room()?;
        let width = self.format.raw_len();
        let (ids, seed) = (&mut self.ids, &self.seed);
        let raw = id.as_bytes();
        let is_it = |row: &u32| raw_at(ids, width, *row) == raw;
        let rehash = |row: &u32| seed.hash_one(raw_at(ids, width, *row));
        match self.rows.entry(seed.hash_one(raw), is_it, rehash) {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(place) => {
                let row = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
                place.insert(row);
                ids.extend_from_slice(raw);
                self.marks.push(0);
                Ok(row)
            }
        }
    }

    /// The row of `id`, if it is in the set.
    pub fn find(&self, id: &ObjectId) -> Option<u32> {
        let raw = id.as_bytes();
        let is_it = |row: &u32| raw_at(&self.ids, self.format.raw_len(), *row) == raw;
        self.rows.find(self.seed.hash_one(raw), is_it).copied()
    }

    /// Whether `id` is in the set with any of the marks `bits`.
    pub fn has(&self, id: &ObjectId, bits: u8) -> bool {
        self.find(id).is_some_and(|row| self.any(row, bits))
    }

    /// Adds the marks `bits` to a row; whether it had all of them before.
    pub fn add(&mut self, row: u32, bits: u8) -> bool {
        match self.marks.get_mut(row as usize) {
            Some(marks) => {
                let had = *marks & bits == bits;
                *marks |= bits;
                had
            }
            None => false,
        }
    }

    /// Whether a row has any of the marks `bits`.
    pub fn any(&self, row: u32, bits: u8) -> bool {
        self.marks.get(row as usize).is_some_and(|marks| marks & bits != 0)
    }

    /// The id in a row; the null id where there is no such row.
    pub fn id(&self, row: u32) -> ObjectId {
        ObjectId::from_raw(raw_at(&self.ids, self.format.raw_len(), row))
            .unwrap_or(ObjectId::null(self.format))
    }

    /// All ids, in the order they were added.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        (0..self.marks.len()).map(|row| self.id(u32::try_from(row).unwrap_or(u32::MAX)))
    }

    /// The rows with all of the marks `bits`, in the order they were added.
    pub fn with(&self, bits: u8) -> impl Iterator<Item = u32> {
        let rows = (0_u32..).zip(&self.marks);
        rows.filter(move |(_, marks)| **marks & bits == bits).map(|(row, _)| row)
    }

    /// How many objects are in the set.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// What the tables occupy, which the budget paid.
    pub fn bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Pays for one more row, where tables have to grow for it.
    fn make_room(&mut self) -> Result<(), LimitExceeded> {
        let (len, capacity) = (self.marks.len(), self.marks.capacity());
        if len < capacity {
            return Ok(());
        }
        if len >= u32::MAX as usize {
            let allowed = u64::from(u32::MAX);
            return Err(LimitExceeded { which: Which::PackObjects, allowed, seen: allowed + 1 });
        }
        let wanted = capacity.saturating_mul(2).max(FIRST_ROWS);
        let width = self.format.raw_len();
        // While they move, both the old place and the new one exist.
        self.held.grow((wanted * (width + 1 + HASHED_ROW_BYTES)) as u64)?;
        self.marks.reserve_exact(wanted - len);
        self.ids.reserve_exact((wanted - len) * width);
        let (ids, seed) = (&self.ids, &self.seed);
        self.rows.reserve(wanted - len, |row| seed.hash_one(raw_at(ids, width, *row)));
        let held = self.marks.capacity() + self.ids.capacity() + self.rows.allocation_size();
        self.held.resize(held as u64)
    }
}

fn raw_at(ids: &[u8], width: usize, row: u32) -> &[u8] {
    let start = row as usize * width;
    ids.get(start..start + width).unwrap_or_default()
}

const FIRST_ROWS: usize = 64;
/// A row is four bytes and one of control in a hash table that is at least 7/16 full.
const HASHED_ROW_BYTES: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_object_has_one_row_and_all_are_paid_for() {
        for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
            let budget = Budget::new(1 << 20);
            let mut marks = Marks::new(format, &budget);
            let id = |n: u32| {
                let mut raw = vec![0; format.raw_len()];
                raw[..4].copy_from_slice(&n.to_be_bytes());
                ObjectId::from_raw(&raw).unwrap()
            };
            for n in (0..3_000).chain(0..3_000) {
                let row = marks.row(&id(n)).unwrap();
                assert_eq!((row, marks.id(row)), (n, id(n)));
                marks.add(row, if n % 3 == 0 { 4 } else { 1 });
            }
            assert_eq!(marks.len(), 3_000);
            assert_eq!(marks.with(4).count(), 1_000);
            assert_eq!((marks.find(&id(2_999)), marks.find(&id(3_000))), (Some(2_999), None));
            assert!(marks.has(&id(3), 4) && !marks.has(&id(3), 1) && !marks.has(&id(9_999), 255));
            let least = marks.ids.capacity() + marks.marks.capacity();
            assert!(budget.used_bytes() >= least as u64);
            drop(marks);
            assert_eq!(budget.used_bytes(), 0);
        }
    }

    #[test]
    fn a_set_that_cannot_grow_keeps_what_it_has() {
        let budget = Budget::new(64 * 40);
        let mut marks = Marks::new(ObjectFormat::Sha1, &budget);
        let id = |n: u8| ObjectId::from_raw(&[n; 20]).unwrap();
        let added = (0..200).take_while(|&n| marks.row(&id(n)).is_ok()).count();
        assert_eq!((added, marks.len(), marks.find(&id(63))), (64, 64, Some(63)));
    }
}
