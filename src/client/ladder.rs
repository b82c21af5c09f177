//! The ladder: for what is missing, the best request that this host can do, and the next
//! one when it turns out that it cannot.
//!
//! It begins with what the host advertises and learns from what it answers. The rungs are:
//! trees without files and files by id; whole snapshots; whole history. A rung is left for
//! good, so there are few steps in the life of a repository and none goes back up. What
//! was learnt is a [`Fallback`], kept once each and told in words. Nothing here sends.
//!
//! A host that was seen to ignore a filter is sent filters all the same. One line of a
//! request is all that this costs, and to leave it out would make nothing better: many
//! machines may answer to one name, and the next one may honour it; the finding is about
//! commits, while a tree by id brings all that is below it where no filter holds that up;
//! and a commit that joins others comes in a thin pack, whose deltas may rest on files that
//! are not held unless files are left out.

use std::error::Error as _;
use std::fmt;

use bstr::ByteSlice as _;

use crate::error::Error;
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pktline::{PktError, is_filter_refusal};
use crate::protocol::{Deepen, FetchCapability, FetchRequest, Filter};
use crate::store::MissingSet;

use super::lazy;

/// What a host does not do, found out by asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fallback {
    /// Its history cannot be cut: all of it comes.
    CannotCutHistory,
    /// It cannot filter: whole snapshots come.
    CannotFilter,
    /// It sends whole snapshots, and they are larger than memory.
    DoesNotFit,
    /// It offers filters and sends everything all the same.
    IgnoresFilters,
    /// It lists all refs, whichever were asked for.
    IgnoresPrefixes,
    /// It answers, and leaves out objects that were asked for by id.
    LeavesOutIds,
    /// It speaks this older version of the protocol.
    OldVersion(u8),
    /// It offers to cut history and refuses to.
    RefusesDepth,
    /// It offers filters and refuses them.
    RefusesFilters,
    /// It refuses objects by id.
    RefusesIds,
    /// It refuses to leave files out by their size.
    RefusesSizes,
}

impl Fallback {
    /// Whether more comes than would have to.
    pub fn enlarges(self) -> bool {
        !matches!(self, Self::IgnoresPrefixes | Self::OldVersion(_) | Self::RefusesSizes)
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CannotCutHistory => "the host cannot cut history: all of it is fetched",
            Self::CannotFilter => "the host cannot filter: whole snapshots are fetched",
            Self::DoesNotFit => {
                "the host sends more than fits into memory: files are left out as they come, and \
                 fetched when they are read"
            }
            Self::IgnoresFilters => "the host ignores filters: it sends whole snapshots",
            Self::IgnoresPrefixes => "the host lists all refs, whichever are asked for",
            Self::LeavesOutIds => {
                "the host leaves out objects asked for by id: whole snapshots are fetched"
            }
            Self::OldVersion(version) => {
                return write!(f, "the host speaks protocol version {version}: it lists all refs");
            }
            Self::RefusesDepth => "the host refuses to cut history: all of it is fetched",
            Self::RefusesFilters => "the host refuses filters: whole snapshots are fetched",
            Self::RefusesIds => "the host refuses objects by id: whole snapshots are fetched",
            Self::RefusesSizes => {
                "the host cannot leave out files by size: they are fetched in two steps"
            }
        })
    }
}

/// What to do after an answer that did not bring what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Ask this instead.
    Ask(Box<FetchRequest>),
    /// Bring the trees first and files later, by id.
    InSteps,
    /// Bring snapshots whole that may have what is missing.
    Whole,
}

/// How one repository is asked.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// What is still asked of the host.
    features: FetchCapability,
    /// Whether a filter was seen to leave something out, or not to.
    filter_seen: bool,
    /// Whether objects come by id; `None` until it was tried.
    by_id: Option<bool>,
    sizes: bool,
    learnt: Vec<Fallback>,
    /// How many of those were announced.
    announced: usize,
}

impl Ladder {
    /// For a host that advertises `features`.
    pub fn new(features: FetchCapability) -> Self {
        Self {
            features,
            filter_seen: false,
            by_id: None,
            sizes: true,
            learnt: Vec::new(),
            announced: 0,
        }
    }

    /// What is still asked of the host.
    pub fn features(&self) -> &FetchCapability {
        &self.features
    }

    /// What was learnt so far, in the order it was.
    pub fn learnt(&self) -> &[Fallback] {
        &self.learnt
    }

    /// Remembers `fallback`; whether it is new.
    pub fn learn(&mut self, fallback: Fallback) -> bool {
        let is_new = !self.learnt.contains(&fallback);
        if is_new {
            self.learnt.push(fallback);
        }
        is_new
    }

    /// The requests that bring `missing`, of what only comes [whole](Next::Whole) none.
    pub fn requests(&self, missing: &MissingSet, held: &[ObjectId]) -> Vec<FetchRequest> {
        if self.by_id != Some(false) {
            return lazy::requests(missing, &self.features, held);
        }
        let mut commits = MissingSet::default();
        for item in missing.iter().filter(|item| !is_inner(item.kind)) {
            commits.insert(item.id, item.kind);
        }
        let features = FetchCapability { filter: false, ..self.features };
        lazy::requests(&commits, &features, held)
    }

    /// The request for a commit with its trees and the files up to `max_blob_bytes`;
    /// `None` when that is not to be had in one.
    pub fn snapshot(&self, commit: ObjectId, max_blob_bytes: Option<u64>) -> Option<FetchRequest> {
        // Without files by id nothing can be left for later.
        let can_filter = self.features.filter && self.by_id != Some(false);
        if can_filter && !self.sizes && max_blob_bytes.is_some() {
            return None;
        }
        // git's limit is the size from which blobs are left out.
        let filter = max_blob_bytes.map(|bytes| Filter::BlobLimit(bytes.saturating_add(1)));
        let filter = filter.filter(|_| can_filter);
        Some(lazy::snapshot(vec![commit], filter, &self.features, &[]))
    }

