//! Why packets could not be read or written, and what a peer's last words mean.
//!
//! A server that gives up says so in words, not in codes. They are sorted here by what
//! git and the large hosts are known to say.

use bstr::{BString, ByteSlice as _};

use super::MAX_DATA_BYTES;
use crate::error::{Error, ErrorKind};
use crate::limits::LimitExceeded;
use crate::text::escape_for_people;

/// Why packets could not be read or written. `offset` counts bytes of the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PktError {
    /// A packet on no known band, where bands are spoken.
    #[error("the packet at byte {offset} is on the unknown band {band}")]
    BadBand {
        /// Where the packet begins.
        offset: u64,
        /// The number it begins with.
        band: u8,
    },
    /// Four bytes that are no length.
    #[error("'{}' at byte {offset} is no packet length", escape_for_people(digits))]
    BadLength {
        /// Where they are.
        offset: u64,
        /// What stands there.
        digits: [u8; 4],
    },
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The peer ended the conversation: an `ERR` packet, or band 3.
    #[error("the remote says: {}", escape_for_people(quoted(text)))]
    Remote {
        /// Its words, as they came.
        text: BString,
    },
    /// A packet to be written is longer than a packet may be.
    #[error("a line of {len} bytes does not fit into a packet of {MAX_DATA_BYTES}")]
    TooLong {
        /// Bytes of its payload.
        len: usize,
    },
    /// The stream ended inside a packet.
    #[error("the stream ends inside the packet at byte {offset}")]
    Truncated {
        /// Where the packet begins.
        offset: u64,
    },
}

impl From<PktError> for Error {
    fn from(error: PktError) -> Self {
        let kind = match &error {
            PktError::Limit(limit) => return Self::from(*limit),
            PktError::BadBand { .. } | PktError::BadLength { .. } => ErrorKind::Malformed,
            PktError::Remote { text } => kind_of_remote_text(text),
            PktError::TooLong { .. } => ErrorKind::Usage,
            PktError::Truncated { .. } => ErrorKind::Transport,
        };
        let (code, advice) = match &error {
            PktError::Remote { text } if is_id_refusal(text) => ("not_our_ref", ""),
            PktError::Remote { .. } => match kind {
                ErrorKind::Auth => (kind.code(), "; give credentials that may read it"),
                ErrorKind::NotFound => ("no_repository", "; check the address or give credentials"),
                ErrorKind::Unsupported => (kind.code(), ""),
                _ => (kind.code(), "; try again, or ask whoever runs the host"),
            },
            _ => (kind.code(), ""),
        };
        Self::new(kind, format!("{error}{advice}")).with_code(code).with_source(error)
    }
}

/// As much of a peer's words as an error repeats.
fn quoted(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii();
    text.get(..MAX_QUOTED_BYTES).unwrap_or(text)
}

/// The longest words of hosts known are some 600 bytes: a page of terms to agree to.
const MAX_QUOTED_BYTES: usize = 1_000;

/// Who is to blame, from words that servers are known to use. Anything unknown is the
/// host's failure.
fn kind_of_remote_text(text: &[u8]) -> ErrorKind {
    const NOT_FOUND: &[&str] = &["not found", "unknown ref", "does not exist", "not exported"];
    const AUTH: &[&str] = &["access denied", "authentication", "permission denied", "unauthorized"];
    let text = text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| text.contains_str(words));
    if is_filter_refusal(&text) {
        ErrorKind::Unsupported
    } else if is_id_refusal(&text) || says(NOT_FOUND) {
        ErrorKind::NotFound
    } else if says(AUTH) {
        ErrorKind::Auth
    } else {
        ErrorKind::Transport
    }
}

/// Whether a server's words refuse an object that is wanted by id: git's, and JGit's
/// `want ID not valid`.
fn is_id_refusal(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains_str("not our ref") || text.contains_str("want ") && text.contains_str("not valid")
}

/// Whether a server's words refuse an object filter, in any of the ways git and the
/// large hosts put it.
pub fn is_filter_refusal(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains_str("filter")
        && ["not supported", "unsupported", "not allowed", "not recognized", "not enabled"]
            .into_iter()
            .any(|words| text.contains_str(words))
}
