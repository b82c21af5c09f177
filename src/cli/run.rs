//! From a command to an exit status: opens the repository, runs the command on a thread
//! of its own, and ends it at its deadline or when the user interrupts it.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, block_in_place};

use super::args::{Command, Common};
use super::commands::Job;
use super::exit::INTERRUPTED;
use super::failure;
use super::network::{self, Network};
use super::output::Output;
use super::progress::{Show, Watch};
use super::repo_arg::RepoArg;
use super::{screen, verbose};
use crate::agent::{Remote, RemoteOptions, Repo, Stats, Stop};
use crate::cache::Cache;
use crate::client::allowance::Allowance;
use crate::credentials::{Credentials, Scope};
use crate::disk::{Local, Repository};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits};
use crate::live::Anywhere;
use crate::parallel::Pool;

/// Runs `command`; its exit status.
///
/// # Errors
/// What kept it from being answered, yet to be reported.
pub(super) fn run(command: Command) -> Result<u8, Error> {
    let common = command.common().clone();
    common.form.check()?;
    verbose::listen(common.verbose);
    let limits = limits(&common);
    let wish = if command.is_quiet() { Some(false) } else { common.wants_progress() };
    let watch = Watch::new(Show::choose(wish), common.form.is_json());
    let repo = RepoArg::parse(command.repo())?;
    let job = Job::new(command, repo.pasted(), &limits)?;
    let network = common.network.clone();
    let as_json = common.form.is_json();
    let cache = common.cache.open(move |text| failure::warn(text, as_json));
    let asking = Asking {
        job,
        limits,
        network,
        cache,
        timeout: common.timeout,
        allowance: common.spend.allowance(),
        watch: watch.clone(),
        stop: Stop::default(),
        out: Output::stdout(),
        stats: Arc::default(),
        save: Arc::default(),
    };
    let (out, stats, stop) = (asking.out.clone(), Arc::clone(&asking.stats), asking.stop.clone());
    let save = Arc::clone(&asking.save);

    let credentials = Arc::new(match &repo {
        RepoArg::Address(pasted) => {
            Credentials::find(&pasted.repo, common.token_env.as_deref(), Scope::Address)?
        }
        RepoArg::Path(_) => Credentials::none(),
    });
    let for_remote = Arc::clone(&credentials);

    let runtime = runtime()?;
    runtime.spawn(watch.redraw());
    // What is JSON ends by itself at its deadline, as a whole document.
    let grace = if common.form.is_json() { GRACE } else { Duration::ZERO };
    let allowed = common.timeout.map(|allowed| allowed.saturating_add(grace));
    let end = runtime.block_on(run_to_its_end(allowed, || {
        if common.form.is_json() {
            tokio::spawn(stop_at_deadline(common.timeout, asking.stop.clone()));
        }
        tokio::spawn(asking.of(repo, for_remote))
    }));
    if !matches!(end, End::Answered(_)) {
        // Whoever interrupts once more does not want to wait for what is left.
        runtime.spawn(die_when_interrupted());
    }
    let status = match end {
        // What was printed before an error counts, and so does its failure to be.
        End::Answered(status) => {
            let printed = out.lock().flush();
            save.get().into_iter().for_each(|save| save());
            printed.and(status)
        }
        End::Deadline(allowed) => {
            stop.pass_deadline();
            out.finish_early();
            Err(deadline_passed(common.timeout.unwrap_or(allowed)))
        }
        End::Interrupted => {
            stop.cancel();
            out.finish_early();
            Ok(INTERRUPTED)
        }
    };
    credentials.stop_asking();
    // Opening and listing do not hear of their end, and may go on until the process is gone.
    runtime.shutdown_background();
    screen::close();

    if common.stats
        && let Some(stats) = stats.get()
    {
        print_stats(&stats());
    }
    status.map_err(|error| credentials.with_advice(error)).map_err(network::with_advice)
}

fn limits(common: &Common) -> Limits {
    let limits = Limits::default();
    Limits { max_memory: common.max_memory.unwrap_or(limits.max_memory), ..limits }
}

/// A command on its way to its repository.
struct Asking {
    job: Job,
    limits: Limits,
    network: Network,
    cache: Cache,
    timeout: Option<Duration>,
    allowance: Allowance,
    watch: Watch,
    stop: Stop,
    out: Output,
    /// Filled in once the repository is open.
    stats: Arc<OnceLock<StatsSource>>,
    /// Keeps what was fetched; filled in once there is a repository to fetch from.
    save: Arc<OnceLock<Save>>,
}

type Save = Box<dyn Fn() + Send + Sync>;
type StatsSource = Box<dyn Fn() -> Stats + Send + Sync>;

