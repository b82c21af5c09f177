//! How fast does a pack become objects, on one thread?
//!
//! Measures, in turn and in the same run: ingest into a memory store; ingest into a
//! store that keeps only streams; the physical limit (inflating every stream once plus
//! hashing every object once, both alone, all sizes and boundaries known beforehand);
//! `git index-pack --threads=1`; and `gix` on one thread where it is installed. The
//! medians of several rounds are printed with their ratios.
//!
//! ```text
//! cargo bench --bench pack_ingest                  a generated repository
//! GITSIP_BENCH_PACK=x.pack cargo bench --bench pack_ingest -- --json
//! ```
//!
//! Run as a test (`cargo test --benches`) it does one round and only checks results.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gitsip::limits::{LimitExceeded, NeverInterrupt};
use gitsip::object::{Kind, hash_object};
use gitsip::pack::entry::EntryHeader;
use gitsip::pack::index::PackIndex;
use gitsip::pack::inflate::ExactInflater;
use gitsip::pack::{EntryStore, Ingest, IngestStats, ResolvedEntry, Streams};
use gitsip::store::{MemoryStore, Staging};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};
use support::git::{File, Sandbox};

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let json = std::env::args().any(|arg| arg == "--json");
    let rounds = if measured { 7 } else { 1 };
    let sandbox = Sandbox::new();
    let path = match std::env::var_os("GITSIP_BENCH_PACK") {
        Some(path) => PathBuf::from(path),
        None => generate(&sandbox),
    };
    let input = Input::read(&path, &sandbox);

    let mut rows: Vec<(&str, Vec<Duration>)> = Vec::new();
    let mut stats = IngestStats::default();
    for _ in 0..rounds {
        let mut time = |name, run: &mut dyn FnMut()| {
            let start = Instant::now();
            run();
            let took = start.elapsed();
            match rows.iter_mut().find(|(known, _)| *known == name) {
                Some((_, times)) => times.push(took),
                None => rows.push((name, vec![took])),
            }
        };
        time("ingest, memory store", &mut || stats = into_memory(&input));
        time("ingest, streams only", &mut || into_streams(&input));
        time("limit: inflate", &mut || inflate_only(&input));
        time("limit: hash", &mut || hash_only(&input));
        time("git index-pack, 1 thread", &mut || git_index_pack(&sandbox, &path));
        if has_gix() {
            time("gix, 1 thread", &mut || gix(&path));
        }
    }

    if !measured {
        println!("{} objects, every result as expected", input.ids.len());
        return;
    }
    let medians: Vec<(&str, f64)> =
        rows.iter_mut().map(|(name, times)| (*name, median(times))).collect();
    let ms = |name: &str| medians.iter().find(|(n, _)| *n == name).map(|(_, ms)| *ms);
    let limit = ms("limit: inflate").unwrap() + ms("limit: hash").unwrap();
    let ingest = ms("ingest, memory store").unwrap();
    if json {
        let fields: Vec<String> =
            medians.iter().map(|(name, ms)| format!("\"{name}\":{ms:.1}")).collect();
        println!(
            "{{\"bench\":\"pack_ingest\",\"objects\":{},\"pack_bytes\":{},\"resolved_bytes\":{},\"ms\":{{{}}},\"over_limit\":{:.2}}}",
            input.ids.len(),
            input.pack.len(),
            stats.resolved_bytes,
            fields.join(","),
            ingest / limit
        );
        return;
    }
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "{} objects, {:.1} MiB of pack, {:.1} MiB inflated, {:.1} MiB resolved",
        input.ids.len(),
        mib(stats.received_bytes),
        mib(stats.minimum_inflated_bytes),
        mib(stats.resolved_bytes)
    );
    println!(
        "deltas: {} on arrival, {} deferred; {:.1} MiB inflated again; {:.1} MiB live at most",
        stats.deltas_on_arrival,
        stats.deltas_deferred,
        mib(stats.inflated_bytes - stats.minimum_inflated_bytes),
        mib(stats.peak_live_bytes)
    );
    for (name, ms) in &medians {
        println!(
            "{name:<26} {ms:>8.1} ms {:>7.0} MiB/s  ingest is {:.2} x",
            mib(stats.resolved_bytes) / ms * 1_000.0,
            ingest / ms
        );
    }
    println!(
        "limit (inflate + hash)     {limit:>8.1} ms               ingest is {:.2} x",
        ingest / limit
    );
}

