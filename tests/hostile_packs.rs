//! What becomes of packs that are odd, damaged or hostile? Cases 1 to 17 of the list of
//! odd inputs, each with the answer it must get, and properties over all of them: any
//! split gives the same answer, a flipped bit never panics, a spent budget is an error
//! and leaves nothing behind.

#![allow(clippy::unwrap_used)]

#[path = "support/pack_builder.rs"]
mod pack_builder;

use bytes::Bytes;
use gitsip::limits::{Interrupt, Interrupted, LimitExceeded, NeverInterrupt, Which};
use gitsip::object::Kind;
use gitsip::oid::Hasher;
use gitsip::pack::delta::{self, DeltaEncoder};
use gitsip::pack::inflate::deflate;
use gitsip::pack::{BaseLink, DeltaError, Ingest, PackError};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};
use pack_builder::{
    BLOB, COMMIT, PackBuilder, TAG, TREE, TestStore, blob_id, ingest, ingest_into, seal,
};
use proptest::prelude::*;

/// Ingests under `limits`, lending and not, whole and in pieces; all must agree.
fn refused(pack: &[u8], limits: &Limits) -> PackError {
    let mut errors = Vec::new();
    for store in [TestStore::lending(), TestStore::forgetful()] {
        for chunk in [pack.len(), 7] {
            let budget = Budget::new(limits.max_memory);
            let result =
                ingest_into(store.clone(), ObjectFormat::Sha1, pack, chunk, limits, &budget);
            errors.push(result.map(|_| ()).unwrap_err());
            assert_eq!(budget.used_bytes(), 0);
            assert!(budget.peak_bytes() < 4 << 20, "{} were reserved", budget.peak_bytes());
        }
    }
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0]
}

fn limit(error: PackError) -> LimitExceeded {
    match error {
        PackError::Limit(limit) => limit,
        other => panic!("no limit: {other}"),
    }
}

fn delta_error(error: PackError) -> DeltaError {
    match error {
        PackError::BadDelta { error, .. } => error,
        other => panic!("no delta error: {other}"),
    }
}

#[test]
fn case_1_a_bomb_that_lies_is_stopped_at_its_declared_size_and_an_honest_one_is_accepted() {
    let zeros = vec![0; 64 << 20];
    let stream = deflate(&zeros, 9);
    let mut liar = PackBuilder::sha1();
    liar.entry(BLOB, 10, &[], &stream);
    assert_eq!(
        refused(&liar.finish(), &Limits::default()),
        PackError::WrongSize { offset: 12, declared: 10, more: true }
    );

    let mut honest = PackBuilder::sha1();
    honest.entry(BLOB, 64 << 20, &[], &stream);
    let (limits, budget) = (Limits::default(), Budget::new(512 << 20));
    let (pack, store) = (honest.finish(), TestStore::forgetful());
    let (store, stats) =
        ingest_into(store, ObjectFormat::Sha1, &pack, 4096, &limits, &budget).unwrap();
    assert_eq!(store.object(0).id, blob_id(&zeros));
    assert_eq!((stats.resolved_bytes, stats.inflated_bytes), (64 << 20, 64 << 20));
}

#[test]
fn case_1_the_ratio_cap_is_on_resolved_over_received_bytes() {
    let limits =
        Limits { max_resolved_ratio: 100, resolved_allowance_bytes: 1 << 10, ..Limits::default() };
    let mut pack = PackBuilder::sha1();
    pack.blob(&[0; 1 << 20]);
    let error = limit(refused(&pack.finish(), &limits));
    assert_eq!((error.which, error.seen), (Which::ResolvedBytes, 1 << 20));
    assert!(error.allowed < 4 << 10);
}

#[test]
fn case_2_a_declared_size_that_is_not_the_inflated_size_is_refused_either_way() {
    for (declared, more) in [(99, true), (0, true), (101, false), (1 << 20, false)] {
        let mut pack = PackBuilder::sha1();
        pack.entry(BLOB, declared, &[], &deflate(&[7; 100], 6));
        assert_eq!(
            ingest(&pack.finish()).unwrap_err(),
            PackError::WrongSize { offset: 12, declared, more }
        );
    }
}

