//! Where history is cut for a client: what it asked for, and what it has.
//!
//! Follows git's `shallow.c` and `upload-pack.c`. A cut commit is one whose parents are not
//! sent; the client is told of new ones (`shallow`) and of those that are whole from now on
//! (`unshallow`), whose parents are then wanted as if it had asked for them.

use bstr::BString;
use hashbrown::HashSet;

use crate::error::{Error, ErrorKind};
use crate::graph::{Cuts, Marks, commit_facts, range};
use crate::limits::{Budget, Interrupt};
use crate::oid::ObjectId;
use crate::protocol::{Deepen, FetchRequest};
use crate::store::Objects;

/// What a request means for history.
#[derive(Debug, Default)]
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
    let theirs: HashSet<ObjectId> = request.shallow.iter().copied().collect();
    let mut found = Boundary {
        is_told: request.deepen != Deepen::None || !theirs.is_empty() || !own.is_empty(),
        ..Boundary::default()
    };
    let by_depth = |tips: &[ObjectId], depth| by_depth(store, tips, depth, own, budget, interrupt);
    let reached = match &request.deepen {
        Deepen::None if own.is_empty() => Reached::default(),
        Deepen::None => by_depth(tips, INFINITE)?,
        Deepen::Depth(INFINITE) if own.is_empty() => {
            Reached { whole: theirs.clone(), cut: Vec::new() }
        }
        Deepen::Depth(depth) if request.deepen_relative => {
            let none = Cuts::new();
            let all = range(store, &none, tips, &[], None, budget, interrupt)?;
            let from = all.commits.iter().map(|(id, _)| *id).filter(|id| theirs.contains(id));
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
            by_range(store, kept.commits.iter().map(|(id, _)| *id), own)?
        }
    };
    for id in reached.cut {
        if !theirs.contains(&id) && !reached.whole.contains(&id) {
            found.shallow.push(id);
        }
        found.cuts.insert(id);
    }
    found.cuts.extend(&theirs);
    for id in &request.shallow {
        if reached.whole.contains(id) && !found.unshallow.contains(id) {
            found.unshallow.push(*id);
            let facts = commit_facts(store, id)?;
            found.wants.extend(facts.into_iter().flat_map(|facts| facts.parents));
        }
    }
    found.cuts.extend(own);
    Ok(found)
}

/// Commits within a bound.
#[derive(Debug, Default)]
struct Reached {
    /// Those whose parents are within it too.
    whole: HashSet<ObjectId>,
    /// The others, in the order they were found.
    cut: Vec<ObjectId>,
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
    let mut marks = Marks::new(store.format(), budget);
    let mut paid = budget.empty();
    let mut reached = Reached::default();
    let mut level: Vec<ObjectId> = Vec::new();
    for id in tips {
        let row = marks.row(id)?;
        if !marks.add(row, SEEN) {
            level.push(*id);
        }
    }
    // Level by level, so that each commit is met by its shortest way.
    for at in 1..=depth {
        let mut next = Vec::new();
        for id in std::mem::take(&mut level) {
            if reached.whole.len().is_multiple_of(256) {
                interrupt.check()?;
            }
            paid.grow(2 * size_of::<ObjectId>() as u64)?;
            if at == depth || own.contains(&id) {
                reached.cut.push(id);
                continue;
            }
            let facts = commit_facts(store, &id)?
                .ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("commit {id} is missing")))?;
            reached.whole.insert(id);
            for parent in facts.parents {
                let row = marks.row(&parent)?;
                if !marks.add(row, SEEN) {
                    next.push(parent);
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

/// Of some commits, those all of whose parents are among them are whole.
fn by_range<S: Objects + ?Sized>(
    store: &S,
    commits: impl Iterator<Item = ObjectId>,
    own: &Cuts,
) -> Result<Reached, Error> {
    let mut reached = Reached { whole: commits.collect(), cut: Vec::new() };
    for id in &reached.whole {
        let facts = commit_facts(store, id)?;
        let parents = facts.iter().flat_map(|facts| &facts.parents);
        let lacks = parents.into_iter().any(|parent| !reached.whole.contains(parent));
        if lacks || own.contains(id) {
            reached.cut.push(*id);
        }
    }
    for id in &reached.cut {
        reached.whole.remove(id);
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
const SEEN: u8 = 1;
