//! What is traced: the only file below the faces that names `tracing`. The names, levels
//! and fields are listed in the documentation of [`agent`](super), and are stable.
//!
//! Numbers, kinds, ids and the address of the repository are traced; credentials, headers
//! and bodies never are.

use std::time::Duration;

use tracing::field::Empty;
use tracing::{Level, Span, event, span};

use crate::client::address::RepoUrl;
use crate::client::conversation::Fetched;
use crate::client::journal::{Exchange, Purpose};
use crate::client::ladder::Fallback;
use crate::error::Error;

use super::results::{Envelope, Truncated};

/// The target of every span and event.
const TARGET: &str = "gitsip";

pub(super) fn open(repo: &RepoUrl) -> Span {
    span!(target: TARGET, Level::INFO, "gitsip.open", %repo)
}

pub(super) fn refs(prefixes: usize) -> Span {
    span!(target: TARGET, Level::INFO, "gitsip.refs", prefixes)
}

pub(super) fn fetch(purpose: &Purpose) -> Span {
    let Purpose { kind, objects, .. } = *purpose;
    span!(target: TARGET, Level::INFO, "gitsip.fetch", kind = kind.code(), objects)
}

/// A whole question of the kind `method` to the repository `name`.
pub(super) fn question(method: &str, name: impl FnOnce() -> String) -> Span {
    span!(
        target: TARGET, Level::INFO, "gitsip.question",
        method, repo = name(), items = Empty, requests = Empty, bytes = Empty,
        truncated = Empty, error = Empty
    )
}

/// What a question came to, in its span.
pub(super) fn answered(span: &Span, items: u64, answer: &Result<Envelope, Error>) {
    span.record("items", items);
    match answer {
        Ok(Envelope { truncated, stats, .. }) => {
            span.record("requests", stats.requests).record("bytes", stats.bytes_received);
            span.record("truncated", truncated.map(Truncated::code));
        }
        Err(error) => {
            span.record("error", error.code());
        }
    }
}

pub(super) fn sending(purpose: &Purpose) {
    let Purpose { kind, objects, .. } = *purpose;
    let kind = kind.code();
    event!(
        name: "gitsip.sending", target: TARGET, Level::DEBUG,
        kind, objects, "asking for {purpose}"
    );
}

pub(super) fn request(exchange: &Exchange) {
    let Exchange { purpose, status, bytes, took, error, .. } = exchange;
    let (kind, objects, ms) = (purpose.kind.code(), purpose.objects, millis(*took));
    event!(
        name: "gitsip.request", target: TARGET, Level::INFO,
        kind, objects, status, bytes, ms, error, "{exchange}"
    );
}

pub(super) fn retry(status: u16, wait: Duration) {
    event!(
        name: "gitsip.retry", target: TARGET, Level::INFO, status, wait_ms = millis(wait),
        "the host asks for patience: the request is sent again in {}",
        crate::text::amounts::Time(wait)
    );
}

pub(super) fn retry_after_cut() {
    event!(
        name: "gitsip.retry", target: TARGET, Level::INFO, wait_ms = 0_u64,
        "the connection ended before an answer came: the request is sent again"
    );
}

pub(super) fn renewal() {
    event!(
        name: "gitsip.renewal", target: TARGET, Level::INFO,
        "the host wants other credentials: there are some, and the request is sent again"
    );
}

pub(super) fn redirect(to: &RepoUrl) {
    event!(name: "gitsip.redirect", target: TARGET, Level::INFO, %to, "the host leads to {to}");
}

/// What is announced to listeners of progress is a warning.
pub(super) fn fallback(fallback: Fallback) {
    if fallback.enlarges() {
        event!(name: "gitsip.fallback", target: TARGET, Level::WARN, "{fallback}");
    } else {
        event!(name: "gitsip.fallback", target: TARGET, Level::INFO, "{fallback}");
    }
}

pub(super) fn wanted(mine: usize, others: usize) {
    event!(
        name: "gitsip.wanted", target: TARGET, Level::DEBUG, mine, others,
        "{mine} objects are not held, and {others} are under way for other calls"
    );
}

pub(super) fn received(fetched: &Fetched) {
    let (objects, new_objects) = (fetched.stats.objects, fetched.committed.new_objects);
    let deltas = fetched.stats.deltas_on_arrival.saturating_add(fetched.stats.deltas_deferred);
    event!(
        name: "gitsip.received", target: TARGET, Level::DEBUG, objects, new_objects, deltas,
        "{objects} objects came, {new_objects} of them new, {deltas} as deltas"
    );
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
