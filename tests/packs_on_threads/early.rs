//! What waits is resolved while more arrives: with the same results and under the same caps.

use super::pack_builder::ingest_early;
use super::*;

/// Bytes that all texts here begin with.
const COMMON: u32 = 16 << 10;

fn text(n: usize) -> Vec<u8> {
    let mut text = vec![b'\n'; COMMON as usize];
    text.extend_from_slice(format!("{}{n}", "text ".repeat(n % 50)).as_bytes());
    text
}

/// What makes the text `to` of the text `from`.
fn edit(from: usize, to: usize) -> Vec<u8> {
    let (from, to) = (text(from), text(to));
    let mut encoder = DeltaEncoder::new(from.len() as u64, to.len() as u64);
    encoder.copy(0, COMMON).insert(&to[COMMON as usize..]);
    encoder.finish()
}

/// Deltas on what came long ago, by offset and by id; on what comes later; on what is not in
/// the pack; and some that make what is there already.
fn scattered() -> PackBuilder {
    let mut pack = PackBuilder::sha1();
    // Where each is, and which text it holds.
    let mut there = vec![(pack.blob(&text(0)), 0), (pack.blob(&text(1)), 1)];
    for n in 2..500 {
        let (at, on) = there[n * 7 % n.min(97)];
        there.push(match n % 9 {
            0 => (pack.ref_delta(blob_id(&text(on)), &edit(on, n)), n),
            1 => (pack.ref_delta(blob_id(&text(n + 1_000)), &edit(n + 1_000, n)), n),
            2 => (pack.ref_delta(blob_id(&text(5_000)), &edit(5_000, n)), n),
            3 => (pack.ofs_delta(at, &edit(on, on)), on),
            _ => (pack.ofs_delta(at, &edit(on, n)), n),
        });
    }
    for n in (2..500).filter(|n| n % 9 == 1) {
        pack.ref_delta(blob_id(&text(0)), &edit(0, n + 1_000));
    }
    pack
}

fn thin(mut store: TestStore) -> TestStore {
    store.outside.push((blob_id(&text(5_000)), Kind::Blob, text(5_000).into()));
    store
}

/// Takes `pack` in early rounds on so many threads; how many deltas were made before the end.
fn early(
    threads: usize,
    store: TestStore,
    pack: &[u8],
    limits: &Limits,
) -> Result<(Resolved<TestStore>, u64), PackError> {
    let budget = Budget::new(1 << 30);
    ingest_early(threads, store, pack, (1_000, 2 << 20), limits, &budget)
}

#[test]
fn deltas_that_wait_are_made_before_the_last_byte_with_the_same_results() {
    let (pack, limits) = (scattered().finish(), Limits::default());
    let budget = Budget::new(1 << 30);
    let store = || thin(TestStore::forgetful());
    let late = ingest_on(1, store(), SHA1, &pack, &limits, &budget).unwrap();
    for threads in [1, 2] {
        let (resolved, before) = early(threads, store(), &pack, &limits).unwrap();
        assert!((200..500).contains(&before), "{before} on {threads} threads");
        assert_eq!(resolved.store.objects, late.store.objects);
        assert_eq!(resolved.stats.deltas_deferred, late.stats.deltas_deferred);
        assert_eq!(resolved.stats.resolved_bytes, late.stats.resolved_bytes);
        for entry in 0..late.entries.len() {
            assert_eq!(resolved.entries.depth(entry), late.entries.depth(entry));
        }
    }
    // Contents that the store lends are bases of a round, and may be gone when it begins.
    for (evicts_after, evicts_to) in [(0, 0), (100, 0), (100, 6)] {
        let store = TestStore { lends_each: 3, evicts_after, evicts_to, ..store() };
        let (resolved, _) = early(2, store, &pack, &limits).unwrap();
        assert_eq!(resolved.store.ids(), late.store.ids());
    }
}

#[test]
fn a_chain_that_goes_through_several_rounds_is_as_long_as_it_is() {
    const SIZE: u32 = 128 << 10;
    let pack = chain(SIZE, 70);
    for ends_well in [true, false] {
        let max_chain_bytes = 71 * u64::from(SIZE) - u64::from(!ends_well);
        let limits = Limits { max_chain_bytes, ..Limits::default() };
        // Each round begins where the one before had come to, or a little above.
        let store = TestStore { lends_each: 2, ..TestStore::default() };
        match early(1, store, &pack, &limits) {
            Ok((resolved, before)) => {
                assert!(ends_well && before > 30, "{before}");
                assert_eq!(resolved.entries.depth(70), 70);
            }
            Err(PackError::Limit(limit)) => {
                assert!(!ends_well);
                assert_eq!((limit.which, limit.seen), (Which::ChainBytes, 71 * u64::from(SIZE)));
            }
            Err(other) => panic!("{other}"),
        }
    }
}
