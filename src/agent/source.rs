//! Where a repository's refs and objects come from.

use std::time::Duration;

use bstr::BString;

use crate::client::allowance::Allowance;
use crate::client::progress::ProgressListener;
use crate::error::Error;
use crate::limits::{Budget, SharedWorkers};
use crate::oid::ObjectId;
use crate::store::{Kept, MissingSet, Objects, Ref};

use super::results::Stats;

/// A store that can be asked to become less empty.
///
/// A remote repository fetches what is missing; a local one has everything and refuses.
/// There is no `Send` bound: natively the futures are `Send` because their parts are.
pub trait Source {
    /// What is held now.
    type Store: Objects;

    /// What is held now.
    fn store(&self) -> &Self::Store;

    /// The memory that answers are paid from while they grow.
    fn budget(&self) -> &Budget;

    /// The refs as they are at this moment: those whose names begin with one of
    /// `prefixes`, or all when there is none. What is sent and comes is paid from
    /// `allowance`, here and in all that follows.
    fn refs(
        &self,
        prefixes: &[BString],
        allowance: &Allowance,
    ) -> impl Future<Output = Result<Vec<Ref>, Error>>;

    /// Brings as much of `missing` as it can in as few requests as possible; it stays while
    /// what is returned lives. An object that another call is fetching already is waited
    /// for, not fetched again.
    fn fetch(
        &self,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> impl Future<Output = Result<Kept, Error>>;

    /// Brings a commit with its trees and the blobs up to `max_blob_bytes` in one
    /// request, when no commit is held yet; whether it did.
    fn fetch_snapshot(
        &self,
        commit: ObjectId,
        max_blob_bytes: Option<u64>,
        allowance: &Allowance,
    ) -> impl Future<Output = Result<bool, Error>>;

    /// The commit that [`fetch_snapshot`](Self::fetch_snapshot) brought without its blobs
    /// above a size, and that size: what is absent of it is known to be larger.
    fn fetched_whole(&self) -> Option<(ObjectId, u64)> {
        None
    }

    /// How many blobs are asked for at once.
    fn batch_len(&self) -> usize {
        MissingSet::MAX_BLOBS
    }

    /// So many blobs at once did not fit into memory.
    fn could_not_hold(&self, _blobs: usize) {}

    /// Learns the sizes of `ids` from a host that tells them without the objects; nothing,
    /// where there is no such host.
    fn ask_sizes(
        &self,
        _ids: &[ObjectId],
        _allowance: &Allowance,
    ) -> impl Future<Output = Result<(), Error>> {
        std::future::ready(Ok(()))
    }

    /// Bytes of an object that is not held, if [`ask_sizes`](Self::ask_sizes) told them.
    fn known_size(&self, _id: &ObjectId) -> Option<u64> {
        None
    }

    /// Threads for computation that can be split.
    fn workers(&self) -> &SharedWorkers;

    /// Who is told how far transfers and searches come.
    fn progress(&self) -> &ProgressListener;

    /// Runs long computation where it does not hold up other tasks.
    fn compute<R>(&self, work: impl FnOnce() -> R) -> R;

    /// Resolves after `time`; never, where nothing is waited for.
    fn sleep(&self, time: Duration) -> impl Future<Output = ()>;

    /// Time since some fixed moment; never goes backwards.
    fn now(&self) -> Duration;

    /// What was spent so far.
    fn stats(&self) -> Stats;

    /// How the repository is called in messages: its address or path.
    fn name(&self) -> String;
}
