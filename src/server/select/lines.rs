//! The order in which commits are looked at: each is followed by its first parent.
//!
//! Branches that were worked on at the same time lie side by side in time, and differ in far
//! more than a commit and its parent do.

use crate::graph::InRange;
use crate::limits::{Budget, LimitExceeded, PaidVec};

/// All of some commits, line by line, as far as a line's commits are of about the same age.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    commits: &'a [InRange],
    is_done: PaidVec<bool>,
    /// All before it are done.
    first: usize,
    /// The one to go on with.
    next: Option<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of `commits`, whose parents come after them.
    pub(super) fn new(commits: &'a [InRange], budget: &Budget) -> Result<Self, LimitExceeded> {
        let mut is_done = PaidVec::new(budget);
        is_done.lengthen(commits.len(), false)?;
        Ok(Self { commits, is_done, first: 0, next: None })
    }

    fn is_open(&self, at: usize) -> bool {
        self.is_done.get(at) == Some(&false)
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a InRange;

    fn next(&mut self) -> Option<&'a InRange> {
        let at = self.next.take().unwrap_or_else(|| {
            while self.is_done.get(self.first) == Some(&true) {
                self.first += 1;
            }
            self.first
        });
        let commit = self.commits.get(at)?;
        *self.is_done.get_mut(at)? = true;
        let end = (at / BLOCK + 1).saturating_mul(BLOCK);
        let parent = commit.first_parent.map(|parent| parent as usize);
        self.next = parent.filter(|&parent| parent < end && self.is_open(parent));
        Some(commit)
    }
}

/// Lines end after so many commits, so that what the deltas of their trees are against is still
/// in memory when it comes to the other lines.
const BLOCK: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid::ObjectId;

    #[test]
    fn each_commit_comes_once_and_after_its_child_where_it_can() {
        let budget = Budget::new(1 << 20);
        let count = 3 * BLOCK as u32;
        // Two lines, side by side.
        let commit = |at: u32| {
            let id = ObjectId::from_raw(&[at.to_be_bytes(); 5].concat()).unwrap();
            let first_parent = Some(at + 2).filter(|&parent| parent < count);
            InRange { id, tree: id, first_parent }
        };
        let commits: Vec<InRange> = (0..count).map(commit).collect();
        let lines = Lines::new(&commits, &budget).unwrap();
        let place = |commit: &InRange| {
            let number = commit.id.as_bytes()[..4].try_into().unwrap();
            u32::from_be_bytes(number) as usize
        };
        let order: Vec<usize> = lines.map(place).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..3 * BLOCK));
        let steps = order.windows(2).filter(|pair| pair[1] == pair[0] + 2).count();
        assert_eq!(steps, order.len() - 6);
        let (first, _) = order.split_at(BLOCK);
        assert!(first.iter().all(|&at| at < BLOCK));
        assert_eq!(budget.used_bytes(), 0);
    }
}
