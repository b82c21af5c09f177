//! The text arena: raw text blobs side by side in segments of up to 4 MiB, so that a search
//! is one pass over memory.
//!
//! A blob is never split and stands once; one larger than a segment stands alone. A line
//! feed follows each, so that no line reaches from one into the next. Binary blobs are not
//! here. Each writer, the store or one of its stagings, fills a segment of its own, the
//! first small, and freezes it when it is full; what is frozen is shared with readers.
//!
//! Only free memory is used, and no other copy is displaced for a segment. A segment goes as
//! a whole: the one that was searched longest ago first, of equals the youngest, so that a
//! repeated search over a little too much text keeps what it has. What goes can be made
//! again from packed bytes, and stands beside them as [raw copies](super::raw_cache) do:
//! a blob has its raw bytes here or there.

use bytes::Bytes;
use memchr::memchr;

use super::held::held;
use super::raw_cache::Owner;
use super::room;
use crate::limits::{Budget, Reservation};

/// Whether git takes `text` for binary: a NUL in its first 8,000 bytes.
pub fn is_binary(text: &[u8]) -> bool {
    memchr(0, &text[..text.len().min(BINARY_PROBE_BYTES)]).is_some()
}

/// The raw text of one store and of its stagings.
#[derive(Debug, Default)]
pub(super) struct Arena {
    segments: Vec<Option<Segment>>,
    texts: Vec<Text>,
    free_texts: Vec<u32>,
    texts_paid: Option<Reservation>,
    /// The segment that each writer fills: the staging's number, 0 for the store.
    open: Vec<(u32, u32)>,
    /// Counts changes to what is frozen, so that who has read places knows if they hold.
    changes: u64,
    /// Counts searches.
    searches: u64,
}

#[derive(Debug)]
struct Segment {
    content: Content,
    /// Texts in it that are somebody's.
    live: u32,
    /// The search that came here last.
    searched: u64,
}

#[derive(Debug)]
enum Content {
    Open { bytes: Vec<u8>, paid: Reservation },
    Frozen(Bytes),
}

#[derive(Clone, Copy, Debug)]
struct Text {
    /// `None` for a free slot.
    owner: Option<Owner>,
    place: TextPlace,
}

