//! One file that holds what a repository holds: a store's objects, and what was known of
//! the host they came from.
//!
//! ```text
//!  8 bytes  "GITSIP\r\n"
//!  4        version of this format: 1
//!  4        1 for SHA-1, 2 for SHA-256
//!  4        bytes of the state
//! 32        SHA-256 of the 20 bytes above and the state
//!           the state: address, commits, what was left out, refs
//!           a pack (gitformat-pack) with all its bases, up to the end of the file
//! ```
//!
//! Numbers are big-endian. The pack's own trailer is its checksum, and loading it is an
//! [`Ingest`](crate::pack::Ingest) like that of any pack a host sends. Writing and reading
//! go chunk by chunk and touch no file: [`Saving`] hands chunks out, [`Loading`] takes them.
//! A file has no credentials in it.

mod load;
mod pack;
mod state;
#[cfg(test)]
mod tests;

pub use load::{Loaded, Loading};
pub use pack::Saving;
pub use state::{SavedCommit, SavedState};

use super::StoreError;
use crate::error::{Error, ErrorKind};
use crate::limits::LimitExceeded;
use crate::oid::{Hasher, ObjectFormat};
use crate::pack::PackError;

/// Why a saved file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// Its head does not match its checksum.
    #[error("its head does not match its checksum")]
    Checksum,
    /// It was refused before, and more of it was given.
    #[error("it was refused already")]
    Failed,
    /// It holds objects of the other hash.
    #[error("it holds {found} objects, and the repository uses {expected}")]
    Format {
        /// What it holds.
        found: ObjectFormat,
        /// What the store holds.
        expected: ObjectFormat,
    },
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// Its head contradicts itself.
    #[error("its head is malformed: {0}")]
    Malformed(&'static str),
    /// It does not begin as such a file does.
    #[error("it is no file of saved objects")]
    NotSaved,
    /// Its pack was refused.
    #[error(transparent)]
    Pack(PackError),
    /// Its objects could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It ends within its head.
    #[error("it is cut short")]
    Truncated,
    /// It is of another version, in all likelihood a later one.
    #[error("it is of version {0}, and this gitsip reads version {VERSION}")]
    Version(u32),
}

impl From<PackError> for SavedError {
    fn from(error: PackError) -> Self {
        match error {
            PackError::Limit(limit) => Self::Limit(limit),
            error => Self::Pack(error),
        }
    }
}

impl From<SavedError> for Error {
    fn from(error: SavedError) -> Self {
        let kind = match error {
            SavedError::Limit(limit) => return limit.into(),
            SavedError::Pack(error) => return error.into(),
            SavedError::Store(error) => return error.into(),
            SavedError::Checksum | SavedError::Truncated => ErrorKind::Corrupt,
            SavedError::Malformed(_) | SavedError::NotSaved => ErrorKind::Malformed,
            SavedError::Failed | SavedError::Format { .. } => ErrorKind::Usage,
            SavedError::Version(_) => ErrorKind::Unsupported,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}

/// The checksum of a head: its fixed part and the state.
fn checksum(fixed: &[u8], state: &[u8]) -> Result<[u8; CHECKSUM_LEN], SavedError> {
    let mut hasher = Hasher::new(ObjectFormat::Sha256);
    hasher.update(fixed);
    hasher.update(state);
    let sum = hasher.finish().map_err(StoreError::from)?;
    sum.as_bytes().try_into().map_err(|_| SavedError::Checksum)
}

/// How a hash function is called in a head.
fn number_of(format: ObjectFormat) -> u32 {
    match format {
        ObjectFormat::Sha1 => 1,
        ObjectFormat::Sha256 => 2,
    }
}

const MAGIC: &[u8; 8] = b"GITSIP\r\n";
/// The version that is written and the only one that is read.
const VERSION: u32 = 1;
/// Bytes before the checksum.
const FIXED_LEN: usize = 20;
const CHECKSUM_LEN: usize = 32;
/// The most a state takes; refs beyond are not saved.
const MAX_STATE_BYTES: usize = 1 << 20;
