//! Questions as plain values, the same for every face: the command line, sessions, MCP and
//! JavaScript say what they want in these, and [`Repo::ask`](super::Repo::ask) answers.
//!
//! Every field has a bounded default, so that a question names only what it cares about.
//! With the feature `serde` they are read from JSON, in which an unknown field is an error.

mod files;
mod grep;
mod paths;
mod refs;

pub use files::{PrefetchQuery, ReadQuery};
pub use grep::{GrepQuery, OutputMode};
pub use paths::{GlobQuery, LsQuery, StatQuery, TreeQuery};
pub use refs::{RefOrder, RefsQuery};

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

/// What is read when nothing else is said.
const DEFAULT_REF: &str = "HEAD";
