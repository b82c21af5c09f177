//! The question which lines match.

use bstr::BString;

use super::{DEFAULT_REF, QueryBudget};

/// Lines that match, in path order. Binary files are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrepQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// Regular expressions of Rust's regex crate, any of which matches; 1 to 1,000.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_texts")
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<crate::agent::results::text::TextOrString>")
    )]
    pub patterns: Vec<BString>,
    /// Patterns are plain text.
    pub fixed_strings: bool,
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// The same for patterns without an upper-case letter.
    pub smart_case: bool,
    /// Only whole words.
    pub word: bool,
    /// The lines that do not match.
    pub invert: bool,
    /// A match may hold line ends. Each line that it touches is a hit.
    pub multiline: bool,
    /// Search binary files as if they were text.
    pub binary: bool,
    /// Only files whose path matches; `!GLOB` leaves out. At most 1,000.
    pub globs: Vec<String>,
    /// Only files whose name matches too, such as `*.rs` and `Makefile`; `!NAME` leaves out.
    /// At most 1,000.
    pub names: Vec<String>,
    /// Beside those of `names`, files of these types, as ripgrep knows them by their names:
    /// `rust`, `py`, `make`; `!rust` leaves out, and a later one wins. At most 1,000.
    pub types: Vec<String>,
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
    /// Lines given before each hit; at most 1,000.
    pub before: u32,
    /// Lines given after each hit; at most 1,000.
    pub after: u32,
    /// What is given of what is found.
    pub output_mode: OutputMode,
    /// The most lines found in one file.
    pub max_count: Option<u64>,
    /// The most that all pages together give, of what `output_mode` gives: lines or files.
    pub max_total: Option<u64>,
    /// Bytes that are given of a line, around its first match, at least 64; 1,000 when it
    /// is not said.
    pub max_columns: Option<u64>,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most hits or files on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
    /// What the page may cost.
    pub budget: QueryBudget,
}

/// What is given of what a search finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OutputMode {
    /// The lines, with what is around them.
    #[default]
    Lines,
    /// The files with a line that matches.
    Files,
    /// How many lines match in each of these files.
    Count,
}

/// Bytes of a line: more than lines that people write have.
const DEFAULT_COLUMNS: u64 = 1_000;

impl Default for GrepQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            patterns: Vec::new(),
            fixed_strings: false,
            ignore_case: false,
            smart_case: false,
            word: false,
            invert: false,
            multiline: false,
            binary: false,
            globs: Vec::new(),
            names: Vec::new(),
            types: Vec::new(),
            paths: Vec::new(),
            before: 0,
            after: 0,
            output_mode: OutputMode::Lines,
            max_count: None,
            max_total: None,
            max_columns: Some(DEFAULT_COLUMNS),
            cursor: None,
            limit: None,
            max_bytes: None,
            budget: QueryBudget::default(),
        }
    }
}
