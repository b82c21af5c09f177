//! What a repository says of its memory, against what the allocator says.

#![allow(clippy::unwrap_used)]

mod support;

use std::alloc::System;

use cap::Cap;
use gitsip::agent::{PrefetchOptions, Remote, RemoteOptions, Repo, Snapshot};
use gitsip::view::grep::{GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
use gitsip::{Error, Limits};
use support::git::{File, Sandbox};
use support::http_server::in_process::run;
use support::http_server::{Behaviour, InProcess};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

type RemoteRepo = Repo<Remote<InProcess>>;

#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn hit(&mut self, _: &Hit<'_>) -> Result<bool, Error> {
        self.0 += 1;
        Ok(true)
    }
}

fn grep(snapshot: &Snapshot<Remote<InProcess>>, text: &str) -> u64 {
    let matcher = Matcher::new(&[PatternSpec::fixed(text)], &MatchOptions::default()).unwrap();
    let mut count = Count::default();
    run(snapshot.grep(matcher, GrepOptions::default(), &mut count)).unwrap();
    count.0
}

/// Words by chance: they shrink to about a third.
fn prose(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = WORDS[(state >> 32) as usize % WORDS.len()];
        text.extend_from_slice(word.as_bytes());
        text.push(if state.is_multiple_of(9) { b'\n' } else { b' ' });
    }
    text
}

const WORDS: [&str; 12] = [
    "want", "have", "promisor", "pkt-line", "sideband", "thin", "pack", "peel", "tree-ish",
    "shallow", "needle", "delta",
];

/// One test, because there is one allocator.
#[test]
fn the_report_is_what_is_allocated() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let mut files: Vec<File> =
        (0..1_500).map(|n| File::new(format!("d{}/{n}.txt", n % 31), prose(n, 10_000))).collect();
    files.push(File::new("large.bin", [&[0; 64][..], &prose(9_999, 1_200_000)].concat()));
    origin.commit("main", &files);
    drop(files);
    origin.repack();
    for max_memory in [64 << 20, 12 << 20, 5 << 20] {
        let server = InProcess::new(sandbox.repos(), Behaviour::default());
        let limits = Limits { max_memory, ..Limits::default() };
        let options = RemoteOptions { limits: limits.clone(), ..RemoteOptions::default() };
        let remote = run(Remote::open(server.clone(), "http://localhost/r.git", options)).unwrap();
        let repo: RemoteRepo = Repo::new(remote, limits);
        let snapshot = run(repo.snapshot("HEAD")).unwrap();
        server.forget_requests();
        let before = HEAP.allocated() as u64 - repo.memory_report().used_bytes;
        let check = |after: &str| {
            server.forget_requests();
            let report = repo.memory_report();
            let parts = [
                report.packed_bytes,
                report.text_bytes,
                report.copies_bytes,
                report.table_bytes,
                report.other_bytes,
            ];
            assert_eq!(parts.iter().sum::<u64>(), report.used_bytes, "{after}: {report:?}");
            let live = HEAP.allocated() as u64 - before;
            let off = live.abs_diff(report.used_bytes);
            // A tenth, and what no budget counts: names, the ladder, this test.
            let allowed = live / 10 + (1 << 20);
            assert!(off <= allowed, "{after}: {live} bytes live, {off} off: {report:?}");
            assert!(report.peak_bytes <= max_memory, "{after}: {report:?}");
        };
        if max_memory > 32 << 20 {
            run(snapshot.prefetch(&PrefetchOptions::default())).unwrap();
            check("a prefetch");
        }
        let found = grep(&snapshot, "needle");
        check("a search");
        for _ in 0..3 {
            assert_eq!(grep(&snapshot, "needle"), found);
            check("another search");
        }
        assert!(found > 10_000);
    }
}
