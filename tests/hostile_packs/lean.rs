//! Packs whose blobs are left out: what stays is right whatever the pack says of itself, what
//! is left out is missing and no more, and a large blob takes no memory.

use gitsip::pack::KeepBlobs;
use gitsip::store::{MemoryStore, Objects as _, Staging as _};

use super::*;

/// Takes in `pack` with the blobs `kept`, in `memory`.
fn lean(
    pack: &[u8],
    kept: &[ObjectId],
    chunk: usize,
    memory: u64,
) -> Result<(MemoryStore, IngestStats), PackError> {
    let (limits, budget) = (Limits::default(), Budget::new(memory));
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
    let blobs = KeepBlobs::Only(kept.iter().copied().collect());
    let mut ingest =
        Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage()).keeping(blobs);
    for chunk in pack.chunks(chunk) {
        ingest.push(chunk, &NeverInterrupt)?;
    }
    let (staging, stats) = ingest.finish(&NeverInterrupt)?;
    let committed = staging.commit().unwrap();
    assert_eq!(committed.ids.len() as u64, store.stats().objects, "only what is held is told");
    Ok((store, stats))
}

fn content(store: &MemoryStore, id: &ObjectId) -> Option<Bytes> {
    store.read(id).unwrap().map(|object| object.bytes)
}

const AMPLE: u64 = 64 << 20;

/// A root, deltas of it by offset and by id, one of them before it, and one of a delta.
fn family() -> (Vec<u8>, Vec<ObjectId>) {
    let delta = |from: usize, to: usize| delta::encode(&version(from), &version(to));
    let mut pack = PackBuilder::sha1();
    pack.ref_delta(blob_id(&version(0)), &delta(0, 4));
    let root = pack.blob(&version(0));
    let first = pack.ofs_delta(root, &delta(0, 1));
    pack.ofs_delta(first, &delta(1, 2));
    pack.ref_delta(blob_id(&version(2)), &delta(2, 3));
    pack.entry(COMMIT, 4, &[], &deflate(b"text", 6));
    (pack.finish(), (0..5).map(|n| blob_id(&version(n))).collect())
}

#[test]
fn each_choice_of_blobs_is_kept_and_the_others_are_missing() {
    let (pack, ids) = family();
    let commit = gitsip::object::hash_object(ObjectFormat::Sha1, Kind::Commit, b"text").unwrap();
    for choice in 0_u32..32 {
        let chosen = |n: usize| choice >> n & 1 == 1;
        let kept: Vec<ObjectId> = (0..5).filter(|&n| chosen(n)).map(|n| ids[n]).collect();
        for chunk in [1, pack.len()] {
            let (store, stats) = lean(&pack, &kept, chunk, AMPLE).unwrap();
            assert_eq!(content(&store, &commit).as_deref(), Some(&b"text"[..]));
            for (n, id) in ids[..4].iter().enumerate() {
                let expected = chosen(n).then(|| Bytes::from(version(n)));
                assert_eq!(content(&store, id), expected, "{n} of {choice:b}");
            }
            // It came before its base, and is made if that is kept.
            let early = chosen(0).then(|| Bytes::from(version(4)));
            assert_eq!(content(&store, &ids[4]), early, "{choice:b}");
            let held = store.stats().objects - 1;
            assert_eq!(held + stats.left_out + stats.left_out_unnamed, 5, "{choice:b}");
        }
    }
}

#[test]
fn a_delta_of_a_blob_that_nobody_saw_is_left_out_and_one_of_nothing_is_refused() {
    let large = vec![b'x'; 3 << 20];
    let change = delta::encode(&large, &[&large[..], b"more"].concat());
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&large);
    let next = pack.ofs_delta(base, &change);
    pack.ofs_delta(next, &change);
    pack.ref_delta(blob_id(&large), &change);
    let small = pack.blob(b"small");
    pack.ofs_delta(small, &delta::encode(b"small", b"smaller"));
    let pack = pack.finish();
    let wanted = [blob_id(&large), blob_id(b"smaller")];
    let (store, stats) = lean(&pack, &wanted, 1_000, 4 << 20).unwrap();
    assert_eq!((stats.left_out, stats.left_out_unnamed), (1, 4));
    assert_eq!(content(&store, &wanted[0]), None);
    assert_eq!(content(&store, &wanted[1]).as_deref(), Some(&b"smaller"[..]));

    let mut lies = PackBuilder::sha1();
    lies.blob(b"small");
    lies.ref_delta(blob_id(b"never sent"), &delta::encode(b"never sent", b"text"));
    let refused = lean(&lies.finish(), &[], 1_000, AMPLE).unwrap_err();
    assert!(matches!(refused, PackError::Unresolved { count: 1, .. }), "{refused}");
}

#[test]
fn a_blob_far_larger_than_memory_is_passed_over_and_its_size_still_checked() {
    let large = noise(5 << 20);
    let stream = deflate(&large, 0);
    let pack = |declared: u64| {
        let mut pack = PackBuilder::sha1();
        pack.entry(BLOB, declared, &[], &stream);
        pack.blob(b"small");
        pack.finish()
    };
    let honest = pack(large.len() as u64);
    let (store, stats) = lean(&honest, &[blob_id(b"small")], 50_000, 1 << 20).unwrap();
    assert_eq!((store.stats().objects, stats.left_out_unnamed), (1, 1));
    for (declared, more) in [(large.len() as u64 - 1, true), (large.len() as u64 + 1, false)] {
        let refused = lean(&pack(declared), &[], 50_000, 1 << 20).unwrap_err();
        assert_eq!(refused, PackError::WrongSize { offset: 12, declared, more });
    }
}

fn noise(len: usize) -> Vec<u8> {
    (0..len as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

#[test]
fn damage_is_refused_whether_blobs_are_kept_or_not() {
    let other = delta::encode(&version(7)[..100], b"text");
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&version(0));
    let at = pack.ofs_delta(base, &other);
    let refused = lean(&pack.finish(), &[], 1_000, AMPLE).unwrap_err();
    let wrong_base = DeltaError::WrongBaseSize { declared: 100, actual: version(0).len() as u64 };
    assert_eq!(refused, PackError::BadDelta { offset: at, error: wrong_base });

    let (pack, ids) = family();
    for bit in (12 * 8..pack.len() * 8).step_by(5) {
        let mut damaged = pack.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(lean(&damaged, &ids[1..2], 1_000, AMPLE).is_err(), "bit {bit}");
    }
}