/// Which bytes of which segment; the line feed that follows is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TextPlace {
    pub(super) segment: u32,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Arena {
    /// Bytes in segments, line feeds included.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().flatten().map(|segment| segment.len() as u64).sum()
    }

    pub(super) fn segments(&self) -> u64 {
        self.segments.iter().flatten().count() as u64
    }

    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds `text` for `owner`, if memory is free; its slot.
    pub(super) fn append(&mut self, owner: Owner, text: &[u8], budget: &Budget) -> Option<u32> {
        let len = u32::try_from(text.len()).ok().filter(|&len| len < u32::MAX)?;
        let slot = self.free_slot(budget)?;
        let number = self.room_for(owner.staging, text.len() + 1, budget)?;
        let segment = self.segments.get_mut(number as usize)?.as_mut()?;
        let Content::Open { bytes, .. } = &mut segment.content else { return None };
        let start = u32::try_from(bytes.len()).ok()?;
        bytes.extend_from_slice(text);
        bytes.push(b'\n');
        segment.live += 1;
        let place = TextPlace { segment: number, start, len };
        self.free_texts.pop();
        *self.texts.get_mut(slot as usize)? = Text { owner: Some(owner), place };
        Some(slot)
    }

    /// Whether `owner` has a text in `slot`.
    pub(super) fn has(&self, slot: u32, owner: Owner) -> bool {
        self.place(slot, owner).is_some()
    }

    /// The text that `owner` has in `slot`. Shared where it is frozen; otherwise a copy, if
    /// memory is free.
    pub(super) fn read(&self, slot: u32, owner: Owner, budget: &Budget) -> Option<Bytes> {
        let TextPlace { segment, start, len } = self.place(slot, owner)?;
        let range = start as usize..start as usize + len as usize;
        match &self.segments.get(segment as usize)?.as_ref()?.content {
            Content::Frozen(bytes) => (range.end <= bytes.len()).then(|| bytes.slice(range)),
            Content::Open { bytes, .. } => {
                let paid = budget.reserve_free(u64::from(len)).ok()?;
                Some(held(bytes.get(range)?.to_vec(), paid))
            }
        }
    }

    /// Where the text is that `owner` has in `slot`.
    pub(super) fn place(&self, slot: u32, owner: Owner) -> Option<TextPlace> {
        let text = self.texts.get(slot as usize)?;
        (text.owner == Some(owner)).then_some(text.place)
    }

    /// Gives the text that `from` has in `slot` to `to`; whether there is one.
    pub(super) fn hand_over(&mut self, slot: u32, from: Owner, to: Owner) -> bool {
        match self.texts.get_mut(slot as usize) {
            Some(text) if text.owner == Some(from) => {
                text.owner = Some(to);
                self.changes += 1;
                true
            }
            _ => false,
        }
    }

    /// Lets go of the text that `owner` has in `slot`; of its segment when it was the last.
    pub(super) fn remove(&mut self, slot: u32, owner: Owner) {
        let Some(TextPlace { segment: number, .. }) = self.place(slot, owner) else { return };
        self.free(slot);
        self.changes += 1;
        if let Some(Some(segment)) = self.segments.get_mut(number as usize) {
            segment.live = segment.live.saturating_sub(1);
            if segment.live == 0 {
                self.drop_segment(number);
            }
        }
    }

    /// Shares what `writer` has written: nothing is added to that segment from now on.
    pub(super) fn freeze(&mut self, writer: u32) {
        let Some(at) = self.open.iter().position(|&(open, _)| open == writer) else { return };
        let (_, number) = self.open.swap_remove(at);
        self.changes += 1;
        if let Some(Some(segment)) = self.segments.get_mut(number as usize) {
            segment.freeze();
        }
    }

    /// A search begins that will come to the segments [shared](Self::share) from now on.
    pub(super) fn begin_search(&mut self) {
        self.searches += 1;
    }

    /// The search comes to the segments `numbers`.
    pub(super) fn touch(&mut self, numbers: &[u32]) {
        for &number in numbers {
            if let Some(Some(segment)) = self.segments.get_mut(number as usize) {
                segment.searched = self.searches;
            }
        }
    }

    /// The bytes of a frozen segment, for a search.
    pub(super) fn share(&mut self, number: u32) -> Option<Bytes> {
        let segment = self.segments.get_mut(number as usize)?.as_mut()?;
        segment.searched = self.searches;
        match &segment.content {
            Content::Frozen(bytes) => Some(bytes.clone()),
            Content::Open { .. } => None,
        }
    }

    /// Lets go of one segment: its bytes, if there was any.
    pub(super) fn evict_one(&mut self) -> Option<u64> {
        let numbered = (0_u32..).zip(&self.segments);
        let standing = numbered.filter_map(|(number, it)| it.as_ref().map(|it| (number, it)));
        let (number, segment) =
            standing.min_by_key(|(number, it)| (it.searched, std::cmp::Reverse(*number)))?;
        let bytes = segment.paid_bytes();
        for slot in 0..self.texts.len() as u32 {
            if self.texts.get(slot as usize).is_some_and(|text| text.is_in(number)) {
                self.free(slot);
            }
        }
        self.changes += 1;
        self.drop_segment(number);
        Some(bytes)
    }

    fn free(&mut self, slot: u32) {
        if let Some(text) = self.texts.get_mut(slot as usize) {
            text.owner = None;
            // Has room: see `free_slot`.
            self.free_texts.push(slot);
        }
    }

    fn drop_segment(&mut self, number: u32) {
        self.open.retain(|&(_, open)| open != number);
        if let Some(segment) = self.segments.get_mut(number as usize) {
            *segment = None;
        }
        if self.segments.iter().all(Option::is_none) {
            // Also the tables go back, so that an emptied arena holds nothing.
            let Self { changes, searches, .. } = *self;
            *self = Self { changes, searches, ..Self::default() };
        }
    }

    /// The slot on top of the free ones; pays for more of them when there is none.
    fn free_slot(&mut self, budget: &Budget) -> Option<u32> {
        if self.free_texts.is_empty() {
            let old = self.texts.len();
            let len = old.saturating_mul(2).max(MIN_TEXTS);
            let (first, last) = (u32::try_from(old).ok()?, u32::try_from(len).ok()?);
            // Old and new exist together while the texts move.
            let paid = budget.reserve_free((len * BYTES_PER_TEXT) as u64).ok()?;
            self.texts.reserve_exact(len - old);
            self.free_texts.reserve_exact(len);
            self.texts.resize(len, Text { owner: None, place: TextPlace::default() });
            self.free_texts.extend((first..last).rev());
            self.texts_paid = Some(paid);
        }
        self.free_texts.last().copied()
    }

    /// The segment in which `writer` has room for `len` bytes.
    fn room_for(&mut self, writer: u32, len: usize, budget: &Budget) -> Option<u32> {
        let open = self.open.iter().find(|&&(open, _)| open == writer).map(|&(_, number)| number);
        let capacity_before = match open {
            None => 0,
            Some(number) => {
                let Content::Open { bytes, .. } =
                    &self.segments.get(number as usize)?.as_ref()?.content
                else {
                    return None;
                };
                if bytes.capacity() - bytes.len() >= len {
                    return Some(number);
                }
                bytes.capacity()
            }
        };
        let wanted = capacity_before.saturating_mul(2).clamp(FIRST_SEGMENT_BYTES, SEGMENT_BYTES);
        let content = open_segment(len, wanted, budget)?;
        self.freeze(writer);
        let number = match self.segments.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.segments.push(None);
                self.segments.len() - 1
            }
        };
        let searched = self.searches;
        *self.segments.get_mut(number)? = Some(Segment { content, live: 0, searched });
        let number = u32::try_from(number).ok()?;
        self.open.push((writer, number));
        Some(number)
    }
}

