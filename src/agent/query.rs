//! Questions as plain values, the same for every face: the command line, sessions, MCP and
//! JavaScript say what they want in these, and [`Repo::ask`](super::Repo::ask) answers.
//!
//! Every field has a bounded default, so that a question names only what it cares about.
//! With the feature `serde` they are read from JSON, in which an unknown field is an error.

mod budget;
mod files;
mod grep;
mod paths;
mod plan;
mod refs;

pub use budget::QueryBudget;
pub use files::{PrefetchQuery, ReadQuery};
pub use grep::{GrepQuery, OutputMode};
pub use paths::{GlobQuery, LsQuery, StatQuery, TreeQuery};
pub use plan::PlanQuery;
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
    /// What would a search cost?
    Plan(PlanQuery),
}

impl Query {
    /// The words that JSON has for the methods.
    pub const METHODS: [&str; 9] =
        ["refs", "ls", "tree", "stat", "read", "glob", "grep", "prefetch", "plan"];

    /// The question that `params` put to `method`, for callers that have both apart. It takes
    /// less code than the JSON of a whole [`Query`], whose two fields come in either order.
    ///
    /// # Errors
    /// Those of `params`, and that of a method which is none of [`METHODS`](Self::METHODS).
    #[cfg(feature = "serde")]
    pub fn of<'de, D: serde::Deserializer<'de>>(method: &str, params: D) -> Result<Self, D::Error> {
        use serde::Deserialize as _;
        match method {
            "refs" => RefsQuery::deserialize(params).map(Self::Refs),
            "ls" => LsQuery::deserialize(params).map(Self::Ls),
            "tree" => TreeQuery::deserialize(params).map(Self::Tree),
            "stat" => StatQuery::deserialize(params).map(Self::Stat),
            "read" => ReadQuery::deserialize(params).map(Self::Read),
            "glob" => GlobQuery::deserialize(params).map(Self::Glob),
            "grep" => GrepQuery::deserialize(params).map(|query| Self::Grep(Box::new(query))),
            "prefetch" => PrefetchQuery::deserialize(params).map(Self::Prefetch),
            "plan" => PlanQuery::deserialize(params).map(Self::Plan),
            other => Err(serde::de::Error::unknown_variant(other, &Self::METHODS)),
        }
    }
}

/// What is read when nothing else is said.
const DEFAULT_REF: &str = "HEAD";
