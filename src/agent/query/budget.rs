//! What the answer to a question may cost.

use std::time::Duration;

/// What the answer to one question may cost; by default whatever it takes.
///
/// Where it is spent the answer ends with what was found until then,
/// [`truncated`](crate::agent::Answer::truncated) says of what there was not enough, and
/// [`next`](crate::agent::Answer::next) goes on there. What has come stays held, and costs
/// nothing when it is asked for again.
///
/// A search with a budget of requests, bytes or time leaves files that are hardly text for
/// the end: those whose names are of pictures, archives, programs, and of what programs
/// write. Their hits come behind those of all other files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct QueryBudget {
    /// HTTP requests sent, the one that resolves the ref included.
    pub max_requests: Option<u64>,
    /// Bytes of response bodies received. A transfer that would take more is ended there;
    /// files are asked for in batches that probably fit.
    pub max_bytes: Option<u64>,
    /// Milliseconds that the answer may take.
    #[cfg_attr(feature = "serde", serde(rename = "deadline_ms", deserialize_with = "from_millis"))]
    #[cfg_attr(feature = "schema", schemars(rename = "deadline_ms", with = "Option<u64>"))]
    pub deadline: Option<Duration>,
    /// Items of the answer, as `limit`; the smaller one counts.
    pub max_results: Option<u64>,
}

impl QueryBudget {
    /// Whether it may keep files from being fetched.
    pub(crate) fn is_tight(&self) -> bool {
        self.max_requests.is_some() || self.max_bytes.is_some() || self.deadline.is_some()
    }

    /// The most items of an answer that may have `limit`.
    pub(crate) fn items(&self, limit: Option<u64>) -> Option<u64> {
        limit.into_iter().chain(self.max_results).min()
    }
}

#[cfg(feature = "serde")]
fn from_millis<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let millis = <Option<u64> as serde::Deserialize>::deserialize(from)?;
    Ok(millis.map(Duration::from_millis))
}
