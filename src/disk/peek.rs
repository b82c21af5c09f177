//! The first bytes of a deflate stream, for sizes that stand at its beginning.

use crate::limits::{Budget, LimitExceeded};
use crate::pack::inflate::{InflateError, Inflater};

/// What `parse` makes of the beginning of `stream`'s output: it is tried with more and
/// more of it, until it makes something or the output ends or is `max_bytes` long.
///
/// `declared` is what the stream should inflate to, `u64::MAX` when nobody said. A stream
/// that is damaged says what it says before that.
pub(super) fn peek<T>(
    stream: &[u8],
    declared: u64,
    max_bytes: usize,
    budget: &Budget,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<Option<T>, LimitExceeded> {
    let mut inflater = Inflater::new(budget);
    inflater.begin(declared);
    let mut rest = stream;
    loop {
        let (piece, after) = rest.split_at_checked(PIECE_BYTES).unwrap_or((rest, &[]));
        let more = match inflater.push(piece) {
            Ok(step) if !step.done && step.consumed == piece.len() => Some(after),
            Ok(step) if !step.done && step.consumed > 0 => rest.get(step.consumed..),
            Err(InflateError::Limit(limit)) => return Err(limit),
            // Also at the end of a stream of another size: what came out stays there.
            _ => None,
        };
        if let Some(found) = parse(inflater.bytes()) {
            return Ok(Some(found));
        }
        match more {
            Some(more) if inflater.bytes().len() < max_bytes && !more.is_empty() => rest = more,
            _ => return Ok(None),
        }
    }
}

const PIECE_BYTES: usize = 64;
