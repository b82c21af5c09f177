//! A repository, and the snapshots taken of it.

use std::sync::Arc;

use bstr::{BString, ByteSlice as _};

use crate::client::allowance::Allowance;
use crate::client::pasted::{Rest, split_ref_and_path};
use crate::error::Error;
use crate::limits::Limits;
use crate::oid::ObjectId;
use crate::store::{Objects as _, Ref};

use super::resolve::{resolve, resolve_among};
use super::results::{MemoryReport, Stats};
use super::snapshot::Snapshot;
use super::source::Source;
use super::spending::Spending;

/// A repository to ask about. A clone is the same repository and shares what is held.
///
/// Nothing but refs is fetched until a [`Snapshot`] is asked something.
#[derive(Debug)]
pub struct Repo<S> {
    pub(super) source: Arc<S>,
    pub(super) limits: Arc<Limits>,
}

impl<S> Clone for Repo<S> {
    fn clone(&self) -> Self {
        Self { source: Arc::clone(&self.source), limits: Arc::clone(&self.limits) }
    }
}

impl<S: Source> Repo<S> {
    /// The repository behind `source`. `limits` bound paths, walks and patterns.
    pub fn new(source: S, limits: Limits) -> Self {
        Self { source: Arc::new(source), limits: Arc::new(limits) }
    }

    /// Where its refs and objects come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The refs as they are at this moment, `HEAD` first, peeled: those whose names begin
    /// with one of `prefixes`, or all when there is none. One request.
    pub async fn refs(&self, prefixes: &[BString]) -> Result<Vec<Ref>, Error> {
        self.source.refs(prefixes, &Allowance::default()).await
    }

    /// Pins `name` to the commit it stands for now: `HEAD`, a branch, a tag (peeled), a
    /// full ref, a full id, or an id abbreviated to at least four digits that is a tip or
    /// held. No object is fetched.
    ///
    /// Taking a second snapshot after a branch has moved re-uses every object held.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such name, with the nearest ones; with code `unborn`
    /// when the branch has no commit yet; `Usage` with code `ambiguous` for an
    /// abbreviation of several ids.
    pub async fn snapshot(&self, name: impl AsRef<[u8]>) -> Result<Snapshot<S>, Error> {
        self.snapshot_for(name.as_ref(), Spending::default()).await
    }

    /// The same, paid from `spending`, as all that is asked of the snapshot.
    pub(super) async fn snapshot_for(
        &self,
        name: &[u8],
        spending: Spending,
    ) -> Result<Snapshot<S>, Error> {
        let name = name.as_bstr();
        let resolved = resolve(&*self.source, name, &spending.allowance).await?;
        Ok(Snapshot::new(self.clone(), name, resolved).spending_from(spending))
    }

    /// Pins the commit that the rest of a pasted address names, and gives the path behind
    /// it, which is empty for the root. Costs one request, as a name does, and none for a
    /// full commit id; the errors are those of [`snapshot`](Self::snapshot).
    pub async fn snapshot_at(&self, rest: &Rest) -> Result<(Snapshot<S>, BString), Error> {
        let source = &*self.source;
        let first = rest.first_segment();
        let is_id =
            first.len() >= source.store().format().hex_len() && ObjectId::from_hex(first).is_ok();
        if is_id {
            let (id, path) = split_ref_and_path(rest, &[]);
            return Ok((self.snapshot(&id).await?, path));
        }
        let allowance = Allowance::default();
        let listed = source.refs(&rest.ref_prefixes(), &allowance).await?;
        let (name, path) = split_ref_and_path(rest, &listed);
        let resolved = resolve_among(source, name.as_bstr(), &listed, &allowance).await?;
        Ok((Snapshot::new(self.clone(), name.as_bstr(), resolved), path))
    }

    /// What was spent so far.
    pub fn stats(&self) -> Stats {
        self.source.stats()
    }

    /// Where the memory is, and what had to go for lack of it.
    pub fn memory_report(&self) -> MemoryReport {
        self.source.stats().memory
    }
}