#[test]
fn case_3_a_count_of_four_billion_allocates_nothing() {
    let mut pack = PackBuilder::sha1();
    pack.declare(u32::MAX);
    let unlimited = Limits { max_pack_objects: u64::MAX, ..Limits::default() };
    // The trailer is read as an entry: of a kind, or not.
    let error = refused(&pack.finish()[..12], &unlimited);
    assert_eq!(error, PackError::Truncated { offset: 12, missing: u64::from(u32::MAX) });
    let budget = Budget::new(1 << 30);
    let mut ingest = Ingest::new(ObjectFormat::Sha1, &unlimited, &budget, TestStore::forgetful());
    ingest.push(&pack.finish()[..12], &NeverInterrupt).unwrap();
    assert_eq!(budget.peak_bytes(), 0);
    assert_eq!(ingest.progress().total_objects, Some(u64::from(u32::MAX)));

    let error = limit(refused(&pack.finish(), &Limits::default()));
    assert_eq!((error.which, error.seen), (Which::PackObjects, u64::from(u32::MAX)));
}

#[test]
fn case_4_a_delta_that_declares_a_tebibyte_meets_the_cap_first() {
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&[1; 100]);
    let mut encoder = DeltaEncoder::new(100, 1 << 40);
    encoder.copy(0, 100);
    pack.ofs_delta(base, &encoder.finish());
    let error = limit(refused(&pack.finish(), &Limits::default()));
    assert_eq!((error.which, error.seen), (Which::ObjectBytes, 1 << 40));
}

/// A delta that copies the whole of a base of `len` bytes `times` over.
fn amplifier(len: u32, times: u32) -> Vec<u8> {
    let mut encoder = DeltaEncoder::new(u64::from(len), u64::from(len) * u64::from(times));
    for _ in 0..times {
        encoder.copy(0, len);
    }
    encoder.finish()
}

#[test]
fn case_5_copy_amplification_meets_the_cap_on_objects_and_along_chains() {
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&[0; 1 << 20]);
    pack.ofs_delta(base, &amplifier(1 << 20, 2_000));
    let error = limit(refused(&pack.finish(), &Limits::default()));
    assert_eq!((error.which, error.seen), (Which::ObjectBytes, 2_000 << 20));

    let mut chain = PackBuilder::sha1();
    let mut base = chain.blob(&[0; 1 << 18]);
    base = chain.ofs_delta(base, &amplifier(1 << 18, 2));
    base = chain.ofs_delta(base, &amplifier(1 << 19, 1));
    chain.ofs_delta(base, &amplifier(1 << 19, 1));
    let limits = Limits { max_chain_bytes: 5 << 18, ..Limits::default() };
    let error = limit(refused(&chain.finish(), &limits));
    assert_eq!((error.which, error.seen), (Which::ChainBytes, 7 << 18));

    let limits = Limits { resolved_allowance_bytes: 5 << 18, max_resolved_ratio: 1, ..limits };
    let limits = Limits { max_chain_bytes: 1 << 40, ..limits };
    for store in [TestStore::lending(), TestStore::forgetful()] {
        let (pack, budget) = (chain.finish(), Budget::new(64 << 20));
        let result = ingest_into(store, ObjectFormat::Sha1, &pack, 9, &limits, &budget);
        let error = limit(result.map(|_| ()).unwrap_err());
        assert_eq!((error.which, error.seen), (Which::ResolvedBytes, 7 << 18));
    }
}

#[test]
fn case_6_every_bad_delta_is_its_own_error() {
    let bad: [(&[u8], DeltaError); 9] = [
        (&[100, 1, 0], DeltaError::ReservedOpcode),
        (&[100, 10, 0x91, 95, 10], DeltaError::CopyPastBase),
        (&[100, 10, 0x91], DeltaError::Truncated),
        (&[100, 10, 9, 1, 2], DeltaError::Truncated),
        (&[100, 10, 0x90, 10, 1, 7], DeltaError::ResultTooLong),
        (&[100, 11, 0x90, 10], DeltaError::ResultTooShort),
        (&[99, 10, 0x90, 10], DeltaError::WrongBaseSize { declared: 99, actual: 100 }),
        (&[0x80], DeltaError::Truncated),
        (&[], DeltaError::Truncated),
    ];
    for (bytes, expected) in bad {
        let mut pack = PackBuilder::sha1();
        let base = pack.blob(&[0; 100]);
        pack.ofs_delta(base, bytes);
        let error = refused(&pack.finish(), &Limits::default());
        assert_eq!(delta_error(error), expected);
        let mut pack = PackBuilder::sha1();
        pack.ref_delta(blob_id(&[0; 100]), bytes);
        pack.blob(&[0; 100]);
        assert_eq!(delta_error(ingest(&pack.finish()).unwrap_err()), expected);
    }
}

