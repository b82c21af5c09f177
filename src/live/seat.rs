//! One repository that is kept, from the first question on: opened once, and watched by
//! whoever waits for it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

use super::{Anywhere, Place};
use crate::agent::{AnyAnswer, Query, Remote, Repo, RepoInfo, Stop};
use crate::client::progress::{Progress, ProgressListener};
use crate::credentials::Credentials;
use crate::disk::Local;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::transport::HttpTransport;

/// A repository that is kept, or about to be.
#[derive(Debug)]
pub(super) struct Seat {
    place: Place,
    /// What opening it came to.
    opened: OnceCell<Result<Arc<Held>, Refusal>>,
    watchers: Arc<Watchers>,
}

/// An open repository.
#[derive(Debug)]
pub(crate) struct Held {
    repo: Repo<Anywhere>,
    /// The same, and what it was opened with, when it is on another machine.
    remote: Option<(Repo<Remote<HttpTransport>>, Credentials)>,
}

/// Why it cannot be opened, for everyone who waited for that.
#[derive(Debug)]
struct Refusal {
    kind: ErrorKind,
    code: &'static str,
    context: String,
}

/// Who wants to be told how transfers go.
#[derive(Debug, Default)]
struct Watchers(Mutex<Vec<Arc<ProgressListener>>>);

/// Ends the telling when it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    watchers: Arc<Watchers>,
    listener: Arc<ProgressListener>,
}

impl Seat {
    pub(super) fn new(place: Place) -> Self {
        Self { place, opened: OnceCell::new(), watchers: Arc::default() }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The repository, once it is open.
    pub(super) fn held(&self) -> Option<&Arc<Held>> {
        self.opened.get().and_then(|opened| opened.as_ref().ok())
    }

    /// Runs `opening` unless it has been done. Of several at a time one is run, and all hear
    /// how it ended; when it is dropped, the next one is.
    pub(super) async fn open(
        &self,
        opening: impl Future<Output = Result<Held, Error>>,
    ) -> Result<&Arc<Held>, Error> {
        let opening = async { opening.await.map(Arc::new).map_err(|error| Refusal::of(&error)) };
        self.opened.get_or_init(|| opening).await.as_ref().map_err(Refusal::error)
    }

    /// Tells `listener` of every transfer until what this returns is dropped.
    pub(super) fn watch(&self, listener: ProgressListener) -> Watch {
        let listener = Arc::new(listener);
        self.watchers.lock().push(Arc::clone(&listener));
        Watch { watchers: Arc::clone(&self.watchers), listener }
    }

    /// Who tells all that watch.
    pub(super) fn listener(&self) -> ProgressListener {
        let watchers = Arc::clone(&self.watchers);
        ProgressListener::new(move |progress: &Progress| {
            // Told without the lock: whoever listens may take a while.
            let listeners = watchers.lock().clone();
            listeners.iter().for_each(|listener| listener.report(*progress));
        })
    }
}

impl Refusal {
    fn of(error: &Error) -> Self {
        Self { kind: error.kind(), code: error.code(), context: error.context().to_owned() }
    }

    fn error(&self) -> Error {
        Error::new(self.kind, self.context.clone()).with_code(self.code)
    }
}

impl Watchers {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ProgressListener>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watchers.lock().retain(|other| !Arc::ptr_eq(other, &self.listener));
    }
}

impl Held {
    pub(super) fn local(local: Local, limits: Limits) -> Self {
        Self { repo: Repo::new(Anywhere::Here(Box::new(local)), limits), remote: None }
    }

    pub(super) fn remote(
        remote: Repo<Remote<HttpTransport>>,
        credentials: Credentials,
        limits: Limits,
    ) -> Self {
        let repo = Repo::new(Anywhere::There(remote.source().clone()), limits);
        Self { repo, remote: Some((remote, credentials)) }
    }

    /// To be asked, wherever it is.
    pub(crate) fn repo(&self) -> &Repo<Anywhere> {
        &self.repo
    }

    /// One page of the answer to `query`.
    ///
    /// # Errors
    /// Those of [`Repo::ask`].
    pub(crate) async fn ask(&self, query: &Query, stop: &Stop) -> Result<AnyAnswer, Error> {
        // In a box, for what waits inside of it is large.
        Box::pin(self.repo.ask(query, stop)).await
    }

    pub(crate) fn info(&self) -> RepoInfo {
        self.repo.info()
    }

    /// To be kept, when it is on another machine.
    pub(super) fn as_remote(&self) -> Option<&Repo<Remote<HttpTransport>>> {
        self.remote.as_ref().map(|(repo, _)| repo)
    }

    pub(super) fn credentials(&self) -> Option<&Credentials> {
        self.remote.as_ref().map(|(_, credentials)| credentials)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // It may have a password in it.
            Self::Address(_) => f.write_str("Address(..)"),
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
        }
    }
}
