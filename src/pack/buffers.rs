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
