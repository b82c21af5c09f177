//! Whether enough is known of what another side has.

use std::collections::BinaryHeap;

use hashbrown::HashSet;

use super::{Cuts, Marks, commit_facts};
use crate::error::Error;
use crate::limits::{Budget, Interrupt};
use crate::oid::ObjectId;
use crate::store::Objects;

/// Whether each of `tips` is one of `targets` or reaches one. What is older than the oldest
/// target is not looked at, as in git: where clocks differ the answer can be a wrong no.
///
/// # Errors
/// When a commit is damaged, memory is spent, or `interrupt` says so.
pub fn all_reach<S: Objects + ?Sized>(
    store: &S,
    tips: &[ObjectId],
    targets: &HashSet<ObjectId>,
    cuts: &Cuts,
    budget: &Budget,
    interrupt: &dyn Interrupt,
) -> Result<bool, Error> {
    let mut oldest = u64::MAX;
    for id in targets {
        oldest = oldest.min(commit_facts(store, id)?.map_or(u64::MAX, |facts| facts.seconds));
    }
    let mut walk = Reach { store, targets, cuts, oldest, interrupt, visited: 0 };
    for tip in tips {
        // What one tip did not reach says nothing about the next, so each begins anew.
        if !walk.reaches(tip, Marks::new(store.format(), budget))? {
            return Ok(false);
        }
    }
    Ok(true)
}

struct Reach<'a, S: ?Sized> {
    store: &'a S,
    targets: &'a HashSet<ObjectId>,
    cuts: &'a Cuts,
    oldest: u64,
    interrupt: &'a dyn Interrupt,
    visited: u32,
}

impl<S: Objects + ?Sized> Reach<'_, S> {
    fn reaches(&mut self, tip: &ObjectId, mut seen: Marks) -> Result<bool, Error> {
        let mut queue = BinaryHeap::from([(u64::MAX, *tip)]);
        while let Some((_, id)) = queue.pop() {
            if self.targets.contains(&id) {
                return Ok(true);
            }
            self.visited = self.visited.wrapping_add(1);
            if self.visited.is_multiple_of(256) {
                self.interrupt.check()?;
            }
            let Some(facts) = commit_facts(self.store, &id)? else { continue };
            if facts.seconds < self.oldest || self.cuts.contains(&id) {
                continue;
            }
            for parent in facts.parents {
                let row = seen.row(&parent)?;
                if !seen.add(row, 1) {
                    queue.push((facts.seconds, parent));
                }
            }
        }
        Ok(false)
    }
}