#[test]
fn case_7_numbers_that_go_on_for_too_long_are_refused_wherever_they_stand() {
    let long = [0xff; 11];
    for first in [&[0xb0][..], &[0xb3], &[0xe5], &[0x65], &[0x60]] {
        let mut pack = PackBuilder::sha1();
        pack.raw_entry(&[first, &long, &[0x7f], &deflate(b"", 6)].concat());
        assert_eq!(ingest(&pack.finish()).unwrap_err(), PackError::BadVarint { offset: 12 });
    }
    for delta in [&long[..], &[&[100][..], &long].concat()] {
        let mut pack = PackBuilder::sha1();
        let base = pack.blob(&[0; 100]);
        pack.ofs_delta(base, delta);
        assert_eq!(delta_error(ingest(&pack.finish()).unwrap_err()), DeltaError::BadVarint);
    }
}

#[test]
fn case_8_an_offset_where_no_entry_begins_is_refused() {
    let target = delta::encode(&[0; 100], b"x");
    let mut pack = PackBuilder::sha1();
    let first = pack.blob(&[0; 100]);
    let offset = pack.offset();
    for distance in [0, 1, offset - first - 1, offset - first + 1, offset, offset + 1, u64::MAX] {
        let mut pack = pack.clone();
        pack.distance_delta(distance, &target);
        assert_eq!(
            ingest(&pack.finish()).unwrap_err(),
            PackError::BadBaseOffset { offset, distance }
        );
    }
}

#[test]
fn case_9_deltas_that_name_themselves_or_each_other_are_unresolved() {
    let delta = delta::encode(b"abc", b"abcd");
    let (one, two) = (blob_id(b"abc"), blob_id(b"abcd"));
    let mut pack = PackBuilder::sha1();
    pack.ref_delta(one, &delta::encode(b"abc", b"abc"));
    assert_eq!(
        ingest(&pack.finish()).unwrap_err(),
        PackError::Unresolved { count: 1, offset: 12, base: Some(one) }
    );
    let mut pack = PackBuilder::sha1();
    pack.blob(b"unrelated");
    let first = pack.ref_delta(two, &delta::encode(b"abcd", b"abc"));
    let second = pack.ref_delta(one, &delta);
    pack.ofs_delta(second, &delta::encode(b"abcd", b"x"));
    assert_eq!(
        ingest(&pack.finish()).unwrap_err(),
        PackError::Unresolved { count: 3, offset: first, base: Some(two) }
    );
}

