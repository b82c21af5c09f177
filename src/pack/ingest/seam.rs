//! The seam between an ingest and whoever keeps its objects.

use bytes::Bytes;

use crate::limits::LimitExceeded;
use crate::object::Kind;
use crate::oid::ObjectId;

/// What a delta was made against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseLink {
    /// Another entry of the same pack, by its number.
    Entry(u32),
    /// An object outside the pack (a thin pack).
    External(ObjectId),
}

/// An entry at the moment its id is known.
#[derive(Debug)]
pub struct ResolvedEntry<'a> {
    /// Its number: 0 for the first entry of the pack.
    pub entry: u32,
    /// The object's kind.
    pub kind: Kind,
    /// The object's id.
    pub id: ObjectId,
    /// What its stream is a delta of, when it is one.
    pub base: Option<BaseLink>,
    /// Bytes the stream inflates to.
    pub inflated_size: u64,
    /// The object's content.
    pub content: &'a [u8],
}

/// Streams of entries that have ended, read by several threads at once.
pub trait Streams: Sync {
    /// The whole stream of an entry; bytes may follow it. The entry's header is at
    /// `offset` in the pack.
    fn stream(&self, entry: u32, offset: u64) -> &[u8];
}

/// Where entries go as they arrive, and come back from while deltas are resolved.
///
/// The zlib stream of each entry is handed over in pieces, in pack order:
/// `begin`, `append`..., `end`; then, at once or much later, `resolved`. While deltas
/// that waited are resolved the streams are lent to whoever does that, and the store itself
/// is visited by one thread at a time.
pub trait EntryStore: Send {
    /// What reads streams while deltas are resolved that waited.
    type Streams: Streams;

    /// A new entry's stream begins; entries are numbered from 0 in this order.
    fn begin(&mut self) -> Result<(), LimitExceeded>;

    /// More of the entry's stream.
    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded>;

    /// What was appended of the entry's stream so far is not kept: it begins anew, or ends
    /// empty when the object is [left out](super::KeepBlobs). A store that is only asked for
    /// everything need not implement it.
    fn abandon(&mut self) {}

    /// The entry's stream is complete.
    fn end(&mut self) -> Result<(), LimitExceeded>;

    /// Gives the streams of all entries that have ended away, while deltas are resolved.
    fn lend_streams(&mut self) -> Self::Streams;

    /// Gets them back.
    fn take_streams_back(&mut self, streams: Self::Streams);

    /// An entry's id and content are known. The store may keep the content, for deltas to
    /// come; of an object whose stream is empty it keeps nothing else.
    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded>;

    /// The content of a resolved entry, if it was kept: the base cache.
    fn content(&self, entry: u32) -> Option<Bytes>;

    /// The content of an object outside the pack, for thin packs.
    fn external(&self, id: &ObjectId) -> Option<(Kind, Bytes)>;
}
