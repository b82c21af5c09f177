//! A repository that is served, and what clients share: what is allowed, what all refs reach,
//! entries that were compressed.

use std::sync::Arc;

use bstr::BString;

use super::ServeOptions;
use super::encoded::EncodedCache;
use super::known::{Known, KnownSet, KnownSets};
use super::pack_stream::Means;
use super::refusal::Refusal;
use super::select::{Wanted, select};
use crate::graph::Cuts;
use crate::limits::{Budget, Interrupt, Limits, SharedWorkers};
use crate::oid::ObjectId;
use crate::protocol::{
    Capabilities, FetchCapability, LsRefsCapability, LsRefsRequest, encode_ls_refs,
};
use crate::store::{Objects, Ref, Refs};

/// A repository as clients see it.
///
/// ```no_run
/// # #[cfg(feature = "disk")]
/// # fn example() -> Result<(), gitsip::Error> {
/// use std::path::Path;
///
/// use gitsip::disk::Repository;
/// use gitsip::server::{ServeOptions, Served};
/// use gitsip::{Budget, Limits};
///
/// let (limits, budget) = (Limits::default(), Budget::new(64 << 20));
/// let repository = Repository::open(Path::new("repo.git"), &limits, &budget)?;
/// let served = Served::new(repository, ServeOptions::default(), &limits, &budget);
/// let mut out = Vec::new();
/// served.advertise(&mut out)?;
/// assert!(out.starts_with(b"000eversion 2\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Served<S> {
    pub(super) store: S,
    pub(super) options: ServeOptions,
    pub(super) limits: Limits,
    pub(super) budget: Budget,
    pub(super) workers: SharedWorkers,
    pub(super) encoded: EncodedCache,
    /// Where the repository's own history is cut.
    pub(super) cuts: Cuts,
    known: Known,
}

impl<S: Objects + Refs + Sync> Served<S> {
    /// Serves `store` under `limits`, spending from `budget`.
    pub fn new(store: S, options: ServeOptions, limits: &Limits, budget: &Budget) -> Self {
        Self {
            store,
            options,
            limits: limits.clone(),
            budget: budget.clone(),
            workers: SharedWorkers::default(),
            encoded: EncodedCache::new(budget.limit_bytes() / 4, budget),
            cuts: Cuts::default(),
            known: KnownSets::new(budget.limit_bytes() / 4, budget).place(),
        }
    }

    /// The same, computing on `workers` where that can be split.
    #[must_use]
    pub fn with_workers(self, workers: SharedWorkers) -> Self {
        Self { workers, ..self }
    }

    /// The same, keeping what all refs reach among `sets`, which other repositories share.
    #[must_use]
    pub fn with_known_sets(self, sets: &KnownSets) -> Self {
        Self { known: sets.place(), ..self }
    }

    /// The same with a history that is cut at `shallow`.
    #[must_use]
    pub fn with_shallow(self, shallow: impl IntoIterator<Item = ObjectId>) -> Self {
        Self { cuts: shallow.into_iter().collect(), ..self }
    }

    /// Appends what the server can do, in version 2, without
    /// [`SERVICE_HEADER`](crate::protocol::SERVICE_HEADER).
    ///
    /// # Errors
    /// When [`ServeOptions::agent`] is too long for a packet.
    pub fn advertise(&self, out: &mut Vec<u8>) -> Result<(), crate::protocol::ProtocolError> {
        Capabilities {
            agent: Some(self.options.agent.as_str().into()),
            fetch: Some(FetchCapability {
                filter: self.options.allow_filter,
                ref_in_want: self.options.allow_ref_in_want,
                shallow: true,
                sideband_all: true,
                wait_for_done: true,
                ..FetchCapability::default()
            }),
            ls_refs: Some(LsRefsCapability { unborn: true }),
            object_format: self.store.format(),
            object_info: self.options.allow_object_info,
            ..Capabilities::default()
        }
        .encode(out)
    }

    /// Appends the refs that `request` asks for.
    pub(super) fn ls_refs(
        &self,
        request: &LsRefsRequest,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let mut refs = self.refs(&request.prefixes)?;
        refs.retain(|item| item.target.is_some() || request.unborn && item.name == "HEAD");
        for item in &mut refs {
            item.peeled = item.peeled.filter(|_| request.peel);
            // A name is all there is to say of a branch without commits.
            let says_target = request.symrefs || item.target.is_none();
            item.symref_target = item.symref_target.take().filter(|_| says_target);
        }
        Ok(encode_ls_refs(&refs, out)?)
    }

    /// The refs that are shown.
    pub(super) fn refs(&self, prefixes: &[BString]) -> Result<Vec<Ref>, Refusal> {
        let mut refs = self.store.list(prefixes)?;
        refs.retain(|item| self.options.shows(&item.name));
        Ok(refs)
    }

    /// What is kept of everything that `tips` reach, if it was needed before.
    pub(super) fn known(&self, tips: &[ObjectId]) -> Option<Arc<KnownSet>> {
        self.known.of(tips)
    }

    /// Everything that `tips` reach, sorted and each once.
    pub(super) fn reached_by(
        &self,
        tips: Vec<ObjectId>,
        interrupt: &dyn Interrupt,
    ) -> Result<Arc<KnownSet>, Refusal> {
        let Self { store, limits, budget, .. } = self;
        let (packs, format) = (store.packs(), store.format());
        let objects = match self.known.of(&tips) {
            Some(known) if known.is_in(&packs) => return Ok(known),
            // The same objects, which lie elsewhere now.
            Some(known) => known.objects.moved_to(packs.clone(), format, budget)?,
            None => {
                let (wants, cuts) = (tips.clone(), self.cuts.clone());
                let wanted = Wanted { wants, cuts, ..Wanted::default() };
                let mut chosen = select(store, &wanted, limits, budget, interrupt)?;
                chosen.take_placed(store, packs.clone(), budget)?
            }
        };
        let paid = budget.reserve(size_of_val(&*tips) as u64)?;
        Ok(self.known.keep(KnownSet { tips, packs, objects: Arc::new(objects), paid }))
    }

    /// What every pack is written with.
    pub(super) fn means(&self) -> Means<'_> {
        Means { encoded: &self.encoded, workers: &self.workers, budget: &self.budget }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Fixture, ListedPack};
    use super::super::wants::sorted_tips;
    use super::*;
    use crate::limits::NeverInterrupt;

    #[test]
    fn what_refs_reach_is_kept_until_one_changes_and_moves_with_the_packs() {
        let budget = Budget::new(16 << 20);
        let fixture = Fixture::new(&budget);
        let commits = fixture.line("main", 20);
        let served = fixture.served(&budget);
        let reached = || {
            let tips = sorted_tips(&served.refs(&[]).unwrap());
            served.reached_by(tips, &NeverInterrupt).unwrap()
        };
        let first = reached();
        assert_eq!((first.objects.len(), served.store.reads()), (60, 40));
        assert!(Arc::ptr_eq(&first, &reached()));
        let ids: Vec<ObjectId> = first.objects.others().ids().collect();
        *served.store.packs.lock().unwrap() = vec![Arc::new(ListedPack(ids))];
        let moved = reached();
        assert_eq!((moved.objects.len(), moved.objects.others().len()), (60, 0));
        assert!(Arc::ptr_eq(&moved, &reached()));
        assert_eq!(served.store.reads(), 40);
        served.store.set_ref("main", commits[9]);
        assert_eq!((reached().objects.len(), served.store.reads()), (30, 60));
    }
}
