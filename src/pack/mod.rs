//! The pack engine: an incremental parser, a delta resolver, a writer, and the formats
//! beside a pack. Follows git's `gitformat-pack`.
//!
//! Nothing here does I/O and nothing sizes an allocation by a declared number.

pub mod bitmap;
mod buffers;
pub mod delta;
mod entries;
pub mod entry;
mod ewah;
#[cfg(test)]
pub(crate) mod fixture;
mod hash;
pub mod helper;
pub(crate) mod id_table;
pub mod index;
pub mod inflate;
mod ingest;
pub mod midx;
mod resolve;
mod rules;
pub mod stream;
mod table;
mod tree;
pub mod write;

pub use entries::Entries;
pub use ingest::{
    BaseLink, EARLY_ROUND_BYTES, EntryStore, Ingest, IngestStats, KeepBlobs, Progress, Resolved,
    ResolvedEntry, Streams,
};

use self::inflate::InflateError;
use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupted, LimitExceeded};
use crate::oid::{Collision, ObjectId};

/// Why a pack was refused. `offset` counts bytes from the start of the pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// The input does not begin with `PACK`.
    #[error("not a pack: it does not begin with 'PACK'")]
    BadMagic,
    /// A pack version other than 2 and 3.
    #[error("pack version {0} is not supported")]
    BadVersion(u32),
    /// An entry of type 0 or 5.
    #[error("entry at {offset} has the invalid type {kind}")]
    BadKind {
        /// Where the entry begins.
        offset: u64,
        /// The type's number.
        kind: u8,
    },
    /// A variable-length number goes on for too long.
    #[error("entry at {offset} has a number of more than 64 bits")]
    BadVarint {
        /// Where the entry begins.
        offset: u64,
    },
    /// An OFS_DELTA whose base is not the start of an earlier entry.
    #[error("entry at {offset} has its base {distance} bytes back, where no entry begins")]
    BadBaseOffset {
        /// Where the entry begins.
        offset: u64,
        /// The distance it names.
        distance: u64,
    },
    /// The deflate stream is damaged.
    #[error("entry at {offset} does not inflate: {what}")]
    BadDeflate {
        /// Where the entry begins.
        offset: u64,
        /// What the decoder found.
        what: &'static str,
    },
    /// The stream inflates to another size than declared.
    #[error("entry at {offset} declares {declared} bytes and holds {} them", if *more { "more than" } else { "fewer than" })]
    WrongSize {
        /// Where the entry begins.
        offset: u64,
        /// The declared size.
        declared: u64,
        /// Whether there are more bytes than declared, or fewer.
        more: bool,
    },
    /// A delta is damaged.
    #[error("delta at {offset}: {error}")]
    BadDelta {
        /// Where the entry begins.
        offset: u64,
        /// What is wrong.
        error: DeltaError,
    },
    /// An object's hash shows a collision attack.
    #[error("entry at {offset}: {collision}")]
    Collision {
        /// Where the entry begins.
        offset: u64,
        /// What was found.
        collision: Collision,
    },
    /// The caller stopped the work.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The bytes do not match the trailing checksum.
    #[error("the pack's checksum is {expected}, its bytes hash to {actual}")]
    Trailer {
        /// What the trailer says.
        expected: ObjectId,
        /// What was computed.
        actual: ObjectId,
    },
    /// Bytes after the trailer.
    #[error("bytes follow the pack's trailer at {offset}")]
    TrailingBytes {
        /// Where they begin.
        offset: u64,
    },
    /// The input ended before the pack did.
    #[error("the pack ends after {offset} bytes with {missing} of its objects missing")]
    Truncated {
        /// Bytes received.
        offset: u64,
        /// Objects announced and not received whole.
        missing: u64,
    },
    /// Deltas whose bases never came.
    #[error("{count} deltas have no base; the first is at {offset}")]
    Unresolved {
        /// How many.
        count: u64,
        /// The first of them.
        offset: u64,
        /// The id it names, for a REF_DELTA.
        base: Option<ObjectId>,
    },
}

/// Why a delta was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// A copy reaches past the end of the base.
    #[error("a copy reaches past the end of its base")]
    CopyPastBase,
    /// The instructions produce fewer bytes than declared.
    #[error("its instructions make fewer bytes than declared")]
    ResultTooShort,
    /// The instructions produce more bytes than declared.
    #[error("its instructions make more bytes than declared")]
    ResultTooLong,
    /// The reserved opcode 0.
    #[error("it uses the reserved opcode 0")]
    ReservedOpcode,
    /// An instruction or a size is cut off.
    #[error("it ends inside an instruction")]
    Truncated,
    /// A size of more than 64 bits.
    #[error("it declares a size of more than 64 bits")]
    BadVarint,
    /// The declared base size is not the base's.
    #[error("it was made for a base of {declared} bytes, not {actual}")]
    WrongBaseSize {
        /// What it says.
        declared: u64,
        /// The base's size.
        actual: u64,
    },
}

impl PackError {
    /// Where it is, counted from the start of the pack, of errors that are somewhere.
    pub fn offset(&self) -> Option<u64> {
        match *self {
            Self::BadKind { offset, .. }
            | Self::BadVarint { offset }
            | Self::BadBaseOffset { offset, .. }
            | Self::BadDeflate { offset, .. }
            | Self::WrongSize { offset, .. }
            | Self::BadDelta { offset, .. }
            | Self::Collision { offset, .. }
            | Self::TrailingBytes { offset }
            | Self::Truncated { offset, .. }
            | Self::Unresolved { offset, .. } => Some(offset),
            Self::BadMagic
            | Self::BadVersion(_)
            | Self::Interrupted(_)
            | Self::Limit(_)
            | Self::Trailer { .. } => None,
        }
    }

    fn from_inflate(error: InflateError, offset: u64, declared: u64) -> Self {
        match error {
            InflateError::Damaged(what) => Self::BadDeflate { offset, what },
            InflateError::Limit(limit) => Self::Limit(limit),
            InflateError::TooLong => Self::WrongSize { offset, declared, more: true },
            InflateError::TooShort => Self::WrongSize { offset, declared, more: false },
        }
    }
}

impl From<PackError> for Error {
    fn from(error: PackError) -> Self {
        let kind = match error {
            PackError::Limit(limit) => return limit.into(),
            PackError::Interrupted(why) => return why.into(),
            PackError::Collision { collision, .. } => return collision.into(),
            PackError::Trailer { .. } | PackError::Truncated { .. } => ErrorKind::Corrupt,
            PackError::BadVersion(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Malformed,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}
