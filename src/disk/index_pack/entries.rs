//! Entries of a mapped pack: their streams for the resolver, their rows for the index.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::IndexOptions;
use super::thin::Added;
use crate::disk::Repository;
use crate::limits::{LimitExceeded, Reservation, Workers as _};
use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::entry::EntryHeader;
use crate::pack::index::write::Rows;
use crate::pack::{Entries, EntryStore, ResolvedEntry, Streams};
use crate::store::Objects as _;

/// Keeps nothing: streams are in the file, and contents are made when needed.
#[derive(Debug)]
pub(super) struct MappedEntries {
    streams: MappedStreams,
    outside: Option<Repository>,
}

impl MappedEntries {
    /// Those of a pack that is all there.
    pub(super) fn of(data: Bytes, format: ObjectFormat) -> Self {
        Self { streams: MappedStreams { data, format }, outside: None }
    }

    /// Those of a pack that arrives, perhaps a thin one of `outside`.
    pub(super) fn arriving(format: ObjectFormat, outside: Option<Repository>) -> Self {
        Self { outside, ..Self::of(Bytes::new(), format) }
    }

    /// The pack is all there now.
    pub(super) fn complete(&mut self, data: Bytes) {
        self.streams.data = data;
    }
}

impl EntryStore for MappedEntries {
    type Streams = MappedStreams;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn append(&mut self, _: &[u8]) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn lend_streams(&mut self) -> MappedStreams {
        self.streams.clone()
    }

    fn take_streams_back(&mut self, _: MappedStreams) {}

    fn resolved(&mut self, _: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn content(&self, _: u32) -> Option<Bytes> {
        None
    }

    fn external(&self, id: &ObjectId) -> Option<(Kind, Bytes)> {
        // What cannot be read is missed as much as what is not there.
        let object = self.outside.as_ref()?.read(id).ok()??;
        Some((object.kind, object.bytes))
    }
}

/// A pack's bytes; a clone shares them.
#[derive(Clone, Debug)]
pub(super) struct MappedStreams {
    data: Bytes,
    format: ObjectFormat,
}

impl Streams for MappedStreams {
    fn stream(&self, _: u32, offset: u64) -> &[u8] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let entry = self.data.get(start..).unwrap_or_default();
        match EntryHeader::decode(entry, self.format) {
            Ok(Some((_, len))) => entry.get(len..).unwrap_or_default(),
            // The parser has read this header before.
            _ => &[],
        }
    }
}

/// What an index says of each entry, those that were added to a thin pack last.
pub(super) struct PackRows<'a> {
    entries: &'a Entries,
    added: &'a [Added],
    crcs: Vec<u32>,
    _paid: Reservation,
}

impl<'a> PackRows<'a> {
    /// Rows of the pack `data`, of which CRCs are computed here, on the options' workers.
    pub(super) fn new(
        data: &[u8],
        entries: &'a Entries,
        added: &'a [Added],
        options: &IndexOptions,
    ) -> Result<Self, LimitExceeded> {
        let count = entries.len() + added.len() as u32;
        let paid = options.budget.reserve(u64::from(count) * size_of::<u32>() as u64)?;
        let crcs = vec![0; count as usize];
        let mut rows = Self { entries, added, crcs: Vec::new(), _paid: paid };
        rows.crcs = rows.checked(data, crcs, options);
        Ok(rows)
    }

    fn checked(&self, data: &[u8], mut crcs: Vec<u32>, options: &IndexOptions) -> Vec<u32> {
        let end = data.len() - options.format.raw_len().min(data.len());
        let parts: Vec<Mutex<&mut [u32]>> =
            crcs.chunks_mut(ENTRIES_OF_A_PART as usize).map(Mutex::new).collect();
        options.workers.run(parts.len(), &|number| {
            let Some(part) = parts.get(number) else { return };
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let first = number as u32 * ENTRIES_OF_A_PART;
            for (entry, crc) in (first..).zip(part.iter_mut()) {
                let start = self.offset(entry) as usize;
                let next = entry + 1;
                let end = if next < self.len() { self.offset(next) as usize } else { end };
                *crc = crc32fast::hash(data.get(start..end).unwrap_or_default());
            }
        });
        drop(parts);
        crcs
    }

    fn added(&self, entry: u32) -> Option<&Added> {
        self.added.get(entry.checked_sub(self.entries.len())? as usize)
    }
}

impl Rows for PackRows<'_> {
    fn len(&self) -> u32 {
        self.entries.len() + self.added.len() as u32
    }

    fn id(&self, entry: u32) -> ObjectId {
        self.added(entry).map_or_else(|| self.entries.id(entry), |added| added.id)
    }

    fn offset(&self, entry: u32) -> u64 {
        self.added(entry).map_or_else(|| self.entries.offset(entry), |added| added.offset)
    }

    fn crc32(&self, entry: u32) -> u32 {
        self.crcs.get(entry as usize).copied().unwrap_or(0)
    }
}

/// Enough that taking a part costs nothing beside it.
const ENTRIES_OF_A_PART: u32 = 8_192;
