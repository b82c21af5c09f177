//! How fast is a warm search of a whole snapshot, on one thread?
//!
//! Measures, in turn and in the same run, for each question: the cursor over a memory
//! store that holds the raw blobs; the physical limit (one pass of `memmem`, or of the
//! regex crate, over the same bytes, which only counts matches); and `git grep` as a
//! process on the bare repository. Ours and git's must find the same lines first.
//! The medians of several rounds are printed with their ratios.
//!
//! ```text
//! cargo bench --bench grep                         a generated repository, 48 MB
//! GITSIP_BENCH_REPO=x.git cargo bench --bench grep -- --json
//! ```
//!
//! Run as a test (`cargo test --benches`) it does one round of a small repository and
//! only checks results.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use bstr::ByteSlice as _;
use bytes::Bytes;
use gitsip::limits::NeverInterrupt;
use gitsip::object::Kind;
use gitsip::store::{Lookup, MemoryStore, Objects as _};
use gitsip::view::grep::{
    Grep, GrepOptions, GrepStats, Hit, MatchOptions, Matcher, PatternSpec, Sink,
};
use gitsip::{Budget, Error, Limits, ObjectFormat, ObjectId};
use memchr::memmem;
use regex::bytes::RegexBuilder;
use support::corpus::sources;
use support::git::{Git, Sandbox};

/// What is asked, of ours and of git.
const QUESTIONS: &[Question] = &[
    Question { name: "literal", pattern: "TODO", flags: &["-F"] },
    Question { name: "literal, never found", pattern: "no such words", flags: &["-F"] },
    Question { name: "ignore case", pattern: "todo", flags: &["-E", "-i"] },
    Question { name: "regex", pattern: r"foo\s+bar", flags: &["-E"] },
    Question { name: "word", pattern: "colour", flags: &["-F", "-w"] },
];

struct Question {
    name: &'static str,
    pattern: &'static str,
    flags: &'static [&'static str],
}

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let json = std::env::args().any(|arg| arg == "--json");
    let rounds = if measured { 7 } else { 1 };
    let sandbox = Sandbox::new();
    let git = match std::env::var_os("GITSIP_BENCH_REPO") {
        Some(path) => Git::new(path, sandbox.path().join("home")),
        None => {
            let (files, bytes) = if measured { (4_846, 9_950) } else { (300, 1_000) };
            let repo = sandbox.strict_bare("corpus.git", &[]);
            repo.commit("main", &sources(files, bytes, 7));
            repo.repack();
            repo.git()
        }
    };
    let snapshot = Snapshot::load(&git);
    if !json {
        let mb = snapshot.bytes() as f64 / 1e6;
        println!("{} files, {mb:.1} MB of text and binaries", snapshot.blobs.len());
    }
    for question in QUESTIONS {
        question.measure(&snapshot, &git, rounds, json);
    }
}

impl Question {
    fn measure(&self, snapshot: &Snapshot, git: &Git, rounds: usize, json: bool) {
        let (lines, stats) = self.ours(snapshot);
        assert_eq!(lines, self.gits(git), "{} finds what git finds", self.name);
        let [mut ours, mut limit, mut gits] = [const { Vec::new() }; 3];
        for _ in 0..rounds {
            ours.push(time(|| assert_eq!(self.ours(snapshot).0, lines)));
            limit.push(time(|| self.pass(snapshot)));
            gits.push(time(|| assert_eq!(self.gits(git), lines)));
        }
        let [ours, limit, gits] = [ours, limit, gits].map(median_ms);
        if json {
            println!(
                "{{\"bench\":\"grep\",\"question\":\"{}\",\"bytes\":{},\"files\":{},\"lines\":{lines},\"ms\":{{\"ours\":{ours:.2},\"pass\":{limit:.2},\"git grep\":{gits:.1}}},\"over_pass\":{:.2},\"faster_than_git\":{:.1}}}",
                self.name,
                stats.bytes_searched,
                stats.files_searched,
                ours / limit,
                gits / ours
            );
        } else {
            println!(
                "{:<22} {lines:>7} lines  {ours:>7.2} ms  pass {limit:>7.2} ms ({:.2} x)  git grep {gits:>7.1} ms ({:.1} x faster)",
                self.name,
                ours / limit,
                gits / ours
            );
        }
    }

