//! A network that is a `fetch`: requests go to the host, and bodies come chunk by chunk.
//!
//! The next chunk is asked for when the last one was taken in, which is all the back
//! pressure a `ReadableStream` needs. A chunk is copied in pieces of a fixed size, so that
//! no memory is sized by a peer.

use std::time::Duration;

use gitsip::client::Conversation;
use gitsip::client::transport::{Method, Request, Response, Transport};
use gitsip::{Error, ErrorKind};
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::host::{self, Head, Host, NetworkFailure};
use crate::reports::Reports;

/// The host's `fetch`, clock and timers.
pub(crate) struct FetchTransport {
    host: Host,
    reports: Reports,
}

impl FetchTransport {
    pub(crate) fn new(host: Host, reports: Reports) -> Self {
        Self { host, reports }
    }

    /// Takes `chunk` in piece by piece.
    fn push(
        &self,
        chunk: &Uint8Array,
        piece: &mut [u8],
        conversation: &mut Conversation,
    ) -> Result<(), Error> {
        let mut begin = 0;
        while begin < chunk.length() {
            let end = begin.saturating_add(PIECE_BYTES).min(chunk.length());
            let piece = &mut piece[..(end - begin) as usize];
            chunk.subarray(begin, end).copy_to(piece);
            let pushed = conversation.push(piece);
            self.reports.tell(&self.host);
            pushed?;
            begin = end;
        }
        Ok(())
    }
}

impl Transport for FetchTransport {
    type Body = Transfer;

    async fn send(&self, request: Request) -> Result<Response<Transfer>, Error> {
        self.reports.tell(&self.host);
        let Request { method, url, headers, body, .. } = request;
        let (method, body) = match method {
            Method::Get => ("GET", None),
            Method::Options => ("OPTIONS", None),
            Method::Post => ("POST", Some(Uint8Array::from(&body[..]))),
        };
        let headers = headers.into_iter().flat_map(|(name, value)| [name.into_owned(), value]);
        let transfer = Transfer(self.host.request(method, &url, headers.collect(), body));
        let head = JsFuture::from(transfer.0.head()).await.map_err(failed)?;
        let head: Head = head.unchecked_into();
        let mut headers = Vec::new();
        let mut lines = head.headers().into_iter();
        while let (Some(name), Some(value)) = (lines.next(), lines.next()) {
            headers.push((name, value));
        }
        Ok(Response {
            status: head.status(),
            url: head.url(),
            headers,
            http_version: None,
            peer: None,
            body: transfer,
        })
    }

    async fn receive(
        &self,
        body: Transfer,
        mut conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        let mut piece = vec![0; PIECE_BYTES as usize];
        let mut rested = self.now();
        loop {
            let chunk = match JsFuture::from(body.0.read()).await {
                Ok(chunk) if chunk.is_undefined() => break,
                Ok(chunk) => chunk.unchecked_into(),
                Err(error) => return (conversation, Err(failed(error))),
            };
            if let Err(error) = self.push(&chunk, &mut piece, &mut conversation) {
                return (conversation, Err(error));
            }
            // What is read without waiting lets nothing else happen, not even an abort.
            if self.now().saturating_sub(rested) >= MAX_BUSY {
                self.sleep(Duration::ZERO).await;
                rested = self.now();
            }
        }
        let finished = conversation.finish();
        self.reports.tell(&self.host);
        (conversation, finished)
    }

    async fn sleep(&self, duration: Duration) {
        self.reports.tell(&self.host);
        let timer = Timer(self.host.timer(duration.as_secs_f64() * 1_000.0));
        // It has no way to fail.
        let _ = JsFuture::from(timer.0.done()).await;
    }

    fn now(&self) -> Duration {
        Duration::try_from_secs_f64(self.host.now() / 1_000.0).unwrap_or_default()
    }
}

/// A request that ends with whoever waits for it.
pub(crate) struct Transfer(host::Transfer);

impl Drop for Transfer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Time that passes only while somebody waits for it.
struct Timer(host::Timer);

impl Drop for Timer {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What the host says of a request that failed.
fn failed(error: JsValue) -> Error {
    let failure: NetworkFailure = error.unchecked_into();
    let told = failure.code();
    let code = CODES.iter().find(|code| **code == told).copied();
    let kind = if code == Some("header") { ErrorKind::Usage } else { ErrorKind::Transport };
    Error::new(kind, failure.message()).with_code(code.unwrap_or_else(|| kind.code()))
}

/// Bytes of a chunk that are copied at a time, and held at all.
const PIECE_BYTES: u32 = 64 << 10;
/// Work between two turns of the event loop: at most two frames of a screen.
const MAX_BUSY: Duration = Duration::from_millis(30);
/// The words of `js/host.js` for what goes wrong, most of them as natively.
const CODES: &[&str] = &[
    "connect",
    "cut",
    "dns",
    "header",
    "not_streaming",
    "refused",
    "tls_untrusted",
    "unreachable",
];
