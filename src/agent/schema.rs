//! The JSON Schema of all that faces read and write. It is shipped as `schema/gitsip.json`,
//! which a test compares with what is generated here.

use schemars::JsonSchema;

use super::query::Query;
use super::results::{
    Answer, Diagnosis, Entry, Envelope, Failure, GrepItem, Plan, Prefetched, ReadItem, RefItem,
    RepoInfo, StatItem, TreeNode,
};

/// The format of gitsip: a question, the answer of each method, and errors.
#[derive(JsonSchema)]
#[schemars(rename = "gitsip")]
#[allow(dead_code, reason = "it is there to be described")]
struct Format {
    /// Any question.
    query: Query,
    /// The answer of each method.
    answers: Answers,
    /// The last line of an answer that came item by item.
    envelope: Envelope,
    /// Why there is no answer.
    failure: Failure,
    /// What `doctor` found out about a host.
    diagnosis: Diagnosis,
    /// A repository that is held.
    repo: RepoInfo,
}

/// The answer of each method.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it is there to be described")]
struct Answers {
    refs: Answer<RefItem>,
    ls: Answer<Entry>,
    tree: Answer<TreeNode>,
    stat: Answer<StatItem>,
    read: Answer<ReadItem>,
    glob: Answer<Entry>,
    grep: Answer<GrepItem>,
    prefetch: Answer<Prefetched>,
    plan: Answer<Plan>,
}

/// The JSON Schema (2020-12) of questions, answers and errors.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Format)
}
