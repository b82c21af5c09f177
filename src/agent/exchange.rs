//! One request and its answer: which credentials may go along, whether it is sent again,
//! and what a status or a content type that is not git's means.

use std::time::Duration;

use crate::client::address::RepoUrl;
use crate::client::conversation::{Context, Conversation, Outcome};
use crate::client::credentials::{Carried, Credentials};
use crate::client::policy::why_not_public;
use crate::client::progress::{Phase, Progress};
use crate::client::requests;
use crate::client::retry::{self, RetryOptions, Tries};
use crate::client::transport::{Request, Response, Transport};
use crate::error::{Error, ErrorKind};
use crate::limits::Reservation;
use crate::protocol::{Advertised, ProtocolError};
use crate::text::escape_for_people;

use super::noted::Noted;
use super::trace;

/// Redirects followed for the first request.
const MAX_REDIRECTS: usize = 5;

/// How a repository is reached.
#[derive(Debug)]
pub(super) struct Line<'l, 't, T> {
    pub(super) transport: &'t T,
    pub(super) repo: &'l RepoUrl,
    pub(super) credentials: &'l Credentials,
    /// A public host led here.
    pub(super) public_only: bool,
    pub(super) retry: &'l RetryOptions,
}

/// What [`discover`] found.
pub(super) struct Discovered {
    /// Where the repository is in the end.
    pub(super) repo: RepoUrl,
    /// A public host led there.
    pub(super) public_only: bool,
    pub(super) advertised: Advertised,
    /// What that occupies.
    pub(super) held: Reservation,
}

/// Where following redirects ended.
pub(super) struct Arrived<B> {
    /// Where the repository is in the end.
    pub(super) repo: RepoUrl,
    /// A public host led there.
    pub(super) public_only: bool,
    /// The redirects on the way: status and where to.
    pub(super) hops: Vec<(u16, RepoUrl)>,
    pub(super) response: Response<B>,
}

/// Asks the host what it is, following its redirects.
pub(super) async fn discover<T: Transport>(
    transport: &T,
    repo: RepoUrl,
    credentials: &Credentials,
    retry: &RetryOptions,
    context: &Context,
    conversation: Conversation,
) -> Result<Discovered, Error> {
    let (arrived, noted) = arrive(transport, repo, credentials, retry, context).await?;
    let Arrived { repo, public_only, response, .. } = arrived;
    let line = Line { transport, repo: &repo, credentials, public_only, retry };
    match line.receive(response, noted, conversation, context).await? {
        Outcome::Advertised(advertised, held) => {
            Ok(Discovered { repo, public_only, advertised: *advertised, held })
        }
        _ => Err(no_outcome()),
    }
}

/// Sends the first request, to wherever redirects lead.
pub(super) async fn arrive<'a, T: Transport>(
    transport: &'a T,
    mut repo: RepoUrl,
    credentials: &Credentials,
    retry: &RetryOptions,
    context: &'a Context,
) -> Result<(Arrived<T::Body>, Noted<'a, T>), Error> {
    let mut public_only = false;
    let mut hops = Vec::new();
    for _ in 0..=MAX_REDIRECTS {
        let line = Line { transport, repo: &repo, credentials, public_only, retry };
        let (response, noted) = line.send(requests::advertisement(&repo), context).await?;
        if let (status @ (301 | 302 | 303 | 307 | 308), Some(location)) =
            (response.status, response.header("location"))
        {
            // A host whose address is not known here may well be public.
            public_only |= response.peer.is_none_or(|peer| why_not_public(peer).is_none());
            noted.end(None);
            repo = repo.redirected(location)?;
            trace::redirect(&repo);
            hops.push((status, repo.clone()));
            continue;
        }
        return Ok((Arrived { repo, public_only, hops, response }, noted));
    }
    let why =
        format!("{repo} is the end of more than {MAX_REDIRECTS} redirects; check the address");
    Err(Error::new(ErrorKind::Transport, why))
}