/// Version `n` of a text that grows.
fn version(n: usize) -> Vec<u8> {
    let mut text: Vec<u8> =
        (0..20).flat_map(|line| format!("line {line}\n").into_bytes()).collect();
    text.extend(format!("version {n}\n").bytes());
    text
}

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
fn deep_chain(length: u32, size: usize) -> Vec<u8> {
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
    let limits = Limits::default();
    let budget = Budget::new(limits.max_memory);
    let (_, stats) = ingest_into(
        TestStore::forgetful(),
        ObjectFormat::Sha1,
        &pack,
        pack.len(),
        &limits,
        &budget,
    )
    .unwrap();
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
    let limits = Limits::default();
    let budget = Budget::new(limits.max_memory);
    let (_, stats) = ingest_into(
        TestStore::forgetful(),
        ObjectFormat::Sha1,
        &pack,
        pack.len(),
        &limits,
        &budget,
    )
    .unwrap();
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
    // The chain is resolved on arrival. Then contents are gone before the final phase,
    // or after its first, second, third object.
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

#[test]
fn case_13_the_same_object_twice_is_accepted() {
    let mut pack = PackBuilder::sha1();
    pack.blob(&version(0));
    pack.blob(&version(0));
    pack.ref_delta(blob_id(&version(0)), &delta::encode(&version(0), &version(1)));
    pack.ref_delta(blob_id(&version(0)), &delta::encode(&version(0), &version(0)));
    let store = ingest(&pack.finish()).unwrap();
    assert_eq!(store.ids(), [0, 0, 1, 0].map(|n| blob_id(&version(n))));
}

#[test]
fn case_14_zero_objects_and_version_3_are_valid_and_version_4_is_not() {
    assert!(ingest(&PackBuilder::sha1().finish()).unwrap().objects.is_empty());
    let mut pack = PackBuilder::sha1();
    pack.blob(b"x");
    assert_eq!(ingest(&pack.version(3).finish()).unwrap().ids(), [blob_id(b"x")]);
    for bad in [0, 1, 4, 0x0200_0000] {
        let error = ingest(&pack.version(bad).finish()).unwrap_err();
        assert_eq!(error, PackError::BadVersion(bad));
    }
    assert_eq!(ingest(b"PACJ\0\0\0\x02\0\0\0\0").unwrap_err(), PackError::BadMagic);
    assert_eq!(ingest(b"<html>").unwrap_err(), PackError::BadMagic);
}

#[test]
fn case_14_bytes_after_the_trailer_a_flipped_trailer_and_a_cut_pack_are_told_apart() {
    let mut pack = PackBuilder::sha1();
    let ends = [pack.blob(&version(0)), pack.blob(&version(1)), pack.blob(&version(2))];
    let pack = pack.finish();
    let longer = [&pack[..], b"x"].concat();
    let offset = pack.len() as u64;
    assert_eq!(ingest(&longer).unwrap_err(), PackError::TrailingBytes { offset });

    let mut flipped = pack.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let error = ingest(&flipped).unwrap_err();
    let expected = ObjectId::from_raw(&flipped[flipped.len() - 20..]).unwrap();
    let actual = ObjectId::from_raw(&pack[pack.len() - 20..]).unwrap();
    assert_eq!(error, PackError::Trailer { expected, actual });

    for cut in 0..pack.len() {
        let missing = match cut {
            0..12 => 0,
            _ => 3 - ends.iter().skip(1).filter(|&&end| end <= cut as u64).count() as u64,
        };
        // The last entry ends where the trailer begins.
        let missing = if cut >= pack.len() - 20 { 0 } else { missing };
        let error = ingest(&pack[..cut]).unwrap_err();
        assert_eq!(error, PackError::Truncated { offset: cut as u64, missing });
    }
}

#[test]
fn case_15_types_0_and_5_are_refused() {
    for kind in [0, 5] {
        let mut pack = PackBuilder::sha1();
        let offset = pack.blob(b"x") + pack.offset() - 12;
        pack.entry(kind, 1, &[], &deflate(b"x", 6));
        assert_eq!(ingest(&pack.finish()).unwrap_err(), PackError::BadKind { offset, kind });
    }
    for (kind, expected) in
        [(COMMIT, Kind::Commit), (TREE, Kind::Tree), (BLOB, Kind::Blob), (TAG, Kind::Tag)]
    {
        let mut pack = PackBuilder::sha1();
        pack.entry(kind, 1, &[], &deflate(b"x", 6));
        assert_eq!(ingest(&pack.finish()).unwrap().object(0).kind, expected);
    }
}

#[test]
fn case_16_a_thin_pack_without_its_base_names_the_base() {
    let mut pack = PackBuilder::sha1();
    pack.blob(b"present");
    let offset = pack.ref_delta(blob_id(b"absent"), &delta::encode(b"absent", b"absentee"));
    let pack = pack.finish();
    let base = Some(blob_id(b"absent"));
    assert_eq!(ingest(&pack).unwrap_err(), PackError::Unresolved { count: 1, offset, base });

    let mut store = TestStore::lending();
    store.outside.push((blob_id(b"absent"), Kind::Blob, Bytes::from_static(b"absent")));
    let (limits, budget) = (Limits::default(), Budget::new(1 << 20));
    let (store, _) = ingest_into(store, ObjectFormat::Sha1, &pack, 9, &limits, &budget).unwrap();
    assert_eq!(store.object(1).id, blob_id(b"absentee"));
    assert_eq!(store.object(1).base, Some(BaseLink::External(blob_id(b"absent"))));
}

#[test]
fn the_other_caps_hold() {
    let mut pack = PackBuilder::sha1();
    pack.blob(&[1; 5_000]);
    let pack = pack.finish();
    let small = Limits { max_object_bytes: 4_999, ..Limits::default() };
    let seen = 5_000;
    let expected = LimitExceeded { which: Which::ObjectBytes, allowed: 4_999, seen };
    assert_eq!(limit(refused(&pack, &small)), expected);
    let short = Limits { max_pack_bytes: pack.len() as u64 - 1, ..Limits::default() };
    let error = limit(refused(&pack, &short));
    assert_eq!((error.which, error.allowed), (Which::PackBytes, pack.len() as u64 - 1));
    let exact = Limits { max_pack_bytes: pack.len() as u64, ..Limits::default() };
    let budget = Budget::new(1 << 20);
    ingest_into(TestStore::lending(), ObjectFormat::Sha1, &pack, 9, &exact, &budget).unwrap();
}

#[test]
fn an_error_is_final() {
    let mut pack = PackBuilder::sha1();
    pack.entry(5, 1, &[], &deflate(b"x", 6));
    let budget = Budget::new(1 << 20);
    let limits = Limits::default();
    let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, TestStore::lending());
    let error = ingest.push(&pack.finish(), &NeverInterrupt).unwrap_err();
    assert_eq!(ingest.push(b"more", &NeverInterrupt), Err(error));
    assert_eq!(ingest.finish(&NeverInterrupt).map(|_| ()), Err(error));
}

