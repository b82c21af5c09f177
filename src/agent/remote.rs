//! A repository on the other side of a network, held in memory as far as it was asked
//! about.
//!
//! Opening it costs one request, listing refs one, a commit with all its trees one, and
//! any number of blobs one. Calls share what is under way: an object that one call
//! fetches is waited for by the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bstr::BString;
use event_listener::Event;
use hashbrown::HashSet;

use crate::client::address::{Auth, Credentials, RepoUrl};
use crate::client::conversation::{Cancel, Context, Conversation, Fetched, Outcome};
use crate::client::progress::ProgressListener;
use crate::client::transport::{Request, Response, Transport};
use crate::client::{lazy, requests};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::protocol::{Capabilities, FetchCapability, FetchRequest, Filter, LsRefsRequest};
use crate::store::{MemoryStore, MissingSet, Objects, Ref};

use super::results::Stats;
use super::source::Source;

/// Redirects followed for the first request.
const MAX_REDIRECTS: usize = 5;

/// How a remote repository is opened.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// The credential for the address's origin; sent from the first request on. One in
    /// the address itself is used when there is none here.
    pub auth: Option<Auth>,
    /// Caps, and the memory that everything received may occupy.
    pub limits: Limits,
    /// A budget to share with other repositories; otherwise `limits.max_memory`.
    pub budget: Option<Budget>,
    /// Who is told how transfers go.
    pub progress: ProgressListener,
}

/// A remote repository behind a transport. A clone is the same repository.
pub struct Remote<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    transport: T,
    repo: RepoUrl,
    credentials: Option<Credentials>,
    limits: Limits,
    budget: Budget,
    progress: ProgressListener,
    capabilities: Capabilities,
    features: FetchCapability,
    store: MemoryStore,
    opened_at: Duration,
    state: Mutex<State>,
    arrived: Event,
}

#[derive(Debug, Default)]
struct State {
    /// Objects that some call is fetching.
    in_flight: HashSet<ObjectId>,
    /// Commits whose trees are all held, newest last.
    held: Vec<ObjectId>,
    requests: u64,
    bytes_received: u64,
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
    /// Asks the host at `address` what it is: one request, no object.
    pub async fn open(transport: T, address: &str, options: RemoteOptions) -> Result<Self, Error> {
        let (repo, auth_in_address) = RepoUrl::parse(address)?;
        let credentials =
            options.auth.or(auth_in_address).map(|auth| Credentials::new(auth, &repo));
        let opened_at = transport.now();
        let budget = options.budget.unwrap_or_else(|| Budget::new(options.limits.max_memory));
        let mut opening = Opening {
            transport: &transport,
            credentials: credentials.as_ref(),
            budget: &budget,
            progress: &options.progress,
            requests: 0,
            bytes_received: 0,
        };
        let (repo, capabilities) = opening.discover(repo).await?;
        let features = capabilities
            .fetch
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, format!("{repo} offers no fetch")))?;
        let state = State {
            requests: opening.requests,
            bytes_received: opening.bytes_received,
            ..State::default()
        };
        let store = MemoryStore::new(capabilities.object_format, &budget, &options.limits);
        let shared = Shared {
            transport,
            repo,
            credentials,
            limits: options.limits,
            budget,
            progress: options.progress,
            capabilities,
            features,
            store,
            opened_at,
            state: Mutex::new(state),
            arrived: Event::new(),
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

    /// The memory this repository spends from.
    pub fn budget(&self) -> &Budget {
        &self.shared.budget
    }
}

/// The first request, with its redirects.
struct Opening<'a, T> {
    transport: &'a T,
    credentials: Option<&'a Credentials>,
    budget: &'a Budget,
    progress: &'a ProgressListener,
    requests: u64,
    bytes_received: u64,
}

impl<T: Transport> Opening<'_, T> {
    async fn discover(&mut self, mut repo: RepoUrl) -> Result<(RepoUrl, Capabilities), Error> {
        for _ in 0..=MAX_REDIRECTS {
            let authorization = self.credentials.and_then(|given| given.header_for(&repo));
            let with_credentials = authorization.is_some();
            let request = requests::advertisement(&repo, authorization);
            self.requests += 1;
            let response = self.transport.send(request).await?;
            if let (301 | 302 | 303 | 307 | 308, Some(location)) =
                (response.status, response.header("location"))
            {
                repo = repo.redirected(location)?;
                continue;
            }
            let context = Context { progress: self.progress.clone(), ..Context::default() };
            let conversation = Conversation::advertisement(self.budget, &context);
            let exchanged =
                exchange(self.transport, &repo, response, conversation, &context, with_credentials);
            let (outcome, bytes) = exchanged.await;
            self.bytes_received += bytes;
            return match outcome? {
                Outcome::Capabilities(capabilities) => Ok((repo, *capabilities)),
                _ => Err(no_outcome()),
            };
        }
        Err(Error::new(
            ErrorKind::Transport,
            format!("{repo} redirects more than {MAX_REDIRECTS} times"),
        ))
    }
}

