//! Cases 10 to 12: chains of deltas, in any order, deep, large, and with bases let go.

use super::*;

#[test]
fn case_10_bases_may_come_after_their_deltas_and_whole_chains_in_reverse() {
    let length = 500;
    let mut pack = PackBuilder::sha1();
    for n in (1..length).rev() {
        pack.ref_delta(blob_id(&version(n - 1)), &delta::encode(&version(n - 1), &version(n)));
    }
    pack.blob(&version(0));
    let store = ingest(&pack.finish()).unwrap();
    for (entry, n) in (0..length).rev().enumerate() {
        assert_eq!(store.object(entry).content, version(n));
        assert_eq!(store.object(entry).id, blob_id(&version(n)));
        let base = (n > 0).then_some(BaseLink::Entry(entry as u32 + 1));
        assert_eq!(store.object(entry).base, base);
    }
}

#[test]
fn case_10_a_base_may_be_named_by_id_and_by_offset_from_both_sides() {
    let delta = |n: usize| delta::encode(&version(0), &version(n));
    let mut pack = PackBuilder::sha1();
    pack.ref_delta(blob_id(&version(0)), &delta(1));
    pack.ref_delta(blob_id(&version(0)), &delta(2));
    let base = pack.blob(&version(0));
    pack.ofs_delta(base, &delta(3));
    pack.ref_delta(blob_id(&version(0)), &delta(4));
    let of_delta = pack.ref_delta(blob_id(&version(1)), &delta::encode(&version(1), &version(5)));
    pack.ofs_delta(of_delta, &delta::encode(&version(5), &version(6)));
    let store = ingest(&pack.finish()).unwrap();
    let found: Vec<ObjectId> = store.ids();
    let expected = [1, 2, 0, 3, 4, 5, 6].map(|n| blob_id(&version(n)));
    assert_eq!(found, expected);
}

/// A chain of `length` deltas below one whole object of `size` bytes; each differs from
/// its base in a few bytes.
pub(crate) fn deep_chain(length: u32, size: usize) -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let mut base = pack.blob(&vec![0; size]);
    for n in 0..length {
        let mut encoder = DeltaEncoder::new(size as u64, size as u64);
        encoder.copy(0, size as u32 - 4).insert(&n.to_be_bytes());
        base = pack.ofs_delta(base, &encoder.finish());
    }
    pack.finish()
}

#[test]
fn case_11_chains_as_deep_as_git_makes_them_are_accepted_and_deeper_ones_meet_the_cap() {
    for depth in [3_000, 4_095] {
        let store = ingest(&deep_chain(depth, 100)).unwrap();
        assert_eq!(store.ids().len(), depth as usize + 1);
        assert_eq!(store.object(depth as usize).content[96..], (depth - 1).to_be_bytes());
    }
    let error = limit(refused(&deep_chain(10_001, 16), &Limits::default()));
    let expected = LimitExceeded { which: Which::DeltaDepth, allowed: 10_000, seen: 10_001 };
    assert_eq!(error, expected);
}

#[test]
fn case_12_a_deep_chain_of_large_objects_needs_two_buffers() {
    const SIZE: u64 = 1 << 20;
    let pack = deep_chain(100, SIZE as usize);
    let (stats, budget) = forgetting(&pack);
    assert_eq!(stats.deltas_deferred, 100);
    assert_eq!(stats.peak_live_bytes, 2 * SIZE);
    assert!(budget.peak_bytes() < 4 * SIZE, "{}", budget.peak_bytes());
    // The base is inflated a second time, each delta a second time, nothing a third.
    assert!(stats.inflated_bytes <= 2 * stats.minimum_inflated_bytes);
}

#[test]
fn case_12_a_chain_with_a_leaf_at_every_step_needs_few_buffers_too() {
    const SIZE: u32 = 1 << 16;
    let mut pack = PackBuilder::sha1();
    let mut base = pack.blob(&[0; SIZE as usize]);
    for n in 0..200_u32 {
        let delta = |salt: u32| {
            let mut encoder = DeltaEncoder::new(u64::from(SIZE), u64::from(SIZE));
            encoder.copy(0, SIZE - 4).insert(&(2 * n + salt).to_be_bytes());
            encoder.finish()
        };
        // The chain goes on below the first child: taken in order, every base of the
        // chain would be alive at once.
        let next = pack.ofs_delta(base, &delta(0));
        pack.ofs_delta(base, &delta(1));
        base = next;
    }
    let pack = pack.finish();
    let (stats, _) = forgetting(&pack);
    assert!(stats.peak_live_bytes <= 3 * u64::from(SIZE), "{}", stats.peak_live_bytes);
}

