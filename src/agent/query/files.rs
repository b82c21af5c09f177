//! Questions for the content of files.

use bstr::BString;

use crate::view::lines::LineRange;

use super::{DEFAULT_REF, QueryBudget};

/// The content of files, whole or some lines of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// From the root; at most 10,000, which are fetched together.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_texts")
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<crate::agent::results::text::TextOrString>")
    )]
    pub paths: Vec<BString>,
    /// Lines of each file, counted from 1: `A:B`, `A:`, `:B` or `A`.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_lines")
    )]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub lines: Option<LineRange>,
    /// Read the target of a link itself, in place of what it leads to.
    pub no_follow: bool,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most lines on a page, of all files together.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said. A file that
    /// does not fit goes on where it was on the next page.
    pub max_bytes: Option<u64>,
    /// What the page may cost; its `max_results` are files.
    pub budget: QueryBudget,
    /// Bytes of the page that each line takes beside its text, for faces that put something
    /// beside it. Not part of the JSON.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub bytes_per_line: u64,
}

/// Fetches files ahead of being asked about, so that later questions cost no request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PrefetchQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// Only files whose path matches; `!GLOB` leaves out. At most 1,000.
    pub globs: Vec<String>,
    /// Only these files and what is below these folders; at most 10,000.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_texts")
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<crate::agent::results::text::TextOrString>")
    )]
    pub paths: Vec<BString>,
    /// Files above so many bytes are left for when something needs them; 1 MiB when it is
    /// not said.
    pub max_blob_bytes: Option<u64>,
}

/// As for `PrefetchOptions`.
const DEFAULT_MAX_BLOB_BYTES: u64 = 1 << 20;

impl Default for ReadQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            paths: Vec::new(),
            lines: None,
            no_follow: false,
            cursor: None,
            limit: None,
            max_bytes: None,
            budget: QueryBudget::default(),
            bytes_per_line: 0,
        }
    }
}

impl Default for PrefetchQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            globs: Vec::new(),
            paths: Vec::new(),
            max_blob_bytes: Some(DEFAULT_MAX_BLOB_BYTES),
        }
    }
}
