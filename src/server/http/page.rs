//! The page at `/`: repositories that the caller may read, a hundred at a time, with how to
//! clone them. Plain HTML without scripts or anything to load.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, HeaderValue, Response, header};

use super::body::Body;
use super::repositories::Open;
use crate::object::{CommitRef, Kind};
use crate::store::Objects as _;

/// What a page says of a repository.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) name: String,
    branches: usize,
    tags: usize,
    changed: Option<String>,
}

impl Line {
    /// Of `open`, of which what cannot be read is left out.
    pub(super) fn of(name: String, open: &Open) -> Self {
        let refs = open.served.refs(&[]).unwrap_or_default();
        let count = |base: &[u8]| refs.iter().filter(|item| item.name.starts_with(base)).count();
        let (branches, tags) = (count(b"refs/heads/"), count(b"refs/tags/"));
        let head = refs.iter().find(|item| item.name == "HEAD").and_then(|item| item.target);
        let changed = head.and_then(|id| {
            let object = open.repository.read(&id).ok()??;
            (object.kind == Kind::Commit).then_some(())?;
            let commit = CommitRef::parse(&object.bytes, open.repository.format()).ok()?;
            let seconds = commit.committer()?.time?.seconds;
            // Later years have five digits, which this form has no room for.
            (seconds < YEAR_10000).then_some(())?;
            Some(httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds)))
        });
        Self { name, branches, tags, changed }
    }
}

/// The page with `lines`; `next` is the name that the next page begins after.
pub(super) fn page(lines: &[Line], next: Option<&str>, headers: &HeaderMap) -> Response<Body> {
    let base = base(headers);
    let mut out = String::from(HEAD);
    for line in lines {
        let Line { name, branches, tags, changed } = line;
        let name = escaped(name);
        let changed = changed.as_deref().unwrap_or("-");
        // Writing to a string does not fail.
        _ = writeln!(
            out,
            "<tr><td>{name}<td>{branches}<td>{tags}<td>{changed}<td><code>git clone \
             {base}{name}</code>"
        );
    }
    out.push_str("</table>\n");
    if let Some(next) = next {
        let next = percent_encoding::utf8_percent_encode(next, percent_encoding::NON_ALPHANUMERIC);
        _ = writeln!(out, "<p><a href=\"/?after={next}\">more</a>");
    }
    let mut response = Response::new(Body::whole(out));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// How the caller reached this server, to write it into what can be copied.
fn base(headers: &HeaderMap) -> String {
    let of = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = of("host").unwrap_or("HOST");
    let scheme = if of("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    format!("{scheme}://{}/", escaped(host))
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

const HEAD: &str = "<!doctype html>
<meta charset=\"utf-8\">
<title>repositories</title>
<style>body{font:14px sans-serif;margin:2em}td,th{padding:.2em 1em .2em 0;text-align:left}</style>
<table>
<tr><th>repository<th>branches<th>tags<th>last change<th>clone
";
/// 9999-12-31.
const YEAR_10000: u64 = 253_402_214_400;
