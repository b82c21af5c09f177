//! What a store answers warm, cold and after evictions.

use super::*;
use crate::limits::Which;
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
        longest.push(inner.chain(index, &store.0.limits, store.budget()).unwrap().1.links.len());
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
