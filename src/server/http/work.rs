//! Work for a client on a thread of its own: what it makes goes through a channel of a few
//! pieces, so that a slow client slows the work, and one that is gone ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::body::{Body, Piece, Pieces, StopOnDrop};
use super::options::HostingOptions;
use super::problem::Problem;
use super::record::Record;
use crate::agent::Stop;
use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupt, Interrupted};
use crate::server::{Outlet, Refusal};

/// What a thread does for one request.
pub(super) type Job = Box<dyn FnOnce(&mut Reply, &Watch) -> Result<(), Error> + Send>;

/// Room for one more request among those that are worked on.
pub(super) async fn room(
    requests: &Arc<Semaphore>,
    max_wait: Duration,
) -> Result<OwnedSemaphorePermit, Problem> {
    match tokio::time::timeout(max_wait, Arc::clone(requests).acquire_owned()).await {
        Ok(Ok(room)) => Ok(room),
        // Closed for good, or full for too long.
        Ok(Err(_)) | Err(_) => Err(Problem::overloaded()),
    }
}

/// What `look` finds on a thread that may block.
pub(super) async fn blocking<T: Send + 'static>(
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(look).await.map_err(|failed| {
        Problem::internal(&Error::new(ErrorKind::Io, format!("a thread failed: {failed}")))
    })
}

/// Starts `job` and waits for the first bytes of its answer, or why there is none.
pub(super) async fn answer(
    options: &HostingOptions,
    all: &Stop,
    record: &Record,
    room: OwnedSemaphorePermit,
    job: Job,
) -> Result<Body, Problem> {
    let stop = Stop::default();
    let (head, begun) = oneshot::channel();
    let (pieces, next) = mpsc::channel(PIECES);
    let watch = Watch {
        all: all.clone(),
        stop: stop.clone(),
        until: Instant::now() + options.max_preparation,
        is_begun: Arc::default(),
    };
    let reply = Reply {
        head: Some(head),
        pieces,
        runtime: Handle::current(),
        is_begun: Arc::clone(&watch.is_begun),
        is_gone: false,
        sent: Instant::now(),
        pace: Pace::new(options),
        waited: Duration::ZERO,
        record: record.clone(),
    };
    // Its end is known by the channels, and dropping the guard ends it.
    drop(tokio::task::spawn_blocking(move || {
        let _room = room;
        run(job, reply, &watch);
    }));
    let guard = StopOnDrop(stop);
    match begun.await {
        Ok(Ok(())) => Ok(Body::pieces(Pieces { next, _stop: guard })),
        Ok(Err(problem)) => Err(problem),
        Err(_) => {
            let failed = Error::new(ErrorKind::Io, "the thread of a request ended early");
            Err(Problem::internal(&failed))
        }
    }
}

fn run(job: Job, mut reply: Reply, watch: &Watch) {
    let begun = Instant::now();
    let ended = job(&mut reply, watch);
    if let Err(error) = &ended {
        reply.record.note().error.get_or_insert_with(|| error.to_string());
    }
    reply.record.note().worked = begun.elapsed().saturating_sub(reply.waited);
    match (reply.head.take(), ended) {
        // Whoever waited for it is gone if it cannot be told.
        (Some(head), Err(error)) => drop(head.send(Err(problem_of(&error)))),
        (Some(head), Ok(())) => {
            _ = head.send(Ok(()));
            _ = reply.hand_on(Piece::End);
        }
        (None, _) if reply.is_gone => {}
        // What went wrong on the way was told in the protocol's own words.
        (None, _) => _ = reply.hand_on(Piece::End),
    }
}

/// Before anything was said, a mistake of the client's has a status.
fn problem_of(error: &Error) -> Problem {
    match error.kind() {
        // A request that is cut off counts as a connection that was.
        ErrorKind::Malformed | ErrorKind::Transport => {
            Problem::new(StatusCode::BAD_REQUEST, error.context())
        }
        _ => Problem::internal(error),
    }
}

/// Says when to stop: the client is gone, or nothing was sent for too long.
#[derive(Debug)]
pub(super) struct Watch {
    /// Stops everything.
    all: Stop,
    /// Stops this.
    pub(super) stop: Stop,
    until: Instant,
    is_begun: Arc<AtomicBool>,
}

impl Interrupt for Watch {
    fn check(&self) -> Result<(), Interrupted> {
        self.all.check()?;
        self.stop.check()?;
        match self.is_begun.load(Ordering::Relaxed) || Instant::now() < self.until {
            true => Ok(()),
            false => Err(Interrupted::Deadline),
        }
    }
}

