//! Examining a host: sends what `client::doctor` wants to ask, one small question after the
//! other, each within its time. A question that fails does not end the others.

mod bedside;
mod hearing;

use std::time::Duration;

use crate::client::address::RepoUrl;
use crate::client::conversation::Outcome;
use crate::client::credentials::{Auth, AuthSource, Credentials};
use crate::client::doctor::{Finding, MAX_ANSWER_BYTES, headers};
use crate::client::journal::{Purpose, RequestKind};
use crate::client::retry::RetryOptions;
use crate::client::transport::{Response, Transport};
use crate::error::{Error, ErrorKind};
use crate::protocol::Advertised;
use crate::text::escape_for_people;

use self::bedside::Bedside;
use self::hearing::{Clock, Room};
use super::exchange::{Arrived, Line, arrive, no_outcome};
use super::results::{AuthDiagnosis, Diagnosis, DoctorFinding, Failure, Hop, Http, Offer};
use super::shared::CancelOnDrop;

/// The most requests that one examination sends, beside at most five redirects, one
/// repetition for each connection that was cut before an answer, and one for each request
/// whose credentials were renewed: what the host is, in three versions; once without
/// credentials; what a browser asks; refs; twelve probes; sizes.
pub const MAX_DOCTOR_REQUESTS: u64 = 19;

/// How a host is examined.
#[derive(Clone, Debug)]
pub struct DoctorOptions {
    /// The credential for the address's origin. One in the address itself is used when
    /// there is none here.
    pub auth: Option<Auth>,
    /// Who is asked for a credential when there is none, or the host refuses it.
    pub auth_source: AuthSource,
    /// For one question. 10 s: a host that takes longer to cut one commit out is slow
    /// enough to say so.
    pub max_question_time: Duration,
    /// For all of them; what was not asked by then is told as such. 60 s.
    pub max_time: Duration,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        Self {
            auth: None,
            auth_source: AuthSource::none(),
            max_question_time: Duration::from_secs(10),
            max_time: Duration::from_secs(60),
        }
    }
}

/// An examination, and what ended it early.
#[derive(Debug)]
pub struct Examined {
    /// What was found out.
    pub diagnosis: Diagnosis,
    /// The error that a read from this address would meet, if it is one.
    pub error: Option<Error>,
}

/// Examines the host of the repository at `address`: at most [`MAX_DOCTOR_REQUESTS`]
/// requests, each answer cut off after
/// [`MAX_ANSWER_BYTES`](crate::client::doctor::MAX_ANSWER_BYTES).
///
/// # Errors
///
/// Those of [`Remote::open`](super::Remote::open) that come before the host has answered
/// anything; what it answers is part of the examination.
pub async fn examine<T: Transport>(
    transport: &T,
    address: &str,
    options: DoctorOptions,
) -> Result<Examined, Error> {
    let (repo, auth_in_address) = RepoUrl::parse(address)?;
    let credentials =
        Credentials::new(options.auth.or(auth_in_address), options.auth_source, &repo);
    let nobody = Credentials::new(None, AuthSource::none(), &repo);
    let room = Room::new();
    let clock = Clock {
        transport,
        end: transport.now().saturating_add(options.max_time),
        max_question_time: options.max_question_time,
    };
    let retry = RetryOptions { max_tries: 1, ..RetryOptions::default() };
    let context = room.context(Purpose::of(RequestKind::Capabilities));
    // A conversation that nobody waits for any more stops.
    let _stop = CancelOnDrop(&context.cancel);
    let first = arrive(transport, repo.clone(), &credentials, &retry, &context);
    let arrived =
        clock.within(clock.left(), first).await.unwrap_or_else(|| Err(too_slow(&repo)))?;
    let (Arrived { repo: base, public_only, hops, response }, noted) = arrived;
    let line =
        |credentials| Line { transport, repo: &base, credentials, public_only, retry: &retry };

    let mut diagnosis = first_look(&repo, &base, &hops, &response, &credentials);
    let status = response.status;
    let conversation = room.advertisement(&context);
    let with_credentials = line(&credentials);
    let taken = with_credentials.take(response, noted, conversation, &context);
    let (said, error) = match clock.within(clock.left(), taken).await {
        None => (None, Some(too_slow(&repo))),
        Some((conversation, taken)) => (conversation.into_so_far(), taken.err()),
    };
    // A listing that is too long for this is still one.
    let error =
        error.filter(|error| status != 200 || error.kind() != ErrorKind::Limit || said.is_none());
    let mut bedside = Bedside {
        line: line(&credentials),
        anonymous: line(&nobody),
        clock: &clock,
        room: &room,
        old: None,
        silences: 0,
    };
    match (error, said) {
        (None, Some(Outcome::Advertised(advertised, held))) => {
            diagnosis.git = Some(offer(&advertised));
            bedside.examine(*advertised, held, &mut diagnosis).await?;
        }
        (error, _) => {
            let error = error.unwrap_or_else(no_outcome);
            diagnosis.failure = Some(Failure::from(&error));
            let cors = bedside.preflight().await;
            diagnosis.findings.push(finding(cors));
            room.count_into(&mut diagnosis);
            return Ok(Examined { diagnosis, error: Some(error) });
        }
    }
    room.count_into(&mut diagnosis);
    Ok(Examined { diagnosis, error: None })
}

/// What the head of the first answer shows.
fn first_look<B>(
    repo: &RepoUrl,
    base: &RepoUrl,
    hops: &[(u16, RepoUrl)],
    response: &Response<B>,
    credentials: &Credentials,
) -> Diagnosis {
    let given = credentials.are_sent_to(base);
    let accepted = match response.status {
        200 => Some(true),
        401 | 403 => Some(false),
        _ => None,
    };
    Diagnosis {
        schema: "gitsip.doctor/1",
        address: repo.to_string(),
        base: base.to_string(),
        redirects: hops
            .iter()
            .map(|(status, to)| Hop { status: *status, to: to.to_string() })
            .collect(),
        http: Http {
            status: response.status,
            version: response.http_version.map(str::to_owned),
            server: headers::told(&response.headers, "server"),
        },
        auth: AuthDiagnosis {
            wanted: (response.status == 401).then_some(true),
            schemes: headers::schemes(&response.headers),
            given,
            accepted: accepted.filter(|_| given),
        },
        git: None,
        findings: Vec::new(),
        failure: None,
        meaning: Vec::new(),
        requests: 0,
        bytes_received: 0,
        max_answer_bytes: MAX_ANSWER_BYTES,
    }
}

fn too_slow(repo: &RepoUrl) -> Error {
    let why = format!("{repo} did not answer in time: try again, or allow more");
    Error::new(ErrorKind::Transport, why).with_code("too_slow")
}

fn offer(advertised: &Advertised) -> Offer {
    let (version, capabilities) = match advertised {
        Advertised::Capabilities(capabilities) => (2, capabilities),
        Advertised::Listing(listing) => (listing.version, &listing.capabilities),
    };
    Offer {
        version,
        agent: capabilities
            .agent
            .as_ref()
            .map(|agent| escape_for_people(agent.get(..MAX_AGENT_BYTES).unwrap_or(agent))),
        object_format: capabilities.object_format.to_string(),
    }
}

fn finding(finding: Finding) -> DoctorFinding {
    DoctorFinding {
        name: finding.name.to_owned(),
        offered: finding.offered,
        verdict: finding.verdict.word().to_owned(),
        note: escape_for_people(finding.note.as_bytes()),
    }
}

/// Bytes of an agent that are shown.
const MAX_AGENT_BYTES: usize = 60;
