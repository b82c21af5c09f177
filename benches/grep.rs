//! How fast is a warm search of a whole snapshot?
//!
//! Measures, in turn and in the same run, for each question: the cursor over a memory
//! store that took a pack in, on one thread and on two; the physical limit (one pass of
//! `memmem`, of Aho-Corasick or of the regex crate, over the same bytes, which only counts
//! matches); `git grep` as a process on the bare repository; and, where it is installed,
//! ripgrep on a checkout. Ours and git's must find the same lines first. The medians of
//! several rounds are printed with their ratios. Of several literals, the search for all at
//! once is also held against searches for each.
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
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aho_corasick::{AhoCorasick, MatchKind};
use bstr::ByteSlice as _;
use bytes::Bytes;
use gitsip::limits::{NeverInterrupt, SharedWorkers};
use gitsip::pack::Ingest;
use gitsip::parallel::Pool;
use gitsip::store::{Lookup, MemoryStore, Objects as _, Staging as _};
use gitsip::view::grep::{
    Grep, GrepOptions, GrepStats, Hit, MatchOptions, Matcher, PatternKind, PatternSpec, Sink,
};
use gitsip::{Budget, Error, Limits, ObjectFormat, ObjectId};
use memchr::memmem;
use regex::bytes::RegexBuilder;
use support::corpus::sources;
use support::git::{Git, Sandbox};

/// What is asked, of ours and of the others.
const QUESTIONS: &[Question] = &[
    Question { name: "literal", patterns: &["TODO"], flags: &["-F"] },
    Question { name: "literal, never found", patterns: &["no such words"], flags: &["-F"] },
    Question { name: "ignore case", patterns: &["todo"], flags: &["-E", "-i"] },
    Question { name: "regex", patterns: &[r"foo\s+bar"], flags: &["-E"] },
    Question { name: "word", patterns: &["colour"], flags: &["-F", "-w"] },
    Question { name: "ten literals", patterns: TEN, flags: &["-F"] },
];

const TEN: &[&str] = &[
    "TODO",
    "FIXME",
    "XXX:",
    "HACK",
    "deprecated",
    "colour",
    "strlcpy",
    "memmem",
    "mutex",
    "no such words",
];

struct Question {
    name: &'static str,
    patterns: &'static [&'static str],
    flags: &'static [&'static str],
}

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let json = std::env::args().any(|arg| arg == "--json");
    let rounds = if measured { 9 } else { 1 };
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
    let snapshot = Snapshot::load(&git, &sandbox);
    if !json {
        let mb = snapshot.bytes() as f64 / 1e6;
        println!("{} files, {mb:.1} MB of text and binaries", snapshot.blobs.len());
        println!("{:?}", snapshot.store.stats());
    }
    let (inline, pool) = (SharedWorkers::default(), SharedWorkers::new(Arc::new(Pool::new(2))));
    for question in QUESTIONS {
        question.measure(&snapshot, &git, [&inline, &pool], rounds, json);
    }
}

impl Question {
    fn measure(
        &self,
        snapshot: &Snapshot,
        git: &Git,
        [inline, pool]: [&SharedWorkers; 2],
        rounds: usize,
        json: bool,
    ) {
        let (lines, stats) = self.ours(snapshot, inline);
        assert_eq!(lines, self.gits(git), "{} finds what git finds", self.name);
        let singles: Vec<Question> = self.singles();
        let [mut ours, mut two, mut limit, mut gits, mut rg, mut one_by_one] =
            [const { Vec::new() }; 6];
        // One after the other: a thread that slept while other programs ran comes up to a tick
        // of the scheduler late, which says nothing about the search.
        for _ in 0..=rounds {
            two.push(time(|| assert_eq!(self.ours(snapshot, pool).0, lines)));
        }
        for _ in 0..rounds {
            ours.push(time(|| assert_eq!(self.ours(snapshot, inline).0, lines)));
            limit.push(time(|| self.pass(snapshot)));
            gits.push(time(|| assert_eq!(self.gits(git), lines)));
            if let Some(checkout) = &snapshot.checkout {
                rg.push(time(|| self.ripgreps(checkout)));
            }
            one_by_one.push(time(|| {
                for single in &singles {
                    black_box(single.ours(snapshot, inline));
                }
            }));
        }
        let [ours, two, limit, gits, rg, one_by_one] =
            [ours, two, limit, gits, rg, one_by_one].map(median_ms);
        if json {
            println!(
                "{{\"bench\":\"grep\",\"question\":\"{}\",\"bytes\":{},\"files\":{},\"lines\":{lines},\"ms\":{{\"ours\":{ours:.3},\"two threads\":{two:.3},\"pass\":{limit:.3},\"git grep\":{gits:.1},\"rg\":{rg:.1},\"one by one\":{one_by_one:.3}}},\"over_pass\":{:.2},\"two_threads\":{:.2},\"faster_than_git\":{:.1},\"faster_than_rg\":{:.1},\"of_one_by_one\":{:.2}}}",
                self.name,
                stats.bytes_searched,
                stats.files_searched,
                ours / limit,
                ours / two,
                gits / ours,
                rg / ours,
                ours / one_by_one
            );
            return;
        }
        println!(
            "{:<22} {lines:>6} lines {ours:>7.2} ms  pass {limit:>6.2} ms ({:.2} x)  two threads {two:>6.2} ms ({:.2} x)  git grep {gits:>6.1} ms ({:.1} x)  rg {rg:>6.1} ms ({:.1} x)",
            self.name,
            ours / limit,
            ours / two,
            gits / ours,
            rg / ours
        );
        if !singles.is_empty() {
            println!("{:<22} one by one {one_by_one:>6.2} ms ({:.2} x)", "", ours / one_by_one);
        }
    }

