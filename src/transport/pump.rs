//! Carries a response body from the network to a thread that may block.
//!
//! The async side reads chunks and puts them into a queue of four; a blocking thread takes
//! them out. A slow consumer thus stops the reading, and through TCP the sender. At no
//! time are more than the queue, one chunk on each side of it, and what the connection
//! buffers (HTTP/1.1: some 400 KiB, HTTP/2: its window), held in memory.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, HeaderValue};
use tokio::sync::mpsc;

use super::failure;
use super::gzip::Gunzip;
use super::http::HttpBody;
use crate::error::Error;

/// Chunks between the network and the consumer. Enough that neither waits for the other
/// to be scheduled, little enough that a few hundred transfers fit in memory (a chunk
/// is at most some 400 KiB).
const QUEUED_CHUNKS: usize = 4;

/// Feeds `body` to `push` until it ends or a chunk is refused. The consumer comes back
/// in every case. A gzip'd body is inflated on the way; any other content-encoding is
/// refused.
///
/// Dropping the future ends the transfer, and the consumer is dropped as soon as the
/// chunk it is working on is done.
pub(super) async fn pump<C: Send + 'static>(
    mut body: HttpBody,
    consumer: C,
    push: fn(&mut C, &[u8]) -> Result<(), Error>,
    stall: Duration,
) -> (C, Result<(), Error>) {
    // Here and not with the head: the status of an encoded error page can still be told.
    let gunzip = match gunzip_for(&body) {
        Ok(gunzip) => gunzip,
        Err(encoding) => return (consumer, Err(failure::encoded(encoding, &body.host))),
    };
    let host = body.host.clone();
    let consumer = Arc::new(Mutex::new(consumer));
    let (chunks, queue) = mpsc::channel(QUEUED_CHUNKS);
    let worker = {
        // The thread borrows the consumer for one chunk at a time. Were it the owner, a
        // dropped future could not take it away.
        let consumer = Arc::downgrade(&consumer);
        let host = host.clone();
        tokio::task::spawn_blocking(move || consume(queue, gunzip, &consumer, push, &host))
    };

    let received = read(&mut body, &chunks, stall).await;
    // Both before the wait: the connection closes at once when a chunk was refused, and
    // the thread ends when it has seen what is queued.
    drop(body);
    drop(chunks);

    // A refusal is the better answer where both ends failed: a server that reports an
    // error and hangs up is heard.
    let outcome = match worker.await {
        Ok(consumed) => consumed.and_then(|gunzip| {
            received?;
            gunzip.map_or(Ok(()), |gunzip| gunzip.finish(&host))
        }),
        Err(_) => Err(failure::shut_down(&host)),
    };
    (take_back(consumer), outcome)
}

/// Runs `last` on a thread that may block. The consumer comes back in every case; when
/// the future is dropped, the thread goes on to the end of `last`.
pub(super) async fn finish<C: Send + 'static>(
    consumer: C,
    last: fn(&mut C) -> Result<(), Error>,
    host: &str,
) -> (C, Result<(), Error>) {
    let consumer = Arc::new(Mutex::new(consumer));
    let worker = {
        let consumer = Arc::clone(&consumer);
        tokio::task::spawn_blocking(move || {
            let mut consumer = consumer.lock().unwrap_or_else(PoisonError::into_inner);
            catch_unwind(AssertUnwindSafe(|| last(&mut consumer)))
        })
    };
    let outcome = match worker.await {
        Ok(Ok(finished)) => finished,
        Ok(Err(panic)) => Err(failure::panicked(&*panic, host)),
        Err(_) => Err(failure::shut_down(host)),
    };
    (take_back(consumer), outcome)
}

fn take_back<C>(consumer: Arc<Mutex<C>>) -> C {
    Arc::into_inner(consumer)
        .expect("the thread has ended, and it held no more than a borrow")
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

/// What inflates the body, when it needs that; or the encoding that nothing undoes.
fn gunzip_for(body: &HttpBody) -> Result<Option<Gunzip>, &HeaderValue> {
    let Some(encoding) = body.response.headers().get(CONTENT_ENCODING) else { return Ok(None) };
    let is = |name: &str| encoding.as_bytes().eq_ignore_ascii_case(name.as_bytes());
    if is("identity") {
        Ok(None)
    } else if is("gzip") || is("x-gzip") {
        Ok(Some(Gunzip::new()))
    } else {
        Err(encoding)
    }
}

/// The async side: ends with the body, with the connection, or when the queue is closed.
pub(super) async fn read<P: From<Bytes>>(
    body: &mut HttpBody,
    chunks: &mpsc::Sender<P>,
    stall: Duration,
) -> Result<(), Error> {
    let mut received_bytes = 0_u64;
    loop {
        let next = tokio::time::timeout(stall, body.response.chunk());
        let Some(next) = unless_refused(chunks, next).await else { return Ok(()) };
        let chunk = match next {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(error)) => return Err(failure::receiving(error, &body.host, received_bytes)),
            Err(_) => return Err(failure::stalled(&body.host, stall, received_bytes)),
        };
        received_bytes = received_bytes.saturating_add(chunk.len() as u64);
        if chunks.send(chunk.into()).await.is_err() {
            return Ok(());
        }
    }
}

/// `future`, or `None` as soon as nobody takes chunks any more.
async fn unless_refused<T, P>(
    chunks: &mpsc::Sender<P>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut closed = pin!(chunks.closed());
    let mut future = pin!(future);
    poll_fn(|context| match closed.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => future.as_mut().poll(context).map(Some),
    })
    .await
}

/// The blocking side. A panic of the consumer becomes an error, so that it reaches whoever
/// waits for the transfer.
fn consume<C>(
    mut queue: mpsc::Receiver<Bytes>,
    mut gunzip: Option<Gunzip>,
    consumer: &Weak<Mutex<C>>,
    push: fn(&mut C, &[u8]) -> Result<(), Error>,
    host: &str,
) -> Result<Option<Gunzip>, Error> {
    while let Some(chunk) = queue.blocking_recv() {
        let Some(consumer) = consumer.upgrade() else { return Ok(None) };
        let mut consumer = consumer.lock().unwrap_or_else(PoisonError::into_inner);
        let push = AssertUnwindSafe(|| match &mut gunzip {
            Some(gunzip) => gunzip.push(&chunk, host, &mut |bytes| push(&mut consumer, bytes)),
            None => push(&mut consumer, &chunk),
        });
        catch_unwind(push).unwrap_or_else(|panic| Err(failure::panicked(&*panic, host)))?;
    }
    Ok(gunzip)
}
