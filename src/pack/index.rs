//! Pack indexes (`.idx`), versions 1 and 2: from an id to an offset in a pack.
//!
//! Follows `gitformat-pack`, "Original (version 1) pack-*.idx files" and "Version 2
//! pack-*.idx files". Reading, over any bytes (a mapped file, a `Vec`): the length
//! and the fan-out table are checked once, every other access is bounds-checked, so a
//! damaged index answers wrongly or not at all but never panics. It does not look into
//! the pack; whoever opens both compares [`PackIndex::pack_checksum`] with the pack's
//! trailer. Writing is in [`mod@write`].

pub mod write;

use std::ops::Range;

use super::helper::{HelperError, verify_checksum};
use super::id_table::{FAN_OUT_BYTES, FanOutError, IdTable, count_ids, u32_at};
use crate::error::{Error, ErrorKind};
use crate::oid::{ObjectFormat, ObjectId};

/// Why an index was refused. The pack beside it can still be read, by indexing it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// A version other than 1 and 2.
    #[error("pack index version {0} is not supported")]
    BadVersion(u32),
    /// The fan-out table decreases somewhere.
    #[error("the pack index's fan-out table decreases at {0:#04x}")]
    FanOut(u8),
    /// The file is not as long as its count of objects needs.
    #[error("a pack index of {objects} objects cannot be {actual} bytes long")]
    Length {
        /// Objects it counts.
        objects: u32,
        /// Its length.
        actual: u64,
    },
    /// The file ends within its header.
    #[error("the pack index ends within its header")]
    Truncated,
    /// The trailing checksum does not match.
    #[error("the pack index's checksum does not match its bytes")]
    Checksum,
}

