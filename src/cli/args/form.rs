//! How an answer is written, and which part of it.

use clap::Args;

use crate::error::{Error, ErrorKind};

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
    /// # Errors
    /// `Usage` for a part of an answer that is not asked for as JSON.
    pub(in crate::cli) fn check(&self) -> Result<(), Error> {
        let flag = match (&self.limit, &self.cursor) {
            (Some(_), _) => "--limit",
            (None, Some(_)) => "--cursor",
            (None, None) => return Ok(()),
        };
        if self.is_json() {
            return Ok(());
        }
        let why = format!("{flag} is about JSON: add --json or --jsonl");
        Err(Error::new(ErrorKind::Usage, why))
    }

    /// Whether it is JSON of either kind.
    pub(in crate::cli) fn is_json(&self) -> bool {
        self.json || self.jsonl
    }
}
