//! Fetching the files of a snapshot before anyone asks for them.

use crate::error::Error;
use crate::object::{EntryKind, Kind};
use crate::oid::ObjectId;
use crate::store::{MissingSet, Objects};
use crate::view::glob::PathFilter;
use crate::view::path;
use crate::view::walk::{Place, WalkEntry, WalkOptions};

use super::drive::{Rounds, answer};
use super::results::Prefetched;
use super::search::Walked;
use super::snapshot::Snapshot;
use super::source::Source;

/// What an id in a set of files takes, there and in the set of those that are absent.
const BYTES_PER_FILE: u64 = 4 * size_of::<ObjectId>() as u64;

/// Bytes of the files that a prefetch leaves out, and a search in any memory does not.
const SMALL_BLOB_BYTES: u64 = 1 << 20;

/// The part of the free memory that a file may have to come in the first fetch of a search: of
/// 512 MiB it is 4 MiB, below which nearly all text is.
const SEARCHED_SHARE: u64 = 128;

/// What a prefetch brings.
#[derive(Clone, Debug)]
pub struct PrefetchOptions {
    /// Bytes; files above this size are left for when something needs them. 1 MiB by
    /// default, so that one huge binary does not cost every agent its download. It holds
    /// for the first commit of a repository, when the host can sort by size, and for what
    /// that left out; other files are fetched by id and come whatever their size.
    pub max_blob_bytes: Option<u64>,
    /// Only files that pass; everything by default.
    pub filter: PathFilter,
}

impl Default for PrefetchOptions {
    fn default() -> Self {
        Self { max_blob_bytes: Some(SMALL_BLOB_BYTES), filter: PathFilter::default() }
    }
}

impl<S: Source> Snapshot<S> {
    /// Fetches the files of this snapshot ahead of being asked: one request when no commit
    /// is held yet, else one for its changed folders and one for its changed files.
    ///
    /// # Errors
    ///
    /// `Limit` when the files do not fit into memory, `NotFound` with code
    /// `snapshot_gone` when the host no longer has the commit, and those of the transfer.
    pub async fn prefetch(&self, options: &PrefetchOptions) -> Result<Prefetched, Error> {
        if options.filter.is_unrestricted() {
            self.fetch_whole(options.max_blob_bytes).await?;
        }
        let tree = self.tree().await?;
        let (absent, files) = self.absent_files(tree, &options.filter).await?;
        let mut missing = absent.clone();
        if !absent.is_empty() {
            let large = self.known_to_be_large(options.max_blob_bytes).await?;
            missing = without(&absent, |id| Ok(large.contains(id)))?;
        }
        let mut rounds = Rounds::default();
        while !missing.is_empty() {
            rounds.let_go();
            self.fetch(&mut rounds, &missing).await?;
            missing = still_missing(self.source().store(), &missing)?;
        }
        let blobs_left_out = still_missing(self.source().store(), &absent)?.len() as u64;
        Ok(Prefetched { commit: self.commit(), blobs_held: files - blobs_left_out, blobs_left_out })
    }

    /// Brings what a search of everything reads in one request when nothing is held yet. All
    /// files are read in the end, so more of them come at once than in a prefetch; those that
    /// are left out come in batches when the search is there.
    pub(super) async fn fetch_to_search(&self) -> Result<(), Error> {
        let budget = self.source().budget();
        let free = budget.limit_bytes().saturating_sub(budget.used_bytes());
        let max_blob_bytes = (free / SEARCHED_SHARE).max(SMALL_BLOB_BYTES);
        self.fetch_whole(Some(max_blob_bytes)).await.map(drop)
    }

    /// The distinct files that pass `filter` and are not held, and how many pass.
    async fn absent_files(
        &self,
        tree: ObjectId,
        filter: &PathFilter,
    ) -> Result<(MissingSet, u64), Error> {
        let options = WalkOptions { filter: filter.clone(), ..WalkOptions::default() };
        let mut files = MissingSet::default();
        let mut paid = self.source().budget().empty();
        let mut refused = Ok(());
        let mut visit = |entry: &WalkEntry<'_>| {
            let is_file = entry.mode.kind() != EntryKind::Gitlink;
            if is_file && files.insert(entry.id, Some(Kind::Blob)) {
                refused = paid.grow(BYTES_PER_FILE);
            }
            refused.is_ok()
        };
        let start = Place::default();
        if let Walked::Failed(error, _) = self.walk_tree(tree, options, &start, &mut visit).await {
            return Err(error);
        }
        refused?;
        let count = files.len() as u64;
        Ok((still_missing(self.source().store(), &files)?, count))
    }

    /// Files known to be larger than `max_blob_bytes` because a first fetch left them out.
    async fn known_to_be_large(&self, max_blob_bytes: Option<u64>) -> Result<MissingSet, Error> {
        match (max_blob_bytes, self.source().fetched_whole()) {
            (Some(max), Some((commit, limit))) if max <= limit => {
                let tree = answer(self.source(), &self.spending().allowance, |store| {
                    path::peel(store, &commit)
                })
                .await?
                .tree;
                Ok(self.absent_files(tree, &PathFilter::default()).await?.0)
            }
            _ => Ok(MissingSet::default()),
        }
    }
}

fn still_missing(store: &impl Objects, files: &MissingSet) -> Result<MissingSet, Error> {
    without(files, |id| Ok(store.contains(id)?))
}

fn without(
    files: &MissingSet,
    is_out: impl Fn(&ObjectId) -> Result<bool, Error>,
) -> Result<MissingSet, Error> {
    let mut rest = MissingSet::default();
    for file in files.iter() {
        if !is_out(&file.id)? {
            rest.insert(file.id, file.kind);
        }
    }
    Ok(rest)
}