impl Asking {
    async fn of(self, repo: RepoArg, credentials: Arc<Credentials>) -> Result<u8, Error> {
        let repo = match repo {
            RepoArg::Address(pasted) => self.open_remote(&pasted.repo, &credentials).await?,
            RepoArg::Path(path) => self.open_local(&path)?,
        };
        let for_stats = repo.clone();
        // Set once, here.
        drop(self.stats.set(Box::new(move || for_stats.stats())));
        let answer = self.job.run(&repo, &self.out, &self.stop).await;
        block_in_place(|| credentials.settle(&answer));
        answer
    }

    async fn open_remote(
        &self,
        address: &str,
        credentials: &Arc<Credentials>,
    ) -> Result<Repo<Anywhere>, Error> {
        let transport = self.network.transport()?;
        let options = RemoteOptions {
            auth: credentials.auth(),
            auth_source: credentials.source(|ask| screen::undisturbed(ask)),
            limits: self.limits.clone(),
            allowance: self.allowance.clone(),
            progress: self.watch.listener(),
            retry: network::patience(&transport, self.timeout),
            workers: Pool::shared(),
            ..RemoteOptions::default()
        };
        let opened = Remote::open(transport, address, options).await;
        // Helpers are programs to wait for.
        block_in_place(|| credentials.settle(&opened));
        let repo = Repo::new(opened?, self.limits.clone());
        self.cache.load(&repo, &self.stop);
        let anywhere = Anywhere::There(repo.source().clone());
        let cache = self.cache.clone();
        // Set once, here.
        drop(self.save.set(Box::new(move || cache.save(&repo))));
        Ok(Repo::new(anywhere, self.limits.clone()))
    }

    fn open_local(&self, path: &Path) -> Result<Repo<Anywhere>, Error> {
        let budget = Budget::new(self.limits.max_memory);
        let repository = Repository::open(path, &self.limits, &budget)?;
        let local = Local::new(repository, &budget)
            .with_workers(Pool::shared())
            .with_progress(self.watch.listener());
        Ok(Repo::new(Anywhere::Here(Box::new(local)), self.limits.clone()))
    }
}

/// One thread works while another waits for the network, the clock and the user.
pub(super) fn runtime() -> Result<Runtime, Error> {
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().map_err(|error| {
        Error::new(ErrorKind::Io, format!("no threads could be started: {error}"))
            .with_source(error)
    })
}

/// How a command ended.
pub(super) enum End {
    Answered(Result<u8, Error>),
    /// This was its time, and it was not enough.
    Deadline(Duration),
    /// The user has had enough.
    Interrupted,
}

/// Starts a command and waits for the first that comes: its answer, its deadline, an
/// interrupt. Interrupts are listened for before it starts.
pub(super) async fn run_to_its_end(
    allowed: Option<Duration>,
    start: impl FnOnce() -> JoinHandle<Result<u8, Error>>,
) -> End {
    let mut interrupted = pin!(interrupted());
    if poll_fn(|context| Poll::Ready(interrupted.as_mut().poll(context))).await.is_ready() {
        return End::Interrupted;
    }
    let mut task = start();
    let mut deadline = pin!(deadline(allowed));
    let end = poll_fn(|context| {
        if let Poll::Ready(joined) = Pin::new(&mut task).poll(context) {
            // It is aborted below at the earliest, so what did not return has panicked.
            let answer = joined.unwrap_or_else(|failed| resume_unwind(failed.into_panic()));
            return Poll::Ready(End::Answered(answer));
        }
        if interrupted.as_mut().poll(context).is_ready() {
            return Poll::Ready(End::Interrupted);
        }
        deadline.as_mut().poll(context).map(End::Deadline)
    })
    .await;
    task.abort();
    end
}

async fn stop_at_deadline(allowed: Option<Duration>, stop: Stop) {
    deadline(allowed).await;
    stop.pass_deadline();
}

/// Resolves when the user interrupts the process; never, where that cannot be known.
pub(super) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Ends the process at the next interrupt, whatever it is doing.
async fn die_when_interrupted() {
    interrupted().await;
    std::process::exit(INTERRUPTED.into());
}

/// Resolves after the time that is `allowed`; never, when all time is.
async fn deadline(allowed: Option<Duration>) -> Duration {
    match allowed {
        None => std::future::pending().await,
        Some(allowed) => {
            tokio::time::sleep(allowed).await;
            allowed
        }
    }
}

fn deadline_passed(allowed: Duration) -> Error {
    let why = format!(
        "the deadline of {allowed:?} passed; what was found before is printed, allow more with \
         --timeout"
    );
    Error::new(ErrorKind::Cancelled, why).with_code("deadline")
}

pub(super) fn print_stats(stats: &Stats) {
    // Numbers with constant names always become JSON.
    if let Ok(json) = serde_json::to_string(stats) {
        failure::say_as_it_is(&json);
    }
}

/// What a question that is stopped may take to answer with what it has.
const GRACE: Duration = Duration::from_millis(500);
/// Two: a search that computes leaves the other one to the network and the clock.
const WORKERS: usize = 2;
