//! A [`Hosting`] behind a socket: connections, their limits, and their end.
//!
//! HTTP/1.1 without TLS: that, HTTP/2 and the open internet are the business of a proxy in
//! front. How slow a client may be is decided here for the heads of requests and for bytes
//! that wait in the system's buffers, and beside the work for everything else.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, Sleep, sleep};

use super::Hosting;

/// Where clients come from.
#[derive(Debug)]
pub enum Listener {
    /// Over a network.
    Tcp(TcpListener),
    /// Of this machine, by a file.
    Unix(UnixListener),
}

/// How many clients, and how long they may take.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Connections at once: 1,024. More wait in the system's queue.
    pub max_connections: u32,
    /// For the head of a request, and between two of a connection: 15 s.
    pub header_timeout: Duration,
    /// What requests that are under way have left when the server ends: 30 s.
    pub grace: Duration,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            header_timeout: Duration::from_secs(15),
            grace: Duration::from_secs(30),
        }
    }
}

/// Serves whoever connects until `end`, then lets requests that are under way come to theirs.
pub async fn serve(
    hosting: &Hosting,
    listener: Listener,
    options: &ListenOptions,
    end: impl Future<Output = ()>,
) {
    let connections = Arc::new(Semaphore::new(options.max_connections.max(1) as usize));
    let (ending, ended) = watch::channel(());
    tokio::select! {
        () = end => {}
        () = accept(hosting, &listener, options, &connections, &ended) => {}
    }
    hosting.begin_end();
    drop((listener, ended));
    // Each connection hears of it, closes when it is idle, and gives its room back.
    drop(ending);
    let all = connections.acquire_many(options.max_connections.max(1));
    if tokio::time::timeout(options.grace, all).await.is_err() {
        hosting.end_at_once();
    }
}

async fn accept(
    hosting: &Hosting,
    listener: &Listener,
    options: &ListenOptions,
    connections: &Arc<Semaphore>,
    ended: &watch::Receiver<()>,
) {
    loop {
        // Nobody closes it.
        let Ok(room) = Arc::clone(connections).acquire_owned().await else { return };
        let accepted = match listener {
            Listener::Tcp(tcp) => tcp.accept().await.map(|(stream, _)| {
                // A piece is a packet of its own, and nobody waits for a second.
                drop(stream.set_nodelay(true));
                Box::new(stream) as Box<dyn Stream>
            }),
            Listener::Unix(unix) => unix.accept().await.map(|(stream, _)| Box::new(stream) as _),
        };
        match accepted {
            Ok(stream) => {
                let paced = Paced::new(stream, hosting.options().max_stall);
                let serving =
                    connection(hosting.clone(), paced, options.header_timeout, ended.clone(), room);
                drop(tokio::spawn(serving));
            }
            // One connection that failed is no reason; a machine without files left is slow.
            Err(_) => sleep(AFTER_FAILURE).await,
        }
    }
}

async fn connection(
    hosting: Hosting,
    stream: Paced,
    header_timeout: Duration,
    mut ended: watch::Receiver<()>,
    _room: OwnedSemaphorePermit,
) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let hosting = hosting.clone();
        async move { Ok::<_, Infallible>(hosting.handle(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that breaks off says so to itself.
        _ = connection.as_mut() => return,
        // The sender is dropped when the server ends, and never sends.
        _ = ended.changed() => connection.as_mut().graceful_shutdown(),
    }
    drop(connection.await);
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

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
const AFTER_FAILURE: Duration = Duration::from_millis(50);
