//! Where history is cut for a client: what it asked for, and what it has.
//!
//! Follows git's `shallow.c` and `upload-pack.c`. A cut commit is one whose parents are not
//! sent; the client is told of new ones (`shallow`) and of those that are whole from now on
//! (`unshallow`), whose parents are then wanted as if it had asked for them.

use crate::error::{Error, ErrorKind};
use crate::graph::{Cuts, InRange, Marks, Range, commit_facts, range};
use crate::limits::{Budget, Interrupt, LimitExceeded, PaidVec, Reservation};
use crate::oid::{ObjectFormat, ObjectId};
use crate::protocol::{Deepen, FetchRequest};
use crate::store::{Objects, StoreError};
use bstr::BString;

/// What a request means for history.
#[derive(Debug)]
pub(super) struct Boundary {
    /// Commits that are cut from now on.
    pub(super) shallow: Vec<ObjectId>,
    /// Commits that are whole from now on.
    pub(super) unshallow: Vec<ObjectId>,
    /// Wanted besides: the parents of what is whole now.
    pub(super) wants: Vec<ObjectId>,
    /// All commits that are cut for the walk.
    pub(super) cuts: Cuts,
    /// Whether the client is told at all.
    pub(super) is_told: bool,
    _paid: Reservation,
}

/// What is cut for a client that sends `request`, whose wants come to the commits `tips`.
/// `own` are the cuts of the repository itself, and `not` the commits of the refs that the
/// request names as bounds.
///
/// # Errors
/// When nothing is left to be sent, a commit is missing or damaged, memory is spent, or
/// `interrupt` says so.
pub(super) fn boundary<S: Objects + ?Sized>(
    store: &S,
    request: &FetchRequest,
    tips: &[ObjectId],
    own: &Cuts,
    not: &[ObjectId],
    budget: &Budget,
    interrupt: &dyn Interrupt,
) -> Result<Boundary, Error> {
    let mut theirs = Marks::new(store.format(), budget);
    for id in &request.shallow {
        theirs.row(id)?;
    }
    let has = |set: &Marks, id: &ObjectId| set.find(id).is_some();
    let by_depth = |tips: &[ObjectId], depth| by_depth(store, tips, depth, own, budget, interrupt);
    let reached = match &request.deepen {
        Deepen::None if own.is_empty() => Reached::new(store.format(), budget),
        Deepen::None => by_depth(tips, INFINITE)?,
        Deepen::Depth(INFINITE) if own.is_empty() => {
            let mut reached = Reached::new(store.format(), budget);
            for id in &request.shallow {
                reached.add(id, WHOLE)?;
            }
            reached
        }
        Deepen::Depth(depth) if request.deepen_relative => {
            let none = Cuts::new();
            let all = range(store, &none, tips, &[], None, budget, interrupt)?;
            let from = all.commits.iter().map(|commit| commit.id).filter(|id| has(&theirs, id));
            by_depth(&from.collect::<Vec<_>>(), depth.saturating_add(1))?
        }
        Deepen::Depth(depth) => by_depth(tips, *depth)?,
        Deepen::Bounded { since, .. } => {
            let kept = range(store, own, tips, not, *since, budget, interrupt)?;
            if kept.commits.is_empty() {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    "no commits selected for shallow requests",
                ));
            }
            by_range(store, &kept, own, budget)?
        }
    };
    let ids = reached.cut.len() + theirs.len() + own.len();
    let mut paid = budget.reserve((ids * CUT_BYTES) as u64)?;
    let mut cuts = Cuts::with_capacity(ids);
    let mut shallow = Vec::new();
    for id in &reached.cut {
        if !has(&theirs, id) && !reached.is_whole(id) {
            shallow.push(*id);
        }
        cuts.insert(*id);
    }
    cuts.extend(theirs.ids());
    cuts.extend(own);
    let (mut unshallow, mut wants) = (Vec::new(), Vec::new());
    for id in theirs.ids().filter(|id| reached.is_whole(id)) {
        let parents = commit_facts(store, &id)?.map(|facts| facts.parents).unwrap_or_default();
        paid.grow(2 * ((1 + parents.len()) * size_of::<ObjectId>()) as u64)?;
        unshallow.push(id);
        wants.extend(parents);
    }
    let is_told = request.deepen != Deepen::None || !theirs.is_empty() || !own.is_empty();
    Ok(Boundary { shallow, unshallow, wants, cuts, is_told, _paid: paid })
}

