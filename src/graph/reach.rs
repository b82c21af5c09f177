//! Whether enough is known of what another side has.

use std::collections::BinaryHeap;

use super::{Cuts, Marks, commit_facts};
use crate::error::Error;
use crate::limits::{Budget, Interrupt, LimitExceeded, PaidVec, Reservation};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::Objects;

/// Which tips reach a target, where targets become known one by one.
///
/// What was found out for one question stays for the next, so that however many tips and
/// targets there are, and however often it is asked, no commit is read more than twice.
///
/// What is older than the oldest target is not looked at, as in git: where clocks differ the
/// answer can be a wrong no.
#[derive(Debug)]
pub struct Reach {
    /// Every commit that was met; a row says where in the other lists it is.
    marks: Marks,
    /// Of each row, which of `links` was added last, plus one; 0 where there is none.
    last_link: PaidVec<u32>,
    links: PaidVec<Link>,
    /// Commits that were read and whose parents were not met yet, newest first.
    queue: BinaryHeap<Waiting>,
    /// What is in the queue is paid from it.
    queue_held: Reservation,
    /// Rows that reach a target, and are to be marked so.
    to_mark: PaidVec<u32>,
    /// Tips that reach no target that is known.
    open_tips: usize,
    /// The time of the oldest target.
    oldest: u64,
    visited: u32,
}

impl Reach {
    /// Nothing yet, in histories of `format`.
    pub fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self {
            marks: Marks::new(format, budget),
            last_link: PaidVec::new(budget),
            links: PaidVec::new(budget),
            queue: BinaryHeap::new(),
            queue_held: budget.empty(),
            to_mark: PaidVec::new(budget),
            open_tips: 0,
            oldest: u64::MAX,
            visited: 0,
        }
    }

    /// Adds a commit that is to reach a target. One that the store does not have never does,
    /// unless it is one.
    ///
    /// # Errors
    /// When it is no commit, or damaged, or memory is spent.
    pub fn tip<S: Objects + ?Sized>(&mut self, store: &S, id: &ObjectId) -> Result<(), Error> {
        let row = self.row(id)?;
        if !self.marks.add(row, TIP) && !self.marks.any(row, REACHES) {
            self.open_tips += 1;
            self.meet(store, row)?;
        }
        Ok(())
    }

    /// Adds a commit that is to be reached.
    ///
    /// # Errors
    /// When it is no commit, or damaged, or memory is spent.
    pub fn target<S: Objects + ?Sized>(&mut self, store: &S, id: &ObjectId) -> Result<(), Error> {
        let row = self.row(id)?;
        if !self.marks.add(row, TARGET) {
            let facts = commit_facts(store, id)?;
            self.oldest = self.oldest.min(facts.map_or(u64::MAX, |facts| facts.seconds));
            self.reaches(row)?;
        }
        Ok(())
    }

    /// Whether each tip is a target or reaches one. Parents of `cuts`, the same each time, are
    /// not followed.
    ///
    /// # Errors
    /// When a commit is damaged, memory is spent, or `interrupt` says so.
    pub fn all<S: Objects + ?Sized>(
        &mut self,
        store: &S,
        cuts: &Cuts,
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Error> {
        while self.open_tips > 0 {
            if self.queue.peek().is_none_or(|next| next.seconds < self.oldest) {
                return Ok(false);
            }
            let Some(next) = self.queue.pop() else { return Ok(false) };
            self.queue_held.resize(self.queue_held.bytes() - next.paid_bytes())?;
            self.visited = self.visited.wrapping_add(1);
            if self.visited.is_multiple_of(256) {
                interrupt.check()?;
            }
            if self.marks.any(next.row, REACHES)
                || !cuts.is_empty() && cuts.contains(&self.marks.id(next.row))
            {
                continue;
            }
            for &parent in &next.parents {
                if self.marks.any(parent, REACHES) {
                    self.reaches(next.row)?;
                    break;
                }
                self.link(parent, next.row)?;
                self.meet(store, parent)?;
            }
        }
        Ok(true)
    }

    /// Reads a commit and puts it into the queue, if it was not before.
    fn meet<S: Objects + ?Sized>(&mut self, store: &S, row: u32) -> Result<(), Error> {
        if self.marks.add(row, MET) {
            return Ok(());
        }
        // What the other side has need not be whole here.
        let Some(facts) = commit_facts(store, &self.marks.id(row))? else { return Ok(()) };
        let parents = facts.parents.iter().map(|parent| self.row(parent));
        let parents = parents.collect::<Result<Box<[u32]>, _>>()?;
        let waiting = Waiting { seconds: facts.seconds, row, parents };
        self.queue_held.grow(waiting.paid_bytes())?;
        self.queue.push(waiting);
        Ok(())
    }

    /// Marks what reaches a target by `row`, which does.
    fn reaches(&mut self, row: u32) -> Result<(), LimitExceeded> {
        self.to_mark.push(row)?;
        while let Some(row) = self.to_mark.pop() {
            if self.marks.add(row, REACHES) {
                continue;
            }
            self.open_tips -= usize::from(self.marks.any(row, TIP));
            let mut at = self.last_link.get(row as usize).copied().unwrap_or(0);
            while let Some(link) = at.checked_sub(1).and_then(|at| self.links.get(at as usize)) {
                self.to_mark.push(link.child)?;
                at = link.before;
            }
        }
        Ok(())
    }

    fn link(&mut self, parent: u32, child: u32) -> Result<(), LimitExceeded> {
        let Some(last) = self.last_link.get_mut(parent as usize) else { return Ok(()) };
        self.links.push(Link { child, before: *last })?;
        *last = u32::try_from(self.links.len()).unwrap_or(u32::MAX);
        Ok(())
    }

    fn row(&mut self, id: &ObjectId) -> Result<u32, LimitExceeded> {
        let row = self.marks.row(id)?;
        self.last_link.lengthen(self.marks.len(), 0)?;
        Ok(row)
    }
}

/// One of the children of a row.
#[derive(Debug)]
struct Link {
    child: u32,
    /// Which link of the same row was added before, plus one; 0 where there is none.
    before: u32,
}

/// A commit that was read; ordered by time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    seconds: u64,
    row: u32,
    parents: Box<[u32]>,
}

impl Waiting {
    fn paid_bytes(&self) -> u64 {
        // Three times: a heap doubles, and the old place is still there while it moves.
        (3 * size_of::<Self>() + size_of_val(&*self.parents)) as u64
    }
}

/// It was read, or is not there.
const MET: u8 = 1;
/// It is to reach a target.
const TIP: u8 = 2;
/// It is a target.
const TARGET: u8 = 4;
/// It is a target, or reaches one.
const REACHES: u8 = 8;
