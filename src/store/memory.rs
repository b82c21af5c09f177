//! Objects in memory, in the form in which they were received.
//!
//! Packed streams are kept for every object that came in a pack, whole or as a delta
//! against another entry of this store; serving can copy them. Beside them are raw
//! copies, while memory allows, text blobs in the [arena](super::arena): they are made on
//! arrival and on a cold read, and are evicted when anything else needs the room. Where
//! blobs [can be fetched again](MemoryStore::set_can_fetch_again), these follow. What was
//! [inserted](MemoryStore::insert) raw has no packed form and is never evicted.
//!
//! Nothing is sized by a declared number: every byte here was received or produced
//! under [`Limits`], and is a reservation of the [`Budget`]. This store does not parse
//! packs; [`MemoryStaging`] is where a pack's entries wait.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;

use super::entries::{Entry, Form};
use super::file_table::{FileTable, Layout};
use super::inner::{Inner, KeptEntries};
use super::kept::Kept;
use super::raw_cache::{paid_bytes, raw_copy};
use super::staging::MemoryStaging;
use super::unpack::Chain;
use super::{Header, IdPrefix, Object, Objects, PackedAs, PackedEntry, StoreError, TextArena};
use crate::limits::{Budget, Limits, Reclaim};
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
    /// Objects evicted, to be fetched again when someone asks for them.
    pub evicted_objects: u64,
    /// Packed bytes of those.
    pub evicted_bytes: u64,
    /// Objects that came again after that.
    pub returned_objects: u64,
    /// Packed bytes of those.
    pub returned_bytes: u64,
}

impl MemoryStore {
    /// An empty store that spends from `budget` and reads within `limits`.
    pub fn new(format: ObjectFormat, budget: &Budget, limits: &Limits) -> Self {
        let shared = Arc::new(Shared {
            format,
            budget: budget.clone(),
            limits: limits.clone(),
            inner: Mutex::new(Inner::new(format)),
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
            match inner.entries.find_known(&id) {
                Some(gone) => inner.entries.restore(gone, form),
                None => {
                    inner.entries.push(&id, Entry { kind, form, size, raw: Default::default() });
                }
            }
            inner.pinned.push(bytes);
            inner.pinned_bytes += size;
        }
        Ok(id)
    }

    /// What is held and what was done so far.
    pub fn stats(&self) -> StoreStats {
        let inner = self.lock();
        let counters = inner.counters;
        StoreStats {
            objects: inner.entries.held() as u64,
            packed_bytes: inner.packed.live_bytes(),
            raw_bytes: inner.raw.bytes() + inner.pinned_bytes,
            arena_bytes: inner.raw.arena.bytes(),
            arena_segments: inner.raw.arena.segments(),
            table_bytes: inner.entries.paid_bytes(),
            segments: inner.packed.len() as u64,
            raw_hits: counters.raw_hits,
            inflates: counters.inflates,
            evictions: inner.raw.evictions,
            evicted_objects: counters.evicted_objects,
            evicted_bytes: counters.evicted_bytes,
            returned_objects: counters.returned_objects,
            returned_bytes: counters.returned_bytes,
        }
    }

    /// Whether blobs that came in packs can be fetched again by their ids, so that they may
    /// be evicted when memory is short. Not so in a new store.
    pub fn set_can_fetch_again(&self, can: bool) {
        self.lock().can_fetch_again = can;
    }

    /// Keeps those of these objects that are held from being evicted.
    pub fn keep<'a>(&self, ids: impl IntoIterator<Item = &'a ObjectId>) -> Kept {
        let (mut inner, mut kept) = (self.lock(), KeptEntries::default());
        ids.into_iter().for_each(|id| inner.keep(id, &mut kept));
        drop(inner);
        Kept::new(self, kept.handles)
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
        self.lock().counters.inflates += 1;
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
            inner.counters.raw_hits += 1;
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
                let stream = inner.packed.stream(&place);
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
        let matching = inner.entries.held_ids().filter(|raw| prefix.matches(raw));
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves no half-done change here: pushes cannot fail.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reclaim for Shared {
    fn reclaim(&self, bytes: u64) -> bool {
        self.lock().evict(bytes)
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
mod tests;