/// Where the answer to one request goes.
#[derive(Debug)]
pub(super) struct Reply {
    /// Told with the first bytes that there is an answer.
    head: Option<oneshot::Sender<Result<(), Problem>>>,
    pieces: mpsc::Sender<Piece>,
    runtime: Handle,
    is_begun: Arc<AtomicBool>,
    is_gone: bool,
    sent: Instant,
    pace: Pace,
    waited: Duration,
    pub(super) record: Record,
}

impl Reply {
    /// Ends the request with `problem`, if nothing was sent yet.
    pub(super) fn fail(&mut self, problem: Problem) {
        if let Some(head) = self.head.take() {
            self.is_gone = true;
            // Nobody waits for it otherwise.
            drop(head.send(Err(problem)));
        }
    }

    fn hand_on(&mut self, piece: Piece) -> Result<(), Error> {
        let bytes = match &piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::End => 0,
        };
        let full = match self.pieces.try_send(piece) {
            Ok(()) => return self.pace.took(bytes, Duration::ZERO),
            Err(mpsc::error::TrySendError::Full(piece)) => piece,
            Err(mpsc::error::TrySendError::Closed(_)) => return Err(gone()),
        };
        let begun = Instant::now();
        let sent = self.pieces.send_timeout(full, self.pace.max_stall);
        let sent = self.runtime.block_on(sent);
        let waited = begun.elapsed();
        self.waited += waited;
        match sent {
            Ok(()) => self.pace.took(bytes, waited),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => Err(gone()),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => Err(slow()),
        }
    }
}

impl Outlet for Reply {
    fn send(&mut self, piece: Vec<u8>) -> Result<(), Error> {
        // From here on the client sets the pace, and not the time that a preparation may take.
        self.is_begun.store(true, Ordering::Relaxed);
        self.send_meanwhile(piece)
    }

    fn send_meanwhile(&mut self, piece: Vec<u8>) -> Result<(), Error> {
        if let Some(head) = self.head.take() {
            // Whoever is gone does not take the piece either.
            _ = head.send(Ok(()));
        }
        let sent = self.hand_on(Piece::Bytes(piece.into()));
        self.is_gone |= sent.is_err();
        self.sent = Instant::now();
        sent
    }

    fn quiet(&self) -> Duration {
        self.sent.elapsed()
    }

    fn refuse(&mut self, refusal: &Refusal) -> Result<(), Error> {
        self.record.note().error = Some(refusal.error().to_string());
        if refusal.error().kind() == ErrorKind::Malformed && self.head.is_some() {
            self.fail(Problem::new(StatusCode::BAD_REQUEST, refusal.words()));
            return Ok(());
        }
        let mut said = Vec::new();
        crate::pktline::encode_error(&mut said, refusal.words().as_bytes());
        self.send(said)
    }
}

/// How slow a client may be.
#[derive(Debug)]
struct Pace {
    max_stall: Duration,
    /// Bytes that must be taken in each span of waiting as long as `max_stall`.
    min_bytes: u64,
    waited: Duration,
    taken: u64,
}

impl Pace {
    fn new(options: &HostingOptions) -> Self {
        let min_bytes = options.min_bytes_per_second.saturating_mul(options.max_stall.as_secs());
        Self { max_stall: options.max_stall, min_bytes, waited: Duration::ZERO, taken: 0 }
    }

    fn took(&mut self, bytes: u64, waited: Duration) -> Result<(), Error> {
        self.waited += waited;
        self.taken += bytes;
        if self.waited < self.max_stall {
            return Ok(());
        }
        let is_fast = self.taken >= self.min_bytes;
        (self.waited, self.taken) = (Duration::ZERO, 0);
        if is_fast { Ok(()) } else { Err(slow()) }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Cancelled, "the client is gone")
}

fn slow() -> Error {
    Error::new(ErrorKind::Cancelled, "the client takes its answer too slowly")
}

/// Pieces that wait for the client.
pub(super) const PIECES: usize = 4;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_be_slow_but_not_slower() {
        let options = HostingOptions::new(".");
        let second = Duration::from_secs(1);
        let mut pace = Pace::new(&options);
        for _ in 0..600 {
            pace.took(1024, second).unwrap();
        }
        pace = Pace::new(&options);
        let taken = (0..60).map(|_| pace.took(1023, second)).collect::<Vec<_>>();
        assert_eq!(taken.iter().filter(|taken| taken.is_err()).count(), 1);
    }
}
