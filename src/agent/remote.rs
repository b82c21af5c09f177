//! A repository on the other side of a network, held in memory as far as it was asked
//! about.
//!
//! Opening it costs one request, listing refs one (of protocol v0 and v1: none, the first
//! time), a commit with all its trees one, and any number of blobs one. Calls share what is
//! under way: an object that one call fetches is waited for by the others. Nothing here
//! speaks HTTP or reads a clock; both are the transport's.

mod source;

use std::sync::{Arc, Mutex};

use tracing::Instrument as _;

use crate::client::address::RepoUrl;
use crate::client::allowance::Allowance;
use crate::client::conversation::{Context, Conversation, Fetched};
use crate::client::credentials::{Auth, AuthSource, Credentials};
use crate::client::journal::RequestKind;
use crate::client::ladder::{Fallback, Ladder};
use crate::client::old_host::OldHost;
use crate::client::progress::ProgressListener;
use crate::client::retry::RetryOptions;
use crate::client::transport::Transport;
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits, SharedWorkers};
use crate::oid::ObjectId;
use crate::protocol::{Advertised, Capabilities, FetchCapability, FetchRequest};
use crate::store::{MemoryStore, MissingSet};

use super::exchange::{Discovered, discover};
use super::flights::Flights;
use super::shared::{Shared, State};
use super::sizes::Told;
use super::trace;

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
    /// What all that is asked of the host is paid from, this opening included; without end
    /// by default.
    pub allowance: Allowance,
    /// Who is told how transfers go.
    pub progress: ProgressListener,
    /// How patient to be with a host that asks for patience.
    pub retry: RetryOptions,
    /// Threads to compute on beside the caller's; none by default. Natively
    /// `parallel::Pool::shared()`.
    pub workers: SharedWorkers,
}

/// A remote repository behind a transport. A clone is the same repository.
pub struct Remote<T> {
    pub(super) shared: Arc<Shared<T>>,
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
    /// for a host that offers files only, or no fetch.
    pub async fn open(transport: T, address: &str, options: RemoteOptions) -> Result<Self, Error> {
        let (repo, auth_in_address) = RepoUrl::parse(address)?;
        let span = trace::open(&repo);
        Self::open_at(transport, repo, auth_in_address, options).instrument(span).await
    }

    async fn open_at(
        transport: T,
        repo: RepoUrl,
        auth_in_address: Option<Auth>,
        options: RemoteOptions,
    ) -> Result<Self, Error> {
        let auth = options.auth.or(auth_in_address);
        let credentials = Credentials::new(auth, options.auth_source, &repo);
        let opened_at = transport.now();
        let budget = options.budget.unwrap_or_else(|| Budget::new(options.limits.max_memory));
        let (allowance, progress) = (options.allowance.clone(), options.progress.clone());
        let context = Context { allowance, progress, ..Context::default() };
        let conversation = Conversation::advertisement(&options.limits, &budget, &context);
        let retry = options.retry;
        let discovered = discover(&transport, repo, &credentials, &retry, &context, conversation);
        let Discovered { repo, public_only, advertised, held } = discovered.await?;
        let (capabilities, old) = match advertised {
            Advertised::Capabilities(capabilities) => (capabilities, None),
            Advertised::Listing(listing) => {
                (listing.capabilities.clone(), Some(OldHost::new(listing, held, &budget)?))
            }
        };
        let features = capabilities.fetch.ok_or_else(|| {
            let why = format!("{repo} offers no fetch: its owner has to allow upload-pack");
            Error::new(ErrorKind::Unsupported, why)
        })?;
        let mut ladder = Ladder::new(features);
        if let Some(old) = &old {
            ladder.learn(Fallback::OldVersion(old.version()));
        }
        let store = MemoryStore::new(capabilities.object_format, &budget, &options.limits);
        store.set_can_fetch_again(!ladder.is_whole_only());
        let state = State {
            ladder,
            whole: Vec::new(),
            old,
            traced: 0,
            held: Vec::new(),
            listed: Vec::new(),
            objects_saved: 0,
            loaded: None,
            fetched_whole: None,
            told: Told::new(budget.empty()),
            batch_len: MissingSet::MAX_BLOBS,
            bytes_per_blob: 0,
        };
        let shared = Shared {
            transport,
            repo,
            credentials,
            public_only,
            retry,
            limits: options.limits,
            budget,
            allowance: options.allowance,
            progress: options.progress,
            workers: options.workers,
            capabilities,
            features,
            store,
            opened_at,
            journal: context.journal,
            flights: Flights::default(),
            state: Mutex::new(state),
        };
        shared.trace_what_was_learnt();
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
        let (none, allowance) = (MissingSet::default(), Allowance::default());
        self.shared.fetch(request, RequestKind::History, &none, &allowance).await
    }

    /// Where a host of protocol v0 has its history cut, which it does not say again.
    pub(super) fn boundary(&self) -> Vec<ObjectId> {
        self.shared.state().old.as_ref().map(|old| old.shallow().to_vec()).unwrap_or_default()
    }

    pub(super) fn remember(&self, wants: &[ObjectId]) -> Result<(), Error> {
        self.shared.remember(wants)
    }
}
