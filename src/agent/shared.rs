//! What all clones of a remote repository share: the host as far as it is known, what is held
//! of it, and how refs and objects are asked for.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bstr::BString;
use hashbrown::HashSet;
use tracing::Instrument as _;

use crate::client::address::RepoUrl;
use crate::client::allowance::Allowance;
use crate::client::conversation::{Cancel, Context, Conversation, Fetched, Outcome, Target};
use crate::client::credentials::Credentials;
use crate::client::journal::{Journal, Purpose, RequestKind};
use crate::client::ladder::{Fallback, Ladder};
use crate::client::old_host::OldHost;
use crate::client::progress::ProgressListener;
use crate::client::retry::RetryOptions;
use crate::client::transport::Transport;
use crate::client::{lazy, requests};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits, SharedWorkers};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::KeepBlobs;
use crate::protocol::{Advertised, Capabilities, FetchCapability, FetchRequest, LsRefsRequest};
use crate::store::{Lookup, MemoryStore, MissingSet, Objects, Ref};
use crate::view::ViewError;
use crate::view::path::{self, Peeled};

use super::drive::is_out_of_memory;
use super::exchange::{Line, no_outcome};
use super::flights::Flights;
use super::results::LoadStats;
use super::sizes::Told;
use super::trace;

/// After so long, refs that came with the first answer are listed again.
const MAX_LISTING_AGE: Duration = Duration::from_secs(10);

/// Refs that are noted to be saved.
const MAX_NOTED_REFS: usize = 64;

/// Bytes of the name of one of them.
const MAX_NOTED_NAME_BYTES: usize = 1 << 10;

pub(super) struct Shared<T> {
    pub(super) transport: T,
    pub(super) repo: RepoUrl,
    pub(super) credentials: Credentials,
    pub(super) public_only: bool,
    pub(super) retry: RetryOptions,
    pub(super) limits: Limits,
    pub(super) budget: Budget,
    pub(super) allowance: Allowance,
    pub(super) progress: ProgressListener,
    pub(super) workers: SharedWorkers,
    pub(super) capabilities: Capabilities,
    pub(super) features: FetchCapability,
    pub(super) store: MemoryStore,
    pub(super) opened_at: Duration,
    pub(super) journal: Journal,
    pub(super) flights: Flights,
    pub(super) state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    /// What this host can do, as far as it is known.
    pub(super) ladder: Ladder,
    /// Commits that came with everything in them.
    pub(super) whole: Vec<ObjectId>,
    /// Set when it speaks protocol v0 or v1.
    pub(super) old: Option<OldHost>,
    /// How much of what was learnt has been traced.
    pub(super) traced: usize,
    /// Commits whose trees are all held, newest last; at most [`lazy::MAX_HAVES`].
    pub(super) held: Vec<ObjectId>,
    /// Refs as they were last listed, where few were; at most [`MAX_NOTED_REFS`].
    pub(super) listed: Vec<Ref>,
    /// Objects that were held when what is held was last saved or loaded.
    pub(super) objects_saved: u64,
    /// What loading took.
    pub(super) loaded: Option<LoadStats>,
    /// The commit that came in one request with all blobs up to a size.
    pub(super) fetched_whole: Option<(ObjectId, u64)>,
    /// Sizes of objects that are not held.
    pub(super) told: Told,
    /// How many blobs are asked for at once: fewer after so many did not fit into memory.
    pub(super) batch_len: usize,
    /// Packed bytes of a blob, on average of those that came last by their ids.
    pub(super) bytes_per_blob: u64,
}

impl<T: Transport> Shared<T> {
    /// Whether the host says that it tells sizes.
    pub(super) fn tells_sizes(&self) -> bool {
        self.capabilities.object_info && self.state().old.is_none()
    }

    pub(super) fn line(&self) -> Line<'_, '_, T> {
        Line {
            transport: &self.transport,
            repo: &self.repo,
            credentials: &self.credentials,
            public_only: self.public_only,
            retry: &self.retry,
        }
    }

