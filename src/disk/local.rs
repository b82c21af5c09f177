//! A repository on disk as the source of a [`Repo`](crate::agent::Repo): everything is
//! there already, so nothing is ever fetched.

use std::time::{Duration, Instant};

use bstr::BString;

use super::Repository;
use crate::agent::{MemoryReport, Source, Stats};
use crate::client::allowance::Allowance;
use crate::client::progress::ProgressListener;
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, SharedWorkers};
use crate::oid::ObjectId;
use crate::store::{Kept, MissingSet, Ref, Refs, StoreStats};

/// A local repository to ask about, at its refs: the working tree is not looked at.
///
/// ```no_run
/// use std::path::Path;
/// use gitsip::agent::Repo;
/// use gitsip::disk::{Local, Repository};
/// use gitsip::{Budget, Limits};
///
/// let limits = Limits::default();
/// let budget = Budget::new(limits.max_memory);
/// let repository = Repository::open(Path::new("."), &limits, &budget)?;
/// let repo = Repo::new(Local::new(repository, &budget), limits);
/// # let _ = repo;
/// # Ok::<(), gitsip::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Local {
    repository: Repository,
    budget: Budget,
    workers: SharedWorkers,
    progress: ProgressListener,
    opened: Instant,
}

impl Local {
    /// The source of `repository`, which spends from `budget`.
    pub fn new(repository: Repository, budget: &Budget) -> Self {
        Self {
            repository,
            budget: budget.clone(),
            workers: SharedWorkers::default(),
            progress: ProgressListener::none(),
            opened: Instant::now(),
        }
    }

    /// The same, computing on `workers` where that can be split.
    pub fn with_workers(self, workers: SharedWorkers) -> Self {
        Self { workers, ..self }
    }

    /// The same, telling `progress` how far searches come.
    pub fn with_progress(self, progress: ProgressListener) -> Self {
        Self { progress, ..self }
    }
}

impl Source for Local {
    type Store = Repository;

    fn store(&self) -> &Repository {
        &self.repository
    }

    fn budget(&self) -> &Budget {
        &self.budget
    }

    async fn refs(&self, prefixes: &[BString], _: &Allowance) -> Result<Vec<Ref>, Error> {
        Ok(self.repository.list(prefixes)?)
    }

    async fn fetch(&self, missing: &MissingSet, _: &Allowance) -> Result<Kept, Error> {
        let Some(first) = missing.iter().next() else { return Ok(Kept::default()) };
        Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "{} lacks object {}: a partial clone must fetch it first, with git",
                self.name(),
                first.id
            ),
        )
        .with_code("object_missing"))
    }

    async fn fetch_snapshot(
        &self,
        _: ObjectId,
        _: Option<u64>,
        _: &Allowance,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    fn workers(&self) -> &SharedWorkers {
        &self.workers
    }

    fn progress(&self) -> &ProgressListener {
        &self.progress
    }

    /// Reading files blocks for moments only, and whoever embeds this chooses the thread.
    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending().await
    }

    fn now(&self) -> Duration {
        self.opened.elapsed()
    }

    fn stats(&self) -> Stats {
        Stats {
            memory: MemoryReport::of(&self.budget, &StoreStats::default()),
            elapsed_ms: u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX),
            ..Stats::default()
        }
    }

    fn name(&self) -> String {
        self.repository.git_dir().display().to_string()
    }
}
