//! Does git agree about packs? Its packs are read to its own ids, and packs written
//! here pass its strictest check.

#![allow(clippy::unwrap_used)]

#[path = "support/pack_builder.rs"]
mod pack_builder;
mod support;

use std::collections::BTreeMap;

use gitsip::limits::NeverInterrupt;
use gitsip::object::Kind;
use gitsip::pack::index::PackIndex;
use gitsip::pack::write::PackWriter;
use gitsip::pack::{BaseLink, Ingest, IngestStats, delta};
use gitsip::store::{MemoryStore, Objects, Staging};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};
use pack_builder::{TestStore, ingest_into};
use support::git::{File, Repo, Sandbox};

/// A repository with a history that packs into deep chains: files that grow and change
/// in the middle, trees that change each time, a tag.
fn repository(sandbox: &Sandbox, options: &[&str]) -> Repo {
    let repo = sandbox.strict_bare("history.git", options);
    let mut lines: Vec<String> =
        (0..400).map(|n| format!("line {n} of the first file\n")).collect();
    for version in 0..60 {
        lines.insert(version * 5, format!("inserted by version {version}\n"));
        let mut files = vec![
            File::new("growing.txt", lines.concat()),
            File::new("src/stable.txt", "the same in every version\n"),
            File::new("empty", ""),
        ];
        for n in 0..20 {
            files.push(File::new(
                format!("src/dir{}/file{n}.c", n % 5),
                format!("{n} {}\n", version / 7),
            ));
        }
        repo.commit("main", &files);
    }
    repo.git().run(["tag", "-a", "-m", "a tag", "v1", "main"]);
    repo
}

fn pack_of(repo: &Repo, options: &[&str], revisions: &str) -> Vec<u8> {
    let mut args = vec!["pack-objects", "--stdout", "--revs", "-q"];
    args.extend(options);
    repo.git().bytes_with_input(args, revisions.as_bytes())
}

fn ingest(
    store: TestStore,
    format: ObjectFormat,
    pack: &[u8],
    chunk: usize,
) -> (TestStore, IngestStats) {
    let limits = Limits::default();
    let budget = Budget::new(limits.max_memory);
    let result = ingest_into(store, format, pack, chunk, &limits, &budget).unwrap();
    assert_eq!(budget.used_bytes(), 0);
    result
}

/// What `git verify-pack -v` says of each object: kind, size, depth.
type Verified = BTreeMap<String, (String, u64, u32)>;

/// Indexes `pack` with git; its index, and what it says of the objects.
fn verified_by_git(
    sandbox: &Sandbox,
    name: &str,
    pack: &[u8],
    format: ObjectFormat,
) -> (Vec<u8>, Verified) {
    let option = format!("--object-format={}", format.name());
    let repo = sandbox.strict_bare(name, &[&option]);
    let path = repo.path().join("objects/pack/pack-x.pack");
    std::fs::write(&path, pack).unwrap();
    let path = path.to_str().unwrap();
    repo.git().run(["index-pack", &option, path]);
    let listing = repo.git().run(["verify-pack", "-v", path]);
    let verified = listing
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words[0].len() == format.hex_len() && words.len() >= 5)
        .map(|words| {
            let depth = words.get(5).map_or(0, |depth| depth.parse().unwrap());
            (words[0].to_owned(), (words[1].to_owned(), words[2].parse().unwrap(), depth))
        })
        .collect();
    (std::fs::read(path.replace(".pack", ".idx")).unwrap(), verified)
}

