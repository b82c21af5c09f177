//! Entries that were compressed anew, kept for the next client.
//!
//! A shallow clone's files are mostly deltas against versions that are not sent; reading and
//! compressing them is nearly all of what it costs. The next shallow clone of the same tip
//! copies them from here. Two generations, as recency is what counts: what is used moves to
//! the young one, and when that is full the old one is dropped.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use hashbrown::HashMap;

use crate::limits::{Budget, Reclaim, Reservation};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::held::held;

/// An object as a whole entry of a pack.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) kind: Kind,
    /// Bytes of the object.
    pub(super) size: u64,
    pub(super) stream: Bytes,
}

/// Entries by the object's id. A clone is the same cache.
#[derive(Clone, Debug)]
pub(super) struct EncodedCache {
    shelves: Arc<Mutex<Shelves>>,
    budget: Budget,
}

#[derive(Debug)]
struct Shelves {
    young: HashMap<ObjectId, Encoded>,
    old: HashMap<ObjectId, Encoded>,
    young_bytes: u64,
    /// Bytes at which the young generation is full.
    generation_bytes: u64,
}

impl EncodedCache {
    /// A cache of at most about `max_bytes`, paid from `budget` and given up when that runs
    /// short.
    pub(super) fn new(max_bytes: u64, budget: &Budget) -> Self {
        let shelves = Arc::new(Mutex::new(Shelves {
            young: HashMap::new(),
            old: HashMap::new(),
            young_bytes: 0,
            generation_bytes: max_bytes / 2,
        }));
        let weak: Weak<Mutex<Shelves>> = Arc::downgrade(&shelves);
        budget.on_shortage(weak);
        Self { shelves, budget: budget.clone() }
    }

    pub(super) fn find(&self, id: &ObjectId) -> Option<Encoded> {
        let mut shelves = self.lock();
        if let Some(found) = shelves.young.get(id) {
            return Some(found.clone());
        }
        let found = shelves.old.remove(id)?;
        shelves.insert(*id, found.clone());
        Some(found)
    }

    /// Keeps an entry while there is memory for it, and gives it back.
    pub(super) fn keep(&self, id: ObjectId, kind: Kind, size: u64, stream: Vec<u8>) -> Encoded {
        // Paid before the lock is taken: whoever runs short asks this cache.
        let paid = self.budget.reserve(stream.len() as u64 + ENTRY_BYTES);
        self.put(id, kind, size, stream, paid.ok())
    }

    fn put(
        &self,
        id: ObjectId,
        kind: Kind,
        size: u64,
        stream: Vec<u8>,
        paid: Option<Reservation>,
    ) -> Encoded {
        let Some(paid) = paid else { return Encoded { kind, size, stream: stream.into() } };
        let encoded = Encoded { kind, size, stream: held(stream, paid) };
        self.lock().insert(id, encoded.clone());
        encoded
    }

    fn lock(&self) -> MutexGuard<'_, Shelves> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelves {
    fn insert(&mut self, id: ObjectId, encoded: Encoded) {
        let bytes = encoded.stream.len() as u64 + ENTRY_BYTES;
        if bytes > self.generation_bytes {
            return;
        }
        if self.young_bytes + bytes > self.generation_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(id, encoded).is_none() {
            self.young_bytes += bytes;
        }
    }
}

impl Reclaim for Mutex<Shelves> {
    fn reclaim(&self, _bytes: u64) -> bool {
        let mut shelves = self.lock().unwrap_or_else(PoisonError::into_inner);
        let any = !(shelves.young.is_empty() && shelves.old.is_empty());
        let young = std::mem::take(&mut shelves.young);
        let old = std::mem::take(&mut shelves.old);
        shelves.young_bytes = 0;
        drop(shelves);
        drop((young, old));
        any
    }
}

/// What an entry occupies beside its stream, about.
const ENTRY_BYTES: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> ObjectId {
        ObjectId::from_raw(&[n; 20]).unwrap()
    }

    #[test]
    fn what_is_used_stays_and_all_of_it_goes_when_memory_is_short() {
        let budget = Budget::new(1 << 20);
        let cache = EncodedCache::new(20_000, &budget);
        for n in 0..200 {
            let kept = cache.keep(id(n), Kind::Blob, 5, vec![n; 500]);
            assert_eq!((kept.size, kept.stream[0]), (5, n));
            assert!(cache.find(&id(0)).is_some(), "{n}");
            assert!(budget.used_bytes() <= 20_000 + 1_000);
        }
        assert!(cache.find(&id(100)).is_none());
        let all = budget.reserve(1 << 20).unwrap();
        assert!(cache.find(&id(0)).is_none());
        assert_eq!(cache.keep(id(7), Kind::Tree, 9, vec![1; 600]).stream.len(), 600);
        assert!(cache.find(&id(7)).is_none());
        drop(all);
    }
}