/// Stops at the nth question.
struct StopsAfter(std::cell::Cell<u32>);

impl Interrupt for StopsAfter {
    fn check(&self) -> Result<(), Interrupted> {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        if left == 0 { Err(Interrupted::Deadline) } else { Ok(()) }
    }
}

#[test]
fn work_stops_within_64_kib_of_being_told_to() {
    let mut large = PackBuilder::sha1();
    large.blob(&vec![0; 8 << 20]);
    let mut many = PackBuilder::sha1();
    for n in 0..1_000_u32 {
        many.blob(&n.to_be_bytes());
    }
    for (pack, at_least) in [(large.finish(), 127), (many.finish(), 3), (deep_chain(1_000, 9), 6)] {
        let asked = |stop: u32| {
            let interrupt = StopsAfter(std::cell::Cell::new(stop));
            let (limits, budget) = (Limits::default(), Budget::new(64 << 20));
            let store = TestStore::forgetful();
            let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store);
            let pushed = ingest.push(&pack, &interrupt);
            let result = pushed.and_then(|()| ingest.finish(&interrupt).map(|_| ()));
            (result, stop - interrupt.0.get())
        };
        let (result, questions) = asked(1 << 20);
        assert_eq!(result, Ok(()));
        assert!(questions >= at_least, "{questions} questions");
        for stop in [0, 1, questions / 2, questions - 1] {
            assert_eq!(asked(stop).0, Err(PackError::Interrupted(Interrupted::Deadline)));
        }
    }
}

/// A pack with every kind of entry. A reference by id may point forwards, so that two
/// of them may name each other.
fn mixed(seed: u64, blobs: usize) -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let mut offsets = Vec::new();
    for n in 0..blobs {
        let pick = (seed >> (n % 60)) as usize;
        let content = version(n);
        let offset = match pick % 5 {
            0 if n > 0 => {
                let base = pick % n;
                pack.ofs_delta(offsets[base], &delta::encode(&version(base), &content))
            }
            1 => {
                let base = (n + 1) % blobs;
                pack.ref_delta(blob_id(&version(base)), &delta::encode(&version(base), &content))
            }
            2 => pack.entry(BLOB, content.len() as u64, &[], &deflate(&content, 0)),
            3 if n > 0 => {
                let base = pick % n;
                pack.ref_delta(blob_id(&version(base)), &delta::encode(&version(base), &content))
            }
            _ => pack.blob(&content),
        };
        offsets.push(offset);
    }
    pack.finish()
}

/// The first of the mixed packs whose references by id make no cycle.
fn sound(blobs: usize) -> Vec<u8> {
    let packs = (1_u64..).map(|n| mixed(n.wrapping_mul(0x9e37_79b9_7f4a_7c15), blobs));
    packs.into_iter().find(|pack| outcome(pack, &[pack.len()], 0).is_ok()).unwrap()
}

