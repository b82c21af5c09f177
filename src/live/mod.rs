//! Repositories that are kept between questions, for the faces that answer many: sessions
//! and MCP.
//!
//! A repository is opened by the first question about it, once however many ask at the
//! same time, and kept with what it has fetched. All of them share one memory budget: when
//! it runs short, those that nobody asks at the moment go, the one that was asked least
//! recently first. What an address means and who may be asked is the face's to say; nothing
//! here prints.

mod anywhere;
mod seat;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::task::block_in_place;

use crate::agent::{RemoteOptions, Repo, RepoInfo, Stop};
use crate::cache::Cache;
use crate::client::allowance::Allowance;
use crate::client::progress::ProgressListener;
use crate::client::retry::RetryOptions;
use crate::credentials::{Credentials, Scope};
use crate::disk::{Local, Repository};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits, Reclaim};
use crate::parallel::Pool;
use crate::transport::HttpTransport;

pub(crate) use self::anywhere::Anywhere;
pub(crate) use self::seat::Held;
use self::seat::{Seat, Watch};

/// How repositories are opened and how many are kept.
#[derive(Clone, Debug)]
pub(crate) struct LiveOptions {
    /// Caps; `max_memory` is for all repositories together.
    pub(crate) limits: Limits,
    /// The most repositories that are kept while nobody asks them; at least 1.
    pub(crate) max_repos: usize,
    /// The variable that holds a token, in place of `GITSIP_TOKEN`.
    pub(crate) token_env: Option<String>,
    /// The origins that a token of the environment is for, such as `https://github.com`.
    pub(crate) token_origins: Vec<String>,
    /// Where what was fetched is kept for other processes.
    pub(crate) cache: Cache,
}

/// Where a repository is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Behind an `http` or `https` address. One with another credential in it is another
    /// place.
    Address(String),
    /// On this machine.
    Path(PathBuf),
}

/// A repository that somebody asks.
pub(crate) struct Holding<'a> {
    live: &'a Live,
    seat: Arc<Seat>,
    held: Arc<Held>,
    _watch: Watch,
}

/// The repositories that are kept. A clone keeps the same ones.
#[derive(Clone)]
pub(crate) struct Live(Arc<Shared>);

struct Shared {
    transport: HttpTransport,
    options: LiveOptions,
    budget: Budget,
    /// Those asked most recently last.
    seats: Mutex<Vec<Arc<Seat>>>,
}

impl Live {
    /// Keeps none yet.
    pub(crate) fn new(transport: HttpTransport, options: LiveOptions) -> Self {
        let budget = Budget::new(options.limits.max_memory);
        let shared = Arc::new(Shared {
            transport,
            options,
            budget: budget.clone(),
            seats: Mutex::new(Vec::new()),
        });
        let who: Weak<Shared> = Arc::downgrade(&shared);
        budget.on_shortage(who);
        Self(shared)
    }

