//! The question what a search would cost.

use bstr::BString;

use super::{DEFAULT_REF, GrepQuery, QueryBudget};

/// What a search of these files would cost, before any of them is fetched. Folders are, and
/// the sizes of files from a host that tells them, unless only what is held is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanQuery {
    /// A branch, tag, full ref or id; `HEAD` when it is not said.
    #[cfg_attr(feature = "serde", serde(rename = "ref"))]
    pub at: String,
    /// As of `grep`: only files whose path matches; `!GLOB` leaves out. At most 1,000.
    pub globs: Vec<String>,
    /// As of `grep`: only files whose name matches too. At most 1,000.
    pub names: Vec<String>,
    /// As of `grep`: beside those of `names`, files of these types. At most 1,000.
    pub types: Vec<String>,
    /// As of `grep`: only these files and what is below these folders; at most 10,000.
    #[cfg_attr(
        feature = "serde",
        serde(deserialize_with = "crate::agent::results::text::from_texts")
    )]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<crate::agent::results::text::TextOrString>")
    )]
    pub paths: Vec<BString>,
    /// Fetch nothing, not even folders; the ref is looked up all the same, unless it is a
    /// full id.
    pub held_only: bool,
    /// What the plan itself may cost.
    pub budget: QueryBudget,
}

impl Default for PlanQuery {
    fn default() -> Self {
        Self {
            at: DEFAULT_REF.into(),
            globs: Vec::new(),
            names: Vec::new(),
            types: Vec::new(),
            paths: Vec::new(),
            held_only: false,
            budget: QueryBudget::default(),
        }
    }
}

impl From<&GrepQuery> for PlanQuery {
    /// The plan of `query`, if it were to end only where there are no more files.
    fn from(query: &GrepQuery) -> Self {
        Self {
            at: query.at.clone(),
            globs: query.globs.clone(),
            names: query.names.clone(),
            types: query.types.clone(),
            paths: query.paths.clone(),
            held_only: false,
            budget: query.budget,
        }
    }
}