/// What came of a pack: entries with contents, or the error.
fn outcome(pack: &[u8], splits: &[usize], lends_each: u32) -> Result<TestStore, PackError> {
    let (limits, budget) = (Limits::default(), Budget::new(64 << 20));
    let store = TestStore { lends_each, ..TestStore::default() };
    let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store);
    let mut rest = pack;
    let mut splits = splits.iter().cycle();
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.len().min(*splits.next().unwrap()));
        ingest.push(chunk, &NeverInterrupt)?;
        rest = after;
    }
    let result = ingest.finish(&NeverInterrupt);
    assert_eq!(budget.used_bytes(), 0);
    result.map(|(store, _)| store)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_split_and_any_cache_give_the_same_objects_and_errors(
        seed: u64,
        blobs in 1..12usize,
        splits in prop::collection::vec(1..120usize, 1..9),
        lends_each in 0..4u32,
        flips in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        reseal: bool,
    ) {
        let mut pack = mixed(seed, blobs);
        for flip in flips {
            let bit = flip.index(pack.len() * 8);
            pack[bit / 8] ^= 1 << (bit % 8);
        }
        if reseal {
            pack.truncate(pack.len() - 20);
            pack = seal(ObjectFormat::Sha1, pack);
        }
        let whole = outcome(&pack, &[pack.len()], 0);
        for (splits, lends_each) in [(&splits[..], lends_each), (&[1], lends_each)] {
            let other = outcome(&pack, splits, lends_each);
            match (&whole, other) {
                (Ok(whole), Ok(other)) => {
                    prop_assert_eq!(&whole.objects, &other.objects);
                    prop_assert_eq!(&whole.streams, &other.streams);
                }
                // On arrival a damaged delta is found before what comes after it.
                (Err(PackError::BadDelta { .. }), Err(_)) | (Err(_), Err(PackError::BadDelta { .. })) => {}
                (whole, other) => prop_assert_eq!(whole.as_ref().err(), other.as_ref().err()),
            }
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let pack = [b"PACK\0\0\0\x02\0\0\0\x03", &bytes[..]].concat();
        prop_assert!(outcome(&pack, &[3], 1).is_err());
    }
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_and_never_a_panic() {
    let pack = sound(8);
    for bit in 0..pack.len() * 8 {
        let mut flipped = pack.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // Versions 2 and 3 differ in one bit, but then the trailer does not match.
        outcome(&flipped, &[pack.len()], 1).unwrap_err();
    }
}

#[test]
fn a_budget_that_fails_at_any_spend_is_a_limit_and_leaves_nothing() {
    let packs = [sound(40), deep_chain(70, 100_000), sound(150)];
    for pack in packs {
        let limits = Limits::default();
        let mut spends = 0;
        loop {
            let budget = Budget::failing_after(64 << 20, spends);
            let store = TestStore { lends_each: 3, ..TestStore::default() };
            let result = ingest_into(store, ObjectFormat::Sha1, &pack, 100, &limits, &budget);
            assert_eq!(budget.used_bytes(), 0);
            match result {
                Ok(_) => break,
                Err(error) => assert_eq!(limit(error).which, Which::Memory),
            }
            spends += 1;
        }
        assert!(spends > 8, "only {spends} spends were failed");
    }
}

#[test]
fn case_17_the_raw_collision_samples_are_reported_by_every_hasher_path() {
    let [one, two] = sha_mbles();
    assert_ne!(one, two);
    for sample in [&one, &two] {
        for piece in [sample.len(), 64, 7] {
            let mut hasher = Hasher::new(ObjectFormat::Sha1);
            sample.chunks(piece).for_each(|piece| hasher.update(piece));
            let collision = hasher.finish().unwrap_err();
            assert_eq!(collision.id.to_string(), "8ac60ba76f1999a1ab70223f225aefdc78d4ddc0");
        }
    }
}

#[test]
fn case_17_the_samples_as_blobs_have_different_ids_and_are_accepted() {
    let samples = sha_mbles();
    let mut pack = PackBuilder::sha1();
    for sample in &samples {
        pack.blob(sample);
    }
    let store = ingest(&pack.finish()).unwrap();
    assert_ne!(store.object(0).id, store.object(1).id);
}

/// The two messages of the first chosen-prefix collision for SHA-1 (Leurent and Peyrin,
/// "SHA-1 is a Shambles", 2020), written as the first and what the second changes.
fn sha_mbles() -> [Vec<u8>; 2] {
    let text = include_str!("support/sha_mbles.hex");
    let mut messages = text.split("\n\n").map(|block| {
        let digits: Vec<u8> = block.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks_exact(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    });
    [messages.next().unwrap(), messages.next().unwrap()]
}