#[test]
fn ids_kinds_depths_and_offsets_are_those_that_git_finds() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let repo = repository(&sandbox, &[&format!("--object-format={}", format.name())]);
        for (n, (options, deltas)) in [
            (&["--delta-base-offset"][..], true),
            (&["--no-delta-base-offset", "--depth=4095", "--window=50"][..], true),
            (&["--depth=0", "--delta-base-offset"][..], false),
            (&["--delta-base-offset", "--depth=1", "--compression=0"][..], true),
        ]
        .into_iter()
        .enumerate()
        {
            let pack = pack_of(&repo, options, "main\nv1\n");
            let (index, verified) = verified_by_git(&sandbox, &format!("{n}.git"), &pack, format);
            let index = PackIndex::parse(index, format).unwrap();
            index.verify_checksum().unwrap();
            assert_eq!(index.pack_checksum().as_bytes(), &pack[pack.len() - format.raw_len()..]);
            for (lends_each, chunk) in [(0, pack.len()), (1, 977), (3, 65_536)] {
                let store = TestStore { lends_each, ..TestStore::default() };
                let (store, stats) = ingest(store, format, &pack, chunk);
                assert_eq!(stats.objects, verified.len() as u64);
                assert_eq!(stats.objects, u64::from(index.len()));
                let depths = check_against(&store, &verified);
                assert_eq!(depths > 0, deltas, "{options:?}");
                assert_eq!(stats.deltas_on_arrival + stats.deltas_deferred, depths);
                let mut ids = store.ids();
                ids.sort_by_key(|id| index.find(id).unwrap());
                assert_eq!(ids, store.ids(), "entries come in the order of their offsets");
            }
        }
    }
}

/// Compares every object; how many are deltas.
fn check_against(store: &TestStore, verified: &Verified) -> u64 {
    let mut deltas = 0;
    for kept in store.objects.iter().flatten() {
        let (kind, size, depth) = &verified[&kept.id.to_string()];
        assert_eq!(kept.kind.name(), kind);
        let mut chain = 0;
        let mut base = kept.base;
        while let Some(BaseLink::Entry(entry)) = base {
            chain += 1;
            base = store.object(entry as usize).base;
        }
        assert_eq!(chain, *depth);
        deltas += u64::from(*depth > 0);
        // For a delta, git prints the size of the delta.
        assert!(*depth > 0 || kept.content.len() as u64 == *size);
    }
    deltas
}

#[test]
fn every_version_of_index_that_git_writes_is_read() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let option = format!("--object-format={}", format.name());
        let sandbox = Sandbox::new();
        let repo = repository(&sandbox, &[&option]);
        let pack = pack_of(&repo, &["--delta-base-offset"], "main\n");
        let path = sandbox.path().join("x.pack");
        std::fs::write(&path, &pack).unwrap();
        let mut listings = Vec::new();
        // The last puts offsets above 64 into the table of 64-bit offsets.
        for version in ["1", "2", "2,0x40"] {
            let index = sandbox.path().join(format!("{version}.idx"));
            let version = format!("--index-version={version}");
            let out = index.to_str().unwrap();
            repo.git().run(["index-pack", &option, &version, "-o", out, path.to_str().unwrap()]);
            let bytes = std::fs::read(&index).unwrap();
            let index = PackIndex::parse(&bytes, format).unwrap();
            index.verify_checksum().unwrap();
            let listing = repo.git().bytes_with_input(["show-index", &option], &bytes);
            let listing = String::from_utf8(listing).unwrap();
            let mut rows = Vec::new();
            for (at, line) in listing.lines().enumerate() {
                let words: Vec<&str> = line.split(' ').collect();
                let (offset, id): (u64, ObjectId) =
                    (words[0].parse().unwrap(), words[1].parse().unwrap());
                assert_eq!(index.find(&id), Some(offset));
                assert_eq!(index.id_at(at as u32), Some(id));
                if let Some(crc) = words.get(2) {
                    let crc = crc.trim_matches(['(', ')']);
                    assert_eq!(index.crc32_at(at as u32), u32::from_str_radix(crc, 16).ok());
                }
                rows.push((offset, id));
            }
            assert_eq!(rows.len(), index.len() as usize);
            listings.push(rows);
        }
        assert!(listings.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn the_memory_store_gives_back_what_git_packed() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, &[]);
    let pack = pack_of(&repo, &["--delta-base-offset"], "main\nv1\n");
    let (expected, _) = ingest(TestStore::forgetful(), ObjectFormat::Sha1, &pack, 1 << 20);
    // With room for raw copies, and with none: then every delta waits.
    for max_memory in [64 << 20, 1 << 20] {
        let limits = Limits { max_memory, ..Limits::default() };
        let budget = Budget::new(limits.max_memory);
        let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
        let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage());
        for chunk in pack.chunks(1000) {
            ingest.push(chunk, &NeverInterrupt).unwrap();
        }
        let (staging, stats) = ingest.finish(&NeverInterrupt).unwrap();
        assert!(!store.contains(&expected.ids()[0]).unwrap());
        staging.commit().unwrap();
        for kept in expected.objects.iter().flatten() {
            let object = store.read(&kept.id).unwrap().unwrap();
            assert_eq!((object.kind, &object.bytes), (kept.kind, &kept.content));
        }
        assert_eq!(stats.objects, expected.objects.len() as u64);
    }
}

