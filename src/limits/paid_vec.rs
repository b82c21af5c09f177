//! A list that is paid for as it grows.

use std::ops::{Deref, DerefMut};

use super::{Budget, LimitExceeded, Reservation};

/// A [`Vec`] whose room is spent from a budget before it is taken, and given back on drop.
///
/// ```
/// use gitsip::Budget;
/// use gitsip::limits::PaidVec;
///
/// let budget = Budget::new(1_000);
/// let mut list = PaidVec::new(&budget);
/// list.push([0_u8; 100])?;
/// assert!(budget.used_bytes() >= 100);
/// while list.push([0; 100]).is_ok() {}
/// assert!(list.len() < 10);
/// drop(list);
/// assert_eq!(budget.used_bytes(), 0);
/// # Ok::<(), gitsip::limits::LimitExceeded>(())
/// ```
#[derive(Debug)]
pub struct PaidVec<T> {
    items: Vec<T>,
    held: Reservation,
}

impl<T> PaidVec<T> {
    /// An empty list, to be paid from `budget`.
    pub fn new(budget: &Budget) -> Self {
        Self { items: Vec::new(), held: budget.empty() }
    }

    /// Adds an item at the end.
    ///
    /// # Errors
    /// When memory is spent; the list is as it was.
    pub fn push(&mut self, item: T) -> Result<(), LimitExceeded> {
        if self.items.len() == self.items.capacity() {
            self.make_room(1)?;
        }
        self.items.push(item);
        Ok(())
    }

    /// What it occupies, which the budget paid.
    pub fn paid_bytes(&self) -> u64 {
        self.held.bytes()
    }

    /// Takes the last item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// Makes the list at least `len` long, with copies of `item`.
    ///
    /// # Errors
    /// When memory is spent; the list is as it was.
    pub fn lengthen(&mut self, len: usize, item: T) -> Result<(), LimitExceeded>
    where
        T: Clone,
    {
        let more = len.saturating_sub(self.items.len());
        if more > self.items.capacity() - self.items.len() {
            self.make_room(more)?;
        }
        if more > 0 {
            self.items.resize(len, item);
        }
        Ok(())
    }

    /// Pays for and takes room for `more` items, and as many again as there are.
    fn make_room(&mut self, more: usize) -> Result<(), LimitExceeded> {
        let len = self.items.len();
        let wanted = len.saturating_add(more).max(len.saturating_mul(2)).max(FIRST_ITEMS);
        // While they move, both the old place and the new one exist.
        self.held.grow(bytes_of::<T>(wanted))?;
        self.items.reserve_exact(wanted - len);
        self.held.resize(bytes_of::<T>(self.items.capacity()))
    }
}

fn bytes_of<T>(items: usize) -> u64 {
    (items as u64).saturating_mul(size_of::<T>() as u64)
}

impl<T> Deref for PaidVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for PaidVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<'a, T> IntoIterator for &'a PaidVec<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

const FIRST_ITEMS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_changes_nothing() {
        let budget = Budget::new(64);
        let mut list = PaidVec::new(&budget);
        list.lengthen(5, 7_u32).unwrap();
        assert_eq!((&list[..], budget.used_bytes()), (&[7; 5][..], 20));
        assert!(list.lengthen(12, 8).is_err());
        while list.push(9).is_ok() {}
        assert_eq!((list.len(), list.pop()), (10, Some(9)));
        list.lengthen(3, 1).unwrap();
        assert_eq!(list.len(), 9);
        drop(list);
        assert_eq!(budget.used_bytes(), 0);
    }
}
