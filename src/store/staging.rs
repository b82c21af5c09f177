//! Where the entries of a pack wait until the pack is proven.
//!
//! A staging is private to whoever fills it; the store shows nothing of it before
//! [`commit`](Staging::commit) and is unchanged when it is dropped. The first entry
//! resolved to an id is that object; later ones, and those that the store already has,
//! are dropped with their streams. A delta's base was always resolved before it or is
//! in the store, and a winner's base is looked up by what its link was resolved to, so
//! that links point backwards in one order and no cycle can be.

use bytes::Bytes;

use super::entries::{Entries, Entry, Form};
use super::memory::{Inner, MemoryStore};
use super::raw_cache::{Owner, paid_bytes, raw_copy};
use super::segments::{Place, SegmentWriter};
use super::{Committed, Objects, Staging, StoreError, room};
use crate::limits::{LimitExceeded, Reservation, Which};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::{BaseLink, EntryStore, ResolvedEntry};

/// Entries on their way into a [`MemoryStore`].
#[derive(Debug)]
pub struct MemoryStaging {
    store: MemoryStore,
    /// Which of the store's stagings this is.
    number: u32,
    writer: SegmentWriter,
    /// By number in the pack.
    arrived: Vec<Arrived>,
    arrived_paid: Option<Reservation>,
    /// In the order of resolution, each id once. Bases are in `bases`.
    objects: Entries,
    /// Beside `objects`; paid for with `arrived`, which is never shorter.
    bases: Vec<Option<Base>>,
    /// An object whose delta base is neither here nor in the store.
    baseless: Option<ObjectId>,
}

#[derive(Clone, Copy, Debug)]
struct Arrived {
    place: Place,
    /// Which of `objects` it turned out to be.
    object: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Base {
    /// One of `objects`.
    Staged(u32),
    /// An entry of the store, which never drops one.
    Held(u32),
}

impl MemoryStaging {
    pub(super) fn new(store: MemoryStore, number: u32) -> Self {
        let objects = Entries::new(store.format());
        Self {
            store,
            number,
            writer: SegmentWriter::default(),
            arrived: Vec::new(),
            arrived_paid: None,
            objects,
            bases: Vec::new(),
            baseless: None,
        }
    }

    /// Objects resolved so far, each id once.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether nothing was resolved yet.
    pub fn is_empty(&self) -> bool {
        self.objects.len() == 0
    }

    fn resolve_base(&self, link: BaseLink) -> Option<Base> {
        match link {
            BaseLink::Entry(entry) => {
                self.arrived.get(entry as usize).and_then(|base| base.object).map(Base::Staged)
            }
            BaseLink::External(id) => {
                let held = self.store.lock().entries.find(&id).map(Base::Held);
                held.or_else(|| self.objects.find(&id).map(Base::Staged))
            }
        }
    }

    fn owner(&self, object: u32) -> Owner {
        Owner { staging: self.number, index: object }
    }

    /// Keeps a raw copy while memory allows: the base of deltas to come, and what makes
    /// the first search warm.
    fn keep_copy(&mut self, object: u32, kind: Kind, content: &[u8]) {
        let budget = self.store.budget();
        let mut evict = |bytes| self.store.lock().raw.evict(bytes);
        let Some(paid) = room::reserve_copy(budget, paid_bytes(content.len()), &mut evict) else {
            return;
        };
        let copy = raw_copy(content, paid);
        let slot = self.store.lock().raw.insert(kind, self.owner(object), copy);
        if let (Some(slot), Some(entry)) = (slot, self.objects.entry_mut(object)) {
            entry.raw = slot;
        }
    }

    /// Pays for one more entry in `arrived` and `bases`.
    fn reserve_arrival(&mut self) -> Result<(), LimitExceeded> {
        if self.arrived.len() < self.arrived.capacity() {
            return Ok(());
        }
        let capacity = self.arrived.len().saturating_mul(2).max(MIN_ARRIVALS);
        let per_entry = size_of::<Arrived>() + size_of::<Option<Base>>();
        let paid = self.store.budget().reserve((capacity * per_entry) as u64)?;
        self.arrived.reserve_exact(capacity - self.arrived.len());
        self.bases.reserve_exact(capacity - self.bases.len());
        self.arrived_paid = Some(paid);
        Ok(())
    }

