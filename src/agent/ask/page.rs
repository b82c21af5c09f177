//! How full a page is: items, bytes of JSON, and the memory that holds it.

use crate::error::Error;
use crate::limits::Reservation;

use super::super::results::Truncated;
use super::weigh::Weigh;

/// What an item takes in memory beside its bytes, about.
const ITEM_BYTES: u64 = 256;

/// A page that is being filled.
pub(super) struct Page<F> {
    take: F,
    items_left: u64,
    bytes_left: u64,
    taken: u64,
    /// What collected items are paid from.
    paid: Option<Reservation>,
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offered {
    Taken,
    /// The page has no room for it: it is the first of the next one.
    Refused(Truncated),
}

impl<F> Page<F> {
    pub(super) fn new(max_bytes: u64, paid: Option<Reservation>, take: F) -> Self {
        Self { take, items_left: u64::MAX, bytes_left: max_bytes, taken: 0, paid }
    }

    /// The same with the bounds of a question. A page without room for one item would not
    /// get on, so there is room for one.
    pub(super) fn bounded(mut self, limit: Option<u64>, max_bytes: Option<u64>) -> Self {
        self.items_left = limit.unwrap_or(u64::MAX).max(1);
        self.bytes_left = max_bytes.unwrap_or(self.bytes_left);
        self
    }

    /// Gives room to no more than `items`.
    pub(super) fn at_most(&mut self, items: u64) {
        self.items_left = self.items_left.min(items);
    }

    /// Hands `item` on if there is room; the first item has room whatever its size.
    pub(super) fn offer<T: Weigh>(&mut self, item: T) -> Result<Offered, Error>
    where
        F: FnMut(T) -> Result<bool, Error>,
    {
        let bytes = item.json_bytes();
        if self.items_left == 0 {
            return Ok(Offered::Refused(Truncated::Limit));
        }
        if bytes > self.bytes_left && self.taken > 0 {
            return Ok(Offered::Refused(Truncated::Bytes));
        }
        if let Some(paid) = &mut self.paid
            && let Err(limit) = paid.grow(bytes.saturating_add(ITEM_BYTES))
        {
            return match self.taken {
                0 => Err(limit.into()),
                _ => Ok(Offered::Refused(Truncated::Budget)),
            };
        }
        self.taken += 1;
        self.items_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        if !(self.take)(item)? {
            self.items_left = 0;
        }
        Ok(Offered::Taken)
    }

    /// Whether no further item has room.
    pub(super) fn is_full(&self) -> bool {
        self.items_left == 0
    }

    /// Items handed on.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn bytes_left(&self) -> u64 {
        self.bytes_left
    }
}
