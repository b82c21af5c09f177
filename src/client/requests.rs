//! The HTTP requests of git's protocol, and what a status that is not 200 means.

use std::time::Duration;

use bytes::Bytes;

use super::address::RepoUrl;
use super::retry;
use super::transport::{Method, Request};
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// Begins with `git/`: hosts answer 404 to addresses without `.git` otherwise.
pub const USER_AGENT: &str = concat!("git/gitsip-", env!("CARGO_PKG_VERSION"));

/// The `agent` capability sent with each command.
pub const AGENT: &str = USER_AGENT;

/// The request for a repository's advertisement.
pub fn advertisement(repo: &RepoUrl) -> Request {
    advertisement_in(repo, 2)
}

/// The request for a repository's advertisement in `version` of the protocol, if the host
/// speaks it.
pub fn advertisement_in(repo: &RepoUrl, version: u8) -> Request {
    let mut request = listing_v0(repo);
    request.headers.push(("git-protocol".into(), format!("version={version}")));
    request
}

/// What a browser asks before a page of `origin` may send a command with these `headers`.
pub fn preflight(repo: &RepoUrl, origin: &str, headers: &[&str]) -> Request {
    let mut request = request(Method::Options, repo.upload_pack(), Bytes::new());
    let lines = [
        ("origin", origin.to_owned()),
        ("access-control-request-method", "POST".to_owned()),
        ("access-control-request-headers", headers.join(",")),
    ];
    request.headers.extend(lines.map(|(name, value)| (name.into(), value)));
    request
}

/// The request for all refs of a host that is known to speak protocol v0.
pub fn listing_v0(repo: &RepoUrl) -> Request {
    request(Method::Get, repo.info_refs(), Bytes::new())
}

/// A command of protocol v2.
pub fn command(repo: &RepoUrl, body: Vec<u8>) -> Request {
    let mut request = fetch_v0(repo, body);
    request.headers.push(("git-protocol".into(), "version=2".to_owned()));
    request
}

/// A fetch of protocol v0, which is a request that does not speak of versions.
pub fn fetch_v0(repo: &RepoUrl, body: Vec<u8>) -> Request {
    let mut request = request(Method::Post, repo.upload_pack(), Bytes::from(body));
    let types = [
        ("content-type", "application/x-git-upload-pack-request"),
        ("accept", "application/x-git-upload-pack-result"),
    ];
    request.headers.extend(types.map(|(name, value)| (name.into(), value.to_owned())));
    request
}

fn request(method: Method, url: String, body: Bytes) -> Request {
    let headers = vec![("user-agent".into(), USER_AGENT.to_owned())];
    Request { method, url, headers, body, public_only: false }
}

/// The error that `status` stands for, with the host's own words from `page` and, when it
/// asks for patience, for how long.
pub fn status_error(
    repo: &RepoUrl,
    status: u16,
    page: &[u8],
    wait: Option<Duration>,
    with_credentials: bool,
) -> Error {
    let (kind, what) = match (status, with_credentials) {
        (401, false) => (ErrorKind::Auth, "the repository is private or missing; give credentials"),
        (401, true) => (ErrorKind::Auth, "the credentials were not accepted; give other ones"),
        (403, false) => (
            ErrorKind::Auth,
            "it is not shown without credentials, or not to programs; give credentials",
        ),
        (403, true) => (ErrorKind::Auth, "these credentials may not read it; give other ones"),
        (404, _) => (
            ErrorKind::NotFound,
            "no such repository, or a private one; check the address or give credentials",
        ),
        (429, _) => (ErrorKind::RateLimited, "the host asks for patience; try again later"),
        (503, _) if wait.is_some() => {
            (ErrorKind::RateLimited, "the host asks for patience; try again later")
        }
        (500.., _) => (ErrorKind::Transport, "the host failed; try again later"),
        _ => (ErrorKind::Transport, "that is no answer of a git host; check the address"),
    };
    let words = first_line(page);
    let quoted = if words.is_empty() { String::new() } else { format!(" ('{words}')") };
    let wait = match wait {
        Some(wait) if retry::asks_for_patience(status) => {
            format!(" (in {} seconds)", wait.as_secs())
        }
        _ => String::new(),
    };
    let code = match (status, with_credentials) {
        (400, _) => "bad_request",
        (401, false) => "credentials_wanted",
        (401, true) => "credentials_refused",
        (403, _) => "forbidden",
        (404, _) => "no_repository",
        (500, _) => "host_failed",
        _ => kind.code(),
    };
    Error::new(kind, format!("{repo} answered {status}{quoted}: {what}{wait}")).with_code(code)
}

/// The first line of a plain error page; nothing of an HTML one.
fn first_line(page: &[u8]) -> String {
    let line = page.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    if line.starts_with(b"<") {
        return String::new();
    }
    escape_for_people(&line[..line.len().min(200)])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_own_words_are_quoted_escaped_and_short() {
        let (repo, _) = RepoUrl::parse("https://h/r").unwrap();
        let error = status_error(&repo, 403, b"go \x1b[31maway\nmore", None, false).to_string();
        assert!(error.contains("go ") && !error.contains('\x1b'), "{error}");
        assert!(!error.contains("more"));
        let html = status_error(&repo, 404, b"<html>nope", None, false).to_string();
        assert!(!html.contains("html"), "{html}");
        let busy = status_error(&repo, 429, b"", Some(Duration::from_secs(17)), false).to_string();
        assert!(busy.ends_with("try again later (in 17 seconds)"), "{busy}");
        let down = status_error(&repo, 503, b"", None, false);
        assert_eq!(down.kind(), ErrorKind::Transport);
        assert!(down.to_string().ends_with("try again later"), "{down}");
        let busy = status_error(&repo, 503, b"", Some(Duration::from_secs(90)), false);
        assert_eq!(busy.kind(), ErrorKind::RateLimited);
        assert!(busy.to_string().ends_with("try again later (in 90 seconds)"), "{busy}");
    }

    #[test]
    fn a_401_without_credentials_asks_for_them() {
        let (repo, _) = RepoUrl::parse("https://h/r").unwrap();
        let asked = status_error(&repo, 401, b"", None, false);
        assert_eq!(asked.kind(), ErrorKind::Auth);
        assert!(asked.to_string().contains("give credentials"));
        assert!(status_error(&repo, 401, b"", None, true).to_string().contains("not accepted"));
    }
}
