//! What a search would cost, in words.

use crate::agent::{EstimatedFrom, Plan};
use crate::cli::output::push_fmt;
use crate::text::amounts::{Bytes, Count};

/// Three lines, for people.
pub(super) fn in_words(plan: &Plan) -> Vec<u8> {
    let mut lines = Vec::new();
    push_fmt(
        &mut lines,
        format_args!(
            "{} to search, {} of them to be fetched\n",
            Count(plan.files, "file"),
            plan.blobs_missing
        ),
    );
    push_fmt(
        &mut lines,
        format_args!("{} beside those of this plan\n", Count(plan.requests, "request")),
    );
    let from = match plan.estimated_from {
        Some(EstimatedFrom::Held) => "the files that are held",
        Some(EstimatedFrom::Typical) => "what files take elsewhere",
        None => return lines,
    };
    push_fmt(
        &mut lines,
        format_args!(
            "about {} to receive, by {from}; {} of content known, {} of unknown size\n",
            Bytes(plan.bytes_estimated),
            Bytes(plan.bytes_known),
            Count(plan.blobs_of_unknown_size, "file"),
        ),
    );
    lines
}