#[test]
fn a_thin_pack_finds_its_bases_in_the_store() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, &[]);
    let pack = pack_of(&repo, &["--thin", "--delta-base-offset"], "main\n^main~3\n");
    let mut store = TestStore::forgetful();
    for line in repo.git().run(["rev-list", "--objects", "main~3"]).lines() {
        let id = &line[..40];
        let kind = repo.git().run(["cat-file", "-t", id]);
        let content = repo.git().bytes(["cat-file", &kind, id]);
        let kind = Kind::from_name(kind.as_bytes()).unwrap();
        store.outside.push((id.parse().unwrap(), kind, content.into()));
    }
    let outside = store.outside.len();
    let (store, _) = ingest(store, ObjectFormat::Sha1, &pack, 100);
    let external = store.objects.iter().flatten();
    let external = external.filter(|kept| matches!(kept.base, Some(BaseLink::External(_))));
    assert!(external.count() > 0 && outside > 0);
    let mut ids: Vec<String> = store.ids().iter().map(ObjectId::to_string).collect();
    let listed = repo.git().run(["rev-list", "--objects", "main", "^main~3"]);
    let mut listed: Vec<&str> = listed.lines().map(|line| &line[..40]).collect();
    ids.sort();
    listed.sort();
    assert_eq!(ids, listed);
}

#[test]
fn git_accepts_strictly_what_is_written_here() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, &[]);
    let (all, _) =
        ingest(TestStore::lending(), ObjectFormat::Sha1, &pack_of(&repo, &[], "main\nv1\n"), 4096);
    let mut writer = PackWriter::new(ObjectFormat::Sha1, all.objects.len() as u32);
    let mut sent = Vec::new();
    let mut previous: BTreeMap<&str, (u64, &[u8], ObjectId)> = BTreeMap::new();
    for (n, kept) in all.objects.iter().flatten().enumerate() {
        let offset = match previous.get(kept.kind.name()) {
            Some((offset, base, _)) if n % 3 == 0 => {
                writer.ofs_delta(*offset, &delta::encode(base, &kept.content))
            }
            Some((_, base, id)) if n % 3 == 1 => {
                writer.ref_delta(*id, &delta::encode(base, &kept.content))
            }
            _ => writer.whole(kept.kind, &kept.content),
        };
        previous.insert(kept.kind.name(), (offset, &kept.content, kept.id));
        sent.extend(writer.take());
    }
    sent.extend(writer.finish().unwrap());
    let strict = sandbox.strict_bare("strict.git", &[]);
    strict.git().bytes_with_input(["index-pack", "--strict", "--stdin"], &sent);
    let (again, _) = ingest(TestStore::lending(), ObjectFormat::Sha1, &sent, sent.len());
    assert_eq!(again.ids(), all.ids());
}
