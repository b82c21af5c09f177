//! Pack indexes (`.idx`), versions 1 and 2: from an id to an offset in a pack.
//!
//! Follows `gitformat-pack`, "Original (version 1) pack-*.idx files" and "Version 2
//! pack-*.idx files". Reading, over any bytes (a mapped file, a `Vec`): the length
//! and the fan-out table are checked once, every other access is bounds-checked, so a
//! damaged index answers wrongly or not at all but never panics. It does not look into
//! the pack; whoever opens both compares [`PackIndex::pack_checksum`] with the pack's
//! trailer. Writing is in [`mod@write`].

pub mod write;

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::{Error, ErrorKind};
use crate::oid::{Hasher, ObjectFormat, ObjectId};

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
    format: ObjectFormat,
    objects: u32,
    layout: Layout,
}

/// A pack index over borrowed bytes.
pub type PackIndexRef<'a> = PackIndex<&'a [u8]>;

/// Where the tables are. They were checked to lie inside the file, except for the
/// 64-bit offsets, whose count only the 32-bit offsets know.
#[derive(Clone, Copy, Debug)]
struct Layout {
    fan_out: usize,
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
        let mut objects = 0;
        for byte in 0..=255 {
            let count =
                u32_at(bytes, fan_out + 4 * usize::from(byte)).ok_or(IndexError::Truncated)?;
            if count < objects {
                return Err(IndexError::FanOut(byte));
            }
            objects = count;
        }
        let layout = match version {
            1 => Layout::version_1(bytes.len(), objects, format),
            _ => Layout::version_2(bytes.len(), objects, format),
        };
        let layout = layout.ok_or(IndexError::Length { objects, actual: bytes.len() as u64 })?;
        Ok(Self { data, format, objects, layout })
    }

    /// How many objects the pack holds.
    pub fn len(&self) -> u32 {
        self.objects
    }

    /// Whether the pack holds nothing.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Which hash names the objects.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// Where `id`'s entry begins in the pack, when it is there.
    pub fn find(&self, id: &ObjectId) -> Option<u64> {
        self.offset_at(self.position(id)?)
    }

    /// The place of `id` in the order of ids.
    pub fn position(&self, id: &ObjectId) -> Option<u32> {
        let raw = id.as_bytes();
        let candidates = self.with_first_byte(*raw.first()?);
        let at = self.first_at_or_after(candidates, raw);
        (self.raw_id(at)? == raw).then_some(at)
    }

    /// The id at place `at`: ids ascend.
    pub fn id_at(&self, at: u32) -> Option<ObjectId> {
        ObjectId::from_raw(self.raw_id(at)?).ok()
    }

    /// Where the entry of the id at place `at` begins in the pack. `None` past the end,
    /// or when the index is damaged there.
    pub fn offset_at(&self, at: u32) -> Option<u64> {
        if at >= self.objects {
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
        if at >= self.objects {
            return None;
        }
        u32_at(self.data.as_ref(), self.layout.crcs? + at as usize * 4)
    }

    /// The places whose ids begin with `prefix`, hexadecimal digits of either case. Empty
    /// when it is not hexadecimal or too long.
    pub fn prefix_range(&self, prefix: &[u8]) -> Range<u32> {
        let Some((low, high)) = prefix_bounds(prefix, self.format) else { return 0..0 };
        let start = self.first_at_or_after(0..self.objects, &low);
        let mut end = self.first_at_or_after(start..self.objects, &high);
        // `high` is the last id that begins so, and may itself be there (twice, even).
        while self.raw_id(end) == Some(&high[..]) {
            end += 1;
        }
        start..end
    }

    /// The checksum of the pack this index is for: its trailer.
    pub fn pack_checksum(&self) -> ObjectId {
        let width = self.format.raw_len();
        let bytes = self.data.as_ref();
        bytes
            .len()
            .checked_sub(2 * width)
            .and_then(|at| ObjectId::from_raw(bytes.get(at..at + width)?).ok())
            .unwrap_or(ObjectId::null(self.format))
    }

    /// Hashes the whole file and compares with its own checksum.
    pub fn verify_checksum(&self) -> Result<(), IndexError> {
        let bytes = self.data.as_ref();
        let (body, trailer) = bytes
            .len()
            .checked_sub(self.format.raw_len())
            .and_then(|at| bytes.split_at_checked(at))
            .ok_or(IndexError::Truncated)?;
        let mut hasher = Hasher::new(self.format);
        hasher.update(body);
        match hasher.finish() {
            Ok(id) if id.as_bytes() == trailer => Ok(()),
            _ => Err(IndexError::Checksum),
        }
    }

    fn raw_id(&self, at: u32) -> Option<&[u8]> {
        if at >= self.objects {
            return None;
        }
        let start = self.layout.ids + at as usize * self.layout.id_stride;
        self.data.as_ref().get(start..start + self.format.raw_len())
    }

    /// The places of ids that begin with `byte`, if the fan-out table is right.
    fn with_first_byte(&self, byte: u8) -> Range<u32> {
        let count = |byte: u8| {
            u32_at(self.data.as_ref(), self.layout.fan_out + 4 * usize::from(byte)).unwrap_or(0)
        };
        let start = byte.checked_sub(1).map_or(0, count);
        start..count(byte)
    }

    /// The first place within `range` whose id is not below `raw`, or its end.
    fn first_at_or_after(&self, range: Range<u32>, raw: &[u8]) -> u32 {
        let Range { start: mut low, end: mut high } = range;
        let wanted = first_word(raw);
        while low < high {
            let middle = low + (high - low) / 2;
            // Eight bytes tell nearly all ids apart, and are compared without a call.
            let is_below = |id: &[u8]| match first_word(id).cmp(&wanted) {
                Ordering::Equal => id < raw,
                order => order.is_lt(),
            };
            match self.raw_id(middle) {
                Some(id) if is_below(id) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

/// The first eight bytes of an id as a number of the same order.
fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_be_bytes(*word))
}

impl Layout {
    fn version_1(actual: usize, objects: u32, format: ObjectFormat) -> Option<Self> {
        let width = format.raw_len();
        let stride = 4 + width;
        let needed = usize::try_from(objects).ok()?.checked_mul(stride)?;
        let needed = needed.checked_add(FAN_OUT_BYTES + 2 * width)?;
        (actual == needed).then_some(Self {
            fan_out: 0,
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
            fan_out: 8,
            ids,
            id_stride: width,
            offsets,
            offset_stride: 4,
            crcs: Some(crcs),
            large_offsets: Some((large, end)),
        })
    }
}

/// The lowest and the highest raw id that begin with the digits `prefix`.
fn prefix_bounds(prefix: &[u8], format: ObjectFormat) -> Option<(Vec<u8>, Vec<u8>)> {
    if prefix.len() > format.hex_len() {
        return None;
    }
    let filled = |digit: u8| {
        let mut hex = prefix.to_vec();
        hex.resize(format.hex_len(), digit);
        ObjectId::from_hex(&hex).ok().map(|id| id.as_bytes().to_vec())
    };
    Some((filled(b'0')?, filled(b'f')?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

const MAGIC: [u8; 4] = *b"\xfftOc";
const FAN_OUT_BYTES: usize = 256 * 4;
/// Marks a 32-bit offset that is a row of the table of 64-bit offsets.
const LARGE: u32 = 1 << 31;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