/// A pack and what is known of it beforehand.
struct Input {
    pack: Vec<u8>,
    /// In the order of the pack.
    ids: Vec<ObjectId>,
    /// Where each stream lies, and the bytes it holds.
    streams: Vec<(std::ops::Range<usize>, usize)>,
    objects: Vec<(Kind, Bytes)>,
}

impl Input {
    fn read(path: &Path, sandbox: &Sandbox) -> Self {
        let pack = std::fs::read(path).unwrap();
        let index_path = sandbox.path().join("oracle.idx");
        let args = ["index-pack".as_ref(), "-o".as_ref(), index_path.as_os_str(), path.as_os_str()];
        sandbox.git().run(args);
        let index =
            PackIndex::parse(std::fs::read(index_path).unwrap(), ObjectFormat::Sha1).unwrap();
        let mut rows: Vec<(u64, ObjectId)> = (0..index.len())
            .map(|at| (index.offset_at(at).unwrap(), index.id_at(at).unwrap()))
            .collect();
        rows.sort();
        let end = pack.len() - 20;
        let ends = rows.iter().skip(1).map(|row| row.0 as usize).chain([end]);
        let streams = rows
            .iter()
            .zip(ends)
            .map(|(row, end)| {
                let bytes = &pack[row.0 as usize..end];
                let (header, len) =
                    EntryHeader::decode(bytes, ObjectFormat::Sha1).unwrap().unwrap();
                (row.0 as usize + len..end, header.inflated_size as usize)
            })
            .collect();
        let ids: Vec<ObjectId> = rows.into_iter().map(|(_, id)| id).collect();
        let mut ingest = ingest_of(Contents::default());
        ingest.push(&pack, &NeverInterrupt).unwrap();
        let (contents, _) = ingest.finish(&NeverInterrupt).unwrap();
        let objects: Vec<(Kind, Bytes)> =
            contents.objects.into_iter().map(Option::unwrap).collect();
        for ((kind, content), id) in objects.iter().zip(&ids) {
            assert_eq!(hash_object(ObjectFormat::Sha1, *kind, content).unwrap(), *id);
        }
        Self { pack, ids, streams, objects }
    }
}

fn ingest_of<S: EntryStore>(store: S) -> Ingest<S> {
    Ingest::new(ObjectFormat::Sha1, &Limits::default(), &Budget::new(2 << 30), store)
}

/// As an HTTP body arrives.
fn push_all<S: EntryStore>(mut ingest: Ingest<S>, pack: &[u8]) -> (S, IngestStats) {
    for chunk in pack.chunks(64 << 10) {
        ingest.push(chunk, &NeverInterrupt).unwrap();
    }
    ingest.finish(&NeverInterrupt).unwrap()
}

fn into_memory(input: &Input) -> IngestStats {
    let budget = Budget::new(2 << 30);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
    let ingest = Ingest::new(ObjectFormat::Sha1, &Limits::default(), &budget, store.stage());
    let (staging, stats) = push_all(ingest, &input.pack);
    staging.commit().unwrap();
    assert_eq!(store.stats().objects, input.ids.len() as u64);
    stats
}

fn into_streams(input: &Input) {
    let (store, _) = push_all(ingest_of(Kept::default()), &input.pack);
    assert_eq!(store.ids.len(), input.ids.len());
    assert_eq!(checksum(store.ids.iter()), checksum(input.ids.iter()));
}

fn inflate_only(input: &Input) {
    let mut inflater = ExactInflater::default();
    let mut out = Vec::new();
    let mut sum = 0;
    for (range, size) in &input.streams {
        let used = inflater.inflate(&input.pack[range.clone()], *size, &mut out).unwrap();
        assert_eq!(used, range.len());
        sum += out.len();
    }
    assert!(sum > 0);
}

fn hash_only(input: &Input) {
    let hash =
        |(kind, content): &(Kind, Bytes)| hash_object(ObjectFormat::Sha1, *kind, content).unwrap();
    let ids: Vec<ObjectId> = input.objects.iter().map(hash).collect();
    assert_eq!(ids, input.ids);
}

