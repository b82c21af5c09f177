//! One connection of HTTP/1.1, whoever answers it.
//!
//! What answers and what it answers with are boxed: the machinery of a connection is there
//! once, for repositories as for the server of the Model Context Protocol.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

use super::body::BrokenOff;

/// Answers the requests of all connections.
pub(crate) type Answer = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response<AnyBody>> + Send>>;
pub(crate) type AnyBody = Pin<Box<dyn http_body::Body<Data = Bytes, Error = BrokenOff> + Send>>;

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the head of a request, and between two of a connection.
    pub(super) header: Duration,
    /// While bytes wait for it and it takes next to none.
    pub(super) stall: Duration,
}

/// Answers what comes over `stream` until the client or the server ends.
pub(super) async fn serve(
    answer: Answer,
    stream: Box<dyn Stream>,
    patience: Patience,
    mut ended: watch::Receiver<()>,
) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let answering = answer(request);
        async move { Ok::<_, Infallible>(answering.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.header)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(Paced::new(stream, patience.stall)), answer);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that breaks off says so to itself.
        _ = connection.as_mut() => return,
        // The sender is dropped when the server ends, and never sends.
        _ = ended.changed() => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that fails when its client takes next to nothing for too long.
struct Paced {
    stream: Box<dyn Stream>,
    max_stall: Duration,
    /// Runs while bytes wait for the client.
    due: Pin<Box<Sleep>>,
    waits: bool,
    taken: usize,
}

impl Paced {
    fn new(stream: Box<dyn Stream>, max_stall: Duration) -> Self {
        let due = Box::pin(sleep(max_stall));
        Self { stream, max_stall, due, waits: false, taken: 0 }
    }

    /// What a write came to, unless the client has had too long.
    fn paced(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.taken = self.taken.saturating_add(*written.as_ref().unwrap_or(&0));
            if self.taken >= MIN_TAKEN_BYTES {
                self.waits = false;
            }
            return Poll::Ready(written);
        }
        if !self.waits {
            (self.waits, self.taken) = (true, 0);
            self.due.as_mut().reset(Instant::now() + self.max_stall);
        }
        match self.due.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Paced {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Paced {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.paced(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A request's line and headers; git's are below 1 KiB, a token may have many.
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;
/// What a client takes at least within the time of a stall.
const MIN_TAKEN_BYTES: usize = 16 << 10;
