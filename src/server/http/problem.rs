//! A request that is not answered: the status, and words for whoever sent it.

use std::time::Duration;

use http::{HeaderValue, Response, StatusCode, header};

use super::body::Body;
use super::record::Record;
use crate::error::{Error, ErrorKind};

/// Why there is no answer. The words never name a path of this machine.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) words: String,
    /// The words are an object of JSON.
    pub(super) is_json: bool,
    /// Credentials would help.
    pub(super) asks_who: bool,
    /// After what time it may be tried again.
    pub(super) retry_after: Option<Duration>,
    /// What happened, for the log.
    pub(super) error: Option<String>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { status, words, is_json: false, asks_who: false, retry_after: None, error: None }
    }

    /// What is not there, and what is none of the caller's business.
    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "there is no such repository or page here")
    }

    /// Somebody without credentials, or with wrong ones.
    pub(super) fn unknown_caller() -> Self {
        let words = "credentials are needed: a user with a password, or a token";
        Self { asks_who: true, ..Self::new(StatusCode::UNAUTHORIZED, words) }
    }

    /// Too much is going on.
    pub(super) fn overloaded() -> Self {
        let words = "the server is busy: try again in a while";
        let busy = Self::new(StatusCode::SERVICE_UNAVAILABLE, words);
        Self { retry_after: Some(RETRY_AFTER), ..busy }
    }

    pub(super) fn method(allowed: &str) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("only {allowed} is understood here"))
    }

    /// Something went wrong here, which only the log hears of.
    pub(super) fn internal(error: &Error) -> Self {
        let problem = match error.kind() {
            ErrorKind::Limit | ErrorKind::Cancelled => Self::overloaded(),
            _ => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the server cannot read the repository: tell its owner",
            ),
        };
        Self { error: Some(error.to_string()), ..problem }
    }

    /// What the client hears of it; the rest is for `record`.
    pub(super) fn answer(self, record: &Record) -> Response<Body> {
        let Self { status, words, is_json, asks_who, retry_after, error } = self;
        let why = error.unwrap_or_else(|| words.clone());
        if status != StatusCode::NOT_FOUND {
            record.note().error.get_or_insert(why);
        }
        let mut response = Response::new(Body::whole(words + "\n"));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let kind = if is_json { "application/json" } else { TEXT };
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if asks_who {
            let basic = HeaderValue::from_static("Basic realm=\"gitsip\", charset=\"UTF-8\"");
            headers.insert(header::WWW_AUTHENTICATE, basic);
        }
        if let Some(after) = retry_after {
            headers.insert(header::RETRY_AFTER, after.as_secs().into());
        }
        response
    }
}

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
/// What a client that comes too early waits.
const RETRY_AFTER: Duration = Duration::from_secs(5);