    /// The lines that the cursor finds, from compiling the pattern on.
    fn ours(&self, snapshot: &Snapshot, workers: &SharedWorkers) -> (u64, GrepStats) {
        let kind = match self.flags.contains(&"-F") {
            true => PatternKind::Fixed,
            false => PatternKind::Regex,
        };
        let spec = |text: &&'static str| PatternSpec { text: text.as_bytes(), kind };
        let specs: Vec<PatternSpec<'_>> = self.patterns.iter().map(spec).collect();
        let matching = MatchOptions {
            ignore_case: self.flags.contains(&"-i"),
            word: self.flags.contains(&"-w"),
            ..MatchOptions::default()
        };
        let matcher = Matcher::new(&specs, &matching).unwrap();
        let limits = Limits::default();
        let mut grep = Grep::new(snapshot.root, matcher, GrepOptions::default(), &limits)
            .with_workers(workers.clone());
        let mut lines = Lines(0);
        match grep.run(&snapshot.store, &mut lines, &NeverInterrupt).unwrap() {
            Lookup::Ready(stats) => (lines.0, stats),
            Lookup::Missing(missing) => panic!("{missing:?} is in the snapshot"),
        }
    }

    /// One question for each pattern, where there are several.
    fn singles(&self) -> Vec<Question> {
        let all = self.patterns.chunks(1).filter(|_| self.patterns.len() > 1);
        all.map(|patterns| Question { name: self.name, patterns, flags: self.flags }).collect()
    }

    fn gits(&self, git: &Git) -> u64 {
        let mut args = vec!["grep", "-n", "-I"];
        args.extend(self.flags.iter().chain(&self.dash_e()));
        args.push("HEAD");
        git.output(args).stdout.lines().count() as u64
    }

    /// Its lines are not compared: it tells binary files and words in its own way.
    fn ripgreps(&self, checkout: &PathBuf) {
        let mut command = Command::new("rg");
        command.args(["--no-config", "--no-ignore", "--hidden", "-n"]);
        command.args(self.flags.iter().filter(|&&flag| flag != "-E")).args(self.dash_e());
        let output = command.arg(".").current_dir(checkout).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.code() < Some(2), "{output:?}");
    }

    fn dash_e(&self) -> Vec<&'static str> {
        self.patterns.iter().flat_map(|pattern| ["-e", pattern]).collect()
    }

    /// One pass over the same bytes, which counts matches and knows no lines.
    fn pass(&self, snapshot: &Snapshot) {
        let mut matches = 0;
        if self.patterns.len() > 1 {
            // Of its kinds the fastest: the default one looks for no rare bytes.
            let kind = MatchKind::LeftmostFirst;
            let automaton = AhoCorasick::builder().match_kind(kind).build(self.patterns).unwrap();
            for blob in &snapshot.blobs {
                matches += automaton.find_iter(blob.as_ref()).count();
            }
        } else if self.flags.contains(&"-F") {
            let finder = memmem::Finder::new(self.patterns[0]);
            for blob in &snapshot.blobs {
                matches += finder.find_iter(blob).count();
            }
        } else {
            let regex = RegexBuilder::new(self.patterns[0])
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

/// Trees and blobs of a commit, as a store holds them after a prefetch.
struct Snapshot {
    store: MemoryStore,
    root: ObjectId,
    blobs: Vec<Bytes>,
    /// The same as files, if ripgrep is here to search them.
    checkout: Option<PathBuf>,
}

impl Snapshot {
    fn load(git: &Git, sandbox: &Sandbox) -> Self {
        let limits = Limits { max_memory: 8 << 30, ..Limits::default() };
        let budget = Budget::new(limits.max_memory);
        let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
        let root = git.run(["rev-parse", "HEAD^{tree}"]);
        let listed = git.bytes(["ls-tree", "-r", "-t", "-z", "HEAD"]);
        let mut wanted = format!("{root}\n");
        let mut files = Vec::new();
        for entry in listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
            let (header, path) = entry.split_once_str("\t").unwrap();
            let words: Vec<&str> = header.to_str().unwrap().split(' ').collect();
            if words[1] != "commit" {
                // With its name, by which packs are sorted, as when a host sends one.
                wanted.push_str(&format!("{} {}\n", words[2], path.to_str_lossy()));
            }
            if words[0].starts_with("100") {
                files.push(words[2].parse::<ObjectId>().unwrap());
            }
        }
        let pack = git.bytes_with_input(
            ["pack-objects", "--stdout", "--delta-base-offset", "-q"],
            wanted.as_bytes(),
        );
        let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage());
        for chunk in pack.chunks(64 << 10) {
            ingest.push(chunk, &NeverInterrupt).unwrap();
        }
        ingest.finish(&NeverInterrupt).unwrap().0.commit().unwrap();
        let blobs = files.iter().map(|id| store.read(id).unwrap().unwrap().bytes).collect();
        let checkout = has_ripgrep().then(|| {
            let folder = sandbox.path().join("checkout");
            std::fs::create_dir(&folder).unwrap();
            let tar = git.bytes(["archive", "HEAD"]);
            let mut untar = Command::new("tar");
            untar.arg("-x").current_dir(&folder).stdin(Stdio::piped());
            let mut child = untar.spawn().unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), &tar).unwrap();
            assert!(child.wait().unwrap().success());
            folder
        });
        Self { store, root: root.parse().unwrap(), blobs, checkout }
    }

    fn bytes(&self) -> usize {
        self.blobs.iter().map(Bytes::len).sum()
    }
}

fn has_ripgrep() -> bool {
    Command::new("rg").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
}
