//! From lines to answers: reads requests one after the other and answers them at once, each
//! on a thread of its own.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet, block_in_place, spawn_blocking};
use tokio::time::sleep;

use super::answer;
use super::lines::Line;
use super::progress;
use super::request::{Call, Id, Refusal, Request, Wishes, wrong};
use super::running::{Running, Table, failure};
use super::writer::{Word, Writer};
use super::{MAX_LINE_BYTES, place};
use crate::agent::{Query, Stop};
use crate::cli::network;
use crate::client::progress::ProgressListener;
use crate::error::{Error, ErrorKind};
use crate::limits::Interrupted;
use crate::live::{Live, Place};

/// What a session has.
pub(super) struct Session {
    live: Live,
    /// The repository of requests that name none.
    default: Option<Place>,
    default_timeout: Option<Duration>,
    writer: Writer,
    table: Table,
    /// Requests that are answered at once; others wait.
    turns: Arc<Semaphore>,
}

/// What takes time.
enum Work {
    Ask(Box<Query>),
    Open,
}

impl Session {
    pub(super) fn new(
        live: Live,
        default: Option<Place>,
        default_timeout: Option<Duration>,
        writer: Writer,
    ) -> Self {
        let table = Table::new(writer.clone());
        let turns = Arc::new(Semaphore::new(MAX_ANSWERED));
        Self { live, default, default_timeout, writer, table, turns }
    }

    /// Answers all `lines`.
    ///
    /// # Errors
    /// That of the input, after what was read before was answered.
    pub(super) async fn serve(
        self: Arc<Self>,
        mut lines: mpsc::Receiver<io::Result<Line>>,
    ) -> Result<(), Error> {
        let room = Arc::new(Semaphore::new(HELD_BYTES));
        let mut tasks = JoinSet::new();
        let mut end = Ok(());
        while let Some(line) = lines.recv().await {
            match line {
                Ok(line) => self.take(line, &room, &mut tasks).await,
                Err(error) => end = Err(unreadable(error)),
            }
            while tasks.try_join_next().is_some() {}
        }
        while tasks.join_next().await.is_some() {}
        end
    }

    /// Nobody is left to be answered.
    pub(super) fn stop(&self) {
        self.table.stop_all();
    }

    async fn take(self: &Arc<Self>, line: Line, room: &Arc<Semaphore>, tasks: &mut JoinSet<()>) {
        let Line::Text(text) = line else {
            let why = format!("a line has at most {MAX_LINE_BYTES} bytes, and this one has more");
            return self.refuse(None, &wrong("too_long", &why));
        };
        let bytes = u32::try_from(text.len().max(LEAST_BYTES)).unwrap_or(u32::MAX);
        // Nobody closes it. While there is no room, nothing more is read.
        let Ok(room) = Arc::clone(room).acquire_many_owned(bytes).await else { return };
        let Request { id, call, wishes } = match Request::parse(&text) {
            Ok(request) => request,
            Err(Refusal { id, error }) => return self.refuse(id.as_ref(), &error),
        };
        let Some(running) = self.table.begin(id.clone()) else {
            // Under that id it would be taken for the end of the other one.
            let why = format!("a request with the id {} is under way", id.json());
            return self.refuse(None, &wrong("duplicate_id", &why));
        };
        match self.begin(&running, call) {
            Ok(Some((place, work))) => {
                tasks.spawn(Arc::clone(self).work(running, place, work, wishes, room));
            }
            Ok(None) => {}
            Err(error) => self.end(&running, Err(error)),
        }
    }

    /// Answers what can be answered at once, and gives what takes time.
    fn begin(&self, running: &Running, call: Call) -> Result<Option<(Place, Work)>, Error> {
        match call {
            Call::Ask(repo, query) => return Ok(Some((self.place(repo)?, Work::Ask(query)))),
            Call::Open(repo) => return Ok(Some((self.place(repo)?, Work::Open))),
            Call::Cancel(id) => {
                let cancelled = block_in_place(|| self.cancel(&id, running));
                self.end(running, Ok(answer::cancelled(cancelled.then_some(&id))));
            }
            Call::Close(repo) => {
                let closed = self.live.close(&self.place(repo)?);
                self.end(running, Ok(answer::repos(closed)));
            }
            Call::Repos => self.end(running, Ok(answer::repos(self.live.list()))),
            Call::Schema => self.end(running, Ok(answer::schema())),
            Call::Version => self.end(running, Ok(answer::version())),
        }
        Ok(None)
    }

