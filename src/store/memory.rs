//! Objects in memory, in the form in which they were received.
//!
//! Packed streams are kept for every object that came in a pack, whole or as a delta
//! against another entry of this store; serving can copy them. Beside them are raw
//! copies, while memory allows, text blobs in the [arena](super::arena): they are made on
//! arrival and on a cold read, and are evicted when anything else needs the room. Commits,
//! trees and tags go last. What was [inserted](MemoryStore::insert) raw has no packed form
//! and is never evicted.
//!
//! Nothing is sized by a declared number: every byte here was received or produced
//! under [`Limits`], and is a reservation of the [`Budget`]. This store does not drop
//! objects and does not parse packs; [`MemoryStaging`] is where a pack's entries wait.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;

use super::entries::{Entries, Entry, Form};
use super::file_table::{CachedLayout, FileTable, Layout, Located};
use super::raw_cache::{Owner, RawCache, paid_bytes, raw_copy};
use super::staging::MemoryStaging;
use super::unpack::{Chain, Link};
use super::{
    Header, IdPrefix, Object, Objects, PackedAs, PackedEntry, StoreError, TextArena, room,
};
use crate::limits::{Budget, LimitExceeded, Limits, Reclaim, Which, check};
use crate::object::{Kind, hash_object};
use crate::oid::{ObjectFormat, ObjectId};

/// A store in memory. A clone is the same store.
///
/// ```
/// use gitsip::object::Kind;
/// use gitsip::store::{MemoryStore, Objects};
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let limits = Limits::default();
/// let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(limits.max_memory), &limits);
/// let id = store.insert(Kind::Blob, b"hello\n")?;
/// let object = store.read(&id)?.expect("just inserted");
/// assert_eq!(&object.bytes[..], b"hello\n");
/// # Ok::<(), gitsip::store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct MemoryStore(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    format: ObjectFormat,
    budget: Budget,
    limits: Limits,
    /// Held for table look-ups and moves, never while bytes are inflated, nor while the
    /// budget is asked for anything but free memory.
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) entries: Entries,
    pub(super) segments: Vec<Bytes>,
    pub(super) packed_bytes: u64,
    pub(super) raw: RawCache,
    pub(super) pinned: Vec<Bytes>,
    pinned_bytes: u64,
    stagings: u32,
    raw_hits: u64,
    inflates: u64,
}

/// What a store holds and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Objects held.
    pub objects: u64,
    /// Bytes of their packed streams.
    pub packed_bytes: u64,
    /// Bytes of raw copies, those of stagings and of the arena included.
    pub raw_bytes: u64,
    /// Bytes of the text arena.
    pub arena_bytes: u64,
    /// Its segments.
    pub arena_segments: u64,
    /// Bytes of the tables.
    pub table_bytes: u64,
    /// Allocations that hold packed streams.
    pub segments: u64,
    /// Reads answered from a raw copy.
    pub raw_hits: u64,
    /// Reads that inflated packed streams.
    pub inflates: u64,
    /// Raw copies evicted.
    pub evictions: u64,
}

impl MemoryStore {
    /// An empty store that spends from `budget` and reads within `limits`.
    pub fn new(format: ObjectFormat, budget: &Budget, limits: &Limits) -> Self {
        let inner = Inner {
            entries: Entries::new(format),
            segments: Vec::new(),
            packed_bytes: 0,
            raw: RawCache::new(),
            pinned: Vec::new(),
            pinned_bytes: 0,
            stagings: 0,
            raw_hits: 0,
            inflates: 0,
        };
        let shared = Arc::new(Shared {
            format,
            budget: budget.clone(),
            limits: limits.clone(),
            inner: Mutex::new(inner),
        });
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        budget.on_shortage(weak);
        Self(shared)
    }

    /// A place for the entries of one pack, invisible until it is committed.
    pub fn stage(&self) -> MemoryStaging {
        let mut inner = self.lock();
        inner.stagings = inner.stagings.checked_add(1).unwrap_or(1);
        MemoryStaging::new(self.clone(), inner.stagings)
    }

