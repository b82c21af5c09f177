//! HTTP for native programs: reqwest and rustls on tokio.
//!
//! Deliberately absent, because the driver decides about them: redirects, cookies,
//! credentials, waiting and trying again. Also absent is a cap on total time: whoever
//! wants one drops the future. The only request sent a second time is one that a
//! connection turned away *before* the host processed it (a pooled connection that had
//! died, an HTTP/2 refusal); the host sees it once.
//!
//! Certificates are checked against the system's trust store with rustls and *ring*. The
//! provider is part of this client's own configuration, so a program that embeds gitsip
//! keeps the choice of rustls' process-wide default.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use super::resolve::{Gate, Resolver, address_of};
use super::tls::{system_verifier, tls_config};
use super::{failure, pump};
use crate::client::Conversation;
use crate::client::policy::AddressPolicy;
use crate::client::transport::{Method, Request, Response, Transport};
use crate::error::{Error, ErrorKind};

/// How long [`HttpTransport`] waits for what, and whom it connects to.
///
/// ```
/// use std::time::Duration;
/// use gitsip::transport::HttpOptions;
///
/// let patient = HttpOptions { stall_timeout: Duration::from_secs(120), ..Default::default() };
/// assert!(patient.connect_timeout < patient.stall_timeout);
/// ```
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// For name resolution, TCP and TLS together. 20 s: three lost SYNs are answered for
    /// after 15 s, and it is shorter than [`stall_timeout`](Self::stall_timeout), so
    /// that the error names the step that failed.
    pub connect_timeout: Duration,
    /// Without a byte from the host, while one is waited for; then the request fails
    /// with the code `stalled`. 30 s: git servers send a keepalive every 5 s while they
    /// prepare a pack. Connecting and sending the request count as waiting for the first
    /// byte; time in which a slow conversation holds up the transfer does not count.
    pub stall_timeout: Duration,
    /// Which addresses may be connected to. Judged at each connection, on every address
    /// that a name resolves to. Through a proxy, it is the proxy that resolves names: then
    /// only hosts written as addresses can be judged here, and the proxy has to have rules
    /// of its own.
    pub address_policy: AddressPolicy,
    /// Names and addresses of hosts that may be anywhere, whatever the policy.
    pub allowed_hosts: Vec<String>,
    /// Who finds the addresses of names.
    pub resolver: Resolver,
    /// Certificates in PEM form whose holders are trusted to vouch for hosts, beside those
    /// of the system.
    pub trusted_pem: Vec<u8>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            stall_timeout: Duration::from_secs(30),
            address_policy: AddressPolicy::default(),
            allowed_hosts: Vec::new(),
            resolver: Resolver::default(),
            trusted_pem: Vec::new(),
        }
    }
}

/// A pool of HTTP/1.1 and HTTP/2 connections; clones share it.
///
/// Proxies are those of the system: `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and
/// `NO_PROXY`, read when it is made. Its futures are `Send` and need a tokio runtime with
/// time and I/O.
///
/// Errors of kind [`Transport`](ErrorKind::Transport) carry one of the codes `cut`,
/// `connect`, `connect_timeout`, `dns`, `forbidden_address`, `not_http`, `proxy`, `refused`,
/// `stalled`, `tls` and `tls_untrusted`, and never a header value.
///
/// ```
/// use gitsip::transport::{HttpOptions, HttpTransport};
///
/// let transport = HttpTransport::new(HttpOptions::default())?;
/// # let _ = transport;
/// # Ok::<(), gitsip::Error>(())
/// ```
#[derive(Clone)]
pub struct HttpTransport {
    /// Connects anywhere.
    direct: Way,
    /// Connects to public addresses only. Its connections are its own: one that `direct`
    /// has open may lead to where this one may not.
    public: Way,
    /// Leaves connecting to the system's proxy.
    proxied: reqwest::Client,
    proxies: Arc<Matcher>,
    options: HttpOptions,
    started: Instant,
}

#[derive(Clone)]
struct Way {
    client: reqwest::Client,
    gate: Gate,
}

impl HttpTransport {
    /// A pool without connections.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the system has no certificates to trust, and
    /// [`ErrorKind::Usage`] for an option that cannot be read.
    pub fn new(options: HttpOptions) -> Result<Self, Error> {
        let verifier = system_verifier(&options.trusted_pem)?;
        Self::with_verifier(options, verifier)
    }

    /// The same with another opinion on certificates.
    pub(super) fn with_verifier(
        options: HttpOptions,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> Result<Self, Error> {
        let tls = tls_config(verifier)?;
        let gate = Gate::new(options.resolver.clone(), &options.allowed_hosts)?;
        let way = |gate: Gate| {
            let client = builder(&tls, &options).no_proxy().dns_resolver(gate.clone()).build();
            client.map(|client| Way { client, gate }).map_err(unusable_client)
        };
        Ok(Self {
            public: way(gate.public_only())?,
            direct: way(gate)?,
            proxied: builder(&tls, &options).build().map_err(unusable_client)?,
            proxies: Arc::new(Matcher::from_system()),
            options,
            started: Instant::now(),
        })
    }

    /// Sends `outgoing`, and waits for the head of its answer for as long as that takes.
    pub(super) async fn execute(
        &self,
        outgoing: reqwest::Request,
        public_only: bool,
    ) -> Result<reqwest::Response, Error> {
        let url = outgoing.url();
        let host = host_label(url);
        let public_only = public_only || self.options.address_policy == AddressPolicy::PublicOnly;
        let way = if public_only { &self.public } else { &self.direct };
        way.gate.judge(url).map_err(|why| failure::forbidden(why, &host, &self.options))?;
        let client = if self.is_proxied(url) { &self.proxied } else { &way.client };
        let sent = client.execute(outgoing).await;
        sent.map_err(|error| failure::sending(error, &host, &self.options))
    }

    fn is_proxied(&self, url: &Url) -> bool {
        url.as_str().parse().is_ok_and(|uri| self.proxies.intercept(&uri).is_some())
    }
}

fn builder(tls: &ClientConfig, options: &HttpOptions) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .connect_timeout(options.connect_timeout)
}