fn git_index_pack(sandbox: &Sandbox, path: &Path) {
    let out = sandbox.path().join("timed.idx");
    let args = [
        "index-pack".as_ref(),
        "--threads=1".as_ref(),
        "-o".as_ref(),
        out.as_os_str(),
        path.as_os_str(),
    ];
    sandbox.git().run(args);
    assert!(std::fs::metadata(out).unwrap().len() > 1_000);
}

fn has_gix() -> bool {
    Command::new("gix")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn gix(path: &Path) {
    let into = tempfile::tempdir().unwrap();
    let status = Command::new("gix")
        .args(["--threads", "1", "free", "pack", "index", "create", "-p"])
        .args([path, into.path()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

/// Independent of order.
fn checksum<'a>(ids: impl Iterator<Item = &'a ObjectId>) -> u64 {
    ids.filter_map(|id| id.as_bytes().first_chunk())
        .fold(0, |sum, raw| sum ^ u64::from_le_bytes(*raw))
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

/// A history of some thousand source files, packed as a server would.
fn generate(sandbox: &Sandbox) -> PathBuf {
    let repo = sandbox.bare("bench.git");
    let mut seed = 1_u64;
    let mut word = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let words =
            ["static", "int", "return", "struct", "if", "->", "const char *", "0x", "(", ");\n"];
        let word = words.get((seed >> 33) as usize % 16).copied();
        word.map_or_else(|| format!("v{} ", seed >> 54), |word| format!("{word} "))
    };
    let mut files: Vec<(String, String)> = (0..2_000)
        .map(|n| (format!("dir{}/file{n}.c", n % 40), (0..n % 2_500).map(|_| word()).collect()))
        .collect();
    for version in 0..3 {
        for (_, content) in files.iter_mut().skip(version).step_by(5) {
            let middle = content.len() / 2;
            content.insert_str(middle, &format!("/* version {version} */\n"));
        }
        let files: Vec<File> =
            files.iter().map(|(path, content)| File::new(path, content)).collect();
        repo.commit("main", &files);
    }
    let pack = repo.git().bytes_with_input(
        ["pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"],
        b"main\n",
    );
    let path = sandbox.path().join("bench.pack");
    std::fs::write(&path, pack).unwrap();
    path
}

/// Keeps streams and ids, as an indexer does.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    ids: Vec<ObjectId>,
}

/// The streams of a [`Kept`].
struct Lent {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Streams for Lent {
    fn stream(&self, entry: u32, _: u64) -> &[u8] {
        let entry = entry as usize;
        let end = self.starts.get(entry + 1).copied().unwrap_or(self.bytes.len());
        &self.bytes[self.starts[entry]..end]
    }
}

impl EntryStore for Kept {
    type Streams = Lent;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.starts.push(self.bytes.len());
        Ok(())
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.bytes.extend_from_slice(stream);
        Ok(())
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn lend_streams(&mut self) -> Lent {
        Lent { bytes: std::mem::take(&mut self.bytes), starts: std::mem::take(&mut self.starts) }
    }

    fn take_streams_back(&mut self, lent: Lent) {
        (self.bytes, self.starts) = (lent.bytes, lent.starts);
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        self.ids.push(entry.id);
        Ok(())
    }

    fn content(&self, _: u32) -> Option<Bytes> {
        None
    }

    fn external(&self, _: &ObjectId) -> Option<(Kind, Bytes)> {
        None
    }
}

/// Keeps contents, lends them as bases.
#[derive(Default)]
struct Contents {
    streams: Kept,
    objects: Vec<Option<(Kind, Bytes)>>,
}

impl EntryStore for Contents {
    type Streams = Lent;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.objects.push(None);
        self.streams.begin()
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.streams.append(stream)
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        self.streams.end()
    }

    fn lend_streams(&mut self) -> Lent {
        self.streams.lend_streams()
    }

    fn take_streams_back(&mut self, lent: Lent) {
        self.streams.take_streams_back(lent);
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        self.objects[entry.entry as usize] =
            Some((entry.kind, Bytes::copy_from_slice(entry.content)));
        Ok(())
    }

    fn content(&self, entry: u32) -> Option<Bytes> {
        self.objects[entry as usize].as_ref().map(|(_, content)| content.clone())
    }

    fn external(&self, _: &ObjectId) -> Option<(Kind, Bytes)> {
        None
    }
}
