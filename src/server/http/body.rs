//! The body of an answer: bytes that are there, or pieces as a thread makes them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use super::record::{Outcome, Record};
use crate::agent::Stop;

/// A stream of bytes. Dropping it ends the work that makes them.
#[derive(Debug)]
pub struct Body {
    rest: Rest,
    record: Option<Record>,
}

#[derive(Debug)]
enum Rest {
    Whole(Bytes),
    Pieces(Pieces),
}

/// What a thread makes, and the end of it.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) next: mpsc::Receiver<Piece>,
    pub(super) _stop: StopOnDrop,
}

/// What comes through the channel. A channel that closes without an end was broken off.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Bytes),
    End,
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

/// Cancels the work of a request that nobody waits for any more.
#[derive(Debug, Default)]
pub(super) struct StopOnDrop(pub(super) Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The answer was broken off: what came so far is not all of it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer was broken off")]
pub struct BrokenOff;

impl From<Infallible> for BrokenOff {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl Body {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { rest: Rest::Whole(bytes.into()), record: None }
    }

    pub(super) fn pieces(pieces: Pieces) -> Self {
        Self { rest: Rest::Pieces(pieces), record: None }
    }

    /// The same, noting in `record` what is taken of it.
    pub(super) fn noted(self, record: Record) -> Self {
        let body = Self { record: Some(record), ..self };
        // Of an empty one nobody takes anything.
        if http_body::Body::is_end_stream(&body) {
            body.ended();
        }
        body
    }

    fn took(&self, bytes: &Bytes) {
        if let Some(record) = &self.record {
            record.note().bytes_out += bytes.len() as u64;
        }
    }

    fn ended(&self) {
        let Some(record) = &self.record else { return };
        let mut now = record.note();
        let is_answer = now.status.is_some_and(|status| !is_refusal(status)) && now.error.is_none();
        now.outcome = if is_answer { Outcome::Done } else { Outcome::Refused };
    }
}

fn is_refusal(status: http::StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let bytes = match &mut self.rest {
            Rest::Whole(bytes) => match std::mem::take(bytes) {
                empty if empty.is_empty() => return Poll::Ready(None),
                bytes => {
                    self.ended();
                    bytes
                }
            },
            Rest::Pieces(pieces) => match std::task::ready!(pieces.next.poll_recv(context)) {
                Some(Piece::Bytes(bytes)) => bytes,
                Some(Piece::End) => {
                    self.ended();
                    return Poll::Ready(None);
                }
                None => return Poll::Ready(Some(Err(BrokenOff))),
            },
        };
        self.took(&bytes);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.rest, Rest::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Rest::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Rest::Pieces(_) => SizeHint::default(),
        }
    }
}