impl<'t, T: Transport> Line<'_, 't, T> {
    /// One command of protocol v2.
    pub(super) async fn command(
        &self,
        body: Vec<u8>,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        self.ask(requests::command(self.repo, body), conversation, context).await
    }

    /// A fetch of protocol v0.
    pub(super) async fn fetch_v0(
        &self,
        body: Vec<u8>,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        self.ask(requests::fetch_v0(self.repo, body), conversation, context).await
    }

    /// The refs of a host of protocol v0, as they are now.
    pub(super) async fn list_v0(
        &self,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        self.ask(requests::listing_v0(self.repo), conversation, context).await
    }

    async fn ask(
        &self,
        request: Request,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        let (response, noted) = self.send(request, context).await?;
        self.receive(response, noted, conversation, context).await
    }

    /// Sends `request` with the credential for where it goes; after a 401 once more, if
    /// there is another one then.
    pub(super) async fn send<'a>(
        &self,
        request: Request,
        context: &'a Context,
    ) -> Result<(Response<T::Body>, Noted<'a, T>), Error>
    where
        't: 'a,
    {
        let carried = self.carried()?;
        let (response, noted) = self.send_with(request.clone(), &carried, context).await?;
        // Whoever is asked may take long.
        let renews = || self.credentials.renew(self.repo, &carried);
        if response.status != 401 || !self.transport.compute(renews) {
            return Ok((response, noted));
        }
        noted.end(None);
        drop(response);
        trace::renewal();
        let carried = self.carried()?;
        self.send_with(request, &carried, context).await
    }

    fn carried(&self) -> Result<Carried, Error> {
        let carried = || self.credentials.for_request(self.repo);
        if self.credentials.ask_first() { self.transport.compute(carried) } else { carried() }
    }

    async fn send_with<'a>(
        &self,
        mut request: Request,
        carried: &Carried,
        context: &'a Context,
    ) -> Result<(Response<T::Body>, Noted<'a, T>), Error>
    where
        't: 'a,
    {
        let header =
            carried.header().map(|(name, value)| (name.to_owned().into(), value.to_owned()));
        request.headers.extend(header);
        request.public_only = self.public_only;
        self.send_patiently(&request, context).await
    }

    /// Sends `request`, again where that is worth it.
    async fn send_patiently<'a>(
        &self,
        request: &Request,
        context: &'a Context,
    ) -> Result<(Response<T::Body>, Noted<'a, T>), Error>
    where
        't: 'a,
    {
        let mut tries = Tries::new(self.retry);
        loop {
            context.allowance.pay_request()?;
            let noted = Noted::begin(self.transport, context);
            match self.transport.send(request.clone()).await {
                Ok(response) => {
                    noted.answered(response.status);
                    let now = self.transport.now();
                    // The fastest digits of a clock that began at a moment of its own.
                    let jitter = now.subsec_nanos().wrapping_mul(0x9e37_79b9);
                    let wait = named_wait(&response);
                    match tries.after_status(response.status, wait, now, jitter) {
                        None => return Ok((response, noted)),
                        Some(wait) => {
                            noted.end(None);
                            trace::retry(response.status, wait);
                            // No connection waits along.
                            drop(response);
                            self.pause(wait, context).await;
                        }
                    }
                }
                Err(error) => {
                    noted.end(Some(error.code()));
                    if error.code() != "cut" || !tries.after_cut() {
                        return Err(error);
                    }
                    trace::retry_after_cut();
                }
            }
            context.journal.count_retry();
        }
    }

    async fn pause(&self, wait: Duration, context: &Context) {
        let phase = Phase::Pausing(wait);
        context.progress.report(Progress { phase, objects: 0, total_objects: None, bytes: 0 });
        self.transport.sleep(wait).await;
    }

    /// Reads a response: its body by `conversation` when the status is 200, else the error
    /// page.
    async fn receive(
        &self,
        response: Response<T::Body>,
        noted: Noted<'_, T>,
        conversation: Conversation,
        context: &Context,
    ) -> Result<Outcome, Error> {
        let (conversation, taken) = self.take(response, noted, conversation, context).await;
        taken?;
        conversation.into_outcome().ok_or_else(|| no_outcome().while_doing(self.repo))
    }

    /// The same for who wants to see what came before an error.
    pub(super) async fn take(
        &self,
        response: Response<T::Body>,
        noted: Noted<'_, T>,
        conversation: Conversation,
        context: &Context,
    ) -> (Conversation, Result<(), Error>) {
        let repo = self.repo;
        let status = response.status;
        let wait = named_wait(&response);
        let content_type = response.header("content-type").unwrap_or_default().to_owned();
        let conversation = if status == 200 { conversation } else { Conversation::text(context) };
        let (conversation, received) = self.transport.receive(response.body, conversation).await;
        let taken = if status == 200 {
            received
                .map_err(|error| not_gits_type(error, &content_type))
                .map_err(|error| what_to_do(error).while_doing(repo))
        } else {
            let page = conversation.error_page();
            let with_credentials = self.credentials.are_sent_to(repo);
            let error = requests::status_error(repo, status, page, wait, with_credentials);
            Err(if self.credentials.are_for(repo) { error } else { elsewhere(error, repo) })
        };
        noted.end(taken.as_ref().err().map(Error::code));
        (conversation, taken.map_err(|error| self.credentials.hide_in(error)))
    }
}

fn named_wait<B>(response: &Response<B>) -> Option<Duration> {
    retry::named_wait(response.header("retry-after"), response.header("date"))
}

/// Says where credentials have to be given for, when a redirect led away from there.
fn elsewhere(error: Error, repo: &RepoUrl) -> Error {
    if error.kind() != ErrorKind::Auth {
        return error;
    }
    let why = "no credentials follow a redirect to another host; open this address itself";
    Error::new(ErrorKind::Auth, format!("{}; {why}: {repo}", error.context()))
        .with_code("credentials_elsewhere")
}

/// Says of an answer that makes no sense what the host calls it, when that is not git's.
/// The bytes decide, not the type: one that is wrong over a right body does no harm.
fn not_gits_type(error: Error, content_type: &str) -> Error {
    if error.kind() != ErrorKind::Malformed || content_type.starts_with("application/x-git-") {
        return error;
    }
    if content_type.starts_with("text/html") {
        return ProtocolError::Html.into();
    }
    let shown: String = content_type.chars().take(100).collect();
    error.while_doing(format!("an answer of type '{}'", escape_for_people(shown.as_bytes())))
}

/// Says what to do about an answer that is none, or damaged.
fn what_to_do(error: Error) -> Error {
    let advice = match error.kind() {
        ErrorKind::Corrupt => "try again, or tell whoever runs the host",
        ErrorKind::Malformed => "check the address, or tell whoever runs the host",
        _ => return error,
    };
    let (kind, code) = (error.kind(), error.code());
    let context = format!("{}; {advice}", error.context());
    Error::new(kind, context).with_code(code).with_source(error)
}

pub(super) fn no_outcome() -> Error {
    Error::new(ErrorKind::Transport, "the response ended before it was complete; try again")
}
