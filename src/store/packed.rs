//! Segments of packed streams, and which of them go first when memory is short.
//!
//! A segment goes with all its streams, for only then its memory is free. One that was not
//! read since it was read on arrival is *fresh*: of these the youngest goes first. Those
//! that were read again are *proven*, and go by chance with a second chance. A scan over
//! more than fits then reads most of what it left from memory the next time, and its
//! newcomers make room for each other, where least-recently-used would keep nothing. Every
//! eighth pick is one among the proven, so that what is no longer read goes too.
//!
//! Which segments may go at all is the owner's to say: they hold only objects that someone
//! can send again.

use bytes::Bytes;

use super::raw_cache::Random;
use super::segments::{Place, SEGMENT_OVERHEAD_BYTES};

/// The segments of one store.
#[derive(Debug, Default)]
pub(super) struct PackedSegments {
    slots: Vec<Option<Segment>>,
    free: Vec<u32>,
    /// In order of arrival.
    fresh: Vec<Handle>,
    proven: Vec<Handle>,
    arrivals: u64,
    picks: u32,
    random: Random,
    live_bytes: u64,
}

/// A certain segment: its slot may be another's later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Handle {
    slot: u32,
    arrival: u64,
}

#[derive(Debug)]
struct Segment {
    bytes: Bytes,
    arrival: u64,
    /// Whose streams came here. Some may have gone since, and come again elsewhere.
    entries: Vec<u32>,
    /// How many of them are still here.
    live: u32,
    /// By how many it is kept.
    keepers: u32,
    /// Since it was last picked, or kept.
    was_read: bool,
    may_go: bool,
    is_listed: bool,
}

impl PackedSegments {
    /// Takes segments in, each kept once; where each is now. An empty one is nowhere.
    pub(super) fn adopt(&mut self, segments: impl Iterator<Item = Bytes>) -> Vec<Option<Handle>> {
        let mut adopt = |bytes: Bytes| {
            if bytes.is_empty() {
                return None;
            }
            let slot = match self.free.pop() {
                Some(slot) => slot,
                None => {
                    self.slots.push(None);
                    u32::try_from(self.slots.len() - 1).ok()?
                }
            };
            self.arrivals += 1;
            let arrival = self.arrivals;
            *self.slots.get_mut(slot as usize)? = Some(Segment {
                bytes,
                arrival,
                entries: Vec::new(),
                live: 0,
                keepers: 1,
                was_read: false,
                may_go: true,
                is_listed: false,
            });
            Some(Handle { slot, arrival })
        };
        segments.map(&mut adopt).collect()
    }

    /// `entry` has its stream at `place` from now on; whether it can be sent again.
    pub(super) fn add(&mut self, entry: u32, place: &Place, may_go: bool) {
        if let Some(segment) = self.segment_mut(place.segment) {
            segment.entries.push(entry);
            segment.live += 1;
            segment.may_go &= may_go;
            self.live_bytes += u64::from(place.len);
        }
    }

    /// The stream at `place` is nobody's any more; what that freed.
    pub(super) fn let_go(&mut self, place: &Place) -> u64 {
        let Some(segment) = self.segment_mut(place.segment) else { return 0 };
        segment.live = segment.live.saturating_sub(1);
        let is_empty = segment.live == 0;
        self.live_bytes = self.live_bytes.saturating_sub(u64::from(place.len));
        if is_empty { self.remove(place.segment) } else { 0 }
    }

    /// The stream at `place`.
    pub(super) fn stream(&self, place: &Place) -> Bytes {
        let segment = self.slots.get(place.segment as usize).and_then(Option::as_ref);
        segment.and_then(|segment| place.of(&segment.bytes)).unwrap_or_default()
    }

    /// Notes that something at `place` was read.
    pub(super) fn touch(&mut self, place: &Place) {
        if let Some(segment) = self.segment_mut(place.segment)
            && segment.keepers == 0
        {
            segment.was_read = true;
        }
    }

    /// Keeps the segment of `place`.
    pub(super) fn keep(&mut self, place: &Place) -> Option<Handle> {
        let segment = self.segment_mut(place.segment)?;
        segment.keepers += 1;
        Some(Handle { slot: place.segment, arrival: segment.arrival })
    }

    /// One keeper less.
    pub(super) fn unkeep(&mut self, handle: Handle) {
        let Some(segment) = self.certain_mut(handle) else { return };
        segment.keepers = segment.keepers.saturating_sub(1);
        if segment.keepers > 0 {
            return;
        }
        if segment.live == 0 {
            // It came, and nothing of it was new.
            self.remove(handle.slot);
        } else if segment.may_go && !std::mem::replace(&mut segment.is_listed, true) {
            self.fresh.push(handle);
        }
    }

