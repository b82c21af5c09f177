//! The question which refs there are.

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
