//! Git's requests for other hosts, passed on for pages that these hosts do not let in.
//!
//! Two forms of address ask for it, those of isomorphic-git's proxies: `/proxy/HOST/PATH` and
//! `/?https://HOST/PATH` (also `/proxy?https://..`). Only the endpoints of upload-pack are passed
//! on, and only to hosts that are listed. Both bodies are streams: of either no more than a few
//! pieces are here.
//!
//! `Authorization` is a login for this server, and goes no further, unless the header
//! `Authorization-For: HOST` says whom it is for: then it goes to that host and nowhere else, and
//! is no login here. To an [`Authorizer`](super::Authorizer) the repository is called
//! `proxy/HOST/PATH`.

use std::pin::pin;
use std::time::Duration;

use bytes::Buf as _;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use url::Url;

use super::auth::Deciding;
use super::body::{Body, Piece, Pieces, StopOnDrop};
use super::git;
use super::options::HostingOptions;
use super::problem::Problem;
use super::record::Record;
use super::request_body::Arriving;
use super::work::PIECES;
use crate::agent::Stop;

/// Knows other hosts, and connects to them.
pub(super) trait PassOn: Send + Sync {
    /// What `head` asks of another host, or why that is not passed on; `None` when it asks this
    /// one.
    fn asked(&self, head: &Parts) -> Option<Result<Asked, Problem>>;

    /// The answer of the other host, whose body holds `room` to its end.
    fn send(&self, outgoing: Outgoing) -> Deciding<'_, Result<Response<Body>, Problem>>;
}

/// A repository of another host, and what of it is asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) url: Url,
    /// `proxy/HOST/PATH`, as logs and authorizers know it.
    pub(super) name: String,
    /// Objects, and not the advertisement.
    pub(super) is_fetch: bool,
}

/// A request on its way to another host.
pub(super) struct Outgoing {
    pub(super) asked: Asked,
    /// All that the client sent.
    pub(super) headers: HeaderMap,
    /// Of a request for packs.
    pub(super) body: Option<Body>,
    pub(super) flow: Flow,
}

/// What goes along until an answer has come to its end.
pub(super) struct Flow {
    pub(super) stop: Stop,
    pub(super) max_stall: Duration,
    pub(super) record: Record,
    pub(super) _room: OwnedSemaphorePermit,
}

impl Asked {
    /// Why `head` is no request for it, unless it is one.
    pub(super) fn check(&self, head: &Parts) -> Result<(), Problem> {
        match (self.is_fetch, &head.method) {
            (false, &Method::GET) => Ok(()),
            (true, &Method::POST) => git::check_content_type(&head.headers),
            (false, _) => Err(Problem::method("GET")),
            (true, _) => Err(Problem::method("POST")),
        }
    }
}

/// `headers` without what in them is for another host.
pub(super) fn own_headers(headers: &HeaderMap) -> HeaderMap {
    let mut own = headers.clone();
    if own.contains_key(AUTHORIZATION_FOR) {
        own.remove(header::AUTHORIZATION);
    }
    own
}

/// Hands `body` on as it comes, and gives back what the other host answers.
pub(super) async fn pass_on<B>(
    proxy: &dyn PassOn,
    asked: Asked,
    headers: HeaderMap,
    body: B,
    options: &HostingOptions,
    flow: Flow,
) -> Result<Response<Body>, Problem>
where
    B: http_body::Body<Error: std::fmt::Display>,
{
    let (is_fetch, record) = (asked.is_fetch, flow.record.clone());
    let (pieces, next) = mpsc::channel(PIECES);
    let passed = Body::pieces(Pieces { next, _stop: StopOnDrop::default() });
    let body_out = is_fetch.then_some(passed);
    let mut sending = proxy.send(Outgoing { asked, headers, body: body_out, flow });
    if is_fetch {
        tokio::select! {
            // Whoever answers before it has heard all knows enough.
            answered = &mut sending => return answered,
            fed = feed(body, pieces, options, &record) => fed?,
        }
    }
    timeout(options.max_stall, sending).await.map_err(|_| stalled())?
}

/// Takes `body` within the limits of any, and hands on what comes of it.
async fn feed<B>(
    body: B,
    pieces: mpsc::Sender<Piece>,
    options: &HostingOptions,
    record: &Record,
) -> Result<(), Problem>
where
    B: http_body::Body<Error: std::fmt::Display>,
{
    let body = pin!(body);
    let mut arriving = Arriving::new(body, options)?;
    while let Some(mut data) = arriving.next().await? {
        let piece = Piece::Bytes(data.copy_to_bytes(data.remaining()));
        hand_on(&pieces, piece, options).await?;
        record.note().bytes_in = arriving.taken;
    }
    hand_on(&pieces, Piece::End, options).await
}

async fn hand_on(
    pieces: &mpsc::Sender<Piece>,
    piece: Piece,
    options: &HostingOptions,
) -> Result<(), Problem> {
    match pieces.send_timeout(piece, options.max_stall).await {
        // What is not taken any more was enough.
        Ok(()) | Err(mpsc::error::SendTimeoutError::Closed(_)) => Ok(()),
        Err(mpsc::error::SendTimeoutError::Timeout(_)) => Err(stalled()),
    }
}

fn stalled() -> Problem {
    Problem::new(StatusCode::GATEWAY_TIMEOUT, "the other host does not answer: try again later")
}

/// The first segment of the path of what is passed on.
pub(super) const FOLDER: &str = "proxy";
/// Names the host that `Authorization` is for.
pub(super) const AUTHORIZATION_FOR: &str = "authorization-for";