    /// Cancels the request `id`, if it is under way and not the one that asks for this.
    fn cancel(&self, id: &Id, asking: &Running) -> bool {
        let Some(found) = self.table.find(id) else { return false };
        !std::ptr::eq(&*found, asking) && found.cancel(&Interrupted::Cancelled.into())
    }

    fn place(&self, repo: Option<String>) -> Result<Place, Error> {
        match (repo, &self.default) {
            (Some(word), _) => place::parse(word.as_ref()),
            (None, Some(place)) => Ok(place.clone()),
            (None, None) => {
                let why = "'repo' is missing: an address, owner/repo, or a path; it may be left \
                           out where one REPO was named on the command line";
                Err(wrong("bad_params", why))
            }
        }
    }

    /// Waits for its turn and answers.
    async fn work(
        self: Arc<Self>,
        running: Arc<Running>,
        place: Place,
        work: Work,
        wishes: Wishes,
        room: OwnedSemaphorePermit,
    ) {
        let _room = room;
        let _deadline = Deadline::of(&running.stop, wishes.timeout.or(self.default_timeout));
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = match running.stop.guard(async { Ok(turn.await) }).await {
            Ok(turn) => turn,
            Err(error) => return self.end(&running, Err(error)),
        };
        let asked = Arc::clone(&running);
        let handle = Handle::current();
        // Computing, and waiting for a slow reader, hold up nobody there.
        let answered = spawn_blocking(move || {
            let _turn = turn;
            asked.end(handle.block_on(self.answer(&asked, &place, &work, wishes)));
        });
        if answered.await.is_err() {
            let why = "this question met a defect of gitsip, which its standard error tells of";
            let error = Error::new(ErrorKind::Unsupported, why).with_code("defect");
            block_in_place(|| running.end(Err(error)));
        }
    }

    async fn answer(
        &self,
        running: &Arc<Running>,
        place: &Place,
        work: &Work,
        wishes: Wishes,
    ) -> Result<String, Error> {
        let progress = match wishes.progress {
            true => progress::listener(Arc::clone(running)),
            false => ProgressListener::none(),
        };
        let holding = self.live.hold(place, &running.stop, progress).await;
        let holding = holding.map_err(network::with_advice)?;
        let answered = match work {
            Work::Open => Ok(answer::repos([holding.held().info()])),
            Work::Ask(query) => answer::ask(holding.held(), query, running, wishes.stream).await,
        };
        holding.settle(answered).map_err(network::with_advice)
    }

    /// Refuses a line. One with the id of a request under way would be taken for its end.
    fn refuse(&self, id: Option<&Id>, error: &Error) {
        let id = id.filter(|id| self.table.find(id).is_none());
        block_in_place(|| self.writer.say(id, Word::Error, &failure(error)));
    }

    fn end(&self, running: &Running, result: Result<String, Error>) {
        block_in_place(|| running.end(result));
    }
}

/// Ends a request after a time with what it has found, unless it is dropped before.
struct Deadline(Option<JoinHandle<()>>);

impl Deadline {
    fn of(stop: &Stop, allowed: Option<Duration>) -> Self {
        let stop = stop.clone();
        Self(allowed.map(|allowed| {
            tokio::spawn(async move {
                sleep(allowed).await;
                stop.pass_deadline();
            })
        }))
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(timer) = &self.0 {
            timer.abort();
        }
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("standard input cannot be read: {error}")).with_source(error)
}

/// Requests that are answered at once, each on a thread.
const MAX_ANSWERED: usize = 32;
/// Bytes of requests that are held, waiting or under way. Beyond them nothing is read.
const HELD_BYTES: usize = 4 << 20;
/// What a request counts at least: at most 1,024 are held.
const LEAST_BYTES: usize = 4 << 10;
