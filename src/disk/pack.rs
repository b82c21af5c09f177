//! One pack and its index, mapped: entries by offset, delta chains without recursion.
//!
//! Follows `gitformat-pack`. An index is used when its checksum of the pack is the
//! pack's own trailer. Objects are not hashed again when they are read, as in git: their
//! sizes, and zlib's checksums, are verified.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;

use super::files::malformed;
use super::map::map;
use crate::limits::{Budget, LimitExceeded, Limits, Reservation, Which, check};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::entry::{EntryForm, EntryHeader};
use crate::pack::index::PackIndex;
use crate::store::StoreError;

/// A pack whose index was read; the pack itself is opened when first needed.
#[derive(Debug)]
pub(super) struct Pack {
    /// Unique within the process's view of a repository.
    pub(super) number: u64,
    pub(super) index: PackIndex<Bytes>,
    path: PathBuf,
    data: OnceLock<Result<Bytes, String>>,
    by_offset: OnceLock<ByOffset>,
}

/// Where every entry begins, and which place in the index it has.
#[derive(Debug)]
struct ByOffset {
    entries: Vec<(u64, u32)>,
    _paid: Reservation,
}

/// An entry: its header, and where its stream begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryAt {
    pub(super) offset: u64,
    pub(super) header: EntryHeader,
    pub(super) stream_start: usize,
}

