//! Questions as plain values, the same for every face: the command line, sessions, MCP and
//! JavaScript say what they want in these, and [`Repo::ask`](super::Repo::ask) answers.
//!
//! Every field has a bounded default, so that a question names only what it cares about.
//! With the feature `serde` they are read from JSON, in which an unknown field is an error.

use bstr::BString;

use crate::view::lines::LineRange;

/// Any question, in JSON `{"method": .., "params": {..}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "method", content = "params", rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Query {
    /// Which branches, tags and other refs are there?
    Refs(RefsQuery),
    /// What is in this folder?
    Ls(LsQuery),
    /// What is below this folder, in outline?
    Tree(TreeQuery),
    /// What is at these paths, without their content?
    Stat(StatQuery),
    /// What is in these files?
    Read(ReadQuery),
    /// Which paths match?
    Glob(GlobQuery),
    /// Which lines match?
    Grep(Box<GrepQuery>),
    /// Fetch ahead what will be asked about.
    Prefetch(PrefetchQuery),
}

impl Query {
    /// The words that JSON has for the methods.
    pub const METHODS: [&str; 8] =
        ["refs", "ls", "tree", "stat", "read", "glob", "grep", "prefetch"];
}

/// Refs by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefsQuery {
    /// Globs that the last parts of a name must match, as for `git ls-remote`: `main`,
    /// `v1.*`, `refs/heads/*`, where `*` also crosses slashes. All refs when there is none.
    pub patterns: Vec<String>,
    /// Only branches; with `tags` both.
    pub branches: bool,
    /// Only tags; with `branches` both.
    pub tags: bool,
    /// Leave out `HEAD` and what annotated tags point to.
    pub only_refs: bool,
    /// By what they are sorted.
    pub sort: RefOrder,
    /// The other way round.
    pub reverse: bool,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most refs on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
}

/// By what refs are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RefOrder {
    /// Their names, `HEAD` first.
    #[default]
    Name,
    /// Their names with numbers as numbers: `v2.9` before `v2.10`.
    Version,
}

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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::results::text::TextOrString"))]
    pub path: BString,
    /// All files, links and submodules below, at any depth, in place of the entries.
    pub recursive: bool,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most entries on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::results::text::TextOrString"))]
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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_texts"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::results::text::TextOrString>"))]
    pub paths: Vec<BString>,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most entries on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
}

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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_texts"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::results::text::TextOrString>"))]
    pub paths: Vec<BString>,
    /// Lines of each file, counted from 1: `A:B`, `A:`, `:B` or `A`.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_lines"))]
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
    /// Bytes of the page that each line takes beside its text, for faces that put something
    /// beside it. Not part of the JSON.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub bytes_per_line: u64,
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
    /// decides. At most 1,000.
    pub patterns: Vec<String>,
    /// Only what is below this folder.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::results::text::TextOrString"))]
    pub path: BString,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// The most paths on a page.
    pub limit: Option<u64>,
    /// About how many bytes of JSON a page may take; 4 MiB when it is not said.
    pub max_bytes: Option<u64>,
}

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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_texts"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::results::text::TextOrString>"))]
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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_texts"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::results::text::TextOrString>"))]
    pub paths: Vec<BString>,
    /// Lines given before each hit; at most 1,000.
    pub before: u32,
    /// Lines given after each hit; at most 1,000.
    pub after: u32,
    /// What is given of what is found.
    pub output_mode: OutputMode,
    /// The most lines found in one file.
    pub max_count: Option<u64>,
    /// The most that all pages together give, of what a page is made of.
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
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::results::text::from_texts"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::results::text::TextOrString>"))]
    pub paths: Vec<BString>,
    /// Files above so many bytes are left for when something needs them; 1 MiB when it is
    /// not said.
    pub max_blob_bytes: Option<u64>,
}

/// What is read when nothing else is said.
const DEFAULT_REF: &str = "HEAD";
/// Levels of an outline: enough to see what a repository is made of.
const DEFAULT_DEPTH: u32 = 3;
/// Entries of an outline.
const DEFAULT_TREE_LIMIT: u64 = 1_000;
/// Bytes of a line: more than lines that people write have.
const DEFAULT_COLUMNS: u64 = 1_000;
/// As for [`PrefetchOptions`](super::PrefetchOptions).
const DEFAULT_MAX_BLOB_BYTES: u64 = 1 << 20;

impl Default for LsQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            path: BString::default(),
            recursive: false,
            cursor: None,
            limit: None,
            max_bytes: None,
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
        }
    }
}

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
            bytes_per_line: 0,
        }
    }
}

impl Default for GlobQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            patterns: Vec::new(),
            path: BString::default(),
            cursor: None,
            limit: None,
            max_bytes: None,
        }
    }
}

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
