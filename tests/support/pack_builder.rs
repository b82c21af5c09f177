//! Packs made by hand, right or wrong: the builder validates nothing. And a store that
//! keeps what an ingest hands over, for tests that look at it.
//!
//! A test includes it with `#[path = "support/pack_builder.rs"] mod pack_builder;`.

#![allow(dead_code, unreachable_pub, reason = "each test uses its own part of it")]
#![allow(clippy::unwrap_used, reason = "a helper that fails should end the test")]

use std::sync::Arc;

use bytes::Bytes;
use gitsip::limits::{LimitExceeded, NeverInterrupt, SharedWorkers};
use gitsip::object::{Kind, hash_object};
use gitsip::oid::Hasher;
use gitsip::pack::entry::{encode_distance, encode_type_and_size};
use gitsip::pack::inflate::deflate;
use gitsip::pack::{
    BaseLink, EntryStore, Ingest, IngestStats, PackError, Resolved, ResolvedEntry, Streams,
};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId, Workers};

pub const COMMIT: u8 = 1;
pub const TREE: u8 = 2;
pub const BLOB: u8 = 3;
pub const TAG: u8 = 4;
pub const OFS_DELTA: u8 = 6;
pub const REF_DELTA: u8 = 7;

/// A pack under construction.
#[derive(Clone, Debug)]
pub struct PackBuilder {
    format: ObjectFormat,
    bytes: Vec<u8>,
    entries: u32,
    declared: Option<u32>,
}

impl PackBuilder {
    pub fn new(format: ObjectFormat) -> Self {
        let bytes = b"PACK\0\0\0\x02\0\0\0\0".to_vec();
        Self { format, bytes, entries: 0, declared: None }
    }

    pub fn sha1() -> Self {
        Self::new(ObjectFormat::Sha1)
    }

    pub fn version(&mut self, version: u32) -> &mut Self {
        self.bytes[4..8].copy_from_slice(&version.to_be_bytes());
        self
    }

    /// Announces `objects` whatever there are.
    pub fn declare(&mut self, objects: u32) -> &mut Self {
        self.declared = Some(objects);
        self
    }

    /// Where the next entry begins.
    pub fn offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// An entry of any type number, declared size, bytes between header and stream, and
    /// stream; where it begins.
    pub fn entry(&mut self, kind: u8, size: u64, base: &[u8], stream: &[u8]) -> u64 {
        let offset = self.offset();
        encode_type_and_size(kind, size, &mut self.bytes);
        self.bytes.extend_from_slice(base);
        self.bytes.extend_from_slice(stream);
        self.entries += 1;
        offset
    }

    /// An entry of bytes as they are.
    pub fn raw_entry(&mut self, bytes: &[u8]) -> u64 {
        let offset = self.offset();
        self.bytes.extend_from_slice(bytes);
        self.entries += 1;
        offset
    }

    pub fn blob(&mut self, content: &[u8]) -> u64 {
        self.entry(BLOB, content.len() as u64, &[], &deflate(content, 6))
    }

    /// A delta against the entry at `base`.
    pub fn ofs_delta(&mut self, base: u64, delta: &[u8]) -> u64 {
        self.distance_delta(self.offset() - base, delta)
    }

    /// A delta against whatever is `distance` bytes back.
    pub fn distance_delta(&mut self, distance: u64, delta: &[u8]) -> u64 {
        let mut base = Vec::new();
        encode_distance(distance, &mut base);
        self.entry(OFS_DELTA, delta.len() as u64, &base, &deflate(delta, 6))
    }

    pub fn ref_delta(&mut self, base: ObjectId, delta: &[u8]) -> u64 {
        self.entry(REF_DELTA, delta.len() as u64, base.as_bytes(), &deflate(delta, 6))
    }

    /// The pack with its count and its trailer.
    pub fn finish(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[8..12].copy_from_slice(&self.declared.unwrap_or(self.entries).to_be_bytes());
        seal(self.format, bytes)
    }
}

