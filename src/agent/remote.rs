//! A repository on the other side of a network, held in memory as far as it was asked
//! about.
//!
//! Opening it costs one request, listing refs one, a commit with all its trees one, and
//! any number of blobs one. Calls share what is under way: an object that one call
//! fetches is waited for by the others. Nothing here speaks HTTP or reads a clock; both
//! are the transport's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::client::address::RepoUrl;
use crate::client::conversation::{Cancel, Context, Conversation, Fetched, Outcome};
use crate::client::credentials::{Auth, AuthSource, Credentials};
use crate::client::progress::{ProgressListener, Traffic};
use crate::client::retry::RetryOptions;
use crate::client::transport::Transport;
use crate::client::{lazy, requests};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::protocol::{Capabilities, FetchCapability, FetchRequest, Filter, LsRefsRequest};
use crate::store::{Lookup, MemoryStore, MissingSet, Objects, Ref};
use crate::view::ViewError;
use crate::view::path::{self, Peeled};
use bstr::BString;

use super::exchange::{Discovered, Line, discover, no_outcome};
use super::flights::Flights;
use super::results::Stats;
use super::source::Source;

/// How a remote repository is opened.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// The credential for the address's origin; sent from the first request on. One in
    /// the address itself is used when there is none here.
    pub auth: Option<Auth>,
    /// Who is asked for a credential when there is none, and for another one when the
    /// host refuses it.
    pub auth_source: AuthSource,
    /// Caps, and the memory that everything received may occupy.
    pub limits: Limits,
    /// A budget to share with other repositories; otherwise `limits.max_memory`.
    pub budget: Option<Budget>,
    /// Who is told how transfers go.
    pub progress: ProgressListener,
    /// How patient to be with a host that asks for patience.
    pub retry: RetryOptions,
}

/// A remote repository behind a transport. A clone is the same repository.
pub struct Remote<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    transport: T,
    repo: RepoUrl,
    credentials: Credentials,
    public_only: bool,
    retry: RetryOptions,
    limits: Limits,
    budget: Budget,
    progress: ProgressListener,
    capabilities: Capabilities,
    features: FetchCapability,
    store: MemoryStore,
    opened_at: Duration,
    traffic: Traffic,
    flights: Flights,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Commits whose trees are all held, newest last; at most [`lazy::MAX_HAVES`].
    held: Vec<ObjectId>,
    /// The commit that came in one request with all blobs up to a size.
    fetched_whole: Option<(ObjectId, u64)>,
}

impl<T> Clone for Remote<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> std::fmt::Debug for Remote<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("repo", &self.shared.repo).finish_non_exhaustive()
    }
}

impl<T: Transport> Remote<T> {
    /// Asks the host at `address` what it is: one request and no object, and one more for
    /// each redirect, of which at most five are followed.
    ///
    /// # Errors
    ///
    /// `Usage` for what is no `http` or `https` address; `Auth`, `NotFound`, `RateLimited`
    /// and `Transport` by the status that came; `NotFound` for a web page; `Unsupported`
    /// for a host without protocol v2.
    pub async fn open(transport: T, address: &str, options: RemoteOptions) -> Result<Self, Error> {
        let (repo, auth_in_address) = RepoUrl::parse(address)?;
        let auth = options.auth.or(auth_in_address);
        let credentials = Credentials::new(auth, options.auth_source, &repo);
        let opened_at = transport.now();
        let budget = options.budget.unwrap_or_else(|| Budget::new(options.limits.max_memory));
        let context = Context { progress: options.progress.clone(), ..Context::default() };
        let conversation = Conversation::advertisement(&budget, &context);
        let retry = options.retry;
        let discovered = discover(&transport, repo, &credentials, &retry, &context, conversation);
        let Discovered { repo, public_only, capabilities } = discovered.await?;
        let features = capabilities.fetch.ok_or_else(|| {
            let why = format!("{repo} offers no fetch: its owner has to allow upload-pack");
            Error::new(ErrorKind::Unsupported, why)
        })?;
        let store = MemoryStore::new(capabilities.object_format, &budget, &options.limits);
        let shared = Shared {
            transport,
            repo,
            credentials,
            public_only,
            retry,
            limits: options.limits,
            budget,
            progress: options.progress,
            capabilities,
            features,
            store,
            opened_at,
            traffic: context.traffic,
            flights: Flights::default(),
            state: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The address that is read, after redirects.
    pub fn address(&self) -> &RepoUrl {
        &self.shared.repo
    }

    /// What the host said it can do.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    pub(super) fn features(&self) -> &FetchCapability {
        &self.shared.features
    }

    pub(super) async fn fetch_request(&self, request: &FetchRequest) -> Result<Fetched, Error> {
        self.shared.fetch(request).await
    }

    pub(super) fn remember(&self, wants: &[ObjectId]) -> Result<(), Error> {
        self.shared.remember(wants)
    }
}

impl<T: Transport> Shared<T> {
    /// One command of protocol v2.
    async fn command(
        &self,
        body: Vec<u8>,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        let line = Line {
            transport: &self.transport,
            repo: &self.repo,
            credentials: &self.credentials,
            public_only: self.public_only,
            retry: &self.retry,
        };
        line.command(body, conversation, context).await
    }

