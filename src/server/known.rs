//! What all refs of a repository reach: computed when first needed, and kept until a ref
//! changes. When packs change, what is kept is placed anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::placed::Placed;
use crate::limits::{Budget, Reclaim, Reservation};
use crate::oid::ObjectId;
use crate::store::PackView;

/// What all refs of repositories reach, kept for clients to come: a server that has thousands of
/// repositories gives the same one to [each](super::Served::with_known_sets), and it keeps those
/// that were used last. A clone is the same one.
#[derive(Clone, Debug)]
pub struct KnownSets {
    shelf: Arc<Mutex<Shelf>>,
    next: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Shelf {
    /// By the number of the repository; what was used last is at the end.
    sets: Vec<(u64, Arc<KnownSet>)>,
    bytes: u64,
    max_bytes: u64,
}

/// The place of one repository among [`KnownSets`].
#[derive(Debug)]
pub(super) struct Known {
    sets: KnownSets,
    repository: u64,
}

/// Everything that some tips reach.
#[derive(Debug)]
pub(super) struct KnownSet {
    /// Sorted, each once.
    pub(super) tips: Vec<ObjectId>,
    /// All packs of the repository at that time.
    pub(super) packs: Vec<Arc<dyn PackView>>,
    pub(super) objects: Arc<Placed>,
    /// For the tips.
    pub(super) paid: Reservation,
}

impl KnownSets {
    /// Keeps at most `max_bytes`, and less when `budget`, which pays for the sets, runs short.
    pub fn new(max_bytes: u64, budget: &Budget) -> Self {
        let shelf = Arc::new(Mutex::new(Shelf { sets: Vec::new(), bytes: 0, max_bytes }));
        let weak: Weak<Mutex<Shelf>> = Arc::downgrade(&shelf);
        budget.on_shortage(weak);
        Self { shelf, next: Arc::default() }
    }

    /// A place for one more repository.
    pub(super) fn place(&self) -> Known {
        let repository = self.next.fetch_add(1, Ordering::Relaxed);
        Known { sets: self.clone(), repository }
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The set of exactly `tips`, sorted, if it is kept.
    pub(super) fn of(&self, tips: &[ObjectId]) -> Option<Arc<KnownSet>> {
        let mut shelf = self.sets.lock();
        let at = shelf.sets.iter().position(|(repository, _)| *repository == self.repository)?;
        let found = shelf.sets.remove(at);
        let set = Arc::clone(&found.1);
        shelf.sets.push(found);
        Some(set).filter(|set| set.tips == tips)
    }

    /// Keeps a set in place of the one before, as long as there is room, and gives it back.
    pub(super) fn keep(&self, set: KnownSet) -> Arc<KnownSet> {
        let set = Arc::new(set);
        let dropped = self.sets.lock().put(self.repository, &set);
        // Not under the lock: what is dropped may have held a pack.
        drop(dropped);
        set
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let dropped = self.sets.lock().take(self.repository);
        drop(dropped);
    }
}

impl KnownSet {
    /// Whether these are the packs it was placed in.
    pub(super) fn is_in(&self, packs: &[Arc<dyn PackView>]) -> bool {
        self.packs.len() == packs.len()
            && self.packs.iter().zip(packs).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    fn bytes(&self) -> u64 {
        self.objects.bytes() + self.paid.bytes()
    }
}

impl Shelf {
    /// Adds a set; what has to go for it.
    fn put(&mut self, repository: u64, set: &Arc<KnownSet>) -> Vec<Arc<KnownSet>> {
        let mut dropped: Vec<_> = self.take(repository).into_iter().collect();
        if set.bytes() > self.max_bytes {
            return dropped;
        }
        self.bytes += set.bytes();
        self.sets.push((repository, Arc::clone(set)));
        while self.bytes > self.max_bytes {
            dropped.extend(self.take_oldest());
        }
        dropped
    }

    fn take(&mut self, repository: u64) -> Option<Arc<KnownSet>> {
        let at = self.sets.iter().position(|(of, _)| *of == repository)?;
        let (_, set) = self.sets.remove(at);
        self.bytes -= set.bytes();
        Some(set)
    }

    fn take_oldest(&mut self) -> Option<Arc<KnownSet>> {
        self.sets.first().map(|(repository, _)| *repository).and_then(|of| self.take(of))
    }
}

impl Reclaim for Mutex<Shelf> {
    fn reclaim(&self, _bytes: u64) -> bool {
        let dropped = self.lock().unwrap_or_else(PoisonError::into_inner).take_oldest();
        dropped.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid::ObjectFormat;

    fn id(tip: u8) -> ObjectId {
        ObjectId::from_raw(&[tip; 20]).unwrap()
    }

    fn set(tip: u8, budget: &Budget) -> KnownSet {
        let ids = std::iter::once(id(tip));
        KnownSet {
            tips: vec![id(tip)],
            packs: Vec::new(),
            objects: Arc::new(
                Placed::new(None, Vec::new(), ObjectFormat::Sha1, ids, budget).unwrap(),
            ),
            paid: budget.reserve(33).unwrap(),
        }
    }

    #[test]
    fn what_was_used_last_stays_within_one_limit_for_all() {
        let budget = Budget::new(1 << 20);
        let each = set(0, &budget).bytes();
        let sets = KnownSets::new(3 * each, &budget);
        let places: Vec<Known> = (0..5).map(|_| sets.place()).collect();
        for (tip, place) in (0..).zip(&places) {
            place.keep(set(tip, &budget));
            assert!(places[0].of(&[id(0)]).is_some());
        }
        let is_kept = |at: usize| places[at].of(&[id(at as u8)]).is_some();
        assert_eq!([0, 1, 2, 3, 4].map(is_kept), [true, false, false, true, true]);
        // Other tips, another set; the place has one.
        assert!(places[4].of(&[id(9)]).is_none());
        places[4].keep(set(9, &budget));
        assert!(!is_kept(4) && budget.used_bytes() == 3 * each);
        // Who needs the memory gets it, and a repository that is closed leaves nothing.
        let rest = budget.reserve((1 << 20) - each).unwrap();
        assert_eq!([0, 3].map(is_kept), [false, false]);
        drop((rest, places));
        assert_eq!(budget.used_bytes(), 0);
    }
}
