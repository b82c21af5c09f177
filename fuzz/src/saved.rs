//! A file of saved objects: as it is, and with the checksums that it should have.

use gitsip::limits::{Inline, NeverInterrupt};
use gitsip::oid::Hasher;
use gitsip::store::MemoryStore;
use gitsip::store::saved::{Loaded, Loading, SavedError, SavedState, Saving};
use gitsip::{Budget, Limits, ObjectFormat};

/// A whole file; or, where the first two bytes give the length of a state, that state and the
/// body of a pack.
pub fn saved(input: &[u8]) {
    load_whole_and_in_bytes(input);
    let Some((len, rest)) = input.split_first_chunk() else { return };
    let (state, pack) = rest.split_at(rest.len().min(u16::from_le_bytes(*len).into()));
    load_whole_and_in_bytes(&with_checksums(state, pack));
}

fn load_whole_and_in_bytes(file: &[u8]) {
    let whole = load(&[file]);
    let pieces: Vec<&[u8]> = file.chunks(1).collect();
    let in_bytes = load(&pieces);
    let Ok((store, loaded)) = whole else {
        // Which of two faults is noticed first may depend on the pieces.
        assert!(in_bytes.is_err());
        return;
    };
    let (_, again) = in_bytes.expect("the same bytes");
    assert_eq!((&again.state, again.objects), (&loaded.state, loaded.objects));
    let (copy, of_copy) = load(&[&save(&store, &loaded.state)]).expect("it was just saved");
    assert_eq!(of_copy.state, loaded.state);
    let held = |store: &MemoryStore| (store.stats().objects, store.stats().packed_bytes);
    assert_eq!(held(&copy), held(&store));
}

fn load(pieces: &[&[u8]]) -> Result<(MemoryStore, Loaded), SavedError> {
    let limits = Limits { max_object_bytes: 1 << 20, ..Limits::default() };
    let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(8 << 20), &limits);
    let mut loading = Loading::new(&store, &limits);
    for piece in pieces {
        loading.push(piece, &NeverInterrupt)?;
    }
    let loaded = loading.finish(&Inline, &NeverInterrupt)?;
    Ok((store, loaded))
}

fn save(store: &MemoryStore, state: &SavedState) -> Vec<u8> {
    let mut saving = Saving::new(store, state).expect("a state that was read can be written");
    let mut file = Vec::new();
    while let Some(chunk) = saving.next_chunk().expect("memory suffices") {
        file.extend_from_slice(&chunk);
    }
    file
}

fn with_checksums(state: &[u8], pack: &[u8]) -> Vec<u8> {
    let digest = |format, parts: &[&[u8]]| {
        let mut hasher = Hasher::new(format);
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finish().map(|id| id.as_bytes().to_vec()).unwrap_or_default()
    };
    let mut file = b"GITSIP\r\n\0\0\0\x01\0\0\0\x01".to_vec();
    file.extend((state.len() as u32).to_be_bytes());
    let sum = digest(ObjectFormat::Sha256, &[&file, state]);
    file.extend(sum);
    file.extend_from_slice(state);
    file.extend_from_slice(pack);
    file.extend(digest(ObjectFormat::Sha1, &[pack]));
    file
}
