//! What becomes of packs that are odd, damaged or hostile? Cases 1 to 17 of the list of
//! odd inputs, each with the answer it must get, and properties over all of them: any
//! split gives the same answer, a flipped bit never panics, a spent budget is an error
//! and leaves nothing behind.

#![allow(clippy::unwrap_used)]

#[path = "hostile_packs/chains.rs"]
mod chains;
#[path = "hostile_packs/lean.rs"]
mod lean;
#[path = "support/pack_builder.rs"]
mod pack_builder;
#[path = "hostile_packs/properties.rs"]
mod properties;

use bytes::Bytes;
use gitsip::limits::{Interrupt, Interrupted, LimitExceeded, NeverInterrupt, Which};
use gitsip::object::Kind;
use gitsip::oid::Hasher;
use gitsip::pack::delta::{self, DeltaEncoder};
use gitsip::pack::inflate::deflate;
use gitsip::pack::{BaseLink, DeltaError, Ingest, IngestStats, PackError};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};
use pack_builder::{
    BLOB, COMMIT, PackBuilder, TAG, TREE, TestStore, blob_id, ingest, ingest_into, ingest_on, seal,
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
    for threads in [2, 4] {
        let budget = Budget::new(limits.max_memory);
        let store = TestStore::forgetful();
        let result = ingest_on(threads, store, ObjectFormat::Sha1, pack, limits, &budget);
        errors.push(result.map(|_| ()).unwrap_err());
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.peak_bytes() < 8 << 20, "{} were reserved", budget.peak_bytes());
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

/// Version `n` of a text that grows.
fn version(n: usize) -> Vec<u8> {
    let mut text: Vec<u8> =
        (0..20).flat_map(|line| format!("line {line}\n").into_bytes()).collect();
    text.extend(format!("version {n}\n").bytes());
    text
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
