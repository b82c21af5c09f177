//! Pages of other origins: what a browser asks before it lets one speak git, and what lets it
//! read the answers.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::body::Body;

/// The value of `Access-Control-Allow-Origin` for who sent `headers`, if it is allowed.
fn allowed(origins: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    if origins.iter().any(|allowed| allowed == "*") {
        return Some(HeaderValue::from_static("*"));
    }
    let is_allowed = origins.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes());
    is_allowed.then(|| origin.clone())
}

/// Lets pages of `origins` read `response`.
pub(super) fn allow(origins: &[String], headers: &HeaderMap, response: &mut Response<Body>) {
    if origins.is_empty() {
        return;
    }
    let answer = response.headers_mut();
    answer.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = allowed(origins, headers) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = HeaderValue::from_static("ETag, Retry-After, WWW-Authenticate");
        answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// The answer to who asks whether it may ask. Nobody's rights are looked at: browsers send no
/// credentials here.
pub(super) fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::whole(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, "86400"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What git's clients in browsers send.
const ALLOWED_HEADERS: &str = "Accept, Authorization, Authorization-For, Content-Encoding, \
                               Content-Type, Git-Protocol, If-None-Match, Pragma, User-Agent, \
                               X-Requested-With";