/// `body` with the trailer that fits it.
pub fn seal(format: ObjectFormat, mut body: Vec<u8>) -> Vec<u8> {
    let mut hasher = Hasher::new(format);
    hasher.update(&body);
    body.extend_from_slice(hasher.finish().unwrap().as_bytes());
    body
}

/// The SHA-1 id of a blob.
pub fn blob_id(content: &[u8]) -> ObjectId {
    hash_object(ObjectFormat::Sha1, Kind::Blob, content).unwrap()
}

/// An object as an ingest handed it over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub kind: Kind,
    pub id: ObjectId,
    pub base: Option<BaseLink>,
    pub content: Bytes,
}

/// Keeps everything. Whether it lends contents as bases is its one choice.
#[derive(Clone, Debug, Default)]
pub struct TestStore {
    pub streams: Vec<Vec<u8>>,
    pub objects: Vec<Option<Kept>>,
    /// Objects outside the pack.
    pub outside: Vec<(ObjectId, Kind, Bytes)>,
    /// Lend a content only if its entry's number is a multiple of this; 0 lends none.
    pub lends_each: u32,
    /// Once this many objects were resolved, evict: lend only each `evicts_to`th, or none
    /// when that is 0. 0 means never.
    pub evicts_after: usize,
    pub evicts_to: u32,
    /// How many were.
    pub resolved: usize,
}

impl TestStore {
    /// One that lends every content, so that deltas are resolved as they arrive.
    pub fn lending() -> Self {
        Self { lends_each: 1, ..Self::default() }
    }

    /// One that lends nothing, so that all deltas wait.
    pub fn forgetful() -> Self {
        Self::default()
    }

    pub fn object(&self, entry: usize) -> &Kept {
        self.objects[entry].as_ref().unwrap()
    }

    /// The ids in the order of the pack.
    pub fn ids(&self) -> Vec<ObjectId> {
        self.objects.iter().flatten().map(|kept| kept.id).collect()
    }
}

/// The streams of a [`TestStore`].
#[derive(Debug)]
pub struct LentStreams(Vec<Vec<u8>>);

impl Streams for LentStreams {
    fn stream(&self, entry: u32, _: u64) -> &[u8] {
        &self.0[entry as usize]
    }
}

impl EntryStore for TestStore {
    type Streams = LentStreams;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.streams.push(Vec::new());
        self.objects.push(None);
        Ok(())
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.streams.last_mut().unwrap().extend_from_slice(stream);
        Ok(())
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn lend_streams(&mut self) -> LentStreams {
        LentStreams(std::mem::take(&mut self.streams))
    }

    fn take_streams_back(&mut self, streams: LentStreams) {
        self.streams = streams.0;
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        let place = &mut self.objects[entry.entry as usize];
        assert_eq!(*place, None, "entry {} is handed over once", entry.entry);
        let content = Bytes::copy_from_slice(entry.content);
        self.resolved += 1;
        *place = Some(Kept { kind: entry.kind, id: entry.id, base: entry.base, content });
        Ok(())
    }

    fn content(&self, entry: u32) -> Option<Bytes> {
        let evicted = self.evicts_after > 0 && self.resolved >= self.evicts_after;
        let each = if evicted { self.evicts_to } else { self.lends_each };
        let lends = each > 0 && entry.is_multiple_of(each);
        self.objects[entry as usize].as_ref().filter(|_| lends).map(|kept| kept.content.clone())
    }

    fn external(&self, id: &ObjectId) -> Option<(Kind, Bytes)> {
        let (_, kind, bytes) = self.outside.iter().find(|(outside, ..)| outside == id)?;
        Some((*kind, bytes.clone()))
    }
}

