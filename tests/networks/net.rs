//! A real network with a clock of its own, on which waiting takes no time, and with a say
//! in where answers seem to come from.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gitsip::agent::{Remote, RemoteOptions, Repo};
use gitsip::client::Conversation;
use gitsip::client::retry::RetryOptions;
use gitsip::client::transport::{Request, Response, Transport};
use gitsip::transport::{HttpBody, HttpOptions, HttpTransport, Resolver};
use gitsip::{Error, Limits};

use super::support::git::{File, Sandbox};
pub(crate) use super::support::runtime::run;

#[derive(Clone)]
pub(crate) struct Net {
    pub(crate) inner: HttpTransport,
    /// The waits so far; the clock shows their sum.
    pub(crate) waits: Arc<Mutex<Vec<Duration>>>,
    /// Where each answer seems to come from, unless it really came from an address in the
    /// request.
    pub(crate) peer: Option<IpAddr>,
}

impl Net {
    pub(crate) fn new() -> Self {
        Self::with(HttpOptions::default())
    }

    /// Every name that ends in `.test` is this machine.
    pub(crate) fn with(options: HttpOptions) -> Self {
        let resolver = Resolver::new(|host| match host.strip_suffix(".test") {
            Some(_) => Ok(vec![IpAddr::from([127, 0, 0, 1])]),
            None => Err(std::io::ErrorKind::NotFound.into()),
        });
        let inner = HttpTransport::new(HttpOptions { resolver, ..options }).unwrap();
        Self { inner, waits: Arc::default(), peer: None }
    }

    pub(crate) fn open(
        &self,
        address: &str,
        retry: RetryOptions,
    ) -> Result<Repo<Remote<Self>>, Error> {
        run(async {
            let options = RemoteOptions { retry, ..RemoteOptions::default() };
            let remote = Remote::open(self.clone(), address, options).await?;
            Ok(Repo::new(remote, Limits::default()))
        })
    }

    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Transport for Net {
    type Body = HttpBody;

    async fn send(&self, request: Request) -> Result<Response<HttpBody>, Error> {
        let mut response = self.inner.send(request).await?;
        response.peer = self.peer.or(response.peer);
        Ok(response)
    }

    async fn receive(
        &self,
        body: HttpBody,
        conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        self.inner.receive(body, conversation).await
    }

    async fn sleep(&self, duration: Duration) {
        self.waits.lock().unwrap().push(duration);
    }

    fn now(&self) -> Duration {
        self.waits.lock().unwrap().iter().sum()
    }
}

pub(crate) fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    sandbox
}
