//! Buffers for objects under resolution: spent from the budget, used again.

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

/// Hands out buffers and takes them back, keeping two: what a chain needs.
pub(super) struct Pool {
    free: Vec<Buffer>,
    budget: Budget,
    live_bytes: u64,
    peak_live_bytes: u64,
}

impl Pool {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { free: Vec::new(), budget: budget.clone(), live_bytes: 0, peak_live_bytes: 0 }
    }

    /// A buffer with room for `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<Buffer, LimitExceeded> {
        let mut buffer = self.free.pop().unwrap_or_else(|| Buffer::new(&self.budget));
        self.live_bytes -= buffer.bytes.capacity() as u64;
        buffer.prepare(len)?;
        self.live_bytes += buffer.bytes.capacity() as u64;
        self.peak_live_bytes = self.peak_live_bytes.max(self.live_bytes);
        Ok(buffer)
    }

    pub(super) fn give(&mut self, buffer: Buffer) {
        if self.free.len() < 2 {
            self.free.push(buffer);
        } else {
            self.live_bytes -= buffer.bytes.capacity() as u64;
        }
    }

    /// Bytes of all buffers, in use or kept, at most.
    pub(super) fn peak_live_bytes(&self) -> u64 {
        self.peak_live_bytes
    }
}

/// Buffers above this are given back when far less is needed.
const KEEP_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_buffers_are_kept_and_the_rest_is_given_back() {
        let budget = Budget::new(1 << 20);
        let mut pool = Pool::new(&budget);
        let taken = [(); 4].map(|()| pool.take(1_000).unwrap());
        assert_eq!((budget.used_bytes(), pool.peak_live_bytes()), (4_000, 4_000));
        taken.into_iter().for_each(|buffer| pool.give(buffer));
        assert_eq!((budget.used_bytes(), pool.live_bytes), (2_000, 2_000));
        // One that is large enough is used as it is.
        let buffer = pool.take(900).unwrap();
        assert_eq!((buffer.bytes.capacity(), budget.used_bytes()), (1_000, 2_000));
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