/// Commits within a bound.
#[derive(Debug)]
struct Reached {
    /// Those whose parents are within it too are marked [`WHOLE`].
    marks: Marks,
    /// The others, in the order they were found.
    cut: PaidVec<ObjectId>,
}

impl Reached {
    fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self { marks: Marks::new(format, budget), cut: PaidVec::new(budget) }
    }

    /// Marks a commit; whether it was marked so before.
    fn add(&mut self, id: &ObjectId, mark: u8) -> Result<bool, LimitExceeded> {
        let row = self.marks.row(id)?;
        Ok(self.marks.add(row, mark))
    }

    fn is_whole(&self, id: &ObjectId) -> bool {
        self.marks.has(id, WHOLE)
    }
}

/// The commits that are fewer than `depth` steps from a tip are whole, those at its end are
/// cut.
fn by_depth<S: Objects + ?Sized>(
    store: &S,
    tips: &[ObjectId],
    depth: u32,
    own: &Cuts,
    budget: &Budget,
    interrupt: &dyn Interrupt,
) -> Result<Reached, Error> {
    let mut reached = Reached::new(store.format(), budget);
    let mut visited = 0_u32;
    let mut level = PaidVec::new(budget);
    for id in tips {
        if !reached.add(id, SEEN)? {
            level.push(*id)?;
        }
    }
    // Level by level, so that each commit is met by its shortest way.
    for at in 1..=depth {
        let mut next = PaidVec::new(budget);
        for id in &level {
            visited = visited.wrapping_add(1);
            if visited.is_multiple_of(256) {
                interrupt.check()?;
            }
            if at == depth || own.contains(id) {
                reached.cut.push(*id)?;
                continue;
            }
            let facts = commit_facts(store, id)?.ok_or(StoreError::Missing { id: *id })?;
            reached.add(id, WHOLE)?;
            for parent in facts.parents {
                if !reached.add(&parent, SEEN)? {
                    next.push(parent)?;
                }
            }
        }
        if next.is_empty() {
            break;
        }
        level = next;
    }
    Ok(reached)
}

/// Of the commits in a range, those all of whose parents are in it too are whole.
fn by_range<S: Objects + ?Sized>(
    store: &S,
    range: &Range,
    own: &Cuts,
    budget: &Budget,
) -> Result<Reached, Error> {
    let mut reached = Reached::new(store.format(), budget);
    for commit in &range.commits {
        reached.add(&commit.id, SEEN)?;
    }
    for InRange { id, .. } in &range.commits {
        let facts = commit_facts(store, id)?;
        let parents = facts.iter().flat_map(|facts| &facts.parents);
        let lacks = parents.into_iter().any(|parent| !reached.marks.has(parent, SEEN));
        if lacks || own.contains(id) {
            reached.cut.push(*id)?;
        } else {
            reached.add(id, WHOLE)?;
        }
    }
    Ok(reached)
}

/// The names of the refs that `request` gives as bounds.
pub(super) fn bounds(request: &FetchRequest) -> &[BString] {
    match &request.deepen {
        Deepen::Bounded { not, .. } => not,
        Deepen::None | Deepen::Depth(_) => &[],
    }
}

/// git's own word for all of history.
const INFINITE: u32 = 0x7fff_ffff;
/// It was met.
const SEEN: u8 = 1;
/// Its parents are sent too.
const WHOLE: u8 = 2;
/// What a commit takes in [`Cuts`], a table that is at least 7/16 full, and in the lists made
/// of it, which double as they grow.
const CUT_BYTES: usize = 6 * size_of::<ObjectId>();