impl Pack {
    /// The pack at `path`, a `.pack`, whose index lies beside it; `None` when there is no
    /// index.
    pub(super) fn open(
        path: &Path,
        number: u64,
        format: ObjectFormat,
    ) -> Result<Option<Self>, StoreError> {
        let index_path = path.with_extension("idx");
        let Some(bytes) = map(&index_path)? else { return Ok(None) };
        let index = PackIndex::parse(bytes, format)
            .map_err(|error| malformed(&index_path, error.to_string()))?;
        Ok(Some(Self {
            number,
            index,
            path: path.to_owned(),
            data: OnceLock::new(),
            by_offset: OnceLock::new(),
        }))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The entry that begins at `offset`.
    pub(super) fn entry(&self, offset: u64) -> Result<EntryAt, StoreError> {
        let entries = self.entries()?;
        let start = usize::try_from(offset).ok().filter(|&start| start >= HEADER_LEN);
        let rest = start.and_then(|start| entries.get(start..)).unwrap_or_default();
        match EntryHeader::decode(rest, self.index.format()) {
            Ok(Some((header, len))) => {
                Ok(EntryAt { offset, header, stream_start: entries.len() - rest.len() + len })
            }
            _ => Err(self.damaged(offset, "there is no entry")),
        }
    }

    /// Where the base of `entry` begins; `None` when it is whole.
    pub(super) fn base_of(&self, entry: &EntryAt) -> Result<Option<u64>, StoreError> {
        let base = match entry.header.form {
            EntryForm::Whole(_) => return Ok(None),
            // A base always lies before its delta, so that no chain can be a cycle.
            EntryForm::OfsDelta { distance } => {
                entry.offset.checked_sub(distance).filter(|&base| base < entry.offset)
            }
            EntryForm::RefDelta { base } => self.index.find(&base),
        };
        base.map(Some).ok_or_else(|| self.damaged(entry.offset, "the delta's base is not there"))
    }

    /// The bytes from an entry's stream on, up to the pack's trailer.
    pub(super) fn stream_and_after(&self, entry: &EntryAt) -> Result<Bytes, StoreError> {
        let end = self.entries()?.len();
        Ok(self.data()?.slice(entry.stream_start.min(end)..end))
    }

    /// An entry's stream, exactly; this needs the table of offsets.
    pub(super) fn stream(&self, entry: &EntryAt, budget: &Budget) -> Result<Bytes, StoreError> {
        let by_offset = self.by_offset(budget)?;
        let next = by_offset.partition_point(|&(offset, _)| offset <= entry.offset);
        let all = self.entries()?.len();
        let end = match by_offset.get(next) {
            Some(&(offset, _)) => usize::try_from(offset).unwrap_or(usize::MAX).min(all),
            None => all,
        };
        if end < entry.stream_start {
            return Err(self.damaged(entry.offset, "the index puts an entry inside another"));
        }
        Ok(self.data()?.slice(entry.stream_start..end))
    }

    /// Which entry begins at `offset`, counted in the order they lie in.
    pub(super) fn ordinal(&self, offset: u64, budget: &Budget) -> Result<u32, StoreError> {
        let by_offset = self.by_offset(budget)?;
        let at = by_offset.binary_search_by_key(&offset, |&(offset, _)| offset).ok();
        at.and_then(|at| u32::try_from(at).ok())
            .ok_or_else(|| self.damaged(offset, "the index has no entry"))
    }

    /// Where the entry `ordinal` begins, and its place in the index.
    pub(super) fn nth(&self, ordinal: u32, budget: &Budget) -> Result<(u64, u32), StoreError> {
        let found = self.by_offset(budget)?.get(ordinal as usize).copied();
        found.ok_or_else(|| malformed(&self.path, "it has fewer entries than were asked for"))
    }

    /// All bytes of an entry, header and the stream of `stream_len` bytes.
    pub(super) fn whole_entry(
        &self,
        entry: &EntryAt,
        stream_len: usize,
    ) -> Result<&[u8], StoreError> {
        let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
        let end = entry.stream_start.saturating_add(stream_len);
        let bytes = self.entries()?.get(start..end);
        bytes.ok_or_else(|| self.damaged(entry.offset, "the entry goes on after the pack"))
    }

    /// The id of the object whose entry begins at `offset`.
    pub(super) fn id_at(&self, offset: u64, budget: &Budget) -> Result<ObjectId, StoreError> {
        let by_offset = self.by_offset(budget)?;
        let at = by_offset.binary_search_by_key(&offset, |&(offset, _)| offset).ok();
        at.and_then(|at| self.index.id_at(by_offset.get(at)?.1))
            .ok_or_else(|| self.damaged(offset, "the index has no entry"))
    }

    /// Whether the pack can be opened; it stays open.
    pub(super) fn opens(&self) -> bool {
        self.data().is_ok()
    }

    /// Whether the pack could be opened, if anyone tried.
    pub(super) fn trouble(&self) -> Option<StoreError> {
        match self.data.get() {
            Some(Err(what)) => Some(malformed(&self.path, what.clone())),
            _ => None,
        }
    }

    /// That what stands at `offset` is damaged.
    pub(super) fn damaged(&self, offset: u64, what: &str) -> StoreError {
        malformed(&self.path, format!("at {offset}: {what}"))
    }

    /// Everything before the trailer.
    fn entries(&self) -> Result<&[u8], StoreError> {
        let data = self.data()?;
        Ok(&data[..data.len() - self.index.format().raw_len()])
    }

    fn data(&self) -> Result<&Bytes, StoreError> {
        let opened = self.data.get_or_init(|| self.open_data());
        opened.as_ref().map_err(|what| malformed(&self.path, what.clone()))
    }

    /// Maps the pack and holds it against its index.
    fn open_data(&self) -> Result<Bytes, String> {
        let data = match map(&self.path) {
            Ok(Some(data)) => data,
            Ok(None) => return Err("it has vanished".to_owned()),
            Err(error) => return Err(error.to_string()),
        };
        let trailer = data.len().checked_sub(self.index.format().raw_len());
        let trailer = trailer.filter(|&at| at >= HEADER_LEN).and_then(|at| data.get(at..));
        let word = |at: usize| data.get(at..at + 4).and_then(|word| word.try_into().ok());
        let number = |at| word(at).map(u32::from_be_bytes);
        if !data.starts_with(b"PACK") || trailer.is_none() {
            return Err("it is no pack".to_owned());
        }
        match number(4) {
            Some(2 | 3) => {}
            version => {
                return Err(format!("its version {} is not supported", version.unwrap_or(0)));
            }
        }
        if number(8) != Some(self.index.len()) {
            return Err("it and its index count different objects".to_owned());
        }
        if trailer != Some(self.index.pack_checksum().as_bytes()) {
            return Err("its index was made for another pack".to_owned());
        }
        Ok(data)
    }

    fn by_offset(&self, budget: &Budget) -> Result<&[(u64, u32)], LimitExceeded> {
        if let Some(made) = self.by_offset.get() {
            return Ok(&made.entries);
        }
        let count = self.index.len() as usize;
        let paid = budget.reserve((count * size_of::<(u64, u32)>()) as u64)?;
        let mut entries: Vec<(u64, u32)> = Vec::with_capacity(count);
        entries
            .extend((0..self.index.len()).filter_map(|at| Some((self.index.offset_at(at)?, at))));
        entries.sort_unstable();
        Ok(&self.by_offset.get_or_init(|| ByOffset { entries, _paid: paid }).entries)
    }
}

/// From an entry down to one that is whole, or to one that `known` has.
///
/// The entries on the way are returned, the first one first, and what `known` had of the
/// one after the last.
pub(super) fn chain<T>(
    pack: &Pack,
    offset: u64,
    limits: &Limits,
    mut known: impl FnMut(u64) -> Option<T>,
) -> Result<(Vec<EntryAt>, Option<T>), StoreError> {
    let mut entries: Vec<EntryAt> = Vec::new();
    let mut at = offset;
    loop {
        if let Some(found) = known(at) {
            return Ok((entries, Some(found)));
        }
        let entry = pack.entry(at)?;
        entries.push(entry);
        match pack.base_of(&entry)? {
            Some(base) => at = base,
            None => return Ok((entries, None)),
        }
        // This also ends a cycle of deltas by id.
        check(Which::DeltaDepth, u64::from(limits.max_delta_depth), entries.len() as u64)?;
    }
}

/// Magic, version, count.
const HEADER_LEN: usize = 12;