/// Reads a response: its body by `conversation` when the status is 200, else the error
/// page. Also says how many bytes of body came.
async fn exchange<T: Transport>(
    transport: &T,
    repo: &RepoUrl,
    response: Response<T::Body>,
    conversation: Conversation,
    context: &Context,
    with_credentials: bool,
) -> (Result<Outcome, Error>, u64) {
    let status = response.status;
    let conversation = if status == 200 { conversation } else { Conversation::text(context) };
    let (conversation, received) = transport.receive(response.body, conversation).await;
    let bytes = conversation.received_bytes();
    let outcome = conversation.into_outcome();
    if status != 200 {
        let page = match outcome {
            Some(Outcome::Text(page)) => page,
            _ => Vec::new(),
        };
        return (Err(requests::status_error(repo, status, &page, with_credentials)), bytes);
    }
    let outcome = received
        .and_then(|()| outcome.ok_or_else(no_outcome))
        .map_err(|error| error.while_doing(repo));
    (outcome, bytes)
}

impl<T: Transport> Shared<T> {
    /// One command of protocol v2.
    async fn command(
        &self,
        body: Vec<u8>,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        let authorization =
            self.credentials.as_ref().and_then(|given| given.header_for(&self.repo));
        let with_credentials = authorization.is_some();
        let request: Request = requests::command(&self.repo, authorization, body);
        self.state().requests += 1;
        let response = self.transport.send(request).await?;
        let exchanged = exchange(
            &self.transport,
            &self.repo,
            response,
            conversation,
            context,
            with_credentials,
        );
        let (outcome, bytes) = exchanged.await;
        self.state().bytes_received += bytes;
        outcome
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

    /// Remembers the commits whose trees just came, so that later ones join them.
    fn remember(&self, commits: &[ObjectId]) -> Result<(), Error> {
        for id in commits {
            if self.store.header(id)?.is_some_and(|header| header.kind == Kind::Commit) {
                let held = &mut self.state().held;
                held.retain(|other| other != id);
                held.push(*id);
            }
        }
        Ok(())
    }

    fn held(&self) -> Vec<ObjectId> {
        self.state().held.clone()
    }

    fn context(&self) -> Context {
        Context { cancel: Cancel::default(), progress: self.progress.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what nobody else is fetching; `None` when others fetch all of it.
    fn claim(self: &Arc<Self>, missing: &MissingSet) -> Result<Claim<'_, T>, Error> {
        let mut mine = MissingSet::default();
        let mut others = false;
        let mut absent = MissingSet::default();
        for item in missing.iter() {
            if !self.store.contains(&item.id)? {
                absent.insert(item.id, item.kind);
            }
        }
        let mut state = self.state();
        for item in absent.iter() {
            if state.in_flight.insert(item.id) {
                mine.insert(item.id, item.kind);
            } else {
                others = true;
            }
        }
        drop(state);
        Ok(Claim { shared: self, mine, others })
    }
}

/// Objects that this call fetches; dropping it lets others try.
struct Claim<'a, T> {
    shared: &'a Shared<T>,
    mine: MissingSet,
    others: bool,
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        for item in self.mine.iter() {
            state.in_flight.remove(&item.id);
        }
        drop(state);
        self.shared.arrived.notify(usize::MAX);
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
        loop {
            // Listening starts before the claim, so that no arrival is missed.
            let arrival = self.shared.arrived.listen();
            let claim = self.shared.claim(missing)?;
            if claim.mine.is_empty() {
                if !claim.others {
                    return Ok(());
                }
                drop(claim);
                arrival.await;
                continue;
            }
            let held = self.shared.held();
            for request in lazy::requests(&claim.mine, &self.shared.features, &held) {
                self.shared.fetch(&request).await?;
                self.shared.remember(&request.wants)?;
            }
            if !claim.others {
                return Ok(());
            }
        }
    }

    async fn fetch_snapshot(
        &self,
        commit: ObjectId,
        max_blob_bytes: Option<u64>,
    ) -> Result<bool, Error> {
        let shared = &self.shared;
        let held = shared.held();
        // A commit that joins a held one is cheaper by way of its changed trees.
        if !held.is_empty() || shared.store.contains(&commit)? {
            return Ok(false);
        }
        let claim = shared.claim(&MissingSet::of(commit, Some(Kind::Commit)))?;
        if claim.mine.is_empty() {
            return Ok(false);
        }
        let filter = max_blob_bytes.map(Filter::BlobLimit);
        let request = lazy::snapshot(vec![commit], filter, &shared.features, &held);
        shared.fetch(&request).await?;
        shared.remember(&request.wants)?;
        Ok(true)
    }

    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        self.shared.transport.compute(work)
    }

    fn stats(&self) -> Stats {
        let shared = &*self.shared;
        let held = shared.store.stats();
        let state = shared.state();
        let elapsed = shared.transport.now().saturating_sub(shared.opened_at);
        Stats {
            requests: state.requests,
            bytes_received: state.bytes_received,
            objects: held.objects,
            store_bytes: shared.budget.used_bytes(),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn name(&self) -> String {
        self.shared.repo.to_string()
    }
}

fn no_outcome() -> Error {
    Error::new(ErrorKind::Transport, "the response ended before it was complete")
}
