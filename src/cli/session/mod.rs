//! `gitsip session`: one process that keeps repositories and answers many questions about
//! them, as lines of JSON on standard input and output.
//!
//! A request is `{"id": .., "method": .., "params": {..}}` on a line of at most 1 MiB. Its
//! last line out is `{"id": .., "answer": ..}` or `{"id": .., "error": ..}`; before it come
//! `{"id": .., "item": ..}` for each item where `params` have `"stream": true` (the answer
//! is without items then), and `{"id": .., "progress": ..}` where they have
//! `"progress": true`. Answers, items and errors are those of [`agent`](crate::agent).
//! Requests are answered at once and each when it is ready, so answers come in any order.
//!
//! What is wrong with a line is one error object, with `null` for an id that cannot be told
//! or belongs to a request under way, and the lines behind it are read as ever. At most 32
//! requests are answered at once, and at most 4 MiB of them are held, each counting for
//! 4 KiB at least; while there is no room, nothing is read.
//!
//! The session ends with its input, when everything was answered; quietly, when nobody
//! reads its output any more. Deliberately absent: anything that writes, and any order
//! among requests.

mod answer;
mod lines;
mod place;
mod progress;
mod request;
mod running;
mod serve;
mod writer;

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc;

use self::lines::{Line, Lines};
use self::serve::Session;
use self::writer::{Writer, Written};
use super::args;
use super::exit::{FOUND, INTERRUPTED};
use super::failure;
use super::output::Output;
use super::run::{interrupted, runtime};
use super::verbose;
use crate::client::address::RepoUrl;
use crate::error::Error;
use crate::limits::Limits;
use crate::live::{Live, LiveOptions, Place};

/// Answers standard input until it ends or the user interrupts it; the exit status.
///
/// # Errors
/// What keeps it from beginning, and an input or output that fails.
pub(super) fn run(args: args::Session) -> Result<u8, Error> {
    verbose::listen(args.verbose);
    let places = args.repos.iter().map(|word: &OsString| place::parse(word));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let limits = Limits::default();
    let max_memory = args.max_memory.unwrap_or(limits.max_memory);
    let options = LiveOptions {
        limits: Limits { max_memory, ..limits },
        max_repos: args.max_repos,
        token_origins: token_origins(&args.token_hosts, &places)?,
        token_env: args.token_env,
        cache: args.cache.open(|text| failure::warn(text, false)),
    };
    let live = Live::new(args.network.transport()?, options);
    let kept = live.clone();
    let default = <[Place; 1]>::try_from(places).ok().map(|[place]| place);

    let out = Output::stdout();
    let (writer, written) = Writer::start(out.clone());
    let session = Arc::new(Session::new(live, default, args.default_timeout, writer.clone()));
    let runtime = runtime()?;
    let for_the_end = Arc::downgrade(&session);
    let end = runtime.block_on(until_its_end(session.serve(input()), writer, written));
    if let Some(session) = for_the_end.upgrade() {
        session.stop();
    }
    kept.save_all();
    let status = match end {
        End::Over(result) => result.map(|()| FOUND),
        End::Interrupted => {
            out.finish_early();
            Ok(INTERRUPTED)
        }
    };
    // What computes may take a moment to hear of its end.
    runtime.shutdown_background();
    status
}

enum End {
    /// Everything was answered and written, or nothing more can be.
    Over(Result<(), Error>),
    Interrupted,
}

async fn until_its_end(
    serving: impl Future<Output = Result<(), Error>> + Send + 'static,
    writer: Writer,
    mut written: Written,
) -> End {
    let serving = tokio::spawn(serving);
    let ended = async {
        tokio::select! {
            served = serving => {
                // It does not panic, and nobody aborts it.
                let served = served.unwrap_or(Ok(()));
                // It ends when nobody is left who may say more.
                drop(writer);
                written.await.unwrap_or(Ok(())).and(served)
            }
            written = &mut written => written.unwrap_or(Ok(())),
        }
    };
    tokio::select! {
        biased;
        () = interrupted() => End::Interrupted,
        result = ended => End::Over(result),
    }
}

/// The lines of standard input, read by a thread that waits for them.
fn input() -> mpsc::Receiver<io::Result<Line>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let mut lines = Lines::new(io::stdin().lock(), MAX_LINE_BYTES);
        while let Some(line) = lines.next().transpose() {
            let is_end = line.is_err();
            if sender.blocking_send(line).is_err() || is_end {
                break;
            }
        }
    });
    receiver
}

/// The origins that a token of the environment is for: what was named, else those of the
/// repositories of the command line, else where `owner/repo` is.
fn token_origins(hosts: &[String], places: &[Place]) -> Result<Vec<String>, Error> {
    let origins: Vec<String> = places.iter().filter_map(place::origin).collect();
    match (hosts, &origins[..]) {
        ([], []) => Ok(vec![DEFAULT_TOKEN_ORIGIN.to_owned()]),
        ([], _) => Ok(origins),
        (hosts, _) => hosts.iter().map(|host| origin_of(host)).collect(),
    }
}

fn origin_of(host: &str) -> Result<String, Error> {
    let address = if host.contains("://") { host.to_owned() } else { format!("https://{host}") };
    RepoUrl::parse(&address)
        .map(|(repo, _)| repo.origin_text())
        .map_err(|error| error.while_doing("--token-host"))
}

/// Bytes of a line: a question has some hundred, and one with 1,000 patterns some ten
/// thousand.
const MAX_LINE_BYTES: usize = 1 << 20;
/// Where `owner/repo` is looked for.
const DEFAULT_TOKEN_ORIGIN: &str = "https://github.com";
