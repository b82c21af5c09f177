//! Asking one rung of the ladder after the other until what is missing has come or there
//! is nothing more to try. Which rung is next is decided in `client::ladder`; here it is
//! sent, what came is checked against what was asked for, and callers are told before a
//! larger transfer begins.

use crate::client::allowance::Allowance;
use crate::client::conversation::Fetched;
use crate::client::journal::RequestKind;
use crate::client::ladder::{Fallback, Next};
use crate::client::progress::{Phase, Progress};
use crate::client::transport::Transport;
use crate::error::Error;
use crate::limits::{LimitExceeded, Which};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::protocol::{FetchRequest, Filter};
use crate::store::{Kept, MissingSet, Objects as _};

use super::shared::Shared;

/// How a request ended.
enum End {
    /// With all that it wants, or all that can be had, which stays while that is kept.
    Came(FetchRequest, Kept),
    /// It has to be asked for in more than one step.
    InSteps,
    /// It has to come in whole snapshots: what the host said to ids, if it said something.
    Whole(Option<Error>),
}

impl<T: Transport> Shared<T> {
    /// Brings as much of `missing` as this host can be brought to send by its ids; that stays
    /// while what is returned lives.
    pub(super) async fn bring(
        &self,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> Result<Vec<Kept>, Error> {
        let mut came = Vec::new();
        let held = self.held();
        let kind = |id| missing.iter().find(|item| item.id == id).and_then(|item| item.kind);
        let asked = self.state().ladder.requests(missing, &held);
        for request in asked {
            let kind = RequestKind::of(request.wants.first().and_then(|id| kind(*id)));
            match self.obtain(request, kind, missing, allowance).await? {
                End::Came(request, kept) => {
                    came.push(kept);
                    self.remember(&request.wants)?;
                }
                End::InSteps => {}
                End::Whole(refusal) => self.bring_whole(missing, refusal, allowance).await?,
            }
        }
        if self.state().ladder.is_whole_only() && self.absent(missing)? > 0 {
            self.bring_whole(missing, None, allowance).await?;
        }
        Ok(came)
    }

    /// Brings a commit with its trees and the files up to a size in one request; whether
    /// that could be done.
    pub(super) async fn bring_snapshot(
        &self,
        commit: ObjectId,
        max_blob_bytes: Option<u64>,
        allowance: &Allowance,
    ) -> Result<bool, Error> {
        let asked = self.state().ladder.snapshot(commit, max_blob_bytes);
        let Some(request) = asked else { return Ok(false) };
        let none = MissingSet::default();
        let obtained = self.obtain(request, RequestKind::Snapshot, &none, allowance).await?;
        let End::Came(request, _) = obtained else {
            return Ok(false);
        };
        if request.filter.is_some() {
            self.state().fetched_whole = max_blob_bytes.map(|bytes| (commit, bytes));
        }
        self.remember(&request.wants)?;
        Ok(true)
    }

    /// Sends `request`, and what the ladder puts in its place.
    async fn obtain(
        &self,
        mut request: FetchRequest,
        kind: RequestKind,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> Result<End, Error> {
        let is_by_id = kind.is_by_id();
        loop {
            let announced = self.state().ladder.announce(&request, is_by_id);
            self.warn(&announced);
            let answer = self.fetch(&request, as_asked(&request, kind), missing, allowance).await;
            let next = match &answer {
                Ok(fetched) => {
                    self.look_at_filter(&request, fetched)?;
                    let is_whole = self.all_came(&request)?;
                    if request.filter.is_none() && !is_by_id && !self.is_lean() {
                        self.state().whole.extend(&request.wants);
                    }
                    self.state().ladder.after_answer(&request, is_by_id, is_whole)
                }
                Err(error) => self.state().ladder.after_error(&request, is_by_id, error),
            };
            self.trace_what_was_learnt();
            match (next, answer) {
                (Some(Next::Ask(lower)), _) => request = *lower,
                (Some(Next::InSteps), _) => return Ok(End::InSteps),
                (Some(Next::Whole), answer) => return Ok(End::Whole(answer.err())),
                (None, answer) => {
                    return Ok(End::Came(request, answer?.committed.kept));
                }
            }
        }
    }

    /// Brings commits that are held with everything in them, the newest first and each
    /// once, until `missing` has come.
    async fn bring_whole(
        &self,
        missing: &MissingSet,
        refusal: Option<Error>,
        allowance: &Allowance,
    ) -> Result<(), Error> {
        let why = match refusal {
            Some(_) => Fallback::RefusesIds,
            None => Fallback::LeavesOutIds,
        };
        // Not as haves: what is evicted of them comes again.
        let mut commits = self.state().held.clone();
        commits.retain(|commit| !self.is_whole(commit));
        let before = self.absent(missing)?;
        let (mut absent, mut unseen) = (before, 0);
        while let (1.., Some(commit)) = (absent, commits.pop()) {
            if !self.state().ladder.is_whole_only() {
                self.warn(&[why]);
            }
            let request = self.state().ladder.whole(commit);
            match self.fetch(&request, RequestKind::Snapshot, missing, allowance).await {
                Ok(fetched) => unseen += fetched.stats.left_out_unnamed,
                // What the host says to everything is no matter of ids: then what it said
                // first is what is wrong.
                Err(error) => {
                    let is_same = |first: &Error| first.code() == error.code();
                    return Err(refusal.filter(is_same).unwrap_or(error));
                }
            }
            if !self.is_lean() {
                self.state().whole.push(commit);
            }
            absent = self.absent(missing)?;
        }
        if absent < before {
            self.state().ladder.give_up_ids(why);
            self.store.set_can_fetch_again(self.is_lean());
            self.trace_what_was_learnt();
            return Ok(());
        }
        if unseen > 0 {
            return Err(self.could_not_look(unseen));
        }
        refusal.map_or(Ok(()), Err)
    }

    /// What is missing may be among files that were left out unseen.
    fn could_not_look(&self, unseen: u64) -> Error {
        let allowed = self.budget.limit_bytes();
        let seen = allowed.saturating_add(1);
        Error::from(LimitExceeded { which: Which::Memory, allowed, seen }).while_doing(format!(
            "{unseen} files of a snapshot that comes only whole are too large to be looked at, or \
             made from others that are"
        ))
    }

    /// Notices a host that sends files although it was asked to leave them out.
    fn look_at_filter(&self, request: &FetchRequest, fetched: &Fetched) -> Result<(), Error> {
        if !self.state().ladder.wonders_about_filter(request) {
            return Ok(());
        }
        let mut honoured = true;
        for id in &fetched.committed.ids {
            let header = self.store.header(id)?;
            if header.is_some_and(|header| header.kind == Kind::Blob) && !request.wants.contains(id)
            {
                honoured = false;
                break;
            }
        }
        self.state().ladder.saw_filter(honoured);
        Ok(())
    }

    fn all_came(&self, request: &FetchRequest) -> Result<bool, Error> {
        for id in &request.wants {
            if !self.store.contains(id)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many of `missing` are not held.
    fn absent(&self, missing: &MissingSet) -> Result<usize, Error> {
        let mut absent = 0;
        for item in missing.iter() {
            absent += usize::from(!self.store.contains(&item.id)?);
        }
        Ok(absent)
    }

    pub(super) fn warn(&self, fallbacks: &[Fallback]) {
        for fallback in fallbacks {
            let phase = Phase::Widening(*fallback);
            self.progress.report(Progress { phase, objects: 0, total_objects: None, bytes: 0 });
        }
    }
}

/// The kind of what `request` brings, when objects of `kind` are wanted: without a filter
/// commits come with their files.
fn as_asked(request: &FetchRequest, kind: RequestKind) -> RequestKind {
    match kind {
        RequestKind::Commits if request.filter != Some(Filter::BlobNone) => RequestKind::Snapshot,
        kind => kind,
    }
}
