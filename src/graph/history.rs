//! Which commits some tips reach and others do not, newest first.
//!
//! The walk goes by commit time, as git's does, and ends soon after everything that is
//! still to be visited is known to be excluded. Clocks that go wrong can make it end early:
//! then commits are in the answer that the other side has too, never one too few.

use std::collections::BinaryHeap;

use hashbrown::HashSet;

use super::Marks;
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Interrupt, LimitExceeded, PaidVec, Reservation};
use crate::object::{CommitRef, Kind};
use crate::oid::ObjectId;
use crate::store::{CommitFacts, Objects, StoreError};

/// Commits whose parents are not there: where history is cut.
pub type Cuts = HashSet<ObjectId>;

/// What [`range`] came to.
#[derive(Debug)]
pub struct Range {
    /// The commits, newest first.
    pub commits: PaidVec<InRange>,
    /// The commits next to these that are excluded.
    pub edges: PaidVec<ObjectId>,
}

/// A commit of a [`Range`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InRange {
    /// The commit.
    pub id: ObjectId,
    /// Its snapshot.
    pub tree: ObjectId,
    /// Where its first parent is in [`Range::commits`], if it is.
    pub first_parent: Option<u32>,
}

/// The facts of the commit `id`, which is read if the store does not know them; `None` when it
/// does not have it.
///
/// # Errors
/// When it is no commit, or damaged.
pub fn commit_facts<S: Objects + ?Sized>(
    store: &S,
    id: &ObjectId,
) -> Result<Option<CommitFacts>, Error> {
    if let Some(known) = store.known_commit(id)? {
        return Ok(Some(known));
    }
    let Some(object) = store.read(id)? else { return Ok(None) };
    if object.kind != Kind::Commit {
        let what = format!("object {id} is a {}, where a commit should be", object.kind);
        return Err(Error::new(ErrorKind::Corrupt, what));
    }
    let commit = CommitRef::parse(&object.bytes, store.format())
        .map_err(|error| Error::from(error).while_doing(format_args!("reading commit {id}")))?;
    let time = commit.committer().and_then(|committer| committer.time);
    Ok(Some(CommitFacts {
        tree: commit.tree(),
        parents: commit.parents().collect(),
        seconds: time.map_or(0, |time| time.seconds),
    }))
}

/// The commits that `tips` reach and `excluded` do not, without those older than `since`
/// and what these reach. Parents of `cuts` are not followed.
///
/// # Errors
/// When a commit that `tips` reach is missing or damaged, memory is spent, or `interrupt`
/// says so.
pub fn range<S: Objects + ?Sized>(
    store: &S,
    cuts: &Cuts,
    tips: &[ObjectId],
    excluded: &[ObjectId],
    since: Option<u64>,
    budget: &Budget,
    interrupt: &dyn Interrupt,
) -> Result<Range, Error> {
    let mut walk = Walk::new(store, cuts, budget);
    let mut found = PaidVec::new(budget);
    for id in excluded {
        walk.enqueue(id, EXCLUDED)?;
    }
    for id in tips {
        walk.enqueue(id, REACHED)?;
    }
    let mut slop = SLOP;
    let mut visited = 0_u32;
    while let Some(next) = walk.queue.pop()? {
        visited = visited.wrapping_add(1);
        if visited.is_multiple_of(256) {
            interrupt.check()?;
        }
        let is_old = since.is_some_and(|since| next.facts.seconds < since);
        if is_old && !walk.marks.any(next.row, EXCLUDED) {
            walk.exclude(next.row);
        }
        walk.marks.add(next.row, VISITED);
        if walk.marks.any(next.row, EXCLUDED) {
            walk.exclude_parents(&next)?;
            if walk.open == 0 {
                let is_far = next.facts.seconds < walk.oldest;
                slop = if is_far { slop - 1 } else { SLOP };
                if slop == 0 {
                    break;
                }
            }
            continue;
        }
        walk.open -= 1;
        walk.oldest = walk.oldest.min(next.facts.seconds);
        let mut first_parent = None;
        if !walk.is_cut(next.row) {
            for parent in &next.facts.parents {
                let row = walk.enqueue(parent, REACHED)?;
                first_parent.get_or_insert(row);
            }
        }
        found.push(Found { row: next.row, tree: next.facts.tree, first_parent })?;
    }
    collect(&walk.marks, &found, budget)
}

/// A commit that a walk visited, by its row.
pub(super) struct Found {
    pub(super) row: u32,
    pub(super) tree: ObjectId,
    pub(super) first_parent: Option<u32>,
}

/// What was found and is not excluded after all.
pub(super) fn collect(marks: &Marks, found: &[Found], budget: &Budget) -> Result<Range, Error> {
    let mut range = Range { commits: PaidVec::new(budget), edges: PaidVec::new(budget) };
    let kept = || found.iter().filter(|found| !marks.any(found.row, EXCLUDED));
    let mut places = PaidVec::new(budget);
    places.lengthen(marks.len(), None)?;
    for (place, found) in (0_u32..).zip(kept()) {
        if let Some(of_row) = places.get_mut(found.row as usize) {
            *of_row = Some(place);
        }
    }
    for Found { row, tree, first_parent } in kept() {
        let parent = first_parent.and_then(|row| places.get(row as usize).copied().flatten());
        range.commits.push(InRange { id: marks.id(*row), tree: *tree, first_parent: parent })?;
    }
    for row in marks.with(EXCLUDED | REACHED) {
        range.edges.push(marks.id(row))?;
    }
    Ok(range)
}