    /// The lines that the cursor finds, from compiling the pattern on.
    fn ours(&self, snapshot: &Snapshot) -> (u64, GrepStats) {
        let spec = match self.flags.contains(&"-F") {
            true => PatternSpec::fixed(self.pattern),
            false => PatternSpec::regex(self.pattern),
        };
        let matching = MatchOptions {
            ignore_case: self.flags.contains(&"-i"),
            word: self.flags.contains(&"-w"),
            ..MatchOptions::default()
        };
        let matcher = Matcher::new(&[spec], &matching).unwrap();
        let limits = Limits::default();
        let mut grep = Grep::new(snapshot.root, matcher, GrepOptions::default(), &limits);
        let mut lines = Lines(0);
        match grep.run(&snapshot.store, &mut lines, &NeverInterrupt).unwrap() {
            Lookup::Ready(stats) => (lines.0, stats),
            Lookup::Missing(missing) => panic!("{missing:?} is in the snapshot"),
        }
    }

    fn gits(&self, git: &Git) -> u64 {
        let args = ["grep", "-n", "-I"].iter().chain(self.flags);
        let output = git.output(args.chain(&["-e", self.pattern, "HEAD"]));
        output.stdout.lines().count() as u64
    }

    /// One pass over the same bytes, which counts matches and knows no lines.
    fn pass(&self, snapshot: &Snapshot) {
        let mut matches = 0;
        if self.flags.contains(&"-F") {
            let finder = memmem::Finder::new(self.pattern);
            for blob in &snapshot.blobs {
                matches += finder.find_iter(blob).count();
            }
        } else {
            let regex = RegexBuilder::new(self.pattern)
                .case_insensitive(self.flags.contains(&"-i"))
                .build()
                .unwrap();
            for blob in &snapshot.blobs {
                matches += regex.find_iter(blob).count();
            }
        }
        black_box(matches);
    }
}

/// Takes line, number and path of each hit, as a printer would.
struct Lines(u64);

impl Sink for Lines {
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        black_box((hit.file.path, hit.line_number, hit.line));
        self.0 += 1;
        Ok(true)
    }
}

/// Trees and blobs of a commit, raw, as a store holds them after a prefetch.
struct Snapshot {
    store: MemoryStore,
    root: ObjectId,
    blobs: Vec<Bytes>,
}

impl Snapshot {
    fn load(git: &Git) -> Self {
        let limits = Limits { max_memory: 8 << 30, ..Limits::default() };
        let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(limits.max_memory), &limits);
        let root = git.run(["rev-parse", "HEAD^{tree}"]);
        let listed = git.bytes(["ls-tree", "-r", "-t", "-z", "HEAD"]);
        let mut wanted = format!("{root}\n");
        let mut files = Vec::new();
        for entry in listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            let (header, _) = entry.split_once_str("\t").unwrap();
            let words: Vec<&str> = header.to_str().unwrap().split(' ').collect();
            if words[1] != "commit" {
                wanted.push_str(words[2]);
                wanted.push('\n');
            }
            if words[0].starts_with("100") {
                files.push(words[2].parse::<ObjectId>().unwrap());
            }
        }
        let printed = git.bytes_with_input(["cat-file", "--batch"], wanted.as_bytes());
        let mut rest = printed.as_slice();
        while let Some((header, after)) = rest.split_once_str("\n") {
            let words: Vec<&str> = header.to_str().unwrap().split(' ').collect();
            let size: usize = words[2].parse().unwrap();
            store.insert(Kind::from_name(words[1].as_bytes()).unwrap(), &after[..size]).unwrap();
            rest = &after[size + 1..];
        }
        let blobs = files.iter().map(|id| store.read(id).unwrap().unwrap().bytes).collect();
        Self { store, root: root.parse().unwrap(), blobs }
    }

    fn bytes(&self) -> usize {
        self.blobs.iter().map(Bytes::len).sum()
    }
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}
