//! What is saved comes back; what is not such a file, or no longer, is refused.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::limits::{Budget, Inline, Limits, NeverInterrupt};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::conformance::{self, Sample, fill_staging, samples};
use crate::store::{MemoryStore, Objects as _, PackedAs, Ref, Staging as _};

fn empty(format: ObjectFormat) -> MemoryStore {
    MemoryStore::new(format, &Budget::new(64 << 20), &Limits::default())
}

fn state(store: &MemoryStore) -> SavedState {
    let raw = vec![7; store.format().raw_len()];
    let absent = ObjectId::from_raw(&raw).unwrap();
    let commit = store.insert(Kind::Commit, COMMIT).unwrap();
    let named = |name: &str, id| Ref {
        name: name.into(),
        target: Some(id),
        peeled: Some(id),
        symref_target: (name == "HEAD").then(|| "refs/heads/main".into()),
    };
    SavedState {
        address: "https://example.invalid/a".into(),
        commits: vec![
            SavedCommit { id: absent, is_whole: true },
            SavedCommit { id: commit, is_whole: false },
        ],
        left_out: Some((commit, 1 << 20)),
        refs: vec![named("HEAD", commit), named("refs/heads/gone", absent)],
    }
}

const COMMIT: &[u8] = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
    author A <a@example.invalid> 1 +0000\ncommitter A <a@example.invalid> 1 +0000\n\nm\n";

fn bytes_of(store: &MemoryStore, state: &SavedState) -> Vec<u8> {
    let mut saving = Saving::new(store, state).unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = saving.next_chunk().unwrap() {
        bytes.extend(chunk);
    }
    bytes
}

fn load(store: &MemoryStore, bytes: &[u8], piece: usize) -> Result<Loaded, SavedError> {
    let mut loading = Loading::new(store, &Limits::default());
    for chunk in bytes.chunks(piece.max(1)) {
        loading.push(chunk, &NeverInterrupt)?;
    }
    loading.finish(&Inline, &NeverInterrupt)
}

/// A small file, with deltas and a state.
fn small() -> Vec<u8> {
    let store = empty(ObjectFormat::Sha1);
    let mut staging = store.stage();
    let text = |number: u8| [&b"some text\n".repeat(20)[..], &[number]].concat();
    let sample = |number| Sample {
        kind: Kind::Blob,
        content: text(number),
        base: usize::from(number).checked_sub(1),
    };
    fill_staging(&mut staging, ObjectFormat::Sha1, &[0, 1, 2].map(sample));
    staging.commit().unwrap();
    let state = state(&store);
    bytes_of(&store, &state)
}

#[test]
fn what_was_saved_conforms_when_it_is_loaded() {
    conformance::run(|format, samples| {
        let store = empty(format);
        let mut staging = store.stage();
        fill_staging(&mut staging, format, samples);
        staging.commit().unwrap();
        let loaded = empty(format);
        load(&loaded, &bytes_of(&store, &SavedState::default()), 999).unwrap();
        loaded
    });
}

#[test]
fn entries_are_saved_as_they_came() {
    let format = ObjectFormat::Sha1;
    let samples = samples(format);
    let (store, loaded) = (empty(format), empty(format));
    let mut staging = store.stage();
    fill_staging(&mut staging, format, &samples);
    staging.commit().unwrap();
    load(&loaded, &bytes_of(&store, &SavedState::default()), 4096).unwrap();
    let mut deltas = 0;
    for sample in &samples {
        let id = sample.id(format);
        let (before, after) =
            (store.packed(&id).unwrap().unwrap(), loaded.packed(&id).unwrap().unwrap());
        assert_eq!((before.form, &before.stream), (after.form, &after.stream));
        deltas += usize::from(matches!(after.form, PackedAs::DeltaOf(_)));
    }
    assert!(deltas >= 60);
}

#[test]
fn the_state_comes_back_as_far_as_its_objects_are_held() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let store = empty(format);
        let state = state(&store);
        let bytes = bytes_of(&store, &state);
        let loaded = load(&empty(format), &bytes, 1).unwrap();
        let mut expected = state;
        expected.commits.remove(0);
        expected.refs.pop();
        assert_eq!(
            loaded,
            Loaded { state: expected, objects: 1, bytes: bytes.len() as u64 },
            "{format}"
        );
    }
}

#[test]
fn it_may_be_loaded_twice_and_beside_others() {
    let store = empty(ObjectFormat::Sha1);
    store.insert(Kind::Blob, b"another").unwrap();
    let objects = load(&store, &small(), 100).unwrap().objects;
    load(&store, &small(), 100).unwrap();
    assert_eq!(store.stats().objects, objects + 1);
}

