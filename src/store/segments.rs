//! Where packed streams live: segments of up to 1 MiB that the store owns, and an
//! allocation of its own for each stream over 64 KiB.
//!
//! A stream is never split and is copied once from the network's chunk, apart from its
//! first bytes when it turns out not to fit where it began. Segments of one writer
//! start small and double, so that a fetch of one file does not hold 1 MiB.

use bytes::Bytes;

use super::held::held;
use crate::limits::{Budget, LimitExceeded, Reservation, Which};

/// Which bytes of which segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Place {
    /// The bytes of this place in its `segment`.
    pub(super) fn of(&self, segment: &Bytes) -> Option<Bytes> {
        let (start, end) = self.range();
        (end <= segment.len()).then(|| segment.slice(start..end))
    }

    fn range(&self) -> (usize, usize) {
        let start = self.start as usize;
        (start, start.saturating_add(self.len as usize))
    }
}

/// Appends streams; reads what it has; becomes shared segments.
#[derive(Debug, Default)]
pub(super) struct SegmentWriter {
    segments: Vec<Segment>,
    /// The segment that small streams are appended to.
    open: Option<u32>,
    /// The stream under way.
    current: Option<Place>,
}

#[derive(Debug)]
struct Segment {
    bytes: Vec<u8>,
    paid: Option<Reservation>,
}

impl SegmentWriter {
    pub(super) fn begin(&mut self) {
        let segment = self.open.unwrap_or(NO_SEGMENT);
        let start = self.open.map_or(0, |open| self.used(open));
        self.current = Some(Place { segment, start, len: 0 });
    }

    /// Adds to the stream under way; without one, nothing happens.
    pub(super) fn append(&mut self, piece: &[u8], budget: &Budget) -> Result<(), LimitExceeded> {
        let Some(mut place) = self.current else { return Ok(()) };
        let len = (place.len as usize)
            .checked_add(piece.len())
            .and_then(|len| u32::try_from(len).ok())
            .ok_or(TOO_LONG)?;
        if place.len as usize + piece.len() > self.room(&place) {
            place = self.relocate(place, len as usize, budget)?;
        }
        if let Some(segment) = self.segments.get_mut(place.segment as usize) {
            segment.bytes.extend_from_slice(piece);
        }
        place.len = len;
        self.current = Some(place);
        Ok(())
    }

    /// Forgets what is there of the stream under way, which begins anew.
    pub(super) fn abandon(&mut self) {
        let Some(place) = self.current.take() else { return };
        if self.open == Some(place.segment) {
            if let Some(segment) = self.segments.get_mut(place.segment as usize) {
                segment.bytes.truncate(place.start as usize);
            }
        } else if self.segments.len().checked_sub(1) == Some(place.segment as usize) {
            // Its own, which nothing else came after.
            self.segments.pop();
        }
        self.begin();
    }

    /// The stream under way is complete; where it is.
    pub(super) fn end(&mut self) -> Place {
        let Some(place) = self.current.take() else { return Place::default() };
        if self.open != Some(place.segment)
            && let Some(segment) = self.segments.get_mut(place.segment as usize)
        {
            segment.shrink();
        }
        place
    }

    /// The bytes of a stream that has ended.
    pub(super) fn slice(&self, place: &Place) -> &[u8] {
        let (start, end) = place.range();
        self.segments
            .get(place.segment as usize)
            .and_then(|segment| segment.bytes.get(start..end))
            .unwrap_or_default()
    }