    /// Lets go of the streams of objects that the store already has; how many objects
    /// are left at most.
    fn drop_duplicates(&mut self) -> usize {
        let mut live: Vec<(u32, Place)> = Vec::with_capacity(self.objects.len());
        let inner = self.store.lock();
        for index in 0..self.objects.len() as u32 {
            if let Some(&Entry { form: Form::Packed { place, .. }, .. }) = self.objects.entry(index)
                && inner.entries.find(&self.objects.id(index)).is_none()
            {
                live.push((index, place));
            }
        }
        drop(inner);
        let mut places: Vec<Place> = live.iter().map(|&(_, place)| place).collect();
        self.writer.compact(&mut places, self.store.budget());
        for (&(index, _), &moved) in live.iter().zip(&places) {
            if let Some(Entry { form: Form::Packed { place, .. }, .. }) =
                self.objects.entry_mut(index)
            {
                *place = moved;
            }
        }
        live.len()
    }
}

impl EntryStore for MemoryStaging {
    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.reserve_arrival()?;
        self.writer.begin();
        Ok(())
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.writer.append(stream, self.store.budget())
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        self.reserve_arrival()?;
        self.arrived.push(Arrived { place: self.writer.end(), object: None });
        Ok(())
    }

    fn stream(&self, entry: u32) -> &[u8] {
        self.arrived.get(entry as usize).map_or(&[], |entry| self.writer.slice(&entry.place))
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        let Some(&Arrived { place, object: None }) = self.arrived.get(entry.entry as usize) else {
            return Ok(());
        };
        let object = match self.objects.find(&entry.id) {
            Some(first) => first,
            None => {
                let base = entry.base.map(|link| self.resolve_base(link));
                if base.is_some_and(|base| base.is_none()) {
                    self.baseless.get_or_insert(entry.id);
                }
                self.objects.reserve(1, |bytes| self.store.budget().reserve(bytes))?;
                let ResolvedEntry { kind, inflated_size, .. } = entry;
                let form = Form::Packed { place, inflated_size, base: None };
                let size = entry.content.len() as u64;
                let object = self
                    .objects
                    .push(&entry.id, Entry { kind, form, size, raw: Default::default() });
                self.bases.push(base.flatten());
                self.keep_copy(object, kind, entry.content);
                object
            }
        };
        if let Some(arrived) = self.arrived.get_mut(entry.entry as usize) {
            arrived.object = Some(object);
        }
        Ok(())
    }

    fn content(&self, entry: u32) -> Option<Bytes> {
        let object = self.arrived.get(entry as usize)?.object?;
        let Entry { kind, raw, .. } = *self.objects.entry(object)?;
        self.store.lock().raw.peek(kind, raw, self.owner(object)).cloned()
    }

    fn external(&self, id: &ObjectId) -> Option<(Kind, Bytes)> {
        let object = self.store.read(id).ok()??;
        Some((object.kind, object.bytes))
    }
}

impl Staging for MemoryStaging {
    fn commit(mut self) -> Result<Committed, StoreError> {
        if let Some(id) = self.baseless {
            return Err(StoreError::Corrupt { id, what: "its delta base is missing" });
        }
        let count = self.objects.len();
        let _scratch_paid = self.store.budget().reserve((count * SCRATCH_BYTES) as u64)?;
        let new = self.drop_duplicates();
        let ids_paid = self.store.budget().reserve((count * size_of::<ObjectId>()) as u64)?;
        let ids: Vec<ObjectId> = (0..count as u32).map(|index| self.objects.id(index)).collect();
        let writer = std::mem::take(&mut self.writer);
        let segments: Vec<Bytes> = if new > 0 { writer.freeze().collect() } else { Vec::new() };
        // Where each object is in the store.
        let mut handles: Vec<u32> = Vec::with_capacity(count);

        let mut guard = self.store.lock();
        let inner = &mut *guard;
        let too_many = LimitExceeded {
            which: Which::PackObjects,
            allowed: u64::from(u32::MAX),
            seen: u64::from(u32::MAX) + 1,
        };
        let first_segment = u32::try_from(inner.segments.len()).map_err(|_| too_many)?;
        inner.make_room(self.store.budget(), new)?;
        // From here on nothing fails.
        inner.segments.extend(segments);
        let (mut new_objects, mut bytes) = (0, 0);
        for (index, id) in (0_u32..).zip(&ids) {
            let Some(&staged) = self.objects.entry(index) else { break };
            let handle = match inner.entries.find(id) {
                Some(held) => held,
                None => {
                    let base = self.bases.get(index as usize).copied().flatten();
                    let base = base.and_then(|base| match base {
                        Base::Staged(base) => handles.get(base as usize).copied(),
                        Base::Held(base) => Some(base),
                    });
                    new_objects += 1;
                    bytes += staged.stream_bytes();
                    inner.entries.push(id, staged.moved(first_segment, base))
                }
            };
            handles.push(handle);
            inner.adopt_copy(handle, &staged, self.owner(index));
        }
        inner.packed_bytes += bytes;
        drop(guard);
        Ok(Committed { ids, new_objects, bytes, _paid: ids_paid })
    }
}

