//! What those read who have no git: a file as it is, a folder or a search as JSON.
//!
//! The answers are those of [`agent`](crate::agent), word for word. A ref is looked for among
//! those that are shown, and an id only counts if they reach it, as for git's clients.

use bstr::BString;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use percent_encoding::percent_decode_str;
use tokio::runtime::Handle;

use super::body::Body;
use super::options::HostingOptions;
use super::problem::Problem;
use super::record::Kind;
use super::repositories::Open;
use super::route::{query_value, query_values};
use super::source;
use crate::agent::{Failure, GrepQuery, LsQuery, Query, ReadAnswer, ReadOptions, Stop};
use crate::client::pasted::{RefKind, Rest, split_ref_and_path};
use crate::error::{Error, ErrorKind};
use crate::limits::Budget;
use crate::oid::ObjectId;
use crate::server::Refusal;

/// What is read of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Grep,
    Ls,
    Raw,
}

impl What {
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::Grep, Self::Ls, Self::Raw].into_iter().find(|what| what.kind().code() == name)
    }

    pub(super) const fn kind(self) -> Kind {
        match self {
            Self::Grep => Kind::Grep,
            Self::Ls => Kind::Ls,
            Self::Raw => Kind::Raw,
        }
    }
}

/// A question, as its address and headers say it.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) what: What,
    /// Ref and path, percent-encoded.
    pub(super) rest: String,
    pub(super) query: Option<String>,
    /// The caller holds what has one of these tags.
    pub(super) held: Vec<HeaderValue>,
}

impl Question {
    pub(super) fn new(what: What, rest: String, query: Option<&str>, headers: &HeaderMap) -> Self {
        let held = headers.get_all(header::IF_NONE_MATCH).into_iter().cloned().collect();
        Self { what, rest, query: query.map(str::to_owned), held }
    }

    /// Asks `open`, which clients know as `name`.
    pub(super) fn answer(
        &self,
        open: &Open,
        name: &str,
        options: &HostingOptions,
        budget: &Budget,
        stop: &Stop,
        runtime: &Handle,
    ) -> Result<Response<Body>, Problem> {
        let place = self.place(open, stop)?;
        // An answer in JSON tells of its own cost, so that only what it is about is the same.
        let weak = format!("W/\"{}\"", place.commit);
        if self.what != What::Raw && self.is_held(&weak) {
            return Ok(not_modified(&weak));
        }
        let repo = source::of(&open.repository, options, budget);
        let answered = runtime.block_on(async {
            if self.what == What::Raw {
                let snapshot = repo.snapshot(place.commit.to_string()).await?.stopped_by(stop);
                return match snapshot.read_path(&place.path, ReadOptions::default()).await? {
                    ReadAnswer::File(file) => Ok(self.raw(file.id, file.bytes)),
                    ReadAnswer::Submodule(_) => {
                        let why = "this is a submodule: its files are in another repository";
                        Err(Error::new(ErrorKind::NotFound, why))
                    }
                };
            }
            let answer = repo.ask(&self.query(&place, options), stop).await?;
            let json = serde_json::to_vec(&answer).map_err(|error| {
                Error::new(ErrorKind::Io, format!("an answer cannot be written: {error}"))
            })?;
            Ok(response(json, "application/json", &weak))
        });
        answered.map_err(|error| self.problem(&error, open, name))
    }

    /// Which commit and path the address means.
    fn place(&self, open: &Open, stop: &Stop) -> Result<Place, Problem> {
        let query = self.query.as_deref();
        let text = match self.what {
            What::Grep => query_value(query, "ref").unwrap_or_default(),
            What::Ls | What::Raw => percent_decode_str(&self.rest).collect::<Vec<u8>>().into(),
        };
        let refs = open.served.refs(&[]).map_err(|refusal| told(&refusal))?;
        let rest = Rest::new(RefKind::Any, text);
        let (at, path) = match &rest {
            Some(rest) => split_ref_and_path(rest, &refs),
            None => (BString::from("HEAD"), BString::default()),
        };
        let names = ["", "refs/", "refs/tags/", "refs/heads/"];
        let named = names.iter().find_map(|base| {
            let full = bstr::concat([base.as_bytes(), &at]);
            refs.iter().find(|item| item.name == full)
        });
        let unknown = || {
            let shown = crate::text::escape_for_people(&at);
            Problem::new(StatusCode::NOT_FOUND, format!("there is no ref '{shown}' here"))
        };
        let commit = match named {
            Some(item) => item.peeled.or(item.target).ok_or_else(unknown)?,
            None => {
                let id = ObjectId::from_hex(&at).map_err(|_| unknown())?;
                let checked = open.served.check_wants(&[id], &refs, stop);
                checked.map_err(|refusal| told(&refusal))?;
                id
            }
        };
        Ok(Place { commit, path })
    }