    /// Frees segments of which no place in `live` has a part, and moves the places of
    /// those that are mostly dead. When memory is short, some stay where they are.
    pub(super) fn compact(&mut self, live: &mut [Place], budget: &Budget) {
        let mut live_bytes = vec![0_usize; self.segments.len()];
        for place in live.iter() {
            if let Some(sum) = live_bytes.get_mut(place.segment as usize) {
                *sum += place.len as usize;
            }
        }
        let sparse = |segment: &Segment, live: usize| live < segment.bytes.len() / 2;
        let mut old: Vec<Option<Segment>> = live_bytes.iter().map(|_| None).collect();
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if sparse(segment, live_bytes[index]) {
                old[index] = Some(std::mem::replace(segment, Segment::freed()));
            }
        }
        self.open = None;
        for place in live {
            let index = place.segment as usize;
            let Some(Some(from)) = old.get(index) else { continue };
            let (start, end) = place.range();
            self.begin();
            match self.append(from.bytes.get(start..end).unwrap_or_default(), budget) {
                Ok(()) => *place = self.end(),
                Err(_) => {
                    // Back into its slot: this place and the later ones stay valid.
                    self.current = None;
                    self.segments[index] = old[index].take().unwrap_or_else(Segment::freed);
                }
            }
        }
    }

    /// The segments, shared from now on, without the memory they do not use.
    pub(super) fn freeze(self) -> impl Iterator<Item = Bytes> {
        self.segments.into_iter().map(|mut segment| {
            segment.shrink();
            match segment.paid {
                Some(paid) => held(segment.bytes, paid),
                None => Bytes::new(),
            }
        })
    }

    /// Moves a stream that has no room to where `len` bytes of it fit.
    fn relocate(
        &mut self,
        place: Place,
        len: usize,
        budget: &Budget,
    ) -> Result<Place, LimitExceeded> {
        let own = place.segment != NO_SEGMENT && self.open != Some(place.segment);
        if own && let Some(segment) = self.segments.get_mut(place.segment as usize) {
            segment.grow(len.max(segment.bytes.capacity().saturating_mul(2)), budget)?;
            return Ok(place);
        }
        let alone = len > LARGE_STREAM_BYTES;
        let capacity = if alone { len.max(2 * LARGE_STREAM_BYTES) } else { self.next_size() };
        let index = u32::try_from(self.segments.len()).map_err(|_| TOO_LONG)?;
        let paid = budget.reserve(capacity as u64 + SEGMENT_OVERHEAD_BYTES)?;
        let mut bytes = Vec::with_capacity(capacity);
        bytes.extend_from_slice(self.slice(&place));
        if let Some(segment) = self.segments.get_mut(place.segment as usize) {
            segment.bytes.truncate(place.start as usize);
            if !alone {
                segment.shrink();
            }
        }
        self.segments.push(Segment { bytes, paid: Some(paid) });
        if !alone {
            self.open = Some(index);
        }
        Ok(Place { segment: index, start: 0, len: place.len })
    }

    /// The length up to which the stream at `place` may grow where it is.
    fn room(&self, place: &Place) -> usize {
        let shared = self.open == Some(place.segment);
        self.segments.get(place.segment as usize).map_or(0, |segment| {
            let room = segment.bytes.capacity().saturating_sub(place.start as usize);
            if shared { room.min(LARGE_STREAM_BYTES) } else { room }
        })
    }

    fn used(&self, segment: u32) -> u32 {
        self.segments
            .get(segment as usize)
            .and_then(|segment| u32::try_from(segment.bytes.len()).ok())
            .unwrap_or(0)
    }

    fn next_size(&self) -> usize {
        self.open
            .and_then(|open| self.segments.get(open as usize))
            .map_or(FIRST_SEGMENT_BYTES, |open| open.bytes.capacity().saturating_mul(2))
            .clamp(FIRST_SEGMENT_BYTES, SEGMENT_BYTES)
    }
}

impl Segment {
    fn freed() -> Self {
        Self { bytes: Vec::new(), paid: None }
    }

    fn grow(&mut self, capacity: usize, budget: &Budget) -> Result<(), LimitExceeded> {
        // Old and new exist together while the bytes move.
        let paid = budget.reserve(capacity as u64 + SEGMENT_OVERHEAD_BYTES)?;
        self.bytes.reserve_exact(capacity - self.bytes.len());
        self.paid = Some(paid);
        Ok(())
    }

    fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        if let Some(paid) = &mut self.paid {
            let bytes = self.bytes.capacity() as u64 + SEGMENT_OVERHEAD_BYTES;
            if bytes < paid.bytes() {
                // Giving back cannot fail.
                let _ = paid.resize(bytes);
            }
        }
    }
}

