//! A remote repository as a source: what is missing is fetched, once, whoever asks for it.

use std::time::Duration;

use bstr::BString;
use tracing::Instrument as _;

use super::Remote;
use crate::agent::results::{Exchange, Stats};
use crate::agent::source::Source;
use crate::agent::trace;
use crate::client::allowance::Allowance;
use crate::client::ladder::Fallback;
use crate::client::old_host::OldHost;
use crate::client::transport::Transport;
use crate::error::Error;
use crate::limits::{Budget, SharedWorkers};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{MemoryStore, MissingSet, Ref};

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

    async fn fetch(&self, missing: &MissingSet, allowance: &Allowance) -> Result<(), Error> {
        let shared = &self.shared;
        let mut wanted = missing.clone();
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
            shared.bring(claim.mine(), allowance).await?;
            // What was asked for here is not asked for again, whether or not it came.
            wanted = claim.others().clone();
        }
        Ok(())
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
        shared.bring_snapshot(commit, max_blob_bytes, allowance).await
    }

    fn fetched_whole(&self) -> Option<(ObjectId, u64)> {
        self.shared.state().fetched_whole
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
            store_bytes: shared.budget.used_bytes(),
            peak_bytes: shared.budget.peak_bytes(),
            max_bytes: shared.budget.limit_bytes(),
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
