//! What holds for every pack, however it is cut, damaged, starved or interrupted.

use std::sync::atomic::{AtomicU32, Ordering};

use super::chains::deep_chain;
use super::*;

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
struct StopsAfter(AtomicU32);

impl Interrupt for StopsAfter {
    fn check(&self) -> Result<(), Interrupted> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        left.map(|_| ()).map_err(|_| Interrupted::Deadline)
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
            let interrupt = StopsAfter(AtomicU32::new(stop));
            let (limits, budget) = (Limits::default(), Budget::new(64 << 20));
            let store = TestStore::forgetful();
            let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store);
            let pushed = ingest.push(&pack, &interrupt);
            let result = pushed.and_then(|()| ingest.finish(&interrupt).map(|_| ()));
            (result, stop - interrupt.0.into_inner())
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
