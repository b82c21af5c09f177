//! A remote repository as a source: what is missing is fetched, once, whoever asks for it.

use std::time::Duration;

use bstr::BString;
use tracing::Instrument as _;

use super::Remote;
use crate::agent::drive::is_out_of_memory;
use crate::agent::results::{Exchange, MemoryReport, Stats};
use crate::agent::shared::State;
use crate::agent::source::Source;
use crate::agent::trace;
use crate::client::allowance::Allowance;
use crate::client::ladder::Fallback;
use crate::client::old_host::OldHost;
use crate::client::progress::ProgressListener;
use crate::client::transport::Transport;
use crate::error::Error;
use crate::limits::{Budget, SharedWorkers};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{Kept, MemoryStore, MissingSet, Ref};

/// The part of the memory that a batch of blobs takes, packed, where not everything fits.
const BATCH_SHARE: u64 = 8;

/// The same where one batch costs as much as all of them. Two are held at once, that which is
/// read and that which comes.
const WHOLE_BATCH_SHARE: u64 = 4;

/// Blobs in such a batch at least, unless not even these fit.
const MIN_BATCH: usize = 8;

impl<T: Transport> Source for Remote<T> {
    type Store = MemoryStore;

    fn store(&self) -> &MemoryStore {
        &self.shared.store
    }

    fn budget(&self) -> &Budget {
        &self.shared.budget
    }

    async fn refs(&self, prefixes: &[BString], allowance: &Allowance) -> Result<Vec<Ref>, Error> {
        let shared = &*self.shared;
        let span = trace::refs(prefixes.len());
        let is_old = shared.state().old.is_some();
        let mut refs = if is_old {
            shared.refs_v0(allowance).instrument(span).await?
        } else {
            shared.refs_v2(prefixes, allowance).instrument(span).await?
        };
        let came = refs.len();
        if !prefixes.is_empty() {
            let is_asked_for =
                |item: &Ref| prefixes.iter().any(|prefix| item.name.starts_with(prefix));
            refs.retain(is_asked_for);
        }
        if refs.len() < came && !is_old {
            shared.state().ladder.learn(Fallback::IgnoresPrefixes);
            shared.trace_what_was_learnt();
        }
        shared.state().note_refs(&refs);
        Ok(refs)
    }

    async fn fetch(&self, missing: &MissingSet, allowance: &Allowance) -> Result<Kept, Error> {
        let shared = &self.shared;
        let mut wanted = missing.clone();
        let mut came = Vec::new();
        while !wanted.is_empty() {
            // Listening starts before the claim, so that no arrival is missed.
            let landing = shared.flights.next_landing();
            let claim = shared.flights.claim(&wanted, &shared.store)?;
            trace::wanted(claim.mine().len(), claim.others().len());
            if claim.mine().is_empty() && !claim.others().is_empty() {
                drop(claim);
                landing.await;
                continue;
            }
            came.extend(shared.bring(claim.mine(), allowance).await?);
            // What was asked for here is not asked for again, whether or not it came.
            wanted = claim.others().clone();
        }
        // Before what came is let go: what others fetched is kept too.
        Ok(shared.store.keep(missing.iter().map(|item| &item.id)))
    }

    async fn fetch_snapshot(
        &self,
        commit: ObjectId,
        max_blob_bytes: Option<u64>,
        allowance: &Allowance,
    ) -> Result<bool, Error> {
        let shared = &self.shared;
        // A commit that joins a held one is cheaper by way of its changed trees.
        if !shared.held().is_empty() {
            return Ok(false);
        }
        let wanted = MissingSet::of(commit, Some(Kind::Commit));
        let claim = shared.flights.claim(&wanted, &shared.store)?;
        if claim.mine().is_empty() {
            return Ok(false);
        }
        match shared.bring_snapshot(commit, max_blob_bytes, allowance).await {
            // In parts it may fit.
            Err(error) if shared.features.filter && is_out_of_memory(&error) => Ok(false),
            brought => brought,
        }
    }

    fn fetched_whole(&self) -> Option<(ObjectId, u64)> {
        let fetched = self.shared.state().fetched_whole;
        fetched.filter(|_| !self.shared.has_evicted())
    }

    /// Once memory was too small, a batch takes a small part of it: what it displaces has to
    /// come again for the next question.
    fn batch_len(&self) -> usize {
        let shared = &*self.shared;
        let State { batch_len, bytes_per_blob, .. } = *shared.state();
        if batch_len == MissingSet::MAX_BLOBS && !shared.has_evicted() {
            return batch_len;
        }
        // Where all of a snapshot comes for each of them, a few large ones cost least.
        let comes_whole = shared.state().ladder.is_whole_only();
        let share = if comes_whole { WHOLE_BATCH_SHARE } else { BATCH_SHARE };
        let fitting = shared.budget.limit_bytes() / share / bytes_per_blob.max(1);
        let fitting = usize::try_from(fitting).unwrap_or(batch_len);
        fitting.max(MIN_BATCH).min(batch_len)
    }

    fn could_not_hold(&self, blobs: usize) {
        let mut state = self.shared.state();
        state.batch_len = state.batch_len.min(blobs / 2).max(1);
    }

    async fn ask_sizes(&self, ids: &[ObjectId], allowance: &Allowance) -> Result<(), Error> {
        self.shared.ask_sizes(ids, allowance).await
    }

    fn known_size(&self, id: &ObjectId) -> Option<u64> {
        self.shared.state().told.size(id)
    }

    fn workers(&self) -> &SharedWorkers {
        &self.shared.workers
    }

    fn progress(&self) -> &ProgressListener {
        &self.shared.progress
    }

    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        self.shared.transport.compute(work)
    }

    async fn sleep(&self, time: Duration) {
        self.shared.transport.sleep(time).await;
    }

    fn now(&self) -> Duration {
        self.shared.transport.now()
    }

    fn stats(&self) -> Stats {
        let shared = &*self.shared;
        let held = shared.store.stats();
        let now = shared.transport.now();
        let elapsed = now.saturating_sub(shared.opened_at);
        let (protocol, fallbacks, loaded) = {
            let state = shared.state();
            let learnt = state.ladder.learnt().iter().map(ToString::to_string).collect();
            (state.old.as_ref().map_or(2, OldHost::version), learnt, state.loaded)
        };
        let journal = &shared.journal;
        Stats {
            protocol: Some(protocol),
            requests: journal.requests(),
            retries: journal.retries(),
            bytes_received: journal.bytes_received(),
            objects: held.objects,
            cache_hits: held.raw_hits,
            cache_misses: held.inflates,
            memory: MemoryReport::of(&shared.budget, &held),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            fallbacks,
            loaded,
            exchanges: journal.newest(now).iter().map(Exchange::from).collect(),
        }
    }

    fn name(&self) -> String {
        self.shared.repo.to_string()
    }
}
