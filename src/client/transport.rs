//! What a conversation needs of a network: one request, one streamed response, a clock.
//!
//! The trait has no `Send` bound and no boxed futures, so a browser's `fetch` and a
//! native client implement it alike. A transport never follows redirects, never retries
//! and never adds credentials: the driver decides about those.

use core::net::IpAddr;
use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;

use crate::client::Conversation;
use crate::error::Error;

/// The methods of smart HTTP, and the one that a browser asks with first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The ref advertisement.
    Get,
    /// Whether a page of another origin may send the others.
    Options,
    /// A command.
    Post,
}

/// One HTTP request.
#[derive(Clone)]
pub struct Request {
    /// How.
    pub method: Method,
    /// Where; `http` or `https`, without credentials in it.
    pub url: String,
    /// Header lines; names in lower case.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// Empty unless it is a POST.
    pub body: Bytes,
    /// A public host led here: the address must be public too, unless the transport was
    /// told that this host may be elsewhere. Platforms that hide addresses, as browsers do,
    /// have rules of their own.
    pub public_only: bool,
}

impl std::fmt::Debug for Request {
    /// Shows no header values: one of them may be a credential.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The head of a response, and its body yet to be read.
#[derive(Debug)]
pub struct Response<B> {
    /// The HTTP status.
    pub status: u16,
    /// Where the response came from; differs from the request's only where the platform
    /// follows redirects itself (browsers).
    pub url: String,
    /// Header lines; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The version of HTTP that was spoken, such as `HTTP/2.0`, where the platform tells it.
    pub http_version: Option<&'static str>,
    /// The address that answered, where the platform tells it and no proxy hides it.
    pub peer: Option<IpAddr>,
    /// What [`Transport::receive`] reads.
    pub body: B,
}

impl<B> Response<B> {
    /// The first header called `name` (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// A network.
///
/// Dropping a returned future cancels the request.
pub trait Transport {
    /// A response body that has not been read.
    type Body;

    /// Sends `request` and waits for the head of its response, whatever its status.
    /// A body sent with a `content-encoding` is delivered decoded, or refused.
    fn send(&self, request: Request) -> impl Future<Output = Result<Response<Self::Body>, Error>>;

    /// Feeds the body to `conversation` chunk by chunk, never holding more than a few
    /// chunks, until it ends or the conversation refuses a chunk; a body that ended well is
    /// followed by [`Conversation::finish`]. Where threads exist the conversation runs on
    /// one that may block.
    fn receive(
        &self,
        body: Self::Body,
        conversation: Conversation,
    ) -> impl Future<Output = (Conversation, Result<(), Error>)>;

    /// Resolves after `duration`.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;

    /// Time since some fixed moment; never goes backwards.
    fn now(&self) -> Duration;

    /// Runs long computation where it does not hold up other tasks.
    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        work()
    }
}