    /// Keeps an object that did not come in a pack; its id. It stays until the store is
    /// dropped, because nothing else holds its bytes.
    ///
    /// # Errors
    ///
    /// [`StoreError::Collision`] for an attack on SHA-1, [`StoreError::Limit`] when it
    /// is too large or memory is spent.
    pub fn insert(&self, kind: Kind, content: &[u8]) -> Result<ObjectId, StoreError> {
        self.0.limits.check_object_bytes(content.len() as u64)?;
        let id = hash_object(self.0.format, kind, content)?;
        if self.lock().entries.find(&id).is_some() {
            return Ok(id);
        }
        let bytes = raw_copy(content, self.0.budget.reserve(paid_bytes(content.len()))?);
        let mut inner = self.lock();
        if inner.entries.find(&id).is_none() {
            inner.make_room(&self.0.budget, 1)?;
            let form = Form::Pinned(inner.pinned.len() as u32);
            let size = content.len() as u64;
            inner.entries.push(&id, Entry { kind, form, size, raw: Default::default() });
            inner.pinned.push(bytes);
            inner.pinned_bytes += size;
        }
        Ok(id)
    }

    /// What is held and what was done so far.
    pub fn stats(&self) -> StoreStats {
        let inner = self.lock();
        StoreStats {
            objects: inner.entries.len() as u64,
            packed_bytes: inner.packed_bytes,
            raw_bytes: inner.raw.bytes() + inner.pinned_bytes,
            arena_bytes: inner.raw.arena.bytes(),
            arena_segments: inner.raw.arena.segments(),
            table_bytes: inner.entries.paid_bytes(),
            segments: inner.segments.len() as u64,
            raw_hits: inner.raw_hits,
            inflates: inner.inflates,
            evictions: inner.raw.evictions,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.0.budget
    }

    fn check_format(&self, id: &ObjectId) -> Result<(), StoreError> {
        if id.format() == self.0.format {
            Ok(())
        } else {
            Err(StoreError::Format { id: *id, format: self.0.format })
        }
    }

    /// Inflates what `chain` describes, the streams of these `entries`, and keeps raw
    /// copies of the first and of some on the way.
    fn read_cold(&self, id: &ObjectId, entries: &[u32], chain: Chain) -> Result<Bytes, StoreError> {
        let Shared { limits, budget, .. } = &*self.0;
        let mut reserve = |bytes| budget.reserve(paid_bytes(bytes));
        let mut made = |link: usize, bytes: &Bytes| {
            if link.is_multiple_of(LINKS_BETWEEN_COPIES)
                && let Some(&entry) = entries.get(link)
            {
                self.lock().keep_copy(budget, entry, bytes);
            }
        };
        let bytes = chain.unpack(id, limits, &mut reserve, &mut made)?;
        self.lock().inflates += 1;
        Ok(bytes)
    }
}

impl Objects for MemoryStore {
    fn format(&self) -> ObjectFormat {
        self.0.format
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        self.check_format(id)?;
        let inner = self.lock();
        let entry = inner.entries.find(id).and_then(|index| inner.entries.entry(index));
        Ok(match entry {
            Some(entry) => Some(Header { kind: entry.kind, size: entry.size }),
            None => (*id == self.0.format.empty_tree()).then_some(EMPTY_TREE),
        })
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.check_format(id)?;
        let mut inner = self.lock();
        let Some(index) = inner.entries.find(id) else {
            let empty_tree = *id == self.0.format.empty_tree();
            let bytes = Bytes::new();
            return Ok(empty_tree.then_some(Object { kind: EMPTY_TREE.kind, bytes }));
        };
        let Some(&entry) = inner.entries.entry(index) else { return Ok(None) };
        if let Some(bytes) = inner.warm(index, &entry, &self.0.budget) {
            inner.raw_hits += 1;
            return Ok(Some(Object { kind: entry.kind, bytes }));
        }
        let (entries, chain) = inner.chain(index, &self.0.limits, &self.0.budget)?;
        drop(inner);
        Ok(Some(Object { kind: entry.kind, bytes: self.read_cold(id, &entries, chain)? }))
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.check_format(id)?;
        let inner = self.lock();
        let entry = inner.entries.find(id).and_then(|index| inner.entries.entry(index));
        Ok(match entry {
            Some(&Entry { kind, form: Form::Packed { place, inflated_size, base }, .. }) => {
                let form = match base {
                    Some(base) => PackedAs::DeltaOf(inner.entries.id(base)),
                    None => PackedAs::Whole(kind),
                };
                let stream = place.slice(&inner.segments);
                Some(PackedEntry { form, inflated_size, stream })
            }
            _ => None,
        })
    }