#[test]
fn case_12_evicted_bases_are_made_again_once() {
    // Of a chain the store lends every seventh content; below each of those a delta was
    // resolved on arrival, and everything further waits.
    let pack = deep_chain(50, 1 << 10);
    let store = TestStore { lends_each: 7, ..TestStore::default() };
    let (limits, budget) = (Limits::default(), Budget::new(1 << 30));
    let (store, stats) =
        ingest_into(store, ObjectFormat::Sha1, &pack, pack.len(), &limits, &budget).unwrap();
    assert_eq!(store.ids().len(), 51);
    assert!(stats.deltas_on_arrival > 0 && stats.deltas_deferred > 0);
    assert!(stats.inflated_bytes <= 2 * stats.minimum_inflated_bytes);
}

#[test]
fn case_12_bases_evicted_in_the_final_phase_are_made_again_from_further_up() {
    const CHAIN: usize = 20;
    let mut pack = PackBuilder::sha1();
    let waiting = |on: usize, n: usize| delta::encode(&version(on), &version(n));
    for (n, on) in [(100, 5), (101, 15), (102, CHAIN), (103, 15)] {
        pack.ref_delta(blob_id(&version(on)), &waiting(on, n));
    }
    let mut base = pack.blob(&version(0));
    for n in 1..=CHAIN {
        base = pack.ofs_delta(base, &waiting(n - 1, n));
    }
    let pack = pack.finish();
    // The chain is resolved on arrival. Then contents are gone before what waits is
    // resolved, or after its first, second, third object.
    for evicts_after in CHAIN + 1..CHAIN + 5 {
        let store = TestStore { evicts_after, ..TestStore::lending() };
        let (limits, budget) = (Limits::default(), Budget::new(1 << 30));
        let (store, stats) =
            ingest_into(store, ObjectFormat::Sha1, &pack, 99, &limits, &budget).unwrap();
        assert_eq!((stats.deltas_on_arrival, stats.deltas_deferred), (CHAIN as u64, 4));
        let expected = [100, 101, 102, 103].into_iter().chain(0..=CHAIN);
        assert_eq!(store.ids(), expected.map(|n| blob_id(&version(n))).collect::<Vec<_>>());
    }
}

#[test]
fn case_12_a_base_that_is_still_kept_is_not_made_again() {
    let step = |n: usize| delta::encode(&version(n - 1), &version(n));
    let waiting = [9, 10].map(|on| delta::encode(&version(on), &version(100 + on)));
    let mut pack = PackBuilder::sha1();
    pack.ref_delta(blob_id(&version(9)), &waiting[0]);
    pack.ref_delta(blob_id(&version(10)), &waiting[1]);
    let mut base = pack.blob(&version(0));
    for n in 1..=12 {
        base = pack.ofs_delta(base, &step(n));
    }
    let pack = pack.finish();
    // Versions 7 and 10 (entries 9 and 12) stay. From 7 the way goes through 8 and 9.
    let store = TestStore { evicts_after: 13, evicts_to: 3, ..TestStore::lending() };
    let (limits, budget) = (Limits::default(), Budget::new(1 << 30));
    let (_, stats) = ingest_into(store, ObjectFormat::Sha1, &pack, 99, &limits, &budget).unwrap();
    let again = [&waiting[0], &waiting[1], &step(8), &step(9)].map(|delta| delta.len() as u64);
    let inflated_again = stats.inflated_bytes - stats.minimum_inflated_bytes;
    assert_eq!(inflated_again, again.iter().sum::<u64>());
}

/// Takes `pack` into a store that keeps no content.
fn forgetting(pack: &[u8]) -> (IngestStats, Budget) {
    let (limits, store) = (Limits::default(), TestStore::forgetful());
    let budget = Budget::new(limits.max_memory);
    let taken = ingest_into(store, ObjectFormat::Sha1, pack, pack.len(), &limits, &budget);
    (taken.unwrap().1, budget)
}