impl Drop for MemoryStaging {
    /// Lets go of the raw copies that the store did not adopt.
    fn drop(&mut self) {
        let mut inner = self.store.lock();
        for index in 0..self.objects.len() as u32 {
            if let Some(staged) = self.objects.entry(index) {
                inner.raw.remove(staged.kind, staged.raw, self.owner(index));
            }
        }
    }
}

impl Inner {
    /// Makes a staged object's raw copy that of the entry it became, which may have one.
    fn adopt_copy(&mut self, handle: u32, staged: &Entry, from: Owner) {
        let Self { entries, raw, .. } = self;
        let Some(entry) = entries.entry_mut(handle) else { return };
        let to = Owner::entry(handle);
        let packed = matches!(entry.form, Form::Packed { .. });
        let lacks_one = packed && raw.peek(entry.kind, entry.raw, to).is_none();
        if lacks_one && raw.hand_over(staged.kind, staged.raw, from, to) {
            entry.raw = staged.raw;
        }
    }
}

impl Entry {
    fn stream_bytes(&self) -> u64 {
        match self.form {
            Form::Packed { place, .. } => u64::from(place.len),
            Form::Pinned(_) => 0,
        }
    }

    /// The same with its segments counted from `first_segment` on.
    fn moved(mut self, first_segment: u32, new_base: Option<u32>) -> Self {
        self.raw = Default::default();
        if let Form::Packed { place, base, .. } = &mut self.form {
            place.segment = place.segment.saturating_add(first_segment);
            *base = new_base;
        }
        self
    }
}

