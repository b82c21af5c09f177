//! What every store must do, as one suite: the memory store and the disk store pass it,
//! natively and in wasm. It uses no files and no processes; whoever runs it fills the
//! store.

use bytes::Bytes;

use super::{Header, Objects, PackedAs, PackedEntry, StoreError};
use crate::object::{Kind, hash_object};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::delta::{self, Delta};
use crate::pack::inflate::{deflate, inflate_exact};
use crate::pack::{BaseLink, EntryStore, ResolvedEntry};

/// An object to put into the store under test.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Its kind.
    pub kind: Kind,
    /// Its content.
    pub content: Vec<u8>,
    /// The sample, by number, that it should be a delta of where the store has deltas.
    pub base: Option<usize>,
}

impl Sample {
    /// Its id.
    pub fn id(&self, format: ObjectFormat) -> ObjectId {
        hash_object(format, self.kind, &self.content).expect("samples do not collide")
    }
}

/// Objects of every kind, with deltas upon deltas, an empty one, and one of 200 KB.
pub fn samples(format: ObjectFormat) -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    let mut put = |kind, content: Vec<u8>, base| samples.push(Sample { kind, content, base });
    put(Kind::Blob, Vec::new(), None);
    put(Kind::Blob, b"\0binary\xff\n".to_vec(), None);
    let mut text: Vec<u8> = (0..800).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
    put(Kind::Blob, text.clone(), None);
    for i in 0..60 {
        let base = 2 + i;
        let at = 37 * i + 5;
        text[at] = b'x';
        text.extend_from_slice(format!("more {i}\n").as_bytes());
        put(Kind::Blob, text.clone(), Some(base));
    }
    let mut noise = 0x9e37_79b9_u32;
    let mut random = || {
        noise ^= noise << 13;
        noise ^= noise >> 17;
        noise ^= noise << 5;
        noise as u8
    };
    put(Kind::Blob, (0..200_000).map(|_| random()).collect(), None);
    let blob = hash_object(format, Kind::Blob, b"").expect("no collision");
    let tree = [b"100644 empty\0", blob.as_bytes()].concat();
    let tree_id = hash_object(format, Kind::Tree, &tree).expect("no collision");
    put(Kind::Tree, tree, None);
    let commit = format!(
        "tree {tree_id}\nauthor A <a@example.invalid> 1000000000 +0000\n\
         committer A <a@example.invalid> 1000000000 +0000\n\nfirst\n"
    );
    let commit_id = hash_object(format, Kind::Commit, commit.as_bytes()).expect("no collision");
    put(Kind::Commit, commit.into_bytes(), None);
    let tag = format!(
        "object {commit_id}\ntype commit\ntag v1\n\
         tagger A <a@example.invalid> 1000000000 +0000\n\nv1\n"
    );
    put(Kind::Tag, tag.into_bytes(), None);
    samples
}

/// Fills a staging as a pack engine would: streams in small pieces, a delta's base
/// before it.
pub fn fill_staging(staging: &mut impl EntryStore, format: ObjectFormat, samples: &[Sample]) {
    for (number, sample) in (0_u32..).zip(samples) {
        let base = sample.base.and_then(|base| samples.get(base).map(|content| (base, content)));
        let data = match base {
            Some((_, base)) => delta::encode(&base.content, &sample.content),
            None => sample.content.clone(),
        };
        staging.begin().expect("room for an entry");
        for piece in deflate(&data, 6).chunks(1_000) {
            staging.append(piece).expect("room for a stream");
        }
        staging.end().expect("room for an entry");
        let resolved = ResolvedEntry {
            entry: number,
            kind: sample.kind,
            id: sample.id(format),
            base: base.map(|(base, _)| BaseLink::Entry(base as u32)),
            inflated_size: data.len() as u64,
            content: &sample.content,
        };
        staging.resolved(resolved).expect("room for an object");
    }
}

/// Runs the suite for both hashes; `fill` makes a store that holds exactly the samples.
pub fn run<S: Objects>(mut fill: impl FnMut(ObjectFormat, &[Sample]) -> S) {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let samples = samples(format);
        let store = fill(format, &samples);
        assert_eq!(store.format(), format);
        everything_put_in_is_read_back(&store, &samples);
        everything_put_in_is_read_back(&store, &samples);
        packed_entries_make_their_objects(&store, &samples);
        absence_is_no_error(&store);
        the_empty_tree_is_always_there(&store);
        ids_of_the_other_hash_are_refused(&store);
        prefixes_find_each_id_once(&store, &samples);
    }
}

