//! What a command may cost its host's line.

use clap::Args;

use super::common::parse_size;
use super::help::EVERYWHERE;
use crate::agent::QueryBudget;
use crate::client::allowance::Allowance;

/// What may be spent.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = EVERYWHERE)]
pub(in crate::cli) struct Spend {
    /// Send at most N requests, the first one included
    #[arg(long, value_name = "N")]
    max_requests: Option<u64>,
    /// Receive at most so much: 500k, 10MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_bytes: Option<u64>,
}

impl Spend {
    /// What all requests are paid from, from the first one on.
    pub(in crate::cli) fn allowance(&self) -> Allowance {
        Allowance::new(self.max_requests, self.max_bytes)
    }

    /// The same as the budget of a question, which the allowance is tighter than.
    pub(in crate::cli) fn budget(&self) -> QueryBudget {
        let Self { max_requests, max_bytes } = *self;
        QueryBudget { max_requests, max_bytes, ..QueryBudget::default() }
    }
}
