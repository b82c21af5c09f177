//! What a staging shows, keeps and lets go of.

use super::*;
use crate::limits::{Budget, Limits};
use crate::object::hash_object;
use crate::oid::ObjectFormat;
use crate::pack::delta;
use crate::pack::inflate::deflate;
use crate::store::conformance::{Sample, fill_staging, samples};
use crate::store::{Staging as _, StoreError};

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
    let streams = staging.lend_streams();
    assert_eq!(streams.stream(0, 0).len(), 300_000);
    staging.take_streams_back(streams);
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
