//! git's smart HTTP: the advertisement, and requests for refs and packs.
//!
//! Follows git's `http-protocol`. The service's header is left out in version 2, as git's own
//! server leaves it out.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::body::Body;
use super::problem::Problem;
use super::repositories::Hosted;
use super::request_body::RequestBody;
use super::work::Job;
use crate::protocol::SERVICE_HEADER;
use crate::server::{Outlet as _, Talk, converse};

/// Why `service` is not served, unless it is.
pub(super) fn check_service(service: Option<&[u8]>) -> Result<(), Problem> {
    let words = match service {
        Some(b"git-upload-pack") => return Ok(()),
        Some(b"git-receive-pack") => return Err(no_pushes()),
        Some(_) => "the service is not known here: git-upload-pack is",
        None => "this server speaks git's smart protocol only: use git 1.6.6 or newer",
    };
    Err(Problem::new(StatusCode::FORBIDDEN, words))
}

pub(super) fn no_pushes() -> Problem {
    let words = "this server is for reading: pushes are not taken";
    Problem::new(StatusCode::FORBIDDEN, words)
}

/// The content type that a request to upload-pack must have: no page of a browser can send it
/// without asking first.
pub(super) fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    if given == Some(b"application/x-git-upload-pack-request") {
        return Ok(());
    }
    let words = "the content type must be application/x-git-upload-pack-request";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words))
}

/// The version that a client asks for.
pub(super) fn version(headers: &HeaderMap) -> u8 {
    let asked = headers.get("git-protocol").and_then(|value| value.to_str().ok());
    Talk::version_asked(asked.unwrap_or_default())
}

/// Tells what the server can do, and in the old versions all refs.
pub(super) fn advertise(hosted: Hosted, version: u8) -> Job {
    Box::new(move |reply, watch| {
        if version != 2 {
            reply.send(SERVICE_HEADER.to_vec())?;
        }
        let talk = Talk { version, stateless: false, advertise_only: true };
        converse(&hosted.served, talk, &mut std::io::empty(), reply, watch).ended
    })
}

/// Answers what `body` asks.
pub(super) fn upload_pack(
    hosted: Hosted,
    version: u8,
    body: RequestBody,
    max_inflated_bytes: u64,
) -> Job {
    Box::new(move |reply, watch| {
        let mut input = body.reader(max_inflated_bytes);
        let talk = Talk { version, stateless: true, advertise_only: false };
        let talked = converse(&hosted.served, talk, &mut input, reply, watch);
        reply.record.note().pack = talked.work;
        if let Some(problem) = input.problem.take() {
            reply.fail(problem);
        }
        talked.ended
    })
}

/// An answer of git's, which no cache may keep.
pub(super) fn response(body: Body, kind: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

pub(super) const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";
pub(super) const RESULT: &str = "application/x-git-upload-pack-result";