    /// Fetches objects of `kind` into the store. When all that a host sends without being
    /// asked does not fit, it is asked once more: from then on its files are left out as they
    /// come, but for those in `missing`.
    pub(super) async fn fetch(
        &self,
        request: &FetchRequest,
        kind: RequestKind,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> Result<Fetched, Error> {
        let fetched = self.fetch_once(request, kind, missing, allowance).await;
        let sends_files =
            request.filter.is_none() && !matches!(kind, RequestKind::Blobs | RequestKind::History);
        match fetched {
            Err(error) if sends_files && is_out_of_memory(&error) && self.becomes_lean() => {
                self.fetch_once(request, kind, missing, allowance).await
            }
            fetched => fetched,
        }
    }

    async fn fetch_once(
        &self,
        request: &FetchRequest,
        kind: RequestKind,
        missing: &MissingSet,
        allowance: &Allowance,
    ) -> Result<Fetched, Error> {
        let purpose = Purpose::objects(kind, &request.wants);
        let span = trace::fetch(&purpose);
        let context = self.context(purpose, allowance);
        // Files that were asked for by their ids are kept anyhow.
        let leaves_out = self.is_lean() && kind != RequestKind::Blobs;
        let blobs = if leaves_out { KeepBlobs::Only(blobs_of(missing)) } else { KeepBlobs::All };
        let fetched = self.fetch_for(request, &blobs, context).instrument(span.clone()).await?;
        span.in_scope(|| trace::received(&fetched));
        if kind == RequestKind::Blobs {
            let blobs = request.wants.len().max(1) as u64;
            self.state().bytes_per_blob = fetched.committed.bytes / blobs;
        } else if leaves_out {
            let stats = &fetched.stats;
            self.state().bytes_per_blob = stats.received_bytes / stats.objects.max(1);
        }
        Ok(fetched)
    }

    async fn fetch_for(
        &self,
        request: &FetchRequest,
        blobs: &KeepBlobs,
        context: Context,
    ) -> Result<Fetched, Error> {
        // Dropping this future also stops the thread that resolves the pack.
        let _stop = CancelOnDrop(&context.cancel);
        let Self { limits, budget, store, .. } = self;
        let target = Target { limits, budget, store, blobs };
        let old = match &self.state().old {
            Some(old) => Some((old.encode(request)?, *old.features())),
            None => None,
        };
        let outcome = match old {
            Some((body, features)) => {
                let conversation = Conversation::fetch_v0(request, &features, target, &context);
                self.line().fetch_v0(body, conversation, &context).await?
            }
            None => {
                let mut body = Vec::new();
                request.encode(requests::AGENT, self.store.format(), &mut body)?;
                let conversation = Conversation::fetch(target, &context);
                self.line().command(body, conversation, &context).await?
            }
        };
        match outcome {
            Outcome::Fetched(fetched) => Ok(fetched),
            _ => Err(no_outcome()),
        }
    }

    /// The refs of a host that lists all of them: at first those that came with its first
    /// answer, for which nothing is sent.
    pub(super) async fn refs_v0(&self, allowance: &Allowance) -> Result<Vec<Ref>, Error> {
        let age = self.transport.now().saturating_sub(self.opened_at);
        let first = self.state().old.as_mut().and_then(OldHost::take_refs);
        if let Some(refs) = first.filter(|_| age <= MAX_LISTING_AGE) {
            return Ok(refs);
        }
        let context = self.context(Purpose::of(RequestKind::Refs), allowance);
        let conversation = Conversation::advertisement(&self.limits, &self.budget, &context);
        match self.line().list_v0(conversation, &context).await? {
            Outcome::Advertised(advertised, held) => match *advertised {
                Advertised::Listing(listing) => {
                    let mut old = OldHost::new(listing, held, &self.budget)?;
                    let refs = old.take_refs().unwrap_or_default();
                    self.state().old = Some(old);
                    Ok(refs)
                }
                Advertised::Capabilities(_) => Err(changed_its_version()),
            },
            _ => Err(no_outcome()),
        }
    }

    /// The refs that a host of protocol v2 has, perhaps more than those asked for.
    pub(super) async fn refs_v2(
        &self,
        prefixes: &[BString],
        allowance: &Allowance,
    ) -> Result<Vec<Ref>, Error> {
        let request = LsRefsRequest {
            prefixes: prefixes.to_vec(),
            symrefs: true,
            peel: true,
            unborn: self.capabilities.ls_refs.is_some_and(|ls_refs| ls_refs.unborn),
        };
        let context = self.context(Purpose::of(RequestKind::Refs), allowance);
        let format = self.capabilities.object_format;
        let conversation = Conversation::refs(format, &self.limits, &self.budget, &context);
        let mut body = Vec::new();
        request.encode(requests::AGENT, format, &mut body)?;
        match self.line().command(body, conversation, &context).await? {
            Outcome::Refs(refs) => Ok(refs),
            _ => Err(no_outcome()),
        }
    }

    /// Remembers commits that came with all their trees, so that later ones join them.
    pub(super) fn remember(&self, wants: &[ObjectId]) -> Result<(), Error> {
        for id in wants {
            let Lookup::Ready(Peeled { commit: Some(commit), .. }) = peel_held(&self.store, id)?
            else {
                continue;
            };
            let mut state = self.state();
            let State { held, whole, .. } = &mut *state;
            held.retain(|other| *other != commit);
            held.push(commit);
            let forgotten = held.len().saturating_sub(lazy::MAX_HAVES);
            held.drain(..forgotten);
            whole.retain(|commit| held.contains(commit));
        }
        Ok(())
    }

    /// Commits that are held well enough to be named as haves. A host that cannot leave files
    /// out sends those that changed as deltas of files that may have been evicted.
    pub(super) fn held(&self) -> Vec<ObjectId> {
        if self.is_lean() || !self.features.filter && self.has_evicted() {
            return Vec::new();
        }
        self.state().held.clone()
    }

    /// Whether `commit` came with everything in it, and is still so.
    pub(super) fn is_whole(&self, commit: &ObjectId) -> bool {
        !self.has_evicted() && self.state().whole.contains(commit)
    }

    /// Whether anything that came may be gone again, or was left out. Takes the lock of
    /// [`state`](Self::state).
    pub(super) fn has_evicted(&self) -> bool {
        self.is_lean() || self.store.stats().evicted_objects > 0
    }

    /// Whether files that come unasked are left out, because all of them do not fit.
    pub(super) fn is_lean(&self) -> bool {
        self.state().ladder.is_lean()
    }

    fn becomes_lean(&self) -> bool {
        let is_new = self.state().ladder.become_lean();
        if is_new {
            self.warn(&[Fallback::DoesNotFit]);
            self.trace_what_was_learnt();
        }
        is_new
    }

    /// Traces what the host was found not to do since this was called last.
    pub(super) fn trace_what_was_learnt(&self) {
        let mut state = self.state();
        let new = state.ladder.learnt().get(state.traced..).unwrap_or_default();
        new.iter().copied().for_each(trace::fallback);
        state.traced = state.ladder.learnt().len();
    }

    pub(super) fn context(&self, purpose: Purpose, allowance: &Allowance) -> Context {
        let allowance = allowance.within(&self.allowance);
        let (journal, progress) = (self.journal.clone(), self.progress.clone());
        let workers = self.workers.clone();
        Context { allowance, journal, progress, purpose, workers, ..Context::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Notes refs as they are now, to be saved. A long listing is nobody's choice of refs.
    pub(super) fn note_refs(&mut self, refs: &[Ref]) {
        let is_short = |named: &&Ref| {
            let symref = named.symref_target.as_ref().map_or(0, |name| name.len());
            named.name.len().max(symref) <= MAX_NOTED_NAME_BYTES
        };
        for named in refs.iter().filter(is_short).take(MAX_NOTED_REFS) {
            self.listed.retain(|other| other.name != named.name);
            self.listed.push(named.clone());
        }
        let forgotten = self.listed.len().saturating_sub(MAX_NOTED_REFS);
        self.listed.drain(..forgotten);
    }
}

fn blobs_of(missing: &MissingSet) -> HashSet<ObjectId> {
    let blobs = missing.iter().filter(|item| item.kind == Some(Kind::Blob));
    blobs.map(|item| item.id).collect()
}

/// Peels what is a commit or tag; anything else is no commit to join.
fn peel_held(store: &MemoryStore, id: &ObjectId) -> Result<Lookup<Peeled>, Error> {
    match store.header(id)?.map(|header| header.kind) {
        Some(Kind::Commit | Kind::Tag) => match path::peel(store, id) {
            Err(ViewError::WrongKind { .. }) => Ok(Lookup::Missing(MissingSet::default())),
            peeled => Ok(peeled?),
        },
        _ => Ok(Lookup::Missing(MissingSet::default())),
    }
}

fn changed_its_version() -> Error {
    let why = "the host changed the version of its protocol; open the repository again";
    Error::new(ErrorKind::Transport, why)
}

/// Stops a conversation when nobody waits for it any more.
pub(super) struct CancelOnDrop<'a>(pub(super) &'a Cancel);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
