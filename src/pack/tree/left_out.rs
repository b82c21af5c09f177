//! Blobs that are left out: known to be blobs, and not there to make others from.

use std::sync::atomic::Ordering;

use super::{AtomicKind, DeltaTree, Record};
use crate::limits::LimitExceeded;
use crate::pack::table::Table;

/// How the kind of one is noted whose id is known.
const LEFT_OUT: u8 = 5;
/// How the kind of one is noted that nobody looked at.
const UNNAMED: u8 = 6;

impl Record {
    /// Whether it is a blob that is not kept.
    pub(in crate::pack) fn is_left_out(&self) -> bool {
        self.kind.number() >= LEFT_OUT
    }

    /// Whether it is such a blob, and its id is not known.
    pub(in crate::pack) fn is_unnamed(&self) -> bool {
        self.kind.number() == UNNAMED
    }
}

impl AtomicKind {
    fn number(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }
}

/// While the pack arrives.
impl DeltaTree {
    /// A blob that was resolved is not kept.
    pub(in crate::pack) fn left_out_named(&self, entry: u32) {
        self.record(entry).kind.0.store(LEFT_OUT, Ordering::Relaxed);
    }

    /// An entry is a blob, and neither resolved nor kept.
    pub(in crate::pack) fn left_out_unnamed(&self, entry: u32) {
        self.record(entry).kind.0.store(UNNAMED, Ordering::Relaxed);
    }

    /// What came as a delta is kept as a whole object of `size` bytes.
    pub(in crate::pack) fn stands_alone(&mut self, entry: u32, size: u64) {
        self.records[entry as usize].inflated_size = size;
    }

    /// Leaves out what waits for a blob that was left out: deltas by id that came before it.
    /// How many they are.
    pub(in crate::pack) fn leave_out_below(&mut self) -> Result<u64, LimitExceeded> {
        let mut count = 0;
        let mut stack = Table::new(&self.budget);
        for top in 0..self.len() {
            if !self.record(top).is_left_out() {
                continue;
            }
            stack.push(top)?;
            while let Some(base) = stack.pop() {
                let mut next = self.record(base).children.take();
                while let Some(child) = next {
                    self.left_out_unnamed(child);
                    count += 1;
                    stack.push(child)?;
                    next = self.next_sibling(child);
                }
            }
        }
        Ok(count)
    }
}
