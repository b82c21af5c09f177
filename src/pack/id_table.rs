//! Ids in ascending order behind a fan-out table: what pack indexes, multi-pack indexes and
//! commit-graphs have in common.
//!
//! The fan-out table has, for each first byte, how many ids begin with it or a lower one.

use std::cmp::Ordering;
use std::ops::Range;

use crate::oid::{ObjectFormat, ObjectId};

/// Where such a table lies in a file. The fan-out table was checked; every other access is
/// bounds-checked, so that a damaged table answers wrongly or not at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdTable {
    fan_out: usize,
    ids: usize,
    /// From one id to the next.
    stride: usize,
    len: u32,
    format: ObjectFormat,
}

/// Why a fan-out table was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FanOutError {
    /// It counts fewer ids for this byte than for the one before.
    Decreases(u8),
    /// The file ends within it.
    Truncated,
}

/// How many ids there are behind the fan-out table at `at`.
pub(crate) fn count_ids(bytes: &[u8], at: usize) -> Result<u32, FanOutError> {
    let mut ids = 0;
    for byte in 0..=255 {
        let place = at.checked_add(4 * usize::from(byte));
        let count = place.and_then(|place| u32_at(bytes, place)).ok_or(FanOutError::Truncated)?;
        if count < ids {
            return Err(FanOutError::Decreases(byte));
        }
        ids = count;
    }
    Ok(ids)
}

impl IdTable {
    /// `len` ids from `ids` on, each `stride` bytes after the one before.
    pub(crate) fn new(
        fan_out: usize,
        ids: usize,
        stride: usize,
        len: u32,
        format: ObjectFormat,
    ) -> Self {
        Self { fan_out, ids, stride, len, format }
    }

    /// How many ids.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn format(&self) -> ObjectFormat {
        self.format
    }

    /// The place of `id` in the table.
    pub(crate) fn position(&self, bytes: &[u8], id: &ObjectId) -> Option<u32> {
        let raw = id.as_bytes();
        let candidates = self.with_first_byte(bytes, *raw.first()?);
        let at = self.first_at_or_after(bytes, candidates, raw);
        (self.raw_id(bytes, at)? == raw).then_some(at)
    }

    /// The id at place `at`.
    pub(crate) fn id_at(&self, bytes: &[u8], at: u32) -> Option<ObjectId> {
        ObjectId::from_raw(self.raw_id(bytes, at)?).ok()
    }

    /// The places whose ids begin with `prefix`, hexadecimal digits of either case. Empty
    /// when it is not hexadecimal or too long.
    pub(crate) fn prefix_range(&self, bytes: &[u8], prefix: &[u8]) -> Range<u32> {
        let Some((low, high)) = prefix_bounds(prefix, self.format) else { return 0..0 };
        let start = self.first_at_or_after(bytes, 0..self.len, &low);
        let mut end = self.first_at_or_after(bytes, start..self.len, &high);
        // `high` is the last id that begins so, and may itself be there (twice, even).
        while self.raw_id(bytes, end) == Some(&high[..]) {
            end += 1;
        }
        start..end
    }

    fn raw_id<'a>(&self, bytes: &'a [u8], at: u32) -> Option<&'a [u8]> {
        if at >= self.len {
            return None;
        }
        let start = self.ids + at as usize * self.stride;
        bytes.get(start..start + self.format.raw_len())
    }

    /// The places of ids that begin with `byte`, if the fan-out table is right.
    fn with_first_byte(&self, bytes: &[u8], byte: u8) -> Range<u32> {
        let count = |byte: u8| u32_at(bytes, self.fan_out + 4 * usize::from(byte)).unwrap_or(0);
        let start = byte.checked_sub(1).map_or(0, count);
        start..count(byte)
    }

    /// The first place within `range` whose id is not below `raw`, or its end.
    fn first_at_or_after(&self, bytes: &[u8], range: Range<u32>, raw: &[u8]) -> u32 {
        let Range { start: mut low, end: mut high } = range;
        let wanted = first_word(raw);
        while low < high {
            let middle = low + (high - low) / 2;
            // Eight bytes tell nearly all ids apart, and are compared without a call.
            let is_below = |id: &[u8]| match first_word(id).cmp(&wanted) {
                Ordering::Equal => id < raw,
                order => order.is_lt(),
            };
            match self.raw_id(bytes, middle) {
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

/// The number at `at`, in network byte order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Bytes of a fan-out table.
pub(crate) const FAN_OUT_BYTES: usize = 256 * 4;