pub(super) struct Walk<'a, S: ?Sized> {
    store: &'a S,
    cuts: &'a Cuts,
    pub(super) marks: Marks,
    pub(super) queue: Queue,
    /// How many in the queue are not excluded.
    open: usize,
    /// The time of the oldest commit that was found.
    oldest: u64,
}

impl<'a, S: Objects + ?Sized> Walk<'a, S> {
    pub(super) fn new(store: &'a S, cuts: &'a Cuts, budget: &Budget) -> Self {
        let marks = Marks::new(store.format(), budget);
        let queue = Queue { commits: BinaryHeap::new(), held: budget.empty() };
        Self { store, cuts, marks, queue, open: 0, oldest: u64::MAX }
    }

    /// Visits `id` later, if it was not seen, and adds a mark to it; its row.
    pub(super) fn enqueue(&mut self, id: &ObjectId, mark: u8) -> Result<u32, Error> {
        let row = self.marks.row(id)?;
        if self.marks.any(row, EXCLUDED | REACHED) {
            if mark == EXCLUDED && !self.marks.any(row, EXCLUDED) {
                self.exclude(row);
                if self.marks.any(row, VISITED) {
                    self.exclude_ancestors(row)?;
                }
            }
            self.marks.add(row, mark);
            return Ok(row);
        }
        self.marks.add(row, mark);
        match commit_facts(self.store, id)? {
            Some(facts) => {
                self.open += usize::from(mark == REACHED);
                self.queue.push(Queued { row, facts })?;
                Ok(row)
            }
            // What the other side has need not be whole here.
            None if mark == EXCLUDED => Ok(row),
            None => Err(StoreError::Missing { id: *id }.into()),
        }
    }

    /// Marks a commit as excluded that was not.
    fn exclude(&mut self, row: u32) {
        self.marks.add(row, EXCLUDED);
        if !self.marks.any(row, VISITED) {
            self.open = self.open.saturating_sub(1);
        }
    }

    fn exclude_parents(&mut self, of: &Queued) -> Result<(), Error> {
        if !self.is_cut(of.row) {
            for parent in &of.facts.parents {
                self.enqueue(parent, EXCLUDED)?;
            }
        }
        Ok(())
    }

    /// Excludes what a commit reaches that was visited too early: before it was known that
    /// the other side has it.
    fn exclude_ancestors(&mut self, row: u32) -> Result<(), Error> {
        let mut waiting = vec![row];
        while let Some(row) = waiting.pop() {
            if self.is_cut(row) {
                continue;
            }
            let Some(facts) = commit_facts(self.store, &self.marks.id(row))? else { continue };
            for parent in &facts.parents {
                let parent = self.marks.row(parent)?;
                if self.marks.any(parent, EXCLUDED) || !self.marks.any(parent, REACHED) {
                    continue;
                }
                self.exclude(parent);
                if self.marks.any(parent, VISITED) {
                    waiting.push(parent);
                }
            }
        }
        Ok(())
    }

    fn is_cut(&self, row: u32) -> bool {
        !self.cuts.is_empty() && self.cuts.contains(&self.marks.id(row))
    }
}

/// What is to be visited, paid for.
pub(super) struct Queue {
    commits: BinaryHeap<Queued>,
    held: Reservation,
}

impl Queue {
    fn push(&mut self, commit: Queued) -> Result<(), LimitExceeded> {
        self.held.grow(commit.paid_bytes())?;
        self.commits.push(commit);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Option<Queued>, LimitExceeded> {
        let commit = self.commits.pop();
        let bytes = commit.as_ref().map_or(0, Queued::paid_bytes);
        self.held.resize(self.held.bytes() - bytes)?;
        Ok(commit)
    }
}

/// A commit to be visited, newest first; of the same time, in the order they were seen.
pub(super) struct Queued {
    pub(super) row: u32,
    pub(super) facts: CommitFacts,
}

impl Queued {
    fn paid_bytes(&self) -> u64 {
        // Three times: a heap doubles, and the old place is still there while it moves.
        (3 * size_of::<Self>() + self.facts.parents.capacity() * size_of::<ObjectId>()) as u64
    }
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.facts.seconds, other.row).cmp(&(other.facts.seconds, self.row))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Queued {}

/// A tip reaches it.
pub(super) const REACHED: u8 = 1;
/// It is excluded, or what reaches it is.
pub(super) const EXCLUDED: u8 = 2;
/// It was taken from the queue.
const VISITED: u8 = 4;
/// Commits that are still looked at when all are excluded and old: clocks differ. As in git.
const SLOP: u32 = 5;

#[cfg(test)]
mod tests;