#[test]
fn a_file_that_is_cut_short_changes_nothing_wherever_it_is_cut() {
    let bytes = small();
    for len in 0..bytes.len() {
        let store = empty(ObjectFormat::Sha1);
        let error = load(&store, &bytes[..len], usize::MAX).unwrap_err();
        let expected =
            matches!(error, SavedError::Truncated | SavedError::Pack(PackError::Truncated { .. }));
        assert!(expected, "{len}: {error:?}");
        assert_eq!(store.stats().objects, 0);
    }
}

#[test]
fn a_bit_that_is_flipped_is_noticed_wherever_it_is() {
    let bytes = small();
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        let store = empty(ObjectFormat::Sha1);
        let error = load(&store, &bad, usize::MAX).unwrap_err();
        match at {
            0..8 => assert!(matches!(error, SavedError::NotSaved), "{at}: {error:?}"),
            8..12 => assert!(matches!(error, SavedError::Version(_)), "{at}: {error:?}"),
            _ => {}
        }
        assert_eq!(store.stats().objects, 0, "{at}");
    }
}

#[test]
fn a_later_version_and_the_other_hash_are_named() {
    let mut bytes = small();
    let error = load(&empty(ObjectFormat::Sha256), &bytes, 9).unwrap_err();
    assert_eq!(error.to_string(), "it holds sha1 objects, and the repository uses sha256");
    bytes[11] = 2;
    let error = load(&empty(ObjectFormat::Sha1), &bytes, 9).unwrap_err();
    assert_eq!(error.to_string(), "it is of version 2, and this gitsip reads version 1");
    assert_eq!(Error::from(error).kind(), ErrorKind::Unsupported);
}

#[test]
fn bytes_behind_the_end_and_after_an_error_are_refused() {
    let bytes = [small(), vec![0]].concat();
    let store = empty(ObjectFormat::Sha1);
    let mut loading = Loading::new(&store, &Limits::default());
    let error = loading.push(&bytes, &NeverInterrupt).unwrap_err();
    assert!(matches!(error, SavedError::Pack(PackError::TrailingBytes { .. })), "{error:?}");
    let again = loading.push(b"", &NeverInterrupt).unwrap_err();
    assert!(matches!(again, SavedError::Failed), "{again:?}");
}

#[test]
fn what_does_not_fit_into_memory_is_a_limit_and_leaves_nothing_behind() {
    let bytes = small();
    let budget = Budget::new(4 << 10);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
    let error = load(&store, &bytes, 512).unwrap_err();
    assert!(Error::from(error).limit().is_some());
    assert_eq!((store.stats().objects, budget.used_bytes()), (0, 0));
}

#[test]
fn chunks_are_small_and_paid_for() {
    let budget = Budget::new(64 << 20);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
    for number in 0..400_u32 {
        store.insert(Kind::Blob, &number.to_be_bytes().repeat(512)).unwrap();
    }
    let used = budget.used_bytes();
    let mut saving = Saving::new(&store, &SavedState::default()).unwrap();
    let mut longest = 0;
    while let Some(chunk) = saving.next_chunk().unwrap() {
        assert!(budget.used_bytes() >= used + chunk.len() as u64 - 20 || longest == 0);
        longest = longest.max(chunk.len());
    }
    assert!(longest <= 70 << 10, "{longest}");
    drop(saving);
    assert_eq!(budget.used_bytes(), used);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn anything_that_is_stored_comes_back_however_it_is_cut(
        contents in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        piece in 1_usize..300,
    ) {
        let (store, loaded) = (empty(ObjectFormat::Sha1), empty(ObjectFormat::Sha1));
        let ids: Vec<_> =
            contents.iter().map(|bytes| store.insert(Kind::Blob, bytes).unwrap()).collect();
        let state = state(&store);
        load(&loaded, &bytes_of(&store, &state), piece).unwrap();
        for (id, bytes) in ids.iter().zip(&contents) {
            prop_assert_eq!(&loaded.read(id).unwrap().unwrap().bytes[..], &bytes[..]);
        }
        prop_assert_eq!(loaded.stats().objects, store.stats().objects);
    }

    #[test]
    fn no_bytes_make_it_panic_or_stay(
        at in 0_usize..400, with in prop::collection::vec(any::<u8>(), 1..40), piece in 1_usize..99,
    ) {
        let mut bytes = small();
        let at = at % bytes.len();
        bytes.splice(at..(at + with.len()).min(bytes.len()), with.iter().copied());
        let store = empty(ObjectFormat::Sha1);
        if load(&store, &bytes, piece).is_err() {
            prop_assert_eq!(store.stats().objects, 0);
        }
    }
}
