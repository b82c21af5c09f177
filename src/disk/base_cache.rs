//! Objects of packs that were just made: the bases of what is made next.
//!
//! Two generations: what is used moves to the young one, and when that is full it
//! becomes the old one, whose rest is dropped. Deltas of one file lie close together,
//! so recency is what counts.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::limits::Reclaim;
use crate::object::Kind;

/// A pack's number and an offset in it.
pub(super) type Key = (u64, u64);

#[derive(Debug)]
pub(super) struct BaseCache {
    young: HashMap<Key, (Kind, Bytes)>,
    old: HashMap<Key, (Kind, Bytes)>,
    young_bytes: u64,
    /// Bytes at which the young generation is full.
    generation_bytes: u64,
}

impl BaseCache {
    /// A cache of at most about `max_bytes`, which are paid for by whoever puts them in.
    pub(super) fn new(max_bytes: u64) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            young_bytes: 0,
            generation_bytes: max_bytes / 2,
        }
    }

    pub(super) fn find(&mut self, key: Key) -> Option<(Kind, Bytes)> {
        if let Some(found) = self.young.get(&key) {
            return Some(found.clone());
        }
        let (kind, bytes) = self.old.remove(&key)?;
        self.insert(key, kind, bytes.clone());
        Some((kind, bytes))
    }

    pub(super) fn insert(&mut self, key: Key, kind: Kind, bytes: Bytes) {
        let len = bytes.len() as u64;
        if len > self.generation_bytes {
            return;
        }
        if self.young_bytes + len > self.generation_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += len;
        if let Some((_, before)) = self.young.insert(key, (kind, bytes)) {
            self.young_bytes -= before.len() as u64;
        }
    }

    /// Drops everything; whether there was anything.
    pub(super) fn clear(&mut self) -> bool {
        let any = !(self.young.is_empty() && self.old.is_empty());
        *self = Self::new(self.generation_bytes * 2);
        any
    }
}

impl Reclaim for Mutex<BaseCache> {
    fn reclaim(&self, _bytes: u64) -> bool {
        self.lock().unwrap_or_else(PoisonError::into_inner).clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_goes() {
        let mut cache = BaseCache::new(2_000);
        let object = |n: u8| Bytes::from(vec![n; 100]);
        cache.insert((0, 0), Kind::Tree, object(0));
        for n in 1..100 {
            cache.insert((0, u64::from(n)), Kind::Blob, object(n));
            assert_eq!(cache.find((0, 0)), Some((Kind::Tree, object(0))));
            let held = cache.young.len() + cache.old.len();
            assert!(held <= 20, "{held}");
        }
        assert_eq!(cache.find((0, 50)), None);
        assert_eq!(cache.find((0, 99)), Some((Kind::Blob, object(99))));
        cache.insert((1, 0), Kind::Blob, Bytes::from(vec![0; 1_001]));
        assert_eq!(cache.find((1, 0)), None);
        assert!(cache.clear());
        assert!(!cache.clear());
    }
}