    fn text_arena(&self) -> Option<&dyn TextArena> {
        Some(self)
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        let Some(prefix) = IdPrefix::parse(prefix) else { return Ok(Vec::new()) };
        let inner = self.lock();
        let matching = inner.entries.raw_ids().filter(|raw| prefix.matches(raw));
        Ok(matching.filter_map(|raw| ObjectId::from_raw(raw).ok()).take(limit).collect())
    }
}

impl TextArena for MemoryStore {
    fn budget(&self) -> &Budget {
        &self.0.budget
    }

    fn table(&self, tree: &ObjectId) -> Option<Arc<FileTable>> {
        self.lock().raw.tables.find(tree)
    }

    fn keep_table(&self, table: &Arc<FileTable>) {
        self.lock().raw.tables.keep(table);
    }

    fn layout(&self, table: &FileTable) -> Option<Arc<Layout>> {
        self.lock().layout(table, &self.0.budget)
    }
}

impl Inner {
    /// Pays for table room for `more` entries, if need be by evicting raw copies.
    pub(super) fn make_room(&mut self, budget: &Budget, more: usize) -> Result<(), LimitExceeded> {
        let Self { entries, raw, .. } = self;
        entries.reserve(more, |bytes| room::reserve(budget, bytes, &mut |bytes| raw.evict(bytes)))
    }

    /// The raw bytes of an entry, if there is a copy.
    fn warm(&mut self, index: u32, entry: &Entry, budget: &Budget) -> Option<Bytes> {
        match entry.form {
            Form::Pinned(at) => self.pinned.get(at as usize).cloned(),
            Form::Packed { .. } => self.raw.hit(entry.kind, entry.raw, Owner::entry(index), budget),
        }
    }

