//! The one form of every answer: what it is about, its items, and where it goes on.

use bstr::BString;

use crate::error::Error;
use crate::oid::ObjectId;

use super::Stats;

/// One page of an answer.
///
/// In JSON every face writes exactly this. Fields may be added in a minor version; what is
/// here keeps its name and meaning until `schema` has another number.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnswerOf{T}"))]
pub struct Answer<T> {
    /// What the items are and which version of the format this is, such as
    /// `gitsip.grep/1`.
    pub schema: &'static str,
    /// The commit that all items are about; `null` for refs.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_optional_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub commit: Option<ObjectId>,
    /// The full name of the ref it was found by; `null` for an id.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "ref", serialize_with = "super::text::as_optional_text")
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::text::Text>"))]
    pub ref_name: Option<BString>,
    /// What was found, in order.
    pub items: Vec<T>,
    /// Why this is not all there is; `null` when it is.
    pub truncated: Option<Truncated>,
    /// The cursor of the next page. There may be nothing on it.
    pub next: Option<String>,
    /// What this page cost.
    pub stats: AnswerStats,
}

/// An answer without its items, for those who were given them one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// As in [`Answer`].
    pub schema: &'static str,
    /// As in [`Answer`].
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_optional_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub commit: Option<ObjectId>,
    /// As in [`Answer`].
    #[cfg_attr(
        feature = "serde",
        serde(rename = "ref", serialize_with = "super::text::as_optional_text")
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::text::Text>"))]
    pub ref_name: Option<BString>,
    /// As in [`Answer`].
    pub truncated: Option<Truncated>,
    /// As in [`Answer`].
    pub next: Option<String>,
    /// As in [`Answer`].
    pub stats: AnswerStats,
}

impl Envelope {
    /// The answer with these items.
    pub fn with<T>(self, items: Vec<T>) -> Answer<T> {
        let Self { schema, commit, ref_name, truncated, next, stats } = self;
        Answer { schema, commit, ref_name, items, truncated, next, stats }
    }
}

/// Why an answer is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Truncated {
    /// The memory budget, or a cap on the work of one question, was reached.
    Budget,
    /// The page has as many bytes as it may.
    Bytes,
    /// A folder is damaged; what follows behind it is on the next page.
    Damaged,
    /// The caller's time was up.
    Deadline,
    /// The page has as many items as it may.
    Limit,
    /// As many requests were sent as may be.
    Requests,
    /// All pages together have as many items as they may, and there are more.
    Total,
    /// As many bytes were received as may be.
    Transfer,
}

impl Truncated {
    /// The word that JSON has for it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Bytes => "bytes",
            Self::Damaged => "damaged",
            Self::Deadline => "deadline",
            Self::Limit => "limit",
            Self::Requests => "requests",
            Self::Total => "total",
            Self::Transfer => "transfer",
        }
    }

    /// What `error` says was spent, if it says so.
    pub(in crate::agent) fn of_spent(error: &Error) -> Option<Self> {
        match error.code() {
            "bytes_spent" => Some(Self::Transfer),
            "requests_spent" => Some(Self::Requests),
            _ => None,
        }
    }
}

/// What one page cost. What other questions to the same repository cost meanwhile is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerStats {
    /// HTTP requests sent.
    pub requests: u64,
    /// Bytes of response bodies received.
    pub bytes_received: u64,
    /// Milliseconds it took.
    pub elapsed_ms: u64,
    /// What the host of this repository lacks that would have cost less, in words.
    pub fallbacks: Vec<String>,
    /// What the caller should know of how the question was understood.
    pub warnings: Vec<String>,
    /// What was searched for this page; `null` for what is no search.
    pub search: Option<SearchStats>,
}

/// How much was searched for one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchStats {
    /// Files searched.
    pub files_searched: u64,
    /// Files with a hit.
    pub files_matched: u64,
    /// Binary files passed over.
    pub binary_files_skipped: u64,
    /// Bytes of the files searched.
    pub bytes_searched: u64,
    /// What was left out because a budget was spent.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub unsearched: Option<Unsearched>,
}

/// What a search left out because its budget was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unsearched {
    /// Files that were to be searched and were not, or not to their end; `null` where that
    /// is not known: folders are missing, or there are more than 200,000.
    pub files: Option<u64>,
    /// Bytes of those of them whose size is known: they are held, or a `plan` was told.
    pub bytes_known: u64,
    /// How many of them have no known size.
    pub files_of_unknown_size: u64,
}

impl AnswerStats {
    pub(in crate::agent) fn between(before: &Stats, after: Stats) -> Self {
        Self {
            requests: after.requests.saturating_sub(before.requests),
            bytes_received: after.bytes_received.saturating_sub(before.bytes_received),
            elapsed_ms: after.elapsed_ms.saturating_sub(before.elapsed_ms),
            fallbacks: after.fallbacks,
            warnings: Vec::new(),
            search: None,
        }
    }
}
