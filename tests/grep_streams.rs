//! A million hits go to their sink as they are found: the process does not grow by them,
//! on one thread or on two.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use gitsip::limits::{NeverInterrupt, SharedWorkers};
use gitsip::object::Kind;
use gitsip::pack::{Ingest, write::PackWriter};
use gitsip::parallel::Pool;
use gitsip::store::{Lookup, MemoryStore, Staging as _};
use gitsip::view::grep::{Grep, GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
use gitsip::{Budget, Error, Limits, ObjectFormat, ObjectId};

const FILES: u64 = 50;
const LINES: u64 = 20_000;
/// What is handed out takes ten times as much.
const MAX_GROWTH_BYTES: u64 = 2 << 20;

#[test]
fn a_million_hits_stream_without_memory_growth() {
    let limits = Limits::default();
    let budget = Budget::new(limits.max_memory);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
    let root = fill(&store, &budget, &limits);
    let two = SharedWorkers::new(Arc::new(Pool::new(2)));
    for workers in [SharedWorkers::default(), two] {
        // The first search starts the threads and makes the table of files.
        for is_measured in [false, true] {
            let matcher =
                Matcher::new(&[PatternSpec::fixed("hit")], &MatchOptions::default()).unwrap();
            let mut grep = Grep::new(root, matcher, GrepOptions::default(), &limits)
                .with_workers(workers.clone());
            let mut sink = Watch { hits: 0, before: resident_bytes(), most: 0 };
            let Ok(Lookup::Ready(_)) = grep.run(&store, &mut sink, &NeverInterrupt) else {
                panic!("nothing is missing");
            };
            assert_eq!(sink.hits, FILES * LINES);
            let grown = sink.most.saturating_sub(sink.before);
            assert!(!is_measured || grown <= MAX_GROWTH_BYTES, "{workers:?}: {grown} bytes");
        }
    }
}

/// Counts hits and looks at the size of the process now and then.
struct Watch {
    hits: u64,
    before: u64,
    most: u64,
}

impl Sink for Watch {
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        assert!(hit.line.ends_with(b"hit"));
        self.hits += 1;
        if self.hits.is_multiple_of(10_000) {
            self.most = self.most.max(resident_bytes());
        }
        Ok(true)
    }
}

/// Takes in files of nothing but hits; their tree.
fn fill(store: &MemoryStore, budget: &Budget, limits: &Limits) -> ObjectId {
    let mut writer = PackWriter::new(ObjectFormat::Sha1, FILES as u32);
    let mut tree = Vec::new();
    for file in 0..FILES {
        let lines: Vec<String> = (0..LINES).map(|line| format!("{file} {line} hit\n")).collect();
        let content = lines.concat();
        writer.whole(Kind::Blob, content.as_bytes());
        let id = gitsip::object::hash_object(ObjectFormat::Sha1, Kind::Blob, content.as_bytes());
        tree.extend_from_slice(format!("100644 file{file:02}\0").as_bytes());
        tree.extend_from_slice(id.unwrap().as_bytes());
    }
    let pack = writer.finish().unwrap();
    let mut ingest = Ingest::new(ObjectFormat::Sha1, limits, budget, store.stage());
    ingest.push(&pack, &NeverInterrupt).unwrap();
    ingest.finish(&NeverInterrupt).unwrap().0.commit().unwrap();
    store.insert(Kind::Tree, &tree).unwrap()
}

/// What the process has in memory now.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}