/// Ingests `pack` in chunks of `chunk` bytes.
pub fn ingest_into(
    store: TestStore,
    format: ObjectFormat,
    pack: &[u8],
    chunk: usize,
    limits: &Limits,
    budget: &Budget,
) -> Result<(TestStore, IngestStats), PackError> {
    let mut ingest = Ingest::new(format, limits, budget, store);
    for chunk in pack.chunks(chunk) {
        ingest.push(chunk, &NeverInterrupt)?;
    }
    ingest.finish(&NeverInterrupt)
}

/// So many threads of its own for every piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub usize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        self.0
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            (0..n).for_each(|part| drop(scope.spawn(move || job(part))));
        });
    }
}

/// The same on `threads` threads.
pub fn ingest_on(
    threads: usize,
    store: TestStore,
    format: ObjectFormat,
    pack: &[u8],
    limits: &Limits,
    budget: &Budget,
) -> Result<Resolved<TestStore>, PackError> {
    let mut ingest = Ingest::new(format, limits, budget, store);
    ingest.push_whole(pack, &Threads(threads), &NeverInterrupt)?;
    ingest.finish_on(&Threads(threads), &NeverInterrupt)
}

/// The same in chunks of `chunk` bytes, with a round of what waits for each `round_bytes` of
/// objects to a thread; and how many deltas were made before the end.
pub fn ingest_early(
    threads: usize,
    store: TestStore,
    pack: &[u8],
    (chunk, round_bytes): (usize, u64),
    limits: &Limits,
    budget: &Budget,
) -> Result<(Resolved<TestStore>, u64), PackError> {
    let workers = SharedWorkers::new(Arc::new(Threads(threads)));
    let ingest = Ingest::new(ObjectFormat::Sha1, limits, budget, store);
    let mut ingest = ingest.resolving_early(workers.clone(), round_bytes);
    for chunk in pack.chunks(chunk) {
        ingest.push(chunk, &NeverInterrupt)?;
    }
    let before = ingest.progress().deltas_resolved;
    ingest.finish_on(&workers, &NeverInterrupt).map(|resolved| (resolved, before))
}

/// Ingests a SHA-1 `pack` under default limits, with and without a store that lends, in
/// one chunk and in single bytes, on one thread and on three, at the end and on the way:
/// all must agree.
pub fn ingest(pack: &[u8]) -> Result<TestStore, PackError> {
    let limits = Limits::default();
    let run = |store, chunk| {
        let budget = Budget::new(limits.max_memory);
        let result = ingest_into(store, ObjectFormat::Sha1, pack, chunk, &limits, &budget);
        assert_eq!(budget.used_bytes(), 0, "everything is given back");
        result.map(|(store, _)| store)
    };
    let on_threads = |store| {
        let budget = Budget::new(limits.max_memory);
        let result = ingest_on(3, store, ObjectFormat::Sha1, pack, &limits, &budget);
        result.map(|resolved| {
            for (entry, kept) in (0..).zip(&resolved.store.objects) {
                assert_eq!(kept.as_ref().map(|kept| kept.id), Some(resolved.entries.id(entry)));
            }
            resolved.store
        })
    };
    let early = |store| {
        let budget = Budget::new(limits.max_memory);
        // Some rounds, after every delta in a small pack.
        let pace = (100, pack.len() as u64 / 30);
        let result = ingest_early(3, store, pack, pace, &limits, &budget);
        result.map(|(resolved, _)| resolved.store)
    };
    let first = run(TestStore::forgetful(), pack.len().max(1));
    for other in [
        run(TestStore::lending(), pack.len().max(1)),
        run(TestStore::forgetful(), 1),
        run(TestStore::lending(), 1),
        on_threads(TestStore::forgetful()),
        on_threads(TestStore::lending()),
        early(TestStore::forgetful()),
        early(TestStore { lends_each: 2, ..TestStore::default() }),
    ] {
        match (&first, other) {
            (Ok(first), Ok(other)) => {
                assert_eq!(first.objects, other.objects);
                assert_eq!(first.streams, other.streams);
            }
            (first, other) => assert_eq!(first.as_ref().err(), other.as_ref().err()),
        }
    }
    first
}
