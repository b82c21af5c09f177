//! Bitmaps of a pack: for some of its commits, which of its entries they reach.
//!
//! Follows `gitformat-bitmap`, version 1, for single packs. Bit `n` is the entry that lies `n`-th
//! in the pack. The cache of names, the lookup table and pseudo-merges are not looked at.

use super::ewah::Ewah;
use super::helper::{HelperError, verify_checksum};
use super::id_table::u32_at;
use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};

/// The bitmaps of a pack, over the bytes `D` of their file.
#[derive(Clone, Debug)]
pub struct PackBitmap<D> {
    data: D,
    /// Of commits, trees, blobs and tags.
    kinds: [Ewah; 4],
    /// In the order of the file.
    commits: Vec<CommitBits>,
    /// The place of a commit in the order of ids, and that of its bits in `commits`.
    by_place: Vec<(u32, u32)>,
}

/// What a commit reaches.
#[derive(Clone, Copy, Debug)]
struct CommitBits {
    bits: Ewah,
    /// The bits are those that differ from the ones so many commits before; 0 for none.
    back: u8,
}

impl<D: AsRef<[u8]>> PackBitmap<D> {
    /// Checks everything but whether the bits are true: that the file is for the pack of
    /// `objects` entries whose checksum is `pack`, its own checksum, and that all bits are
    /// of entries.
    ///
    /// # Errors
    /// When the file does not follow its format, or is for another pack.
    pub fn parse(
        data: D,
        format: ObjectFormat,
        objects: u32,
        pack: &ObjectId,
    ) -> Result<Self, HelperError> {
        let bytes = data.as_ref();
        let width = format.raw_len();
        let (magic, header) = bytes.split_first_chunk().ok_or(HelperError::Truncated)?;
        if *magic != *b"BITM" {
            return Err(HelperError::BadMagic);
        }
        let versions = u32_at(header, 0).ok_or(HelperError::Truncated)?;
        if versions >> 16 != 1 {
            return Err(HelperError::BadVersion(versions >> 16));
        }
        if versions & FULL_DAG == 0 {
            return Err(HelperError::Damaged("list of options"));
        }
        let count = u32_at(header, 4).ok_or(HelperError::Truncated)?;
        if header.get(8..8 + width) != Some(pack.as_bytes()) {
            return Err(HelperError::Damaged("name of its pack"));
        }
        verify_checksum(bytes, format)?;
        let body = bytes.get(..bytes.len() - width).unwrap_or_default();
        let words = (objects as usize).div_ceil(64);
        let mut at = HEADER_LEN + width;
        let mut next_bits = || {
            let (bits, end) = Ewah::parse(body, at, words)?;
            Some((bits, std::mem::replace(&mut at, end)))
        };
        const DAMAGED: HelperError = HelperError::Damaged("list of bitmaps");
        let mut kinds = [None; 4];
        for kind in &mut kinds {
            *kind = Some(next_bits().ok_or(DAMAGED)?.0);
        }
        let [Some(one), Some(two), Some(three), Some(four)] = kinds else { return Err(DAMAGED) };
        let mut index = Self {
            kinds: [one, two, three, four],
            commits: Vec::new(),
            by_place: Vec::new(),
            data,
        };
        index.read_commits(at, count, objects, width).ok_or(DAMAGED)?;
        Ok(index)
    }
}

impl<D: AsRef<[u8]>> PackBitmap<D> {
    /// Reads `count` commits from `at` on.
    fn read_commits(
        &mut self,
        mut at: usize,
        count: u32,
        objects: u32,
        width: usize,
    ) -> Option<()> {
        let bytes = self.data.as_ref();
        let body = bytes.get(..bytes.len() - width)?;
        let words = (objects as usize).div_ceil(64);
        let mut steps: Vec<u32> = Vec::new();
        for nth in 0..count {
            let place = u32_at(body, at).filter(|&place| place < objects)?;
            let back = *body.get(at + 4)?;
            let (bits, end) = Ewah::parse(body, at + COMMIT_HEADER_LEN, words)?;
            at = end;
            let before = match back {
                0 => 0,
                _ => *steps.get(nth.checked_sub(u32::from(back))? as usize)?,
            };
            steps.push(before.saturating_add(1));
            self.commits.push(CommitBits { bits, back });
            if before < MAX_STEPS {
                self.by_place.push((place, nth));
            }
        }
        self.by_place.sort_unstable();
        Some(())
    }

    /// How many commits there are bits of.
    pub fn len(&self) -> usize {
        self.by_place.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Bytes of memory that the tables take, beside the file.
    pub fn table_bytes(&self) -> u64 {
        let (commits, places) = (self.commits.capacity(), self.by_place.capacity());
        (commits * size_of::<CommitBits>() + places * size_of::<(u32, u32)>()) as u64
    }

    /// Whether there are bits of the commit at `place` in the order of ids.
    pub fn knows(&self, place: u32) -> bool {
        self.nth(place).is_some()
    }

    /// Flips the bits of the entries that the commit at `place` in the order of ids reaches,
    /// bit `n % 64` of word `n / 64` for entry `n`; whether there are such.
    pub fn flip_reached(&self, place: u32, into: &mut [u64]) -> bool {
        let Some(nth) = self.nth(place) else { return false };
        let mut at = nth as usize;
        while let Some(commit) = self.commits.get(at) {
            commit.bits.xor_into(self.data.as_ref(), into);
            if commit.back == 0 {
                break;
            }
            at = at.saturating_sub(usize::from(commit.back));
        }
        true
    }

    /// The same for all entries of `kind`.
    pub fn flip_kind(&self, kind: Kind, into: &mut [u64]) {
        let [commits, trees, blobs, tags] = &self.kinds;
        let bits = match kind {
            Kind::Commit => commits,
            Kind::Tree => trees,
            Kind::Blob => blobs,
            Kind::Tag => tags,
        };
        bits.xor_into(self.data.as_ref(), into);
    }

    fn nth(&self, place: u32) -> Option<u32> {
        let at = self.by_place.binary_search_by_key(&place, |&(place, _)| place).ok()?;
        self.by_place.get(at).map(|(_, nth)| *nth)
    }
}

/// Magic, version, options, count of commits.
const HEADER_LEN: usize = 12;
/// The option that is always set: what is reached is in the pack, and has its bit.
const FULL_DAG: u32 = 1;
/// The place of a commit, how far back its base is, flags.
const COMMIT_HEADER_LEN: usize = 6;
/// Bits that are told by more differences than these are as if they were not there.
const MAX_STEPS: u32 = 4_096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
