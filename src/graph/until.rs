//! Which commits some tips reach before what is known beforehand begins.

use hashbrown::HashSet;

use super::history::{EXCLUDED, Found, REACHED, Walk, collect};
use super::{Cuts, Range};
use crate::error::Error;
use crate::limits::{Budget, Interrupt, PaidVec};
use crate::oid::ObjectId;
use crate::store::{Objects, StoreError};

/// The commits that `tips` reach, newest first, without those that `is_known` knows and what
/// these reach; those next to them are the range's edges. What is known may grow with each
/// question. `None` when there would be more than `max_commits`.
///
/// # Errors
/// When a commit is missing or damaged, memory is spent, `is_known` fails, or `interrupt` says so.
pub fn range_until<S: Objects + ?Sized>(
    store: &S,
    tips: &[ObjectId],
    max_commits: usize,
    budget: &Budget,
    interrupt: &dyn Interrupt,
    is_known: &mut dyn FnMut(&ObjectId) -> Result<bool, StoreError>,
) -> Result<Option<Range>, Error> {
    let cuts: Cuts = HashSet::new();
    let mut walk = Walk::new(store, &cuts, budget);
    let mut found: PaidVec<Found> = PaidVec::new(budget);
    for tip in tips {
        meet(&mut walk, tip, is_known)?;
    }
    let mut visited = 0_u32;
    while let Some(next) = walk.queue.pop()? {
        visited = visited.wrapping_add(1);
        if visited.is_multiple_of(256) {
            interrupt.check()?;
        }
        // It may be known by now: what was met later can reach it.
        if is_known(&walk.marks.id(next.row))? {
            walk.marks.add(next.row, EXCLUDED);
            continue;
        }
        if found.len() >= max_commits {
            return Ok(None);
        }
        let mut first_parent = None;
        for parent in &next.facts.parents {
            let row = meet(&mut walk, parent, is_known)?;
            first_parent.get_or_insert(row);
        }
        found.push(Found { row: next.row, tree: next.facts.tree, first_parent })?;
    }
    for Found { row, .. } in &found {
        if is_known(&walk.marks.id(*row))? {
            walk.marks.add(*row, EXCLUDED);
        }
    }
    collect(&walk.marks, &found, budget).map(Some)
}

/// Visits `id` later, if it was not met and is not known; its row.
fn meet<S: Objects + ?Sized>(
    walk: &mut Walk<'_, S>,
    id: &ObjectId,
    is_known: &mut dyn FnMut(&ObjectId) -> Result<bool, StoreError>,
) -> Result<u32, Error> {
    let row = walk.marks.row(id)?;
    if walk.marks.any(row, REACHED) {
        return Ok(row);
    }
    if is_known(id)? {
        walk.marks.add(row, REACHED | EXCLUDED);
        return Ok(row);
    }
    walk.enqueue(id, REACHED)
}
