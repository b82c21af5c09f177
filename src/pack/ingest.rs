//! The seam between the pack engine and whoever keeps the objects.

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

/// Where entries go as they arrive, and come back from while deltas are resolved.
///
/// The zlib stream of each entry is handed over in pieces, in pack order:
/// `begin`, `append`..., `end`; then, at once or much later, `resolved`.
pub trait EntryStore {
    /// A new entry's stream begins; entries are numbered from 0 in this order.
    fn begin(&mut self) -> Result<(), LimitExceeded>;

    /// More of the entry's stream.
    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded>;

    /// The entry's stream is complete.
    fn end(&mut self) -> Result<(), LimitExceeded>;

    /// The whole stream of an entry that has ended.
    fn stream(&self, entry: u32) -> &[u8];

    /// An entry's id and content are known. The store may keep the content.
    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded>;

    /// The content of a resolved entry, if it was kept: the base cache.
    fn content(&self, entry: u32) -> Option<Bytes>;

    /// The content of an object outside the pack, for thin packs.
    fn external(&self, id: &ObjectId) -> Option<(Kind, Bytes)>;
}
