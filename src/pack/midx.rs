//! Multi-pack indexes: from an id to one of many packs.
//!
//! Follows `gitformat-pack`, "multi-pack-index (MIDX) files", version 1. The file is taken as
//! a signpost only: where in its pack an object lies is asked of the pack's own index, so that
//! a file that is stale or damaged can send nobody to the wrong bytes.

use super::helper::{Chunk, Chunks, HelperError, check_header, nth_u32};
use super::id_table::{IdTable, u32_at};
use crate::oid::{ObjectFormat, ObjectId};

/// A multi-pack index over the bytes `D` of its file.
#[derive(Clone, Debug)]
pub struct MultiPackIndex<D> {
    data: D,
    ids: IdTable,
    names: Chunk,
    /// For each id a pack's number and an offset, four bytes each.
    places: Chunk,
    packs: u32,
}

impl<D: AsRef<[u8]>> MultiPackIndex<D> {
    /// Checks the header, the table of chunks and their lengths, and the names of the packs.
    /// The checksum is not verified, as git does not: it would read the whole file.
    ///
    /// # Errors
    /// When the file does not follow its format, or is for another hash.
    pub fn parse(data: D, format: ObjectFormat) -> Result<Self, HelperError> {
        let bytes = data.as_ref();
        check_header(bytes, *b"MIDX", format)?;
        let [_, _, chunks, bases] =
            *bytes.get(4..).and_then(<[u8]>::first_chunk).ok_or(HelperError::Truncated)?;
        if bases != 0 {
            return Err(HelperError::Damaged("count of base files"));
        }
        let packs = u32_at(bytes, 8).ok_or(HelperError::Truncated)?;
        let chunks = Chunks::parse(bytes, HEADER_LEN, chunks, format)?;
        let ids = chunks.ids(bytes, format)?;
        let needed = (ids.len() as usize).checked_mul(PLACE_BYTES);
        let places = chunks.find(*b"OOFF").filter(|chunk| Some(chunk.len()) == needed);
        let places = places.ok_or(HelperError::Damaged("list of places"))?;
        let names = chunks.find(*b"PNAM").ok_or(HelperError::Damaged("list of packs"))?;
        let index = Self { ids, names, places, packs, data };
        if index.names().count() != packs as usize {
            return Err(HelperError::Damaged("list of packs"));
        }
        Ok(index)
    }

    /// The names of the packs' indexes, as in `pack-1234.idx`, by the packs' numbers.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        let names = self.names.of(self.data.as_ref()).split_inclusive(|&byte| byte == 0);
        let names = names.filter_map(|name| name.strip_suffix(&[0])).take(self.packs as usize);
        // The chunk is padded.
        names.take_while(|name| !name.is_empty())
    }

    /// How many objects the packs hold, each counted once.
    pub fn len(&self) -> u32 {
        self.ids.len()
    }

    /// Whether they hold none.
    pub fn is_empty(&self) -> bool {
        self.ids.len() == 0
    }

    /// The number of the pack that has `id`; of several, the one that git would read it from.
    pub fn pack_of(&self, id: &ObjectId) -> Option<u32> {
        let bytes = self.data.as_ref();
        let at = self.ids.position(bytes, id)?;
        nth_u32(self.places.of(bytes), 2 * at as usize).filter(|&pack| pack < self.packs)
    }

    /// The id at place `at`: ids ascend.
    pub fn id_at(&self, at: u32) -> Option<ObjectId> {
        self.ids.id_at(self.data.as_ref(), at)
    }
}

/// Magic, version, hash, chunks, base files, packs.
const HEADER_LEN: usize = 12;
/// The number of a pack and an offset in it.
const PLACE_BYTES: usize = 8;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