    /// The entries of the segment that goes next; `None` when none may go. It goes when all
    /// of them were [let go](Self::let_go).
    pub(super) fn pick(&mut self) -> Option<(u32, Vec<u32>)> {
        self.picks = self.picks.wrapping_add(1);
        let now_and_then = self.picks.is_multiple_of(PICKS_PER_PROVEN);
        let unread = if now_and_then { self.one_proven() } else { None };
        let slot = unread.or_else(|| self.youngest_fresh()).or_else(|| self.any_proven())?;
        let segment = self.segment_mut(slot)?;
        Some((slot, std::mem::take(&mut segment.entries)))
    }

    /// How many segments there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether `more` segments have numbers.
    pub(super) fn has_room_for(&self, more: usize) -> bool {
        u32::try_from(self.slots.len().saturating_add(more)).is_ok()
    }

    /// Bytes of the streams that are somebody's.
    pub(super) fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    fn youngest_fresh(&mut self) -> Option<u32> {
        let mut kept = Vec::new();
        let picked = loop {
            let Some(handle) = self.fresh.pop() else { break None };
            match self.certain_mut(handle) {
                None => {}
                Some(segment) if segment.keepers > 0 => kept.push(handle),
                Some(segment) if segment.was_read => self.proven.push(handle),
                Some(_) => break Some(handle.slot),
            }
        };
        self.fresh.extend(kept.into_iter().rev());
        picked
    }

    /// One among the proven, if it was not read since it was last picked.
    fn one_proven(&mut self) -> Option<u32> {
        let at = self.random.below(self.proven.len())?;
        let handle = *self.proven.get(at)?;
        let is_there = match self.certain_mut(handle) {
            Some(segment) if segment.keepers > 0 => return None,
            Some(segment) => {
                if std::mem::take(&mut segment.was_read) {
                    return None;
                }
                true
            }
            None => false,
        };
        self.proven.swap_remove(at);
        is_there.then_some(handle.slot)
    }

    /// One among the proven, whatever it takes: the first from some place on that was not read
    /// since it was last picked, or the first that may go at all. Marks stay as they are: a
    /// scan that begins has read none of them yet, and without marks would lose all of them.
    fn any_proven(&mut self) -> Option<u32> {
        let mut proven = std::mem::take(&mut self.proven);
        proven.retain(|&handle| self.certain_mut(handle).is_some());
        let start = self.random.below(proven.len()).unwrap_or(0);
        let (mut unread, mut first) = (None, None);
        for at in (start..proven.len()).chain(0..start) {
            let Some(segment) = self.certain_mut(proven[at]) else { continue };
            if segment.keepers > 0 {
                continue;
            }
            first.get_or_insert(at);
            if !segment.was_read {
                unread = Some(at);
                break;
            }
        }
        let picked = unread.or(first).map(|at| proven.swap_remove(at).slot);
        self.proven = proven;
        picked
    }

    fn segment_mut(&mut self, slot: u32) -> Option<&mut Segment> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    fn certain_mut(&mut self, handle: Handle) -> Option<&mut Segment> {
        self.segment_mut(handle.slot).filter(|segment| segment.arrival == handle.arrival)
    }

    /// Empties a slot; what its segment was accounted as.
    fn remove(&mut self, slot: u32) -> u64 {
        let segment = self.slots.get_mut(slot as usize).and_then(Option::take);
        let Some(segment) = segment else { return 0 };
        self.free.push(slot);
        segment.bytes.len() as u64 + SEGMENT_OVERHEAD_BYTES
    }
}

impl Handle {
    pub(super) fn slot(self) -> u32 {
        self.slot
    }
}

