//! What an ingest came to, and how far it has come.

use crate::oid::ObjectId;
use crate::pack::entries::Entries;

/// A pack whose every object is known.
#[derive(Debug)]
pub struct Resolved<S> {
    /// The store, with every object in it.
    pub store: S,
    /// What it took.
    pub stats: IngestStats,
    /// The pack's trailer.
    pub checksum: ObjectId,
    /// Every entry, in the order of the pack.
    pub entries: Entries,
}

/// How far an ingest has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Entries received whole.
    pub objects: u64,
    /// Entries the pack announces, once its header was seen.
    pub total_objects: Option<u64>,
    /// Deltas resolved.
    pub deltas_resolved: u64,
    /// Bytes of pack received.
    pub received_bytes: u64,
}

/// What an ingest took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestStats {
    /// Objects in the pack.
    pub objects: u64,
    /// Bytes of the pack.
    pub received_bytes: u64,
    /// Bytes inflated, on arrival and again for deltas that waited.
    pub inflated_bytes: u64,
    /// Bytes inflated had every stream been inflated once.
    pub minimum_inflated_bytes: u64,
    /// Bytes of all objects.
    pub resolved_bytes: u64,
    /// Deltas resolved as they arrived, their base being at hand.
    pub deltas_on_arrival: u64,
    /// Deltas that waited for their base and were resolved later.
    pub deltas_deferred: u64,
    /// Bytes of bases and results alive at once while deltas that waited were resolved, at most.
    pub peak_live_bytes: u64,
    /// Blobs that were [left out](super::KeepBlobs) and whose ids are known.
    pub left_out: u64,
    /// Blobs that were left out unseen: too large, or made from others that were.
    pub left_out_unnamed: u64,
}
