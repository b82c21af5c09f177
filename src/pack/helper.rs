//! What the files beside packs have in common that git can do without: multi-pack indexes,
//! commit-graphs, bitmaps. They are refused in one way, and whoever reads them goes on
//! without.
//!
//! Follows `gitformat-chunk`: a table says where the chunks of a file begin, and a checksum
//! ends it.

use crate::oid::{Hasher, ObjectFormat};
use crate::pack::id_table::{FAN_OUT_BYTES, IdTable, count_ids, u32_at};

/// Why such a file was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelperError {
    /// It does not begin with the right letters.
    #[error("it does not begin as it should")]
    BadMagic,
    /// A version that is not known here.
    #[error("its version {0} is not supported")]
    BadVersion(u32),
    /// The trailing checksum does not match.
    #[error("its checksum does not match its bytes")]
    Checksum,
    /// Something in it contradicts the rest.
    #[error("its {0} is damaged")]
    Damaged(&'static str),
    /// It is for a repository of the other hash.
    #[error("it is for another hash")]
    Format,
    /// The file ends within its header.
    #[error("it ends within its header")]
    Truncated,
}

/// Checks what such a file begins with: `magic`, version 1, and the number of the hash.
pub(crate) fn check_header(
    bytes: &[u8],
    magic: [u8; 4],
    format: ObjectFormat,
) -> Result<(), HelperError> {
    let first = bytes.first_chunk().ok_or(HelperError::Truncated)?;
    if *first != magic {
        return Err(HelperError::BadMagic);
    }
    let hash = match format {
        ObjectFormat::Sha1 => 1,
        ObjectFormat::Sha256 => 2,
    };
    match (bytes.get(4), bytes.get(5)) {
        (Some(1), Some(number)) if *number == hash => Ok(()),
        (Some(1), Some(_)) => Err(HelperError::Format),
        (Some(other), Some(_)) => Err(HelperError::BadVersion(u32::from(*other))),
        _ => Err(HelperError::Truncated),
    }
}

/// Hashes the whole file and compares with the checksum at its end.
pub(crate) fn verify_checksum(bytes: &[u8], format: ObjectFormat) -> Result<(), HelperError> {
    let (body, trailer) = bytes
        .len()
        .checked_sub(format.raw_len())
        .and_then(|at| bytes.split_at_checked(at))
        .ok_or(HelperError::Truncated)?;
    let mut hasher = Hasher::new(format);
    hasher.update(body);
    match hasher.finish() {
        Ok(id) if id.as_bytes() == trailer => Ok(()),
        _ => Err(HelperError::Checksum),
    }
}

/// A part of a file that lies within it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Chunk {
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// The chunks of a file, each of which lies within it.
#[derive(Debug)]
pub(crate) struct Chunks(Vec<([u8; 4], Chunk)>);

impl Chunks {
    /// Reads the table at `at`, of `count` chunks, in a file that ends with a checksum of
    /// `format`.
    pub(crate) fn parse(
        bytes: &[u8],
        at: usize,
        count: u8,
        format: ObjectFormat,
    ) -> Result<Self, HelperError> {
        const DAMAGED: HelperError = HelperError::Damaged("table of chunks");
        let row = |number: usize| {
            let bytes = bytes.get(at + number * ROW_BYTES..)?;
            let (name, rest) = bytes.split_first_chunk::<4>()?;
            Some((*name, u64::from_be_bytes(*rest.first_chunk()?)))
        };
        let end = bytes.len().checked_sub(format.raw_len()).ok_or(HelperError::Truncated)?;
        let first = at + (usize::from(count) + 1) * ROW_BYTES;
        let mut chunks = Vec::with_capacity(usize::from(count));
        for number in 0..usize::from(count) {
            let (name, start) = row(number).ok_or(HelperError::Truncated)?;
            let (_, next) = row(number + 1).ok_or(HelperError::Truncated)?;
            let place = |offset: u64| usize::try_from(offset).map_err(|_| DAMAGED);
            let chunk = Chunk { start: place(start)?, end: place(next)? };
            let is_inside = first <= chunk.start && chunk.start <= chunk.end && chunk.end <= end;
            if !is_inside || chunks.iter().any(|(known, _)| *known == name) {
                return Err(DAMAGED);
            }
            chunks.push((name, chunk));
        }
        match row(usize::from(count)) {
            Some(([0, 0, 0, 0], _)) => Ok(Self(chunks)),
            _ => Err(DAMAGED),
        }
    }

    /// The chunk called `name`, if there is one.
    pub(crate) fn find(&self, name: [u8; 4]) -> Option<Chunk> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, chunk)| *chunk)
    }

    /// The ids of the chunks `OIDF` and `OIDL`.
    pub(crate) fn ids(&self, bytes: &[u8], format: ObjectFormat) -> Result<IdTable, HelperError> {
        const DAMAGED: HelperError = HelperError::Damaged("list of ids");
        let fan_out = self.find(*b"OIDF").filter(|chunk| chunk.len() == FAN_OUT_BYTES);
        let fan_out = fan_out.ok_or(DAMAGED)?.start;
        let count = count_ids(bytes, fan_out).map_err(|_| DAMAGED)?;
        let needed = (count as usize).checked_mul(format.raw_len());
        let ids = self.find(*b"OIDL").filter(|chunk| Some(chunk.len()) == needed);
        let ids = ids.ok_or(DAMAGED)?.start;
        Ok(IdTable::new(fan_out, ids, format.raw_len(), count, format))
    }
}

/// The number at place `at` of a list of numbers.
pub(crate) fn nth_u32(list: &[u8], at: usize) -> Option<u32> {
    u32_at(list, at.checked_mul(4)?)
}

/// A name and an offset.
const ROW_BYTES: usize = 12;