    /// The streams from an entry down to the first that is whole or has a raw copy, and
    /// whose they are.
    fn chain(
        &mut self,
        index: u32,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<(Vec<u32>, Chain), LimitExceeded> {
        let (mut entries, mut chain) = (Vec::new(), Chain::default());
        let mut next = Some(index);
        while let Some(index) = next.take() {
            let Some(&entry) = self.entries.entry(index) else { break };
            if let Some(bytes) = self.warm(index, &entry, budget) {
                chain.base = Some(bytes);
            } else if let Form::Packed { place, inflated_size, base } = entry.form {
                let stream = place.slice(&self.segments);
                entries.push(index);
                chain.links.push(Link { stream, inflated_size, size: Some(entry.size) });
                let depth = chain.links.len() as u64 - 1;
                check(Which::DeltaDepth, u64::from(limits.max_delta_depth), depth)?;
                next = base;
            }
        }
        Ok((entries, chain))
    }

    /// Keeps `bytes`, which are paid for already, as the raw copy of an entry: text in the
    /// arena if memory is free, anything else and the rest as they are.
    fn keep_copy(&mut self, budget: &Budget, index: u32, bytes: &Bytes) {
        let Self { entries, raw, .. } = self;
        let Some(entry) = entries.entry_mut(index) else { return };
        let (kind, owner) = (entry.kind, Owner::entry(index));
        if raw.has(kind, entry.raw, owner) {
            return;
        }
        if let Some(slot) = raw.insert_text(kind, owner, bytes, budget) {
            entry.raw = slot;
            return;
        }
        if !room::fits_as_copy(budget, bytes.len() as u64) {
            return;
        }
        if let Some(slot) = raw.insert(kind, owner, bytes.clone()) {
            entry.raw = slot;
        }
        while room::over_share(budget, 0) && raw.make_room_for(kind, 1) {}
    }

    /// Where the blobs of `table` stand now; `None` when memory is short.
    fn layout(&mut self, table: &FileTable, budget: &Budget) -> Option<Arc<Layout>> {
        let Self { entries, raw, .. } = self;
        raw.arena.freeze(Owner::STORE);
        raw.arena.begin_search();
        let changes = raw.arena.changes();
        if let Some(cached) = raw.tables.layout(table)?
            && cached.changes == changes
        {
            raw.arena.touch(&cached.numbers);
            return Some(Arc::clone(&cached.layout));
        }
        let (mut numbers, mut segments) = (Vec::new(), Vec::new());
        let mut place_of = |file| {
            let entry = entries.find(&table.id(file)?)?;
            let mut place = raw.place(entries.entry(entry)?.raw, Owner::entry(entry))?;
            let known = numbers.iter().rposition(|&number| number == place.segment);
            let segment = match known {
                Some(known) => known,
                None => {
                    segments.push(raw.arena.share(place.segment)?);
                    numbers.push(place.segment);
                    numbers.len() - 1
                }
            };
            place.segment = u32::try_from(segment).ok()?;
            Some(Located { segment: place.segment, start: place.start, len: place.len })
        };
        let places: Vec<Option<Located>> = (0..table.len()).map(&mut place_of).collect();
        let layout = Arc::new(Layout::new(&places, segments, budget).ok()?);
        let cached = CachedLayout { layout: Arc::clone(&layout), changes, numbers };
        *raw.tables.layout(table)? = Some(cached);
        Some(layout)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves no half-done change here: pushes cannot fail.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reclaim for Shared {
    fn reclaim(&self, bytes: u64) -> bool {
        self.lock().raw.evict(bytes)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemoryStore").field(&self.0.format).field(&self.stats()).finish()
    }
}

/// Of a long chain every so many objects are kept when they are made again. Whoever reads
/// all objects of a chain from its end then makes each of them from one nearby, where
/// from the root each time he would make as many as the square of its length.
const LINKS_BETWEEN_COPIES: usize = 16;
const EMPTY_TREE: Header = Header { kind: Kind::Tree, size: 0 };

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::store::Staging as _;
    use crate::store::conformance::{self, fill_staging, samples};

    fn store(format: ObjectFormat, bytes: u64) -> MemoryStore {
        MemoryStore::new(format, &Budget::new(bytes), &Limits::default())
    }

    #[test]
    fn inserted_objects_conform() {
        conformance::run(|format, samples| {
            let store = store(format, 64 << 20);
            for sample in samples {
                let id = store.insert(sample.kind, &sample.content).unwrap();
                assert_eq!(id, sample.id(format));
            }
            store
        });
    }

    #[test]
    fn packed_objects_conform_warm_and_cold() {
        for evict in [false, true] {
            conformance::run(|format, samples| {
                let store = store(format, 64 << 20);
                let mut staging = store.stage();
                fill_staging(&mut staging, format, samples);
                staging.commit().unwrap();
                while evict && store.lock().raw.evict(u64::MAX) {}
                store
            });
        }
    }

    #[test]
    fn packed_objects_conform_where_few_raw_copies_fit() {
        conformance::run(|format, samples| {
            let store = store(format, 700_000);
            let mut staging = store.stage();
            fill_staging(&mut staging, format, samples);
            staging.commit().unwrap();
            store
        });
    }

    #[test]
    fn a_chain_deeper_than_allowed_is_a_limit() {
        let limits = Limits { max_delta_depth: 59, ..Limits::default() };
        let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(64 << 20), &limits);
        let samples = samples(ObjectFormat::Sha1);
        let mut staging = store.stage();
        fill_staging(&mut staging, ObjectFormat::Sha1, &samples);
        staging.commit().unwrap();
        while store.lock().raw.evict(u64::MAX) {}
        let deepest = samples.iter().rposition(|sample| sample.base.is_some()).unwrap();
        let refused = store.read(&samples[deepest].id(ObjectFormat::Sha1)).unwrap_err();
        assert!(
            matches!(refused, StoreError::Limit(limit) if limit.which == Which::DeltaDepth),
            "{refused}"
        );
        assert!(store.read(&samples[deepest - 1].id(ObjectFormat::Sha1)).is_ok());
    }

    #[test]
    fn a_long_chain_is_not_made_from_its_root_for_each_of_its_objects() {
        let store = store(ObjectFormat::Sha1, 64 << 20);
        let samples = samples(ObjectFormat::Sha1);
        let mut staging = store.stage();
        fill_staging(&mut staging, ObjectFormat::Sha1, &samples);
        staging.commit().unwrap();
        while store.lock().raw.evict(u64::MAX) {}
        let deepest = samples.iter().rposition(|sample| sample.base.is_some()).unwrap();
        let mut longest = Vec::new();
        for sample in samples[..=deepest].iter().rev().take(55) {
            let id = sample.id(ObjectFormat::Sha1);
            let mut inner = store.lock();
            let index = inner.entries.find(&id).unwrap();
            longest
                .push(inner.chain(index, &store.0.limits, store.budget()).unwrap().1.links.len());
            drop(inner);
            assert_eq!(store.read(&id).unwrap().unwrap().bytes, sample.content);
        }
        assert!(longest[0] > 59, "{longest:?}");
        assert!(longest[1..].iter().all(|&links| links <= LINKS_BETWEEN_COPIES), "{longest:?}");
    }

    #[test]
    fn text_is_in_the_arena_on_arrival_and_again_after_a_cold_read() {
        let store = store(ObjectFormat::Sha1, 64 << 20);
        let mut staging = store.stage();
        fill_staging(&mut staging, ObjectFormat::Sha1, &samples(ObjectFormat::Sha1));
        staging.commit().unwrap();
        let text: Vec<_> = samples(ObjectFormat::Sha1)
            .into_iter()
            .filter(|sample| sample.kind == Kind::Blob && !super::super::is_binary(&sample.content))
            .collect();
        let bytes: usize = text.iter().map(|sample| sample.content.len() + 1).sum();
        assert_eq!(store.stats().arena_bytes, bytes as u64);
        while store.lock().raw.evict(u64::MAX) {}
        assert_eq!((store.stats().arena_bytes, store.stats().raw_bytes), (0, 0));
        for _ in 0..2 {
            for sample in &text {
                let id = sample.id(ObjectFormat::Sha1);
                assert_eq!(store.read(&id).unwrap().unwrap().bytes, sample.content);
            }
        }
        let stats = store.stats();
        assert_eq!(stats.arena_bytes, bytes as u64, "each once");
        assert_eq!(stats.inflates, text.len() as u64);
    }

    #[test]
    fn a_copy_in_a_readers_hands_is_paid_for_until_he_drops_it() {
        let store = store(ObjectFormat::Sha1, 64 << 20);
        let mut staging = store.stage();
        fill_staging(&mut staging, ObjectFormat::Sha1, &samples(ObjectFormat::Sha1));
        staging.commit().unwrap();
        let large = samples(ObjectFormat::Sha1).into_iter().max_by_key(|s| s.content.len());
        let id = large.unwrap().id(ObjectFormat::Sha1);
        let object = store.read(&id).unwrap().unwrap();
        while store.lock().raw.evict(u64::MAX) {}
        let held = store.budget().used_bytes();
        drop(object);
        assert_eq!(held - store.budget().used_bytes(), paid_bytes(200_000));
    }
}
