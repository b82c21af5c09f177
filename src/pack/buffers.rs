//! Buffers for objects under resolution: spent from the budget, used again.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{Budget, LimitExceeded, Reservation};

/// Bytes whose capacity is reserved.
pub(super) struct Buffer {
    pub(super) bytes: Vec<u8>,
    held: Reservation,
}

impl Buffer {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { bytes: Vec::new(), held: budget.empty() }
    }

    /// Makes the capacity at least `len`, or gives most of it back when that is far less.
    /// What was in it may be gone, and is not cleared where it is not: initialised bytes
    /// are worth keeping.
    pub(super) fn prepare(&mut self, len: usize) -> Result<(), LimitExceeded> {
        let capacity = self.bytes.capacity();
        let oversized = capacity > KEEP_BYTES && len < capacity / 4;
        if capacity < len || oversized {
            self.bytes = Vec::new();
            self.held.resize(0)?;
            self.held.resize(len as u64)?;
            self.bytes.reserve_exact(len);
        }
        Ok(())
    }
}

/// Bytes of all buffers of all pools that share it, in use or kept.
#[derive(Debug, Default)]
pub(super) struct Live {
    bytes: AtomicU64,
    peak: AtomicU64,
}

impl Live {
    /// The most there were at once.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    fn change(&self, before: usize, after: usize) {
        let bytes = match (after as u64).checked_sub(before as u64) {
            Some(0) => return,
            Some(more) => self.bytes.fetch_add(more, Ordering::Relaxed) + more,
            None => self.bytes.fetch_sub((before - after) as u64, Ordering::Relaxed),
        };
        self.peak.fetch_max(bytes, Ordering::Relaxed);
    }
}

/// Hands out buffers and takes them back, its own or another's, keeping two: what a chain
/// needs.
pub(super) struct Pool<'a> {
    free: Vec<Buffer>,
    budget: Budget,
    live: &'a Live,
}

impl<'a> Pool<'a> {
    pub(super) fn new(budget: &Budget, live: &'a Live) -> Self {
        Self { free: Vec::new(), budget: budget.clone(), live }
    }

    /// A buffer with room for `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<Buffer, LimitExceeded> {
        let mut buffer = self.free.pop().unwrap_or_else(|| Buffer::new(&self.budget));
        let before = buffer.bytes.capacity();
        let prepared = buffer.prepare(len);
        self.live.change(before, buffer.bytes.capacity());
        prepared.map(|()| buffer)
    }

    pub(super) fn give(&mut self, buffer: Buffer) {
        if self.free.len() < KEEP_BUFFERS {
            self.free.push(buffer);
        } else {
            self.live.change(buffer.bytes.capacity(), 0);
        }
    }

    /// Lets go of the buffers that are kept; whether there were any.
    pub(super) fn clear(&mut self) -> bool {
        let any = !self.free.is_empty();
        for buffer in self.free.drain(..) {
            self.live.change(buffer.bytes.capacity(), 0);
        }
        any
    }
}

const KEEP_BUFFERS: usize = 2;
/// Buffers above this are given back when far less is needed.
const KEEP_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_buffers_are_kept_and_the_rest_is_given_back() {
        let budget = Budget::new(1 << 20);
        let live = Live::default();
        let mut pool = Pool::new(&budget, &live);
        let taken = [(); 4].map(|()| pool.take(1_000).unwrap());
        assert_eq!((budget.used_bytes(), live.peak_bytes()), (4_000, 4_000));
        taken.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((budget.used_bytes(), live.bytes.load(Ordering::Relaxed)), (2_000, 2_000));
        // One that is large enough is used as it is.
        let buffer = pool.take(900).unwrap();
        assert_eq!((buffer.bytes.capacity(), budget.used_bytes()), (1_000, 2_000));
        assert!(pool.clear() && !pool.clear());
        assert_eq!((budget.used_bytes(), live.peak_bytes()), (1_000, 4_000));
    }

    #[test]
    fn a_buffer_far_too_large_is_given_back() {
        let budget = Budget::new(8 << 20);
        let mut buffer = Buffer::new(&budget);
        buffer.prepare(4 << 20).unwrap();
        buffer.prepare(1 << 20).unwrap();
        assert_eq!(budget.used_bytes(), 4 << 20);
        buffer.prepare(1_000).unwrap();
        assert_eq!(budget.used_bytes(), 1_000);
    }
}