    /// Fetches into the store.
    async fn fetch(&self, request: &FetchRequest) -> Result<Fetched, Error> {
        let context = self.context();
        // Dropping this future also stops the thread that resolves the pack.
        let _stop = CancelOnDrop(&context.cancel);
        let mut body = Vec::new();
        request.encode(requests::AGENT, self.capabilities.object_format, &mut body)?;
        let conversation = Conversation::fetch(
            self.capabilities.object_format,
            &self.limits,
            &self.budget,
            &self.store,
            &context,
        );
        match self.command(body, conversation, &context).await? {
            Outcome::Fetched(fetched) => Ok(fetched),
            _ => Err(no_outcome()),
        }
    }

    /// Remembers commits that came with all their trees, so that later ones join them.
    fn remember(&self, wants: &[ObjectId]) -> Result<(), Error> {
        for id in wants {
            let Lookup::Ready(Peeled { commit: Some(commit), .. }) = peel_held(&self.store, id)?
            else {
                continue;
            };
            let held = &mut self.state().held;
            held.retain(|other| *other != commit);
            held.push(commit);
            let forgotten = held.len().saturating_sub(lazy::MAX_HAVES);
            held.drain(..forgotten);
        }
        Ok(())
    }

    fn held(&self) -> Vec<ObjectId> {
        self.state().held.clone()
    }

    fn context(&self) -> Context {
        Context {
            cancel: Cancel::default(),
            progress: self.progress.clone(),
            traffic: self.traffic.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

struct CancelOnDrop<'a>(&'a Cancel);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<T: Transport> Source for Remote<T> {
    type Store = MemoryStore;

    fn store(&self) -> &MemoryStore {
        &self.shared.store
    }

    fn budget(&self) -> &Budget {
        &self.shared.budget
    }

    async fn refs(&self, prefixes: &[BString]) -> Result<Vec<Ref>, Error> {
        let shared = &*self.shared;
        let request = LsRefsRequest {
            prefixes: prefixes.to_vec(),
            symrefs: true,
            peel: true,
            unborn: shared.capabilities.ls_refs.is_some_and(|ls_refs| ls_refs.unborn),
        };
        let context = shared.context();
        let conversation = Conversation::refs(
            shared.capabilities.object_format,
            &shared.limits,
            &shared.budget,
            &context,
        );
        let mut body = Vec::new();
        request.encode(requests::AGENT, shared.capabilities.object_format, &mut body)?;
        match shared.command(body, conversation, &context).await? {
            Outcome::Refs(refs) => Ok(refs),
            _ => Err(no_outcome()),
        }
    }

    async fn fetch(&self, missing: &MissingSet) -> Result<(), Error> {
        let shared = &self.shared;
        let mut wanted = missing.clone();
        while !wanted.is_empty() {
            // Listening starts before the claim, so that no arrival is missed.
            let landing = shared.flights.next_landing();
            let claim = shared.flights.claim(&wanted, &shared.store)?;
            if claim.mine().is_empty() && !claim.others().is_empty() {
                drop(claim);
                landing.await;
                continue;
            }
            let held = shared.held();
            for request in lazy::requests(claim.mine(), &shared.features, &held) {
                shared.fetch(&request).await?;
                shared.remember(&request.wants)?;
            }
            // What was asked for here is not asked for again, whether or not it came.
            wanted = claim.others().clone();
        }
        Ok(())
    }

    async fn fetch_snapshot(
        &self,
        commit: ObjectId,
        max_blob_bytes: Option<u64>,
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
        // git's limit is the size from which blobs are left out.
        let filter = max_blob_bytes.map(|bytes| Filter::BlobLimit(bytes.saturating_add(1)));
        let request = lazy::snapshot(vec![commit], filter, &shared.features, &[]);
        shared.fetch(&request).await?;
        if request.filter.is_some() {
            shared.state().fetched_whole = max_blob_bytes.map(|bytes| (commit, bytes));
        }
        shared.remember(&request.wants)?;
        Ok(true)
    }

    fn fetched_whole(&self) -> Option<(ObjectId, u64)> {
        self.shared.state().fetched_whole
    }

    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        self.shared.transport.compute(work)
    }

    fn stats(&self) -> Stats {
        let shared = &*self.shared;
        let held = shared.store.stats();
        let elapsed = shared.transport.now().saturating_sub(shared.opened_at);
        Stats {
            requests: shared.traffic.requests(),
            bytes_received: shared.traffic.bytes_received(),
            objects: held.objects,
            store_bytes: shared.budget.used_bytes(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn name(&self) -> String {
        self.shared.repo.to_string()
    }
}
