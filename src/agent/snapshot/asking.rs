//! What a snapshot asks its source for, and what it says when that is gone.

use std::sync::{MutexGuard, PoisonError};

use bstr::ByteSlice as _;

use super::super::drive::{Rounds, answer};
use super::super::resolve::resolve;
use super::super::source::Source;
use super::super::spending::{Spending, Watch};
use super::{Pin, Snapshot};
use crate::error::{Error, ErrorKind};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet};
use crate::text::escape_for_people;
use crate::view::{ViewError, path};

impl<S: Source> Snapshot<S> {
    pub(in crate::agent) fn source(&self) -> &S {
        &self.repo.source
    }

    pub(in crate::agent) fn spending(&self) -> &Spending {
        &self.spending
    }

    /// What stops computation.
    pub(in crate::agent) fn watch(&self) -> Watch<'_, S> {
        self.spending.watch(&self.stop, self.source())
    }

    pub(super) async fn guard<T>(
        &self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        self.spending.guard(&self.stop, self.source(), work).await
    }

    pub(super) fn pin(&self) -> MutexGuard<'_, Pin> {
        self.pin.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The root tree; brings the commit and its trees when they are not held.
    pub(in crate::agent) async fn tree(&self) -> Result<ObjectId, Error> {
        let mut moved = false;
        loop {
            let (id, known) = {
                let pin = self.pin();
                (pin.id, pin.peeled.as_ref().map(|peeled| peeled.tree))
            };
            if let Some(tree) = known {
                return Ok(tree);
            }
            let peeled =
                answer(self.source(), &self.spending.allowance, |store| path::peel(store, &id));
            match self.guard(peeled).await {
                Ok(peeled) => {
                    let tree = peeled.tree;
                    self.pin().peeled.get_or_insert(peeled);
                    return Ok(tree);
                }
                Err(error) => {
                    if moved || !is_gone(&error) || !self.list_again(id).await? {
                        return Err(self.if_gone(error));
                    }
                    moved = true;
                }
            }
        }
    }

    /// Brings the whole snapshot in one request when nothing of it is held; whether it
    /// did.
    pub(in crate::agent) async fn fetch_whole(
        &self,
        max_blob_bytes: Option<u64>,
    ) -> Result<bool, Error> {
        let (id, peeled) = {
            let pin = self.pin();
            (pin.id, pin.peeled.is_some())
        };
        if peeled {
            return Ok(false);
        }
        let (source, allowance) = (self.source(), &self.spending.allowance);
        let fetch = |id| self.guard(source.fetch_snapshot(id, max_blob_bytes, allowance));
        let fetched = match fetch(id).await {
            Err(error) if is_gone(&error) && self.list_again(id).await? => {
                let id = self.pin().id;
                fetch(id).await
            }
            fetched => fetched,
        };
        fetched.map_err(|error| self.if_gone(error))
    }

    /// Lists the ref once more because the host does not have `gone`; whether the pin has
    /// moved, by this call or by another.
    async fn list_again(&self, gone: ObjectId) -> Result<bool, Error> {
        {
            let pin = self.pin();
            if pin.id != gone || pin.ref_name.is_none() {
                return Ok(pin.id != gone);
            }
        }
        let resolved = resolve(self.source(), self.asked_for.as_bstr(), &self.spending.allowance);
        let resolved = self.guard(resolved).await?;
        let mut pin = self.pin();
        if pin.id != gone || pin.peeled.is_some() || resolved.id == gone {
            return Ok(pin.id != gone);
        }
        *pin = Pin {
            id: resolved.id,
            ref_name: resolved.ref_name,
            warning: resolved.warning,
            peeled: None,
        };
        Ok(true)
    }

    pub(super) async fn answer<T>(
        &self,
        ask: impl FnMut(&S::Store) -> Result<Lookup<T>, ViewError>,
    ) -> Result<T, Error> {
        let answered = self.guard(answer(self.source(), &self.spending.allowance, ask)).await;
        answered.map_err(|error| self.with_place(self.if_gone(error)))
    }

    /// Says of a path that does not exist where that is.
    pub(super) fn with_place(&self, error: Error) -> Error {
        let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
        let Some(ViewError::NotFound { path, missing, similar }) = cause else { return error };
        let commit = self.commit().to_string();
        let short = commit.get(..SHORT_ID_DIGITS).unwrap_or(&commit);
        let place = match commit.starts_with(&*self.asked_for.to_str_lossy()) {
            true => short.to_owned(),
            false => format!("{} ({short})", escape_for_people(&self.asked_for)),
        };
        let why = path::describe_not_found(path, missing, similar, Some(&place));
        Error::new(error.kind(), why).with_code(error.code()).with_source(error)
    }

    pub(in crate::agent) async fn fetch(
        &self,
        rounds: &mut Rounds,
        missing: &MissingSet,
    ) -> Result<(), Error> {
        let fetched =
            self.guard(rounds.fetch(self.source(), missing, &self.spending.allowance)).await;
        fetched.map_err(|error| self.if_gone(error))
    }

    /// Learns sizes, as far as the host tells them.
    pub(in crate::agent) async fn sizes(&self, ids: &[ObjectId]) -> Result<(), Error> {
        self.guard(self.source().ask_sizes(ids, &self.spending.allowance)).await
    }

    /// Says of an object that the host does not have what that means for this snapshot.
    fn if_gone(&self, error: Error) -> Error {
        if !is_gone(&error) {
            return error;
        }
        let (commit, name) = (self.commit(), self.source().name());
        let asked_for = escape_for_people(&self.asked_for);
        let why = if self.pin().ref_name.is_some() {
            format!("{name} no longer has commit {commit} of {asked_for}; take a new snapshot")
        } else {
            format!("{name} has no commit {commit}, or no longer; name a branch, tag or other id")
        };
        Error::new(ErrorKind::NotFound, why).with_code("snapshot_gone").with_source(error)
    }
}

/// Digits of a commit's id in a message, as git shows it.
const SHORT_ID_DIGITS: usize = 7;

/// Whether the host said that it does not have, or no longer shows, what was wanted.
fn is_gone(error: &Error) -> bool {
    error.code() == "not_our_ref"
}