/// One pick in so many is one among the proven.
const PICKS_PER_PROVEN: u32 = 8;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Segments of one stream each, in the order in which they came, that nobody keeps.
    fn segments(count: u32) -> (PackedSegments, Vec<Place>) {
        let mut packed = PackedSegments::default();
        let places = (0..count).map(|entry| arrive(&mut packed, entry)).collect();
        (packed, places)
    }

    fn arrive(packed: &mut PackedSegments, entry: u32) -> Place {
        let handle = packed.adopt([Bytes::from(vec![7; 100])].into_iter()).remove(0).unwrap();
        let place = Place { segment: handle.slot(), start: 0, len: 100 };
        packed.add(entry, &place, true);
        packed.unkeep(handle);
        place
    }

    fn evict(packed: &mut PackedSegments) -> Option<u32> {
        let (segment, entries) = packed.pick()?;
        assert_eq!(packed.let_go(&Place { segment, start: 0, len: 100 }), 100 + OVERHEAD);
        Some(entries[0])
    }

    const OVERHEAD: u64 = SEGMENT_OVERHEAD_BYTES;

    #[test]
    fn the_youngest_that_was_not_read_again_goes_first() {
        let (mut packed, places) = segments(4);
        packed.touch(&places[3]);
        let gone: Vec<_> = (0..4).map(|_| evict(&mut packed).unwrap()).collect();
        assert_eq!(gone, [2, 1, 0, 3]);
        assert_eq!((evict(&mut packed), packed.len(), packed.live_bytes()), (None, 0, 0));
    }

    #[test]
    fn whatever_may_go_goes_before_there_is_nothing() {
        for seed in 0..50_u32 {
            let (mut packed, places) = segments(40);
            let kept: Vec<_> =
                (0..5).map(|n| packed.keep(&places[(seed * 7 + n * 3) as usize % 40])).collect();
            places.iter().for_each(|place| packed.touch(place));
            // Some go otherwise, and leave nothing behind but where they were listed.
            for place in &places[30..] {
                packed.let_go(place);
            }
            let mut gone = 0;
            while evict(&mut packed).is_some() {
                gone += 1;
                places.iter().step_by(3).for_each(|place| packed.touch(place));
            }
            let stay = packed.len();
            assert_eq!(gone, 30 - stay, "only what is kept stays");
            assert!(stay <= kept.len());
        }
    }

    #[test]
    fn what_is_kept_or_cannot_be_sent_again_stays() {
        let (mut packed, places) = segments(2);
        let kept = packed.keep(&places[1]).unwrap();
        let handle = packed.adopt([Bytes::from(vec![7; 100])].into_iter()).remove(0).unwrap();
        packed.add(2, &Place { segment: handle.slot(), start: 0, len: 100 }, false);
        packed.unkeep(handle);
        assert_eq!([evict(&mut packed), evict(&mut packed)], [Some(0), None]);
        packed.unkeep(kept);
        assert_eq!([evict(&mut packed), evict(&mut packed)], [Some(1), None]);
        assert_eq!(packed.stream(&places[1]), Bytes::new());
    }

    #[test]
    fn a_slot_that_is_anothers_is_not_the_old_segment() {
        let (mut packed, places) = segments(1);
        let old = packed.keep(&places[0]).unwrap();
        packed.let_go(&places[0]);
        let place = arrive(&mut packed, 1);
        assert_eq!(place.segment, old.slot());
        let kept = packed.keep(&place).unwrap();
        packed.unkeep(old);
        assert_eq!(evict(&mut packed), None, "who kept the old one does not let go of the new");
        packed.unkeep(kept);
        assert_eq!(evict(&mut packed), Some(1));
    }

    /// Reads `count` objects in turn, `rounds` times, with room for `room`; how often one
    /// had to come again in the last round.
    fn scan(count: u32, room: usize, rounds: u32) -> u32 {
        let mut packed = PackedSegments::default();
        let mut held: Vec<Option<Place>> = vec![None; count as usize];
        let mut came = 0;
        for _ in 0..rounds {
            came = 0;
            for entry in 0..count {
                if let Some(place) = &held[entry as usize] {
                    packed.touch(place);
                    continue;
                }
                while packed.len() >= room {
                    held[evict(&mut packed).unwrap() as usize] = None;
                }
                held[entry as usize] = Some(arrive(&mut packed, entry));
                came += 1;
            }
        }
        came
    }

    #[test]
    fn a_scan_over_twice_the_room_fetches_little_more_than_what_does_not_fit() {
        assert_eq!(scan(1_000, 1_000, 3), 0);
        for rounds in 2..6 {
            let came = scan(1_000, 500, rounds);
            assert!(came < 550, "{came} in round {rounds}");
        }
    }

    #[test]
    fn what_is_no_longer_read_makes_room_within_some_scans() {
        let (mut packed, places) = segments(100);
        places.iter().for_each(|place| packed.touch(place));
        let mut held: Vec<Option<Place>> = vec![None; 80];
        for _ in 0..40 {
            for entry in 0..80 {
                if let Some(place) = &held[entry as usize] {
                    packed.touch(place);
                    continue;
                }
                while packed.len() >= 100 {
                    if let Some(of_new) = evict(&mut packed).unwrap().checked_sub(1_000) {
                        held[of_new as usize] = None;
                    }
                }
                held[entry as usize] = Some(arrive(&mut packed, 1_000 + entry));
            }
        }
        let held = held.iter().flatten().count();
        assert!(held > 70, "{held} of 80");
    }
}