const SEGMENT_BYTES: usize = 1 << 20;
const FIRST_SEGMENT_BYTES: usize = 64 << 10;
const LARGE_STREAM_BYTES: usize = 64 << 10;
/// Bookkeeping of one segment: its slot here, later its shared owner, its slot in the store
/// and its place in two lists there.
pub(super) const SEGMENT_OVERHEAD_BYTES: u64 = 320;
const NO_SEGMENT: u32 = u32::MAX;
const TOO_LONG: LimitExceeded = LimitExceeded {
    which: Which::ObjectBytes,
    allowed: u32::MAX as u64,
    seen: 1 + u32::MAX as u64,
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fill(len: usize, seed: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 31 + seed * 7) as u8).collect()
    }

    fn write(writer: &mut SegmentWriter, stream: &[u8], piece: usize, budget: &Budget) -> Place {
        writer.begin();
        for piece in stream.chunks(piece) {
            writer.append(piece, budget).unwrap();
        }
        writer.end()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn streams_come_back_whatever_their_sizes_and_pieces(
            streams in proptest::collection::vec(
                (prop_oneof![0..300_usize, 60_000..70_000_usize, 100_000..300_000_usize],
                 1_000..80_000_usize), 1..30),
            kept in any::<u32>(),
        ) {
            let budget = Budget::new(1 << 30);
            let mut writer = SegmentWriter::default();
            let data: Vec<_> =
                streams.iter().enumerate().map(|(i, &(len, _))| fill(len, i)).collect();
            let places: Vec<_> = data.iter().zip(&streams)
                .map(|(data, &(_, piece))| write(&mut writer, data, piece, &budget))
                .collect();
            for (place, data) in places.iter().zip(&data) {
                prop_assert_eq!(writer.slice(place), &data[..]);
            }
            let live: Vec<usize> =
                (0..data.len()).filter(|&i| kept & (1 << i) != 0).collect();
            let mut moved: Vec<Place> = live.iter().map(|&i| places[i]).collect();
            writer.compact(&mut moved, &budget);
            let total: usize = live.iter().map(|&i| data[i].len()).sum();
            let segments: Vec<Bytes> = writer.freeze().collect();
            let overhead = SEGMENT_OVERHEAD_BYTES * segments.len() as u64;
            prop_assert!(budget.used_bytes() <= 2 * total as u64 + overhead);
            for (place, &i) in moved.iter().zip(&live) {
                let segment = segments.get(place.segment as usize);
                let stream = segment.and_then(|segment| place.of(segment)).unwrap_or_default();
                prop_assert_eq!(&stream[..], &data[i][..]);
            }
            drop(segments);
            prop_assert_eq!(budget.used_bytes(), 0);
        }
    }

    #[test]
    fn one_small_stream_holds_little() {
        let budget = Budget::new(1 << 30);
        let mut writer = SegmentWriter::default();
        write(&mut writer, &fill(1_000, 0), 100, &budget);
        let segments: Vec<Bytes> = writer.freeze().collect();
        assert_eq!(segments.len(), 1);
        assert_eq!(budget.used_bytes(), 1_000 + SEGMENT_OVERHEAD_BYTES);
    }

    #[test]
    fn compacting_without_memory_loses_nothing() {
        let data: Vec<_> = (0..200).map(|i| fill(5_000, i)).collect();
        for spends in 0..6 {
            let budget = Budget::new(1 << 30);
            let mut writer = SegmentWriter::default();
            let mut live: Vec<Place> = Vec::new();
            for (i, data) in data.iter().enumerate() {
                let place = write(&mut writer, data, 5_000, &budget);
                live.extend((i % 5 == 0).then_some(place));
            }
            let before = budget.used_bytes();
            let short = Budget::failing_after(1 << 30, spends);
            writer.compact(&mut live, &short);
            for (place, data) in live.iter().zip(data.iter().step_by(5)) {
                assert_eq!(writer.slice(place), &data[..], "{spends}");
            }
            assert!(budget.used_bytes() + short.used_bytes() <= before, "{spends}");
        }
    }
}
