//! A repository of this machine or of another as one type of source.
//!
//! The faces ask both the same questions. By way of this type the code of all questions is
//! in the program once, and not once for each kind of source; what it costs is one call
//! through a table for each object that is looked up.

use std::sync::Arc;
use std::time::Duration;

use bstr::BString;

use crate::agent::{Remote, Source, Stats};
use crate::client::allowance::Allowance;
use crate::client::progress::ProgressListener;
use crate::disk::Local;
use crate::error::Error;
use crate::limits::{Budget, SharedWorkers};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::{
    Header, Kept, MissingSet, Object, Objects, PackView, PackedEntry, Ref, StoreError, TextArena,
};
use crate::transport::HttpTransport;

/// Where a repository is asked.
#[derive(Clone, Debug)]
pub(crate) enum Anywhere {
    /// On this machine.
    Here(Box<Local>),
    /// Behind an address.
    There(Remote<HttpTransport>),
}

impl Anywhere {
    fn objects(&self) -> &dyn Objects {
        match self {
            Self::Here(local) => local.store(),
            Self::There(remote) => remote.store(),
        }
    }
}

impl Objects for Anywhere {
    fn format(&self) -> ObjectFormat {
        self.objects().format()
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        self.objects().header(id)
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.objects().read(id)
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.objects().packed(id)
    }

    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        self.objects().contains(id)
    }

    fn packs(&self) -> Vec<Arc<dyn PackView>> {
        self.objects().packs()
    }

    fn text_arena(&self) -> Option<&dyn TextArena> {
        self.objects().text_arena()
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        self.objects().ids_with_prefix(prefix, limit)
    }
}

impl Source for Anywhere {
    type Store = Self;

    fn store(&self) -> &Self {
        self
    }

    fn budget(&self) -> &Budget {
        match self {
            Self::Here(local) => local.budget(),
            Self::There(remote) => remote.budget(),
        }
    }

    async fn refs(&self, prefixes: &[BString], allowance: &Allowance) -> Result<Vec<Ref>, Error> {
        match self {
            Self::Here(local) => local.refs(prefixes, allowance).await,
            Self::There(remote) => remote.refs(prefixes, allowance).await,
        }
    }

    async fn fetch(&self, missing: &MissingSet, allowance: &Allowance) -> Result<Kept, Error> {
        match self {
            Self::Here(local) => local.fetch(missing, allowance).await,
            Self::There(remote) => remote.fetch(missing, allowance).await,
        }
    }

    async fn fetch_snapshot(
        &self,
        commit: ObjectId,
        max_blob_bytes: Option<u64>,
        allowance: &Allowance,
    ) -> Result<bool, Error> {
        match self {
            Self::Here(local) => local.fetch_snapshot(commit, max_blob_bytes, allowance).await,
            Self::There(remote) => remote.fetch_snapshot(commit, max_blob_bytes, allowance).await,
        }
    }

    fn fetched_whole(&self) -> Option<(ObjectId, u64)> {
        match self {
            Self::Here(local) => local.fetched_whole(),
            Self::There(remote) => remote.fetched_whole(),
        }
    }

    fn batch_len(&self) -> usize {
        match self {
            Self::Here(local) => local.batch_len(),
            Self::There(remote) => remote.batch_len(),
        }
    }

    fn could_not_hold(&self, blobs: usize) {
        match self {
            Self::Here(local) => local.could_not_hold(blobs),
            Self::There(remote) => remote.could_not_hold(blobs),
        }
    }

    async fn ask_sizes(&self, ids: &[ObjectId], allowance: &Allowance) -> Result<(), Error> {
        match self {
            Self::Here(local) => local.ask_sizes(ids, allowance).await,
            Self::There(remote) => remote.ask_sizes(ids, allowance).await,
        }
    }

    fn known_size(&self, id: &ObjectId) -> Option<u64> {
        match self {
            Self::Here(local) => local.known_size(id),
            Self::There(remote) => remote.known_size(id),
        }
    }

    fn workers(&self) -> &SharedWorkers {
        match self {
            Self::Here(local) => local.workers(),
            Self::There(remote) => remote.workers(),
        }
    }

    fn progress(&self) -> &ProgressListener {
        match self {
            Self::Here(local) => local.progress(),
            Self::There(remote) => remote.progress(),
        }
    }

    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        match self {
            Self::Here(local) => local.compute(work),
            Self::There(remote) => remote.compute(work),
        }
    }

    async fn sleep(&self, time: Duration) {
        match self {
            Self::Here(local) => local.sleep(time).await,
            Self::There(remote) => remote.sleep(time).await,
        }
    }

    fn now(&self) -> Duration {
        match self {
            Self::Here(local) => local.now(),
            Self::There(remote) => remote.now(),
        }
    }

    fn stats(&self) -> Stats {
        match self {
            Self::Here(local) => local.stats(),
            Self::There(remote) => remote.stats(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Here(local) => local.name(),
            Self::There(remote) => remote.name(),
        }
    }
}