    /// The request for a commit with everything in it, whatever is held.
    pub fn whole(&self, commit: ObjectId) -> FetchRequest {
        lazy::snapshot(vec![commit], None, &self.features, &[])
    }

    /// What a caller should know before `request` is sent: what was learnt since that makes
    /// transfers larger, and what the host never offered.
    pub fn announce(&mut self, request: &FetchRequest, is_by_id: bool) -> Vec<Fallback> {
        let knows = |fallback| self.learnt.contains(&fallback);
        let no_filter = !self.features.filter && !knows(Fallback::RefusesFilters);
        let no_depth = !self.features.shallow && !knows(Fallback::RefusesDepth);
        if no_filter && request.filter.is_none() {
            self.learn(Fallback::CannotFilter);
        }
        if no_depth && !is_by_id {
            self.learn(Fallback::CannotCutHistory);
        }
        let new = self.learnt.get(self.announced..).unwrap_or_default().iter();
        let new = new.copied().filter(|fallback| fallback.enlarges()).collect();
        self.announced = self.learnt.len();
        new
    }

    /// What to do after `request` failed with `error`; `None` when the error stands.
    pub fn after_error(
        &mut self,
        request: &FetchRequest,
        is_by_id: bool,
        error: &Error,
    ) -> Option<Next> {
        let words = words_of_the_host(error);
        let mut lower = request.clone();
        if let Some(filter) = lower.filter.take_if(|_| is_filter_refusal(words)) {
            if matches!(filter, Filter::BlobLimit(_)) {
                self.sizes = false;
                self.learn(Fallback::RefusesSizes);
                return Some(Next::InSteps);
            }
            self.features.filter = false;
            self.learn(Fallback::RefusesFilters);
            return Some(Next::Ask(Box::new(lower)));
        }
        if request.deepen != Deepen::None && is_depth_refusal(words) {
            self.features.shallow = false;
            self.learn(Fallback::RefusesDepth);
            lower.deepen = Deepen::None;
            return Some(Next::Ask(Box::new(lower)));
        }
        let may_be_ids = is_by_id && self.by_id.is_none() && may_refuse_ids(error);
        may_be_ids.then_some(Next::Whole)
    }

    /// What to do after `request` was answered; `is_whole` says whether all came that it
    /// wants.
    pub fn after_answer(
        &mut self,
        request: &FetchRequest,
        is_by_id: bool,
        is_whole: bool,
    ) -> Option<Next> {
        if is_whole {
            if is_by_id {
                self.by_id.get_or_insert(true);
            }
            return None;
        }
        if is_by_id {
            return Some(Next::Whole);
        }
        // A commit that did not come: without what could have led the host astray.
        let plain = self.whole(*request.wants.first()?);
        let plain = FetchRequest { wants: request.wants.clone(), ..plain };
        (plain != *request).then(|| Next::Ask(Box::new(plain)))
    }

    /// Objects are no longer asked for by id: whole snapshots bring them.
    pub fn give_up_ids(&mut self, why: Fallback) {
        self.by_id = Some(false);
        self.learn(why);
        // It was announced before the first of them was asked for.
        self.announced = self.learnt.len();
    }

    /// Files that come unasked are left out from now on; whether that is new. The caller tells.
    pub fn become_lean(&mut self) -> bool {
        let is_new = self.learn(Fallback::DoesNotFit);
        self.announced = self.learnt.len();
        is_new
    }

    /// Whether files that come unasked are left out.
    pub fn is_lean(&self) -> bool {
        self.learnt.contains(&Fallback::DoesNotFit)
    }

    /// Whether objects come in whole snapshots only.
    pub fn is_whole_only(&self) -> bool {
        self.by_id == Some(false)
    }

    /// Whether it is not known yet if the filter of `request` leaves files out.
    pub fn wonders_about_filter(&self, request: &FetchRequest) -> bool {
        !self.filter_seen && request.filter == Some(Filter::BlobNone)
    }

    /// Remembers whether a filter left files out.
    pub fn saw_filter(&mut self, honoured: bool) {
        self.filter_seen = true;
        if !honoured {
            self.learn(Fallback::IgnoresFilters);
        }
    }
}

/// Whether objects of this kind are asked for by id, inside a commit that is held.
fn is_inner(kind: Option<Kind>) -> bool {
    matches!(kind, Some(Kind::Blob | Kind::Tree))
}

/// Whether a host may mean by `error` that it sends no objects by id. Not every host says
/// so: some answer with a status, and some with nothing, to what they do not expect. They
/// have answered other requests by then, so it is this one that they refuse.
fn may_refuse_ids(error: &Error) -> bool {
    let codes = ["bad_request", "empty_answer", "forbidden", "host_failed", "not_our_ref"];
    codes.contains(&error.code())
}

/// What the host itself said, without what is said around it: an address may hold any of
/// the words that are looked for.
fn words_of_the_host(error: &Error) -> &[u8] {
    match error.source().and_then(|source| source.downcast_ref()) {
        Some(PktError::Remote { text }) => text,
        _ => &[],
    }
}

/// Whether a host's words refuse to cut history.
fn is_depth_refusal(words: &[u8]) -> bool {
    let words = words.to_ascii_lowercase();
    let says = |any: &[&str]| any.iter().any(|word| words.contains_str(word));
    says(&["shallow", "deepen", "depth"]) && says(&["not supported", "unsupported", "not allowed"])
}

#[cfg(test)]
mod tests;
