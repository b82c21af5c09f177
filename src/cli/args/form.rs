//! How an answer is written, and which part of it.

use clap::Args;

/// The form of an answer.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct Form {
    /// One JSON document; errors are JSON too
    #[arg(long, overrides_with = "jsonl")]
    pub(in crate::cli) json: bool,
    /// JSON, one item a line as it is found
    #[arg(long, overrides_with = "json")]
    pub(in crate::cli) jsonl: bool,
    /// Of JSON: at most N items (lines, for cat)
    #[arg(long, value_name = "N")]
    pub(in crate::cli) limit: Option<u64>,
    /// Of JSON: go on where 'next' says
    #[arg(long, value_name = "NEXT")]
    pub(in crate::cli) cursor: Option<String>,
}

impl Form {
    /// Whether it is JSON of either kind.
    pub(in crate::cli) fn is_json(&self) -> bool {
        self.json || self.jsonl
    }
}
