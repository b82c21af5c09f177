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
use tokio::task::JoinHandle;

use super::args::Command;
use super::commands::Job;
use super::failure::{self, INTERRUPTED};
use super::output::Output;
use super::repo_arg::RepoArg;
use crate::agent::{Remote, RemoteOptions, Repo, Source, Stats};
use crate::client::credentials::Auth;
use crate::disk::{Local, Repository};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Limits};
use crate::transport::{HttpOptions, HttpTransport};

/// Runs `command`; its exit status.
///
/// # Errors
/// What kept it from being answered, yet to be reported.
pub(super) fn run(command: Command) -> Result<u8, Error> {
    let limits = Limits::default();
    let common = command.common().clone();
    let repo = RepoArg::parse(command.repo())?;
    let job = Job::new(command, repo.pasted(), &limits)?;
    let asking = Asking { job, limits, out: Output::stdout(), stats: Arc::default() };
    let (out, stats) = (asking.out.clone(), Arc::clone(&asking.stats));

    let auth = match &repo {
        RepoArg::Address(_) => common.token_env.as_deref().map(token).transpose()?,
        RepoArg::Path(_) => None,
    };

    let runtime = runtime()?;
    let end = runtime.block_on(run_to_its_end(common.timeout, || match repo {
        RepoArg::Address(pasted) => tokio::spawn(asking.of_remote(pasted.repo, auth)),
        RepoArg::Path(path) => tokio::spawn(async move { asking.of_local(&path).await }),
    }));
    let status = match end {
        // What was printed before an error counts, and so does its failure to be.
        End::Answered(status) => out.lock().flush().and(status),
        End::Deadline(allowed) => {
            out.finish_early();
            Err(deadline_passed(allowed))
        }
        End::Interrupted => {
            out.finish_early();
            Ok(INTERRUPTED)
        }
    };
    // A search that does not hear of its end may go on until the process is gone.
    runtime.shutdown_background();

    if common.stats
        && let Some(stats) = stats.get()
    {
        print_stats(&stats());
    }
    status.map_err(|error| with_advice(error, common.token_env.as_deref()))
}

/// A command on its way to its repository.
struct Asking {
    job: Job,
    limits: Limits,
    out: Output,
    /// Filled in once the repository is open.
    stats: Arc<OnceLock<StatsSource>>,
}

type StatsSource = Box<dyn Fn() -> Stats + Send + Sync>;

impl Asking {
    async fn of_remote(self, address: String, auth: Option<Auth>) -> Result<u8, Error> {
        let transport = HttpTransport::new(HttpOptions::default())?;
        let options =
            RemoteOptions { auth, limits: self.limits.clone(), ..RemoteOptions::default() };
        self.of(Remote::open(transport, &address, options).await?).await
    }

    async fn of_local(self, path: &Path) -> Result<u8, Error> {
        let budget = Budget::new(self.limits.max_memory);
        let repository = Repository::open(path, &self.limits, &budget)?;
        self.of(Local::new(repository, &budget)).await
    }

    async fn of<S: Source + Send + Sync + 'static>(self, source: S) -> Result<u8, Error> {
        let repo = Repo::new(source, self.limits);
        let for_stats = repo.clone();
        // Set once, here.
        drop(self.stats.set(Box::new(move || for_stats.stats())));
        self.job.run(&repo, &self.out).await
    }
}

/// One thread works while another waits for the network, the clock and the user.
fn runtime() -> Result<Runtime, Error> {
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build().map_err(|error| {
        Error::new(ErrorKind::Io, format!("no threads could be started: {error}"))
            .with_source(error)
    })
}

/// How a command ended.
enum End {
    Answered(Result<u8, Error>),
    /// This was its time, and it was not enough.
    Deadline(Duration),
    /// The user has had enough.
    Interrupted,
}

/// Starts a command and waits for the first that comes: its answer, its deadline, an
/// interrupt. Interrupts are listened for before it starts.
async fn run_to_its_end(
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

/// Resolves when the user interrupts the process; never, where that cannot be known.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
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
        "the deadline of {allowed:?} passed; what was found before is printed, allow more with --timeout"
    );
    Error::new(ErrorKind::Cancelled, why).with_code("deadline")
}

/// The credential in the environment variable `name`: `user:password`, `Bearer TOKEN`, or
/// a token alone, which goes as the password of a user whose name hosts disregard.
fn token(name: &str) -> Result<Auth, Error> {
    let refuse = |why: &str| {
        Err(Error::new(ErrorKind::Usage, format!("--token-env: the variable '{name}' {why}")))
    };
    let value = match std::env::var(name) {
        Ok(value) => value,
        Err(std::env::VarError::NotPresent) => return refuse("is not set; export it first"),
        Err(std::env::VarError::NotUnicode(_)) => return refuse("is not text"),
    };
    let value = value.trim();
    if value.is_empty() || value.contains(|c: char| c.is_ascii_control()) {
        return refuse("holds no token");
    }
    Ok(match (value.strip_prefix("Bearer "), value.split_once(':')) {
        (Some(token), _) => Auth::Bearer(token.trim().to_owned()),
        (None, Some((user, password))) => {
            Auth::Basic { user: user.to_owned(), password: password.to_owned() }
        }
        (None, None) => Auth::Basic { user: TOKEN_USER.to_owned(), password: value.to_owned() },
    })
}

/// Says with which words of this command a host is given credentials.
fn with_advice(error: Error, token_env: Option<&str>) -> Error {
    if error.kind() != ErrorKind::Auth {
        return error;
    }
    let context = match token_env {
        None => format!("{}: pass --token-env NAME", error.context()),
        Some(name) => format!("{}; check what {name} holds", error.context()),
    };
    Error::new(ErrorKind::Auth, context).with_source(error)
}

fn print_stats(stats: &Stats) {
    // Numbers with constant names always become JSON.
    if let Ok(json) = serde_json::to_string(stats) {
        failure::say_as_it_is(&json);
    }
}

/// Two: a search that computes leaves the other one to the network and the clock.
const WORKERS: usize = 2;
/// What GitHub documents; GitLab, Gitea and Azure accept any name beside a token.
const TOKEN_USER: &str = "x-access-token";