fn unusable_client(error: reqwest::Error) -> Error {
    Error::new(ErrorKind::Unsupported, "the HTTP client could not be set up").with_source(error)
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The body of a response, still on the wire. Dropping it ends the transfer.
pub struct HttpBody {
    pub(super) response: reqwest::Response,
    /// Host and port, for messages.
    pub(super) host: String,
}

impl fmt::Debug for HttpBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpBody").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Transport for HttpTransport {
    type Body = HttpBody;

    /// # Errors
    /// [`ErrorKind::Usage`] for an address or header that HTTP cannot carry, else
    /// [`ErrorKind::Transport`].
    async fn send(&self, request: Request) -> Result<Response<HttpBody>, Error> {
        let url = parse_url(&request.url)?;
        let host = host_label(&url);
        let address = address_of(&url);
        let is_proxied = self.is_proxied(&url);
        let mut outgoing = reqwest::Request::new(
            match request.method {
                Method::Get => reqwest::Method::GET,
                Method::Options => reqwest::Method::OPTIONS,
                Method::Post => reqwest::Method::POST,
            },
            url,
        );
        *outgoing.headers_mut() = header_map(&request.headers)?;
        if request.method == Method::Post {
            *outgoing.body_mut() = Some(request.body.into());
        }

        let stall = self.options.stall_timeout;
        let sent = tokio::time::timeout(stall, self.execute(outgoing, request.public_only));
        let response = sent.await.map_err(|_| failure::stalled(&host, stall, 0))??;
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        Ok(Response {
            status: response.status().as_u16(),
            url: response.url().as_str().to_owned(),
            headers,
            http_version: version_name(response.version()),
            peer: match address {
                None if is_proxied => None,
                None => response.remote_addr().map(|peer| peer.ip()),
                address => address,
            },
            body: HttpBody { response, host },
        })
    }

    /// # Errors
    /// That of the conversation when it refused a chunk; [`ErrorKind::Corrupt`] for a gzip'd
    /// body that is damaged, [`ErrorKind::Unsupported`] for one encoded in another way; else
    /// [`ErrorKind::Transport`].
    async fn receive(
        &self,
        body: HttpBody,
        conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        let host = body.host.clone();
        let (conversation, received) =
            pump::pump(body, conversation, Conversation::push, self.options.stall_timeout).await;
        match received {
            Ok(()) => pump::finish(conversation, Conversation::finish, &host).await,
            Err(error) => (conversation, Err(error)),
        }
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// On a worker of a multi-threaded runtime, the other tasks of the worker move elsewhere
    /// first.
    fn compute<R>(&self, work: impl FnOnce() -> R) -> R {
        // Off the workers there is nothing to hold up, and tokio would panic in a `LocalSet`.
        let on_worker = tokio::runtime::worker_index().is_some();
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) if on_worker => tokio::task::block_in_place(work),
            _ => work(),
        }
    }
}

fn parse_url(text: &str) -> Result<Url, Error> {
    let url = Url::parse(text).map_err(|error| {
        Error::new(ErrorKind::Usage, format!("the address cannot be read: {error}"))
            .with_source(error)
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::new(
            ErrorKind::Usage,
            format!("an address begins with http:// or https://, not '{}:'", url.scheme()),
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::new(
            ErrorKind::Usage,
            "the address has a user name or password in it: pass credentials beside it",
        ));
    }
    Ok(url)
}

/// The host as messages show it: with its port where the address names one.
pub(super) fn host_label(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn version_name(version: reqwest::Version) -> Option<&'static str> {
    [
        (reqwest::Version::HTTP_10, "HTTP/1.0"),
        (reqwest::Version::HTTP_11, "HTTP/1.1"),
        (reqwest::Version::HTTP_2, "HTTP/2.0"),
        (reqwest::Version::HTTP_3, "HTTP/3.0"),
    ]
    .into_iter()
    .find_map(|(known, name)| (known == version).then_some(name))
}

/// The caller's headers, and the wish for a plain body, as packs are compressed already.
/// A caller may wish for gzip instead; no other coding is undone here.
fn header_map(headers: &[(Cow<'static, str>, String)]) -> Result<HeaderMap, Error> {
    let mut map = HeaderMap::with_capacity(headers.len() + 1);
    for (name, value) in headers {
        let unusable = || {
            Error::new(
                ErrorKind::Usage,
                format!("the header '{name}' has characters that HTTP cannot carry"),
            )
        };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
        value.set_sensitive(!OPEN_HEADERS.contains(&header.as_str()));
        map.append(header, value);
    }
    if map.get(ACCEPT_ENCODING).is_none_or(|wish| wish != "gzip") {
        map.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    Ok(map)
}

/// Headers that may be logged and remembered. Credentials have names of many kinds.
const OPEN_HEADERS: [&str; 5] =
    ["accept", "accept-encoding", "content-type", "git-protocol", "user-agent"];

/// What HTTP/2 lets the host send ahead on one response. 2 MiB: 40 MB/s at a round trip of
/// 50 ms, and the most that a blocked conversation leaves in memory.
const STREAM_WINDOW_BYTES: u32 = 2 << 20;

/// The same for all responses of a connection together. 64 MiB: 31 conversations may be
/// blocked before the next one on the same connection notices.
const CONNECTION_WINDOW_BYTES: u32 = 64 << 20;