/// An empty segment for at least `len` bytes, `wanted` if so many are free.
fn open_segment(len: usize, wanted: usize, budget: &Budget) -> Option<Content> {
    let mut capacity = wanted.max(len);
    loop {
        let bytes = capacity as u64 + SEGMENT_OVERHEAD_BYTES;
        if let Some(paid) = room::reserve_copy(budget, bytes, &mut |_| false) {
            return Some(Content::Open { bytes: Vec::with_capacity(capacity), paid });
        }
        if capacity == len || capacity <= FIRST_SEGMENT_BYTES {
            return None;
        }
        capacity = (capacity / 2).max(len);
    }
}

impl Segment {
    fn len(&self) -> usize {
        match &self.content {
            Content::Open { bytes, .. } => bytes.len(),
            Content::Frozen(bytes) => bytes.len(),
        }
    }

    fn paid_bytes(&self) -> u64 {
        match &self.content {
            Content::Open { paid, .. } => paid.bytes(),
            Content::Frozen(bytes) => bytes.len() as u64 + SEGMENT_OVERHEAD_BYTES,
        }
    }

    fn freeze(&mut self) {
        let content = std::mem::replace(&mut self.content, Content::Frozen(Bytes::new()));
        self.content = match content {
            Content::Open { mut bytes, mut paid } => {
                bytes.shrink_to_fit();
                let needed = bytes.capacity() as u64 + SEGMENT_OVERHEAD_BYTES;
                if needed < paid.bytes() {
                    // Giving back cannot fail.
                    let _ = paid.resize(needed);
                }
                Content::Frozen(held(bytes, paid))
            }
            frozen => frozen,
        };
    }
}

impl Text {
    fn is_in(&self, segment: u32) -> bool {
        self.owner.is_some() && self.place.segment == segment
    }
}

/// How far git looks for a NUL (`FIRST_FEW_BYTES` of its xdiff-interface.c).
const BINARY_PROBE_BYTES: usize = 8_000;
/// Large enough that where one ends costs a search nothing, small enough to be found in a
/// browser's memory and to give back one at a time.
const SEGMENT_BYTES: usize = 4 << 20;
/// The first of a writer, so that one file does not hold 4 MiB.
const FIRST_SEGMENT_BYTES: usize = 64 << 10;
/// Bookkeeping of one segment: its slot here, later its shared owner.
const SEGMENT_OVERHEAD_BYTES: u64 = 192;
const MIN_TEXTS: usize = 64;
const BYTES_PER_TEXT: usize = size_of::<Text>() + size_of::<u32>();

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