    fn query(&self, place: &Place, options: &HostingOptions) -> Query {
        let query = self.query.as_deref();
        let is_set = |name| query_value(query, name).is_some_and(|value| value != "0");
        let text = |name| query_value(query, name).map(|value| value.to_string());
        let at = place.commit.to_string();
        let limit = text("limit").and_then(|limit| limit.parse().ok());
        let cursor = text("cursor");
        if self.what == What::Ls {
            let (path, recursive) = (place.path.clone(), is_set("recursive"));
            return Query::Ls(LsQuery { at, path, recursive, cursor, limit, ..Default::default() });
        }
        let texts = |name| query_values(query, name).map(|value| value.to_string()).collect();
        let mut grep = GrepQuery {
            at,
            patterns: query_values(query, "q").collect(),
            fixed_strings: is_set("fixed"),
            ignore_case: is_set("ignore_case"),
            word: is_set("word"),
            globs: texts("glob"),
            types: texts("type"),
            paths: query_values(query, "path").collect(),
            cursor,
            limit,
            ..GrepQuery::default()
        };
        grep.budget.deadline = Some(options.max_search);
        Query::Grep(Box::new(grep))
    }

    fn raw(&self, id: ObjectId, bytes: bytes::Bytes) -> Response<Body> {
        let tag = format!("\"{id}\"");
        if self.is_held(&tag) {
            return not_modified(&tag);
        }
        let is_text = !bytes.contains(&0) && std::str::from_utf8(&bytes).is_ok();
        let kind = if is_text { "text/plain; charset=utf-8" } else { "application/octet-stream" };
        response(bytes, kind, &tag)
    }

    fn is_held(&self, tag: &str) -> bool {
        let lists = self.held.iter().filter_map(|value| value.to_str().ok());
        let mut held = lists.flat_map(|list| list.split(',')).map(str::trim);
        held.any(|one| one == "*" || one.trim_start_matches("W/") == tag.trim_start_matches("W/"))
    }

    /// What the caller hears of `error`: nothing about where the repository is.
    fn problem(&self, error: &Error, open: &Open, name: &str) -> Problem {
        let status = match error.kind() {
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Usage | ErrorKind::Malformed => StatusCode::BAD_REQUEST,
            ErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
            ErrorKind::Limit if error.limit().is_none() => StatusCode::PAYLOAD_TOO_LARGE,
            _ => return Problem::internal(error),
        };
        let folder = open.repository.git_dir().display().to_string();
        let mut failure = Failure::from(error);
        failure.message = failure.message.replace(&folder, name);
        let words = match self.what {
            What::Raw => failure.message,
            What::Grep | What::Ls => serde_json::to_string(&failure).unwrap_or(failure.message),
        };
        Problem { is_json: self.what != What::Raw, ..Problem::new(status, words) }
    }
}

/// A commit, and a path in it.
#[derive(Debug)]
struct Place {
    commit: ObjectId,
    path: BString,
}

/// What a client of git's protocol would hear, as a status.
fn told(refusal: &Refusal) -> Problem {
    match refusal.error().kind() {
        ErrorKind::NotFound => Problem::new(StatusCode::NOT_FOUND, refusal.words()),
        _ => Problem::internal(refusal.error()),
    }
}

fn response(bytes: impl Into<bytes::Bytes>, kind: &'static str, tag: &str) -> Response<Body> {
    let mut response = Response::new(Body::whole(bytes));
    tagged(&mut response, tag);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    no_page(headers);
    response
}

/// What a stranger wrote is no page of this server's.
pub(super) fn no_page(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let no_page = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, no_page);
}

fn not_modified(tag: &str) -> Response<Body> {
    let mut response = Response::new(Body::whole(""));
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    tagged(&mut response, tag);
    response
}

fn tagged(response: &mut Response<Body>, tag: &str) {
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}
