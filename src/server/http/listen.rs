//! A [`Hosting`] behind a socket: connections, their limits, and their end.
//!
//! HTTP/1.1 without TLS: that, HTTP/2 and the open internet are the business of a proxy in
//! front. How slow a client may be is decided here for the heads of requests and for bytes
//! that wait in the system's buffers, and beside the work for everything else.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;

use super::Hosting;
use super::connection::{Answer, AnyBody, Patience, Stream, serve as serve_connection};

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
    let answering = hosting.clone();
    let answer: Answer = Arc::new(move |request| {
        let hosting = answering.clone();
        Box::pin(async move { hosting.handle(request).await.map(|body| Box::pin(body) as AnyBody) })
    });
    let (ending, ended) = watch::channel(());
    let door = Door::new(answer, options, hosting.options().max_stall, ended);
    let connections = Arc::clone(&door.connections);
    tokio::select! {
        () = end => {}
        () = door.accept(&listener) => {}
    }
    hosting.begin_end();
    drop((listener, door));
    // Each connection hears of it, closes when it is idle, and gives its room back.
    drop(ending);
    let all = connections.acquire_many(options.max_connections.max(1));
    if tokio::time::timeout(options.grace, all).await.is_err() {
        hosting.end_at_once();
    }
}

/// Lets in as many clients as there is room for.
pub(crate) struct Door {
    answer: Answer,
    patience: Patience,
    connections: Arc<Semaphore>,
    ended: watch::Receiver<()>,
}

impl Door {
    /// A door to `answer`, whose connections close when the sender of `ended` is dropped.
    pub(crate) fn new(
        answer: Answer,
        options: &ListenOptions,
        max_stall: Duration,
        ended: watch::Receiver<()>,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(options.max_connections.max(1) as usize));
        let patience = Patience { header: options.header_timeout, stall: max_stall };
        Self { answer, patience, connections, ended }
    }

    /// Lets clients in until it is dropped; those that are in stay.
    pub(crate) async fn accept(&self, listener: &Listener) {
        loop {
            // Nobody closes it.
            let Ok(room) = Arc::clone(&self.connections).acquire_owned().await else { return };
            match listener.accept().await {
                Ok(stream) => {
                    let answer = Arc::clone(&self.answer);
                    let serving =
                        serve_connection(answer, stream, self.patience, self.ended.clone());
                    drop(tokio::spawn(async move {
                        serving.await;
                        drop(room);
                    }));
                }
                // One connection that failed is no reason; a machine without files left is slow.
                Err(_) => sleep(AFTER_FAILURE).await,
            }
        }
    }
}

impl Listener {
    async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Tcp(tcp) => {
                let (stream, _) = tcp.accept().await?;
                // A piece is a packet of its own, and nobody waits for a second.
                drop(stream.set_nodelay(true));
                Ok(Box::new(stream))
            }
            Self::Unix(unix) => Ok(Box::new(unix.accept().await?.0)),
        }
    }
}

const AFTER_FAILURE: Duration = Duration::from_millis(50);