const MIN_ARRIVALS: usize = 16;
/// What a commit needs for each object while it runs: its handle, and twice its place.
const SCRATCH_BYTES: usize = size_of::<u32>() + size_of::<(u32, Place)>() + size_of::<Place>();

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::{Budget, Limits};
    use crate::object::hash_object;
    use crate::oid::ObjectFormat;
    use crate::pack::delta;
    use crate::pack::inflate::deflate;
    use crate::store::conformance::{Sample, fill_staging, samples};

    const SHA1: ObjectFormat = ObjectFormat::Sha1;

    fn store_of(budget: &Budget) -> MemoryStore {
        MemoryStore::new(SHA1, budget, &Limits::default())
    }

    fn blob_id(content: &[u8]) -> ObjectId {
        hash_object(SHA1, Kind::Blob, content).unwrap()
    }

    /// Adds an entry whose object is the blob `content`; its number is `entry`.
    fn add(
        staging: &mut MemoryStaging,
        entry: u32,
        content: &[u8],
        base: Option<(BaseLink, &[u8])>,
    ) -> Result<(), LimitExceeded> {
        let data = match base {
            Some((_, base)) => delta::encode(base, content),
            None => content.to_vec(),
        };
        staging.begin()?;
        staging.append(&deflate(&data, 1))?;
        staging.end()?;
        staging.resolved(ResolvedEntry {
            entry,
            kind: Kind::Blob,
            id: blob_id(content),
            base: base.map(|(link, _)| link),
            inflated_size: data.len() as u64,
            content,
        })
    }

    fn evict_all(store: &MemoryStore) {
        while store.lock().raw.evict(u64::MAX) {}
    }

    #[test]
    fn stagings_move_between_threads() {
        fn is_send<T: Send>() {}
        is_send::<MemoryStaging>();
        fn is_send_and_sync<T: Send + Sync>() {}
        is_send_and_sync::<MemoryStore>();
    }

    #[test]
    fn nothing_shows_before_the_commit_and_nothing_stays_without_it() {
        let budget = Budget::new(64 << 20);
        let store = store_of(&budget);
        let mut staging = store.stage();
        fill_staging(&mut staging, SHA1, &samples(SHA1));
        for sample in samples(SHA1) {
            assert_eq!(store.read(&sample.id(SHA1)).unwrap(), None);
        }
        drop(staging);
        assert_eq!(store.stats().objects, 0);
        assert_eq!(budget.used_bytes(), 0);

        let mut staging = store.stage();
        fill_staging(&mut staging, SHA1, &samples(SHA1));
        let committed = staging.commit().unwrap();
        assert_eq!(committed.ids.len(), samples(SHA1).len());
        assert_eq!(committed.new_objects, samples(SHA1).len() as u64);
        assert_eq!(committed.bytes, store.stats().packed_bytes);
        assert_eq!(store.stats().objects, committed.new_objects);
        drop((committed, store));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn duplicates_are_dropped_with_their_bytes() {
        let budget = Budget::new(64 << 20);
        let store = store_of(&budget);
        let fill = || {
            let mut staging = store.stage();
            fill_staging(&mut staging, SHA1, &samples(SHA1));
            staging.commit().unwrap()
        };
        fill();
        let (stats, used) = (store.stats(), budget.used_bytes());
        for _ in 0..3 {
            let committed = fill();
            assert_eq!((committed.new_objects, committed.bytes), (0, 0));
            assert_eq!(committed.ids.len(), samples(SHA1).len());
        }
        assert_eq!(store.stats().packed_bytes, stats.packed_bytes);
        assert_eq!(budget.used_bytes(), used);
    }

    #[test]
    fn links_through_duplicates_make_no_cycle() {
        let budget = Budget::new(64 << 20);
        let (x, y, z) = (vec![b'x'; 400], vec![b'y'; 400], vec![b'z'; 400]);
        let store = store_of(&budget);
        // One pack has y as a delta of x; the other x as a delta of y, and z of that x.
        let mut first = store.stage();
        let mut second = store.stage();
        add(&mut first, 0, &x, None).unwrap();
        add(&mut first, 1, &y, Some((BaseLink::Entry(0), &x))).unwrap();
        add(&mut second, 0, &y, None).unwrap();
        add(&mut second, 1, &x, Some((BaseLink::Entry(0), &y))).unwrap();
        add(&mut second, 2, &z, Some((BaseLink::Entry(1), &x))).unwrap();
        // Within one pack: x again, as a delta of something that rests on x.
        add(&mut second, 3, &x, Some((BaseLink::Entry(2), &z))).unwrap();
        assert_eq!(first.commit().unwrap().new_objects, 2);
        assert_eq!(second.commit().unwrap().new_objects, 1);
        evict_all(&store);
        for content in [x, y, z] {
            evict_all(&store);
            assert_eq!(store.read(&blob_id(&content)).unwrap().unwrap().bytes, content);
        }
        assert_eq!(store.stats().inflates, 3);
    }

    #[test]
    fn a_thin_base_comes_from_the_store() {
        let budget = Budget::new(64 << 20);
        let store = store_of(&budget);
        let old = vec![b'o'; 5_000];
        let new = [&old[..], b"more"].concat();
        store.insert(Kind::Blob, &old).unwrap();
        let mut staging = store.stage();
        let base = staging.external(&blob_id(&old)).unwrap();
        assert_eq!(base, (Kind::Blob, Bytes::from(old.clone())));
        add(&mut staging, 0, &new, Some((BaseLink::External(blob_id(&old)), &old))).unwrap();
        staging.commit().unwrap();
        evict_all(&store);
        assert_eq!(store.read(&blob_id(&new)).unwrap().unwrap().bytes, new);
        let packed = store.packed(&blob_id(&new)).unwrap().unwrap();
        assert_eq!(packed.form, crate::store::PackedAs::DeltaOf(blob_id(&old)));
    }

    #[test]
    fn a_delta_without_its_base_is_not_committed() {
        let store = store_of(&Budget::new(64 << 20));
        for link in [BaseLink::Entry(7), BaseLink::External(blob_id(b"absent"))] {
            let mut staging = store.stage();
            add(&mut staging, 0, b"sound", None).unwrap();
            add(&mut staging, 1, b"made of nothing", Some((link, b"nothing"))).unwrap();
            let refused = staging.commit().unwrap_err();
            assert!(
                matches!(refused, StoreError::Corrupt { id, .. } if id == blob_id(b"made of nothing"))
            );
            assert_eq!(store.stats().objects, 0);
        }
    }

    #[test]
    fn unresolved_entries_are_left_behind() {
        let store = store_of(&Budget::new(64 << 20));
        let mut staging = store.stage();
        staging.begin().unwrap();
        staging.append(&[1; 300_000]).unwrap();
        staging.end().unwrap();
        assert_eq!(staging.stream(0).len(), 300_000);
        assert_eq!(staging.content(0), None);
        add(&mut staging, 1, b"resolved", None).unwrap();
        assert_eq!(staging.content(1).unwrap(), &b"resolved"[..]);
        staging.commit().unwrap();
        assert!(store.budget().used_bytes() < 100_000);
        assert_eq!(store.stats().objects, 1);
    }

    #[test]
    fn failing_every_spend_in_turn_leaves_nothing_visible_and_nothing_spent() {
        let samples: Vec<Sample> = samples(SHA1);
        let mut failures = 0;
        for spends in 0.. {
            let budget = Budget::failing_after(64 << 20, spends);
            let store = store_of(&budget);
            let mut staging = store.stage();
            let mut filled = Ok(());
            for (number, sample) in (0_u32..).zip(&samples) {
                filled = add(&mut staging, number, &sample.content, None);
                if filled.is_err() {
                    break;
                }
            }
            let done = match filled {
                Ok(()) => staging.commit().is_ok(),
                Err(_) => {
                    drop(staging);
                    false
                }
            };
            assert_eq!(store.stats().objects > 0, done, "{spends}");
            drop(store);
            assert_eq!(budget.used_bytes(), 0, "{spends}");
            if done {
                break;
            }
            failures += 1;
        }
        assert!(failures > 5, "{failures}");
    }

    #[test]
    fn raw_copies_make_room_for_whoever_shares_the_budget() {
        let budget = Budget::new(1 << 20);
        let store = store_of(&budget);
        let mut committed = store.stage();
        add(&mut committed, 0, &[b'c'; 300_000], None).unwrap();
        committed.commit().unwrap();
        let mut staging = store.stage();
        add(&mut staging, 0, &[b's'; 300_000], None).unwrap();
        assert!(staging.content(0).is_some());
        // What a pack engine needs for a large object, both kinds of copy must go.
        let paid = budget.reserve(900_000).unwrap();
        assert_eq!(staging.content(0), None);
        assert_eq!(store.stats().raw_bytes, 0);
        drop(paid);
        staging.commit().unwrap();
        for byte in [b'c', b's'] {
            let content = vec![byte; 300_000];
            assert_eq!(store.read(&blob_id(&content)).unwrap().unwrap().bytes, content);
        }
    }

    #[test]
    fn raw_copies_make_room_for_streams() {
        let budget = Budget::new(4 << 20);
        let store = store_of(&budget);
        // 64 blobs of 100 KB that compress to little: raw they do not fit.
        let blobs: Vec<Vec<u8>> = (0..64).map(|i| vec![i; 100_000]).collect();
        let mut staging = store.stage();
        for (number, blob) in (0_u32..).zip(&blobs) {
            add(&mut staging, number, blob, None).unwrap();
        }
        // Noise, which does not compress: more than raw copies leave alone.
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(3 << 20)
        .collect();
        staging.begin().unwrap();
        staging.append(&noise).unwrap();
        staging.end().unwrap();
        staging.commit().unwrap();
        for _ in 0..2 {
            for blob in &blobs {
                assert_eq!(store.read(&blob_id(blob)).unwrap().unwrap().bytes, blob);
            }
        }
        let stats = store.stats();
        assert!(stats.raw_hits > 0 && stats.inflates > 0 && stats.evictions > 0, "{stats:?}");
        assert!(budget.peak_bytes() <= 4 << 20);
    }
}