impl From<IndexError> for Error {
    fn from(error: IndexError) -> Self {
        let kind = match error {
            IndexError::BadVersion(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Corrupt,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}

/// A pack index over the bytes `D` of its file.
#[derive(Clone, Debug)]
pub struct PackIndex<D> {
    data: D,
    ids: IdTable,
    layout: Layout,
}

/// A pack index over borrowed bytes.
pub type PackIndexRef<'a> = PackIndex<&'a [u8]>;

/// Where the tables are. They were checked to lie inside the file, except for the
/// 64-bit offsets, whose count only the 32-bit offsets know.
#[derive(Clone, Copy, Debug)]
struct Layout {
    ids: usize,
    /// From one id to the next.
    id_stride: usize,
    offsets: usize,
    /// From one offset to the next.
    offset_stride: usize,
    /// Version 2's CRC-32s of packed entries.
    crcs: Option<usize>,
    /// Where version 2's offsets of 2 GiB and more begin and end.
    large_offsets: Option<(usize, usize)>,
}

impl<D: AsRef<[u8]>> PackIndex<D> {
    /// Checks version, fan-out and length. The checksum is another matter
    /// ([`verify_checksum`](Self::verify_checksum)): it reads the whole file.
    pub fn parse(data: D, format: ObjectFormat) -> Result<Self, IndexError> {
        let bytes = data.as_ref();
        let version = match bytes.first_chunk() {
            Some(&MAGIC) => u32_at(bytes, 4).ok_or(IndexError::Truncated)?,
            _ => 1,
        };
        let fan_out = match version {
            1 => 0,
            2 => 8,
            other => return Err(IndexError::BadVersion(other)),
        };
        let objects = count_ids(bytes, fan_out).map_err(|error| match error {
            FanOutError::Decreases(byte) => IndexError::FanOut(byte),
            FanOutError::Truncated => IndexError::Truncated,
        })?;
        let layout = match version {
            1 => Layout::version_1(bytes.len(), objects, format),
            _ => Layout::version_2(bytes.len(), objects, format),
        };
        let layout = layout.ok_or(IndexError::Length { objects, actual: bytes.len() as u64 })?;
        let ids = IdTable::new(fan_out, layout.ids, layout.id_stride, objects, format);
        Ok(Self { data, ids, layout })
    }

    /// How many objects the pack holds.
    pub fn len(&self) -> u32 {
        self.ids.len()
    }

    /// Whether the pack holds nothing.
    pub fn is_empty(&self) -> bool {
        self.ids.len() == 0
    }

    /// Which hash names the objects.
    pub fn format(&self) -> ObjectFormat {
        self.ids.format()
    }

    /// Where `id`'s entry begins in the pack, when it is there.
    pub fn find(&self, id: &ObjectId) -> Option<u64> {
        self.offset_at(self.position(id)?)
    }

    /// The place of `id` in the order of ids.
    pub fn position(&self, id: &ObjectId) -> Option<u32> {
        self.ids.position(self.data.as_ref(), id)
    }

    /// The id at place `at`: ids ascend.
    pub fn id_at(&self, at: u32) -> Option<ObjectId> {
        self.ids.id_at(self.data.as_ref(), at)
    }

    /// Where the entry of the id at place `at` begins in the pack. `None` past the end,
    /// or when the index is damaged there.
    pub fn offset_at(&self, at: u32) -> Option<u64> {
        if at >= self.ids.len() {
            return None;
        }
        let bytes = self.data.as_ref();
        let layout = &self.layout;
        let offset = u32_at(bytes, layout.offsets + at as usize * layout.offset_stride)?;
        let Some((start, end)) = layout.large_offsets else { return Some(u64::from(offset)) };
        if offset & LARGE == 0 {
            return Some(u64::from(offset));
        }
        let row = ((offset & !LARGE) as usize).checked_mul(8)?.checked_add(start)?;
        let raw = bytes.get(..end)?.get(row..)?.first_chunk()?;
        Some(u64::from_be_bytes(*raw))
    }

    /// The CRC-32 of the packed entry of the id at place `at`, where the index has them
    /// (version 2).
    pub fn crc32_at(&self, at: u32) -> Option<u32> {
        if at >= self.ids.len() {
            return None;
        }
        u32_at(self.data.as_ref(), self.layout.crcs? + at as usize * 4)
    }

    /// The places whose ids begin with `prefix`, hexadecimal digits of either case. Empty
    /// when it is not hexadecimal or too long.
    pub fn prefix_range(&self, prefix: &[u8]) -> Range<u32> {
        self.ids.prefix_range(self.data.as_ref(), prefix)
    }

    /// The checksum of the pack this index is for: its trailer.
    pub fn pack_checksum(&self) -> ObjectId {
        let width = self.ids.format().raw_len();
        let bytes = self.data.as_ref();
        bytes
            .len()
            .checked_sub(2 * width)
            .and_then(|at| ObjectId::from_raw(bytes.get(at..at + width)?).ok())
            .unwrap_or(ObjectId::null(self.ids.format()))
    }

    /// Hashes the whole file and compares with its own checksum.
    pub fn verify_checksum(&self) -> Result<(), IndexError> {
        let verified = verify_checksum(self.data.as_ref(), self.ids.format());
        verified.map_err(|error| match error {
            HelperError::Truncated => IndexError::Truncated,
            _ => IndexError::Checksum,
        })
    }
}

impl Layout {
    fn version_1(actual: usize, objects: u32, format: ObjectFormat) -> Option<Self> {
        let width = format.raw_len();
        let stride = 4 + width;
        let needed = usize::try_from(objects).ok()?.checked_mul(stride)?;
        let needed = needed.checked_add(FAN_OUT_BYTES + 2 * width)?;
        (actual == needed).then_some(Self {
            ids: FAN_OUT_BYTES + 4,
            id_stride: stride,
            offsets: FAN_OUT_BYTES,
            offset_stride: stride,
            crcs: None,
            large_offsets: None,
        })
    }

    fn version_2(actual: usize, objects: u32, format: ObjectFormat) -> Option<Self> {
        let width = format.raw_len();
        let objects = usize::try_from(objects).ok()?;
        let ids = 8 + FAN_OUT_BYTES;
        let crcs = objects.checked_mul(width)?.checked_add(ids)?;
        let offsets = objects.checked_mul(4)?.checked_add(crcs)?;
        let large = objects.checked_mul(4)?.checked_add(offsets)?;
        let end = actual.checked_sub(2 * width)?;
        let rows = end.checked_sub(large)?;
        // At most one large offset an object, and never for all of them.
        (rows % 8 == 0 && rows / 8 <= objects).then_some(Self {
            ids,
            id_stride: width,
            offsets,
            offset_stride: 4,
            crcs: Some(crcs),
            large_offsets: Some((large, end)),
        })
    }
}

const MAGIC: [u8; 4] = *b"\xfftOc";
/// Marks a 32-bit offset that is a row of the table of 64-bit offsets.
const LARGE: u32 = 1 << 31;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
