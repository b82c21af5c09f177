//! What a request is answered with.

use serde::Serialize;
use serde_json::{Value, json};

use super::request::{Id, METHODS};
use super::running::Running;
use super::writer;
use crate::agent::{Answer, AnswerStats, Query, RepoInfo};
use crate::cli::json::Take;
use crate::error::Error;
use crate::live::Held;

/// Asks `held`; the JSON of one page of the answer, or of what is left of it when its items
/// were said one by one.
///
/// # Errors
/// Those of [`Repo::ask`](crate::agent::Repo::ask).
pub(super) async fn ask(
    held: &Held,
    query: &Query,
    running: &Running,
    is_stream: bool,
) -> Result<String, Error> {
    if !is_stream {
        return Ok(writer::json(&held.ask(query, &running.stop).await?));
    }
    let take: &mut Take<'_> = &mut |item| Ok(running.item(&item));
    let streamed = Box::pin(held.repo().stream(query, &running.stop, take)).await;
    Ok(writer::json(&streamed?))
}

/// Repositories and what they hold.
pub(super) fn repos(items: impl IntoIterator<Item = RepoInfo>) -> String {
    of("gitsip.repos/1", items)
}

/// The request that was cancelled, if one was.
pub(super) fn cancelled(id: Option<&Id>) -> String {
    let value = |id: &Id| serde_json::from_str::<Value>(id.json()).unwrap_or_default();
    of("gitsip.cancel/1", id.map(|id| json!({"id": value(id)})))
}

/// What this program is and what it can be asked.
pub(super) fn version() -> String {
    let version = json!({"version": env!("CARGO_PKG_VERSION"), "methods": METHODS});
    of("gitsip.version/1", [version])
}

/// The JSON Schema of questions, answers and errors.
pub(super) fn schema() -> String {
    // A test reads it.
    of("gitsip.schema/1", serde_json::from_str::<Value>(SCHEMA))
}

/// An answer in the form of all answers, about no commit.
fn of<T: Serialize>(schema: &'static str, items: impl IntoIterator<Item = T>) -> String {
    let items = items.into_iter().collect();
    writer::json(&Answer {
        schema,
        commit: None,
        ref_name: None,
        items,
        truncated: None,
        next: None,
        stats: AnswerStats::default(),
    })
}

const SCHEMA: &str = include_str!("../../../schema/gitsip.json");