fn everything_put_in_is_read_back(store: &impl Objects, samples: &[Sample]) {
    for sample in samples {
        let id = sample.id(store.format());
        let size = sample.content.len() as u64;
        let header = store.header(&id).expect("a header");
        assert_eq!(header, Some(Header { kind: sample.kind, size }), "{id}");
        assert!(store.contains(&id).expect("an answer"));
        let object = store.read(&id).expect("an answer").expect("an object");
        assert_eq!(object.kind, sample.kind);
        assert_eq!(object.bytes, sample.content, "{id}");
    }
}

fn packed_entries_make_their_objects(store: &impl Objects, samples: &[Sample]) {
    for sample in samples {
        let id = sample.id(store.format());
        let Some(entry) = store.packed(&id).expect("an answer") else { continue };
        let PackedEntry { form, inflated_size, stream } = entry;
        let mut data = Vec::new();
        let size = usize::try_from(inflated_size).expect("a size of memory");
        let used = inflate_exact(&stream, size, &mut data).expect("a sound stream");
        assert_eq!(used, stream.len(), "nothing follows the stream");
        let content = match form {
            PackedAs::Whole(kind) => {
                assert_eq!(kind, sample.kind);
                data
            }
            PackedAs::DeltaOf(base) => {
                let base = store.read(&base).expect("an answer").expect("a base");
                let delta = Delta::parse(&data, base.bytes.len()).expect("a sound delta");
                let mut out = Vec::new();
                delta.apply(&base.bytes, &mut out);
                out
            }
        };
        assert_eq!(content, sample.content, "{id}");
    }
}

fn absence_is_no_error(store: &impl Objects) {
    let format = store.format();
    let absent = hash_object(format, Kind::Blob, b"absent").expect("no collision");
    for id in [absent, ObjectId::null(format)] {
        assert_eq!(store.header(&id).expect("an answer"), None);
        assert_eq!(store.read(&id).expect("an answer"), None);
        assert!(store.packed(&id).expect("an answer").is_none());
        assert!(!store.contains(&id).expect("an answer"));
    }
}

fn the_empty_tree_is_always_there(store: &impl Objects) {
    let id = store.format().empty_tree();
    let header = store.header(&id).expect("an answer");
    assert_eq!(header, Some(Header { kind: Kind::Tree, size: 0 }));
    let object = store.read(&id).expect("an answer").expect("the empty tree");
    assert_eq!((object.kind, object.bytes), (Kind::Tree, Bytes::new()));
}

fn ids_of_the_other_hash_are_refused(store: &impl Objects) {
    let other = match store.format() {
        ObjectFormat::Sha1 => ObjectFormat::Sha256,
        ObjectFormat::Sha256 => ObjectFormat::Sha1,
    };
    let id = other.empty_tree();
    assert!(matches!(store.header(&id), Err(StoreError::Format { .. })));
    assert!(matches!(store.read(&id), Err(StoreError::Format { .. })));
    assert!(matches!(store.packed(&id), Err(StoreError::Format { .. })));
    assert!(matches!(store.contains(&id), Err(StoreError::Format { .. })));
}

fn prefixes_find_each_id_once(store: &impl Objects, samples: &[Sample]) {
    let ids: Vec<String> =
        samples.iter().map(|sample| sample.id(store.format()).to_string()).collect();
    let find =
        |prefix: &str, limit| store.ids_with_prefix(prefix.as_bytes(), limit).expect("an answer");
    for hex in &ids {
        for digits in [4, 5, 8, hex.len()] {
            let prefix = &hex[..digits];
            let mut found: Vec<String> =
                find(prefix, usize::MAX).iter().map(ObjectId::to_string).collect();
            let mut expected: Vec<&String> =
                ids.iter().filter(|id| id.starts_with(prefix)).collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{prefix}");
            assert_eq!(find(&prefix.to_uppercase(), 1).len(), 1);
            assert_eq!(find(prefix, 0), []);
        }
        assert_eq!(find(&hex[..3], 9), []);
        assert_eq!(find(&format!("{hex}0"), 9), []);
        assert_eq!(find("zzzz", 9), []);
    }
}
