//! The same server without a socket: a [`Transport`] that calls it. Time passes only where
//! something waits, so a stall costs nothing, and every run is the same.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use gitsip::client::Conversation;
use gitsip::client::transport::{Request, Response, Transport};
use gitsip::{Error, ErrorKind};

use super::answer::{Answer, answer, whole};
use super::{Behaviour, CannedResponse, Recorded, lock};

/// How long a host may be silent.
const STALL: Duration = Duration::from_secs(30);

/// A server in the same process; a clone is the same one.
#[derive(Clone, Debug)]
pub struct InProcess {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    behaviour: Mutex<Arc<Behaviour>>,
    requests: Mutex<Vec<Recorded>>,
    now: Mutex<Duration>,
}

/// A body on its way, and how it ends.
#[derive(Debug)]
pub struct Pieces {
    number: usize,
    pieces: Vec<Vec<u8>>,
    delay: Duration,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Cut,
    Stalled,
    Whole,
}

impl InProcess {
    /// Serves the repositories in `root` as `behaviour` says.
    pub fn new(root: impl AsRef<Path>, behaviour: Behaviour) -> Self {
        let shared = Shared {
            root: root.as_ref().to_owned(),
            behaviour: Mutex::new(Arc::new(behaviour)),
            requests: Mutex::default(),
            now: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The address of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("http://in.process/{name}")
    }

    /// Behaves like this from the next request on.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        *lock(&self.shared.behaviour) = Arc::new(behaviour);
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).clone()
    }

    /// Forgets the requests so far. Numbers begin at 0 again.
    pub fn forget_requests(&self) {
        lock(&self.shared.requests).clear();
    }

    fn pass(&self, time: Duration) {
        *lock(&self.shared.now) += time;
    }

    fn record(&self, request: Request) -> Recorded {
        let address = request.url.splitn(4, '/').nth(3).unwrap_or_default();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let mut requests = lock(&self.shared.requests);
        let recorded = Recorded {
            number: requests.len(),
            method: format!("{:?}", request.method).to_uppercase(),
            path: format!("/{path}"),
            query: query.to_owned(),
            headers: request.headers.into_iter().map(|(n, v)| (n.into_owned(), v)).collect(),
            body: request.body.to_vec(),
            ..Recorded::default()
        };
        requests.push(recorded.clone());
        recorded
    }
}

impl Transport for InProcess {
    type Body = Pieces;

    async fn send(&self, request: Request) -> Result<Response<Pieces>, Error> {
        let url = request.url.clone();
        let seen = self.record(request);
        let behaviour = Arc::clone(&lock(&self.shared.behaviour));
        let faithful = Behaviour::default();
        let faulty = behaviour.faults_when.as_ref().is_none_or(|when| when(&seen));
        let faults = if faulty { &behaviour } else { &faithful };
        self.pass(faults.delay);
        if faults.silent {
            self.pass(STALL);
            return Err(broken("stalled"));
        }
        let CannedResponse { status, headers, body } =
            match answer(&self.shared.root, &seen, &behaviour) {
                Answer::Whole(canned) => canned,
                Answer::Git(cgi) => whole(cgi).map_err(|_| broken("cut"))?,
            };
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-encoding")) {
            return Err(broken("encoded"));
        }
        let (length, end) = match (faults.cut_after, faults.stall_after) {
            (Some(cut), stall) if stall.is_none_or(|stall| cut < stall) => (cut, End::Cut),
            (_, Some(stall)) => (stall, End::Stalled),
            _ => (u64::MAX, End::Whole),
        };
        let (sent, end) = match usize::try_from(length) {
            Ok(length) if length < body.len() => (&body[..length], end),
            _ => (&body[..], End::Whole),
        };
        let most = faults.max_chunk_bytes.unwrap_or(64 << 10).max(1);
        lock(&self.shared.requests)[seen.number].status = status;
        Ok(Response {
            status,
            url,
            headers: headers.into_iter().map(|(n, v)| (n.to_ascii_lowercase(), v)).collect(),
            http_version: None,
            peer: None,
            body: Pieces {
                number: seen.number,
                pieces: sent.chunks(most).map(<[u8]>::to_vec).collect(),
                delay: faults.chunk_delay,
                end,
            },
        })
    }

    async fn receive(
        &self,
        body: Pieces,
        mut conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        for piece in &body.pieces {
            self.pass(body.delay);
            if let Some(request) = lock(&self.shared.requests).get_mut(body.number) {
                request.response_bytes += piece.len() as u64;
                request.response_body.extend_from_slice(piece);
            }
            if let Err(error) = conversation.push(piece) {
                return (conversation, Err(error));
            }
        }
        let received = match body.end {
            End::Cut => Err(broken("cut")),
            End::Stalled => {
                self.pass(STALL);
                Err(broken("stalled"))
            }
            End::Whole => conversation.finish(),
        };
        if let Some(request) = lock(&self.shared.requests).get_mut(body.number) {
            request.complete = body.end == End::Whole;
        }
        (conversation, received)
    }

    async fn sleep(&self, duration: Duration) {
        self.pass(duration);
    }

    fn now(&self) -> Duration {
        *lock(&self.shared.now)
    }
}

fn broken(code: &'static str) -> Error {
    Error::new(ErrorKind::Transport, "the connection broke").with_code(code)
}

/// Runs a future over such a server. Nothing in it waits for anything that is not there,
/// unless two tasks share a repository, so a future that is not ready is a defect.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future waits for something that never comes"),
    }
}
