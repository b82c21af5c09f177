//! What a repository has cost so far: totals, and its newest requests one by one.

use super::memory::MemoryReport;
use crate::client::journal;
use crate::oid::ObjectId;

/// What a repository has cost so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    /// The version of git's protocol that the host speaks; `None` for a local repository.
    pub protocol: Option<u8>,
    /// HTTP requests sent.
    pub requests: u64,
    /// How many of them repeat one that was cut, or refused for the time being.
    pub retries: u64,
    /// Bytes of response bodies received.
    pub bytes_received: u64,
    /// Objects held.
    pub objects: u64,
    /// Reads of objects that were answered from memory as they are.
    pub cache_hits: u64,
    /// Reads of objects that had to be inflated first.
    pub cache_misses: u64,
    /// Where the memory is, and what had to go for lack of it.
    pub memory: MemoryReport,
    /// Milliseconds since the repository was opened.
    pub elapsed_ms: u64,
    /// What the host does not do that would have cost less, in words, each once.
    pub fallbacks: Vec<String>,
    /// What was taken from a file of an earlier process instead of the host.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub loaded: Option<LoadStats>,
    /// The requests in the order they were sent, of more than
    /// [`MAX_EXCHANGES`](journal::MAX_EXCHANGES) the newest. Without addresses, headers
    /// and bodies.
    pub exchanges: Vec<Exchange>,
}

/// What a repository was loaded with from a file that was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadStats {
    /// Objects in the file.
    pub objects: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Milliseconds that reading and proving it took.
    pub ms: u64,
}

/// One HTTP request, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exchange {
    /// What it asked for: `blobs`, `capabilities`, `commits` (with their trees), `history`,
    /// `refs`, `sizes`, `snapshot` (commits with trees and files) or `trees`.
    pub kind: &'static str,
    /// How many objects were asked for by id.
    pub objects: u64,
    /// The first of them.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_optional_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub first: Option<ObjectId>,
    /// The HTTP status; `None` when no answer came, or has come yet.
    pub status: Option<u16>,
    /// Bytes of body received.
    pub bytes: u64,
    /// Milliseconds from sending it to the end of its answer, or until now.
    pub ms: u64,
    /// The [code](crate::Error::code) of the error that it ended with.
    pub error: Option<&'static str>,
    /// Whether it is still under way.
    pub is_open: bool,
}

impl From<&journal::Exchange> for Exchange {
    fn from(exchange: &journal::Exchange) -> Self {
        let journal::Exchange { purpose, status, bytes, took, error, is_over } = *exchange;
        Self {
            kind: purpose.kind.code(),
            objects: purpose.objects,
            first: purpose.first,
            status,
            bytes,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            error,
            is_open: !is_over,
        }
    }
}
