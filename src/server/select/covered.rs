//! What bitmaps say of a selection, so that no walk has to find it out.
//!
//! Follows git's `pack-bitmap.c`: both sides are walked down to commits that have bits, and what
//! the client has is taken away from what it wants bit by bit. The bits are those of one pack;
//! commits that came later are left to the walk that looks into their trees.

use std::sync::Arc;

use crate::error::Error;
use crate::graph::{InRange, Marks, Range, range_until};
use crate::limits::{Budget, Interrupt, PaidVec};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{Objects, PackView, StoreError};

use super::super::filter_rule::FilterRule;
use super::super::placed::InPack;

/// What both sides reach of a pack by its bitmaps.
#[derive(Debug)]
pub(super) struct Covered {
    /// What the wants reach.
    pub(super) wanted: InPack,
    /// What the client's commits reach.
    pub(super) had: InPack,
    /// What the client's commits reach besides.
    pub(super) their_rest: PaidVec<InRange>,
}

impl Covered {
    /// What is known of `tips` and of what the client has, `had`; what the tips reach besides, and
    /// the client's commits next to that. `None` when no pack has
    /// bitmaps, or the client's commits are too far from any.
    pub(super) fn of<S: Objects + ?Sized>(
        store: &S,
        tips: &[ObjectId],
        had: &[ObjectId],
        budget: &Budget,
        interrupt: &dyn Interrupt,
    ) -> Result<Option<(Self, Range)>, Error> {
        let mut packs = store.packs().into_iter();
        let Some(pack) = packs.find(|pack| pack.reachability().is_some()) else { return Ok(None) };
        let mut theirs = InPack::none_of(&pack, budget)?;
        // What the client has need not be whole here.
        let mut is_known = |id: &ObjectId| Ok(reach(&mut theirs, id)? || !store.contains(id)?);
        let had = newest_first(&pack, had)?;
        let Some(open) =
            range_until(store, &had, MAX_HAD_COMMITS, budget, interrupt, &mut is_known)?
        else {
            return Ok(None);
        };
        let mut their_commits = Marks::new(store.format(), budget);
        for commit in &open.commits {
            their_commits.row(&commit.id)?;
        }
        let mut wanted = InPack::none_of(&pack, budget)?;
        let mut is_known = |id: &ObjectId| {
            let is_had = theirs.has_id(id)? || their_commits.find(id).is_some();
            Ok(is_had || reach(&mut wanted, id)?)
        };
        let tips = newest_first(&pack, tips)?;
        let rest = range_until(store, &tips, usize::MAX, budget, interrupt, &mut is_known)?;
        Ok(rest.map(|rest| (Self { wanted, had: theirs, their_rest: open.commits }, rest)))
    }

    /// Whether there is nothing more to be found out of an object.
    pub(super) fn knows(&self, id: &ObjectId) -> Result<bool, StoreError> {
        let at = self.wanted.pack.position(id)?;
        Ok(at.is_some_and(|at| self.wanted.has(at) || self.had.has(at)))
    }

    /// Leaves what the client has and what the filter does not take out of what is sent.
    pub(super) fn narrow(&mut self, filter: FilterRule, budget: &Budget) -> Result<(), Error> {
        let Self { wanted, had, .. } = self;
        wanted.subtract(had);
        for kind in [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag] {
            let pack = Arc::clone(&wanted.pack);
            if let Some(known) = pack.reachability().filter(|_| !filter.takes(kind)) {
                let mut of_kind = InPack::none_of(&pack, budget)?;
                known.add_of_kind(kind, of_kind.words_mut())?;
                wanted.subtract(&of_kind);
            }
        }
        Ok(())
    }
}

/// Adds what `id` reaches to a set, if it is known; whether the set has that now.
fn reach(set: &mut InPack, id: &ObjectId) -> Result<bool, StoreError> {
    if set.has_id(id)? {
        return Ok(true);
    }
    let pack = Arc::clone(&set.pack);
    let known = pack.reachability();
    known.map_or(Ok(false), |known| known.add_reached_by(id, set.words_mut()))
}

/// In the order they lie in, which is nearly that: what old ones reach is then known by the new.
fn newest_first(pack: &Arc<dyn PackView>, ids: &[ObjectId]) -> Result<Vec<ObjectId>, StoreError> {
    let placed = ids.iter().map(|id| Ok((pack.position(id)?, *id)));
    let mut placed = placed.collect::<Result<Vec<_>, StoreError>>()?;
    placed.sort_unstable();
    Ok(placed.into_iter().map(|(_, id)| id).collect())
}

/// Commits of the client's without bits; with more a walk from what it wants is shorter.
const MAX_HAD_COMMITS: usize = 5_000;