    /// The repository at `place`, which is opened if it is not kept, and which stays while it
    /// is held. `progress` is told of every transfer of it meanwhile, also of those that
    /// others caused.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) async fn hold(
        &self,
        place: &Place,
        stop: &Stop,
        progress: ProgressListener,
    ) -> Result<Holding<'_>, Error> {
        let seat = self.seat(place);
        let watch = seat.watch(progress);
        let held = Arc::clone(stop.guard(Box::pin(self.open(&seat))).await?);
        Ok(Holding { live: self, seat, held, _watch: watch })
    }

    /// Keeps the repository at `place` no longer than those need it who ask it now; what it
    /// held, if it was kept.
    pub(crate) fn close(&self, place: &Place) -> Option<RepoInfo> {
        let seat = {
            let mut seats = self.0.seats();
            let at = seats.iter().position(|seat| seat.place() == place)?;
            seats.remove(at)
        };
        self.save(&seat);
        seat.held().map(|held| held.info())
    }

    /// Keeps what was fetched for other processes, where there is a cache.
    pub(crate) fn save_all(&self) {
        let seats = self.0.seats().clone();
        seats.iter().for_each(|seat| self.save(seat));
    }

    fn save(&self, seat: &Seat) {
        if let Some(repo) = seat.held().and_then(|held| held.as_remote()) {
            self.0.options.cache.save(repo);
        }
    }

    /// What is kept, and what each holds.
    pub(crate) fn list(&self) -> Vec<RepoInfo> {
        let seats = self.0.seats().clone();
        seats.iter().filter_map(|seat| seat.held()).map(|held| held.info()).collect()
    }

    /// The seat of `place`, now the one asked most recently.
    fn seat(&self, place: &Place) -> Arc<Seat> {
        let mut seats = self.0.seats();
        let seat = match seats.iter().position(|seat| *seat.place() == *place) {
            Some(at) => seats.remove(at),
            None => Arc::new(Seat::new(place.clone())),
        };
        seats.push(Arc::clone(&seat));
        let mut gone = Vec::new();
        while seats.len() > self.0.options.max_repos.max(1)
            && let Some(idle) = take_idle(&mut seats)
        {
            gone.push(idle);
        }
        // What they hold is given back without the lock.
        drop(seats);
        gone.iter().for_each(|seat| self.save(seat));
        drop(gone);
        seat
    }

    async fn open<'a>(&self, seat: &'a Arc<Seat>) -> Result<&'a Arc<Held>, Error> {
        seat.open(async {
            match seat.place() {
                Place::Address(address) => self.open_address(seat, address).await,
                Place::Path(path) => {
                    let Shared { options, budget, .. } = &*self.0;
                    let budget = budget.part();
                    let repository = Repository::open(path, &options.limits, &budget)?;
                    let local = Local::new(repository, &budget)
                        .with_workers(Pool::shared())
                        .with_progress(seat.listener());
                    Ok(Held::local(local, options.limits.clone()))
                }
            }
        })
        .await
        .inspect_err(|_| self.forget(seat))
    }

    async fn open_address(&self, seat: &Seat, address: &str) -> Result<Held, Error> {
        let Shared { options, budget, transport, .. } = &*self.0;
        let scope = Scope::Origins(&options.token_origins);
        let credentials = Credentials::find(address, options.token_env.as_deref(), scope)?;
        let remote = RemoteOptions {
            auth: credentials.auth(),
            auth_source: credentials.source(|ask| ask()),
            limits: options.limits.clone(),
            budget: Some(budget.part()),
            allowance: Allowance::default(),
            progress: seat.listener(),
            retry: RetryOptions::default(),
            workers: Pool::shared(),
        };
        let opened = crate::agent::Remote::open(transport.clone(), address, remote).await;
        // Helpers are programs to wait for.
        block_in_place(|| credentials.settle(&opened));
        match opened {
            Ok(remote) => {
                let repo = Repo::new(remote, options.limits.clone());
                options.cache.load(&repo, &Stop::default());
                Ok(Held::remote(repo, credentials, options.limits.clone()))
            }
            Err(error) => Err(credentials.with_advice(error)),
        }
    }

    /// Tells the user's helpers how a credential fared. One that is refused is looked for
    /// again by the next question.
    fn settle<T>(
        &self,
        seat: &Arc<Seat>,
        credentials: Option<&Credentials>,
        answer: Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(credentials) = credentials else { return answer };
        if credentials.has_asked_helpers() {
            block_in_place(|| credentials.settle(&answer));
        }
        answer.map_err(|error| {
            if error.kind() == ErrorKind::Auth {
                self.forget(seat);
            }
            credentials.with_advice(error)
        })
    }

    fn forget(&self, seat: &Arc<Seat>) {
        self.0.seats().retain(|other| !Arc::ptr_eq(other, seat));
    }
}

impl Holding<'_> {
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Ends with `answer`, which says how the credential of the repository fared.
    ///
    /// # Errors
    /// That of `answer`, with advice where it is about credentials.
    pub(crate) fn settle<T>(self, answer: Result<T, Error>) -> Result<T, Error> {
        if let Some(repo) = self.held.as_remote() {
            self.live.0.options.cache.save_much(repo);
        }
        self.live.settle(&self.seat, self.held.credentials(), answer)
    }
}

impl Shared {
    fn seats(&self) -> MutexGuard<'_, Vec<Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the repository that was asked least recently of those that nobody asks now.
fn take_idle(seats: &mut Vec<Arc<Seat>>) -> Option<Arc<Seat>> {
    // Whoever asks holds a second reference, and takes it under the lock that is held here.
    let at = seats.iter().position(|seat| Arc::strong_count(seat) == 1)?;
    Some(seats.remove(at))
}

impl Reclaim for Shared {
    fn reclaim(&self, bytes: u64) -> bool {
        let before = self.budget.used_bytes();
        loop {
            let Some(idle) = take_idle(&mut self.seats()) else { break };
            drop(idle);
            if before.saturating_sub(self.budget.used_bytes()) >= bytes {
                return true;
            }
        }
        self.budget.used_bytes() < before
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("options", &self.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
