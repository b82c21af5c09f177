//! Questions about paths, which need no content.

use bstr::BString;

use super::{DEFAULT_REF, QueryBudget};

/// The entries of a folder, or all files below it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LsQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// The folder, from the root; the root when it is not said. Of a file, that file.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_text")
    )]
    #[cfg_attr(feature = "schema", schemars(with = "crate::agent::results::text::TextOrString"))]
    pub path: BString,
    /// All files, links and submodules below, at any depth, in place of the entries.
    pub recursive: bool,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most entries on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
    /// What the page may cost.
    pub budget: QueryBudget,
}

/// An outline of a folder: what is in it down to some depth, and how much is below each
/// folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// The folder, from the root; the root when it is not said.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_text")
    )]
    #[cfg_attr(feature = "schema", schemars(with = "crate::agent::results::text::TextOrString"))]
    pub path: BString,
    /// Levels that are shown, from 1; 3 when it is not said.
    pub depth: u32,
    /// Show folders only.
    pub folders_only: bool,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most entries on a page; 1,000 when it is not said.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
    /// What the page may cost.
    pub budget: QueryBudget,
}

/// What is at paths, without their content. Links are not followed in the last place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// From the root; at most 10,000.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_texts")
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<crate::agent::results::text::TextOrString>")
    )]
    pub paths: Vec<BString>,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most entries on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
    /// What the page may cost.
    pub budget: QueryBudget,
}

/// Files, links and submodules by their paths, in git's order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GlobQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// Such as `*.rs`, `src/**/*.c`, `docs/`; `!` excludes, and the last one that matches
    /// decides. At most 1,000; may be left out where there are `types`.
    pub patterns: Vec<String>,
    /// Only files of these types, as ripgrep knows them by their names: `rust`, `py`, `make`;
    /// `!rust` leaves out, and a later one wins. At most 1,000.
    pub types: Vec<String>,
    /// Only what is below this folder.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_text")
    )]
    #[cfg_attr(feature = "schema", schemars(with = "crate::agent::results::text::TextOrString"))]
    pub path: BString,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most paths on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
    /// What the page may cost.
    pub budget: QueryBudget,
}

/// Levels of an outline: enough to see what a repository is made of.
const DEFAULT_DEPTH: u32 = 3;

/// Entries of an outline.
const DEFAULT_TREE_LIMIT: u64 = 1_000;

impl Default for LsQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            path: BString::default(),
            recursive: false,
            cursor: None,
            limit: None,
            max_bytes: None,
            budget: QueryBudget::default(),
        }
    }
}

impl Default for TreeQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            path: BString::default(),
            depth: DEFAULT_DEPTH,
            folders_only: false,
            cursor: None,
            limit: Some(DEFAULT_TREE_LIMIT),
            max_bytes: None,
            budget: QueryBudget::default(),
        }
    }
}

impl Default for StatQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            paths: Vec::new(),
            cursor: None,
            limit: None,
            max_bytes: None,
            budget: QueryBudget::default(),
        }
    }
}

impl Default for GlobQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            patterns: Vec::new(),
            types: Vec::new(),
            path: BString::default(),
            cursor: None,
            limit: None,
            max_bytes: None,
            budget: QueryBudget::default(),
        }
    }
}
