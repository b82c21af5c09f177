//! A search finds what `git grep` finds: the same paths, lines and text, in its order. It
//! does so from file to file, and in one pass over a text arena on one thread and on two.
//!
//! Compared are constructs that POSIX extended expressions and the regex crate share.
//! Not compared is what differs by design: which of several alternatives `-o` shows
//! (leftmost-first here, leftmost-longest there), what a word is beside letters that are
//! not ASCII, and `[[:classes:]]` in text that is not ASCII. Nor is the empty line that
//! git finds behind the last line of a file for `^$`, unless something makes it go line
//! by line (`--and` does), nor the `--` that it prints for context that `-o` hides.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Write as _;

use std::sync::Arc;

use bstr::ByteSlice as _;
use gitsip::limits::{NeverInterrupt, SharedWorkers};
use gitsip::pack::Ingest;
use gitsip::parallel::Pool;
use gitsip::store::{Lookup, MemoryStore, Objects, Staging as _};
use gitsip::view::glob::PathFilter;
use gitsip::view::grep::{
    ContextLine, FileRef, FileSummary, Grep, GrepOptions, GrepStats, Hit, MatchOptions, Matcher,
    Output, PatternSpec, SearchOptions, Sink,
};
use gitsip::{Budget, Error, Limits, ObjectFormat, ObjectId};
use support::corpus::corpus;
use support::git::{Repo, Sandbox};
use support::loaded::Loaded;

/// One question: git's flags, patterns, and paths or globs.
#[derive(Clone, Copy, Debug, Default)]
struct Case<'a> {
    flags: &'a [&'a str],
    patterns: &'a [&'a str],
    /// What git is given instead of `-e` and each of the patterns.
    gits: Option<&'a [&'a str]>,
    prefixes: &'a [&'a str],
    globs: &'a [&'a str],
}

const fn case<'a>(flags: &'a [&'a str], patterns: &'a [&'a str]) -> Case<'a> {
    Case { flags, patterns, gits: None, prefixes: &[], globs: &[] }
}

const fn within<'a>(prefixes: &'a [&'a str], flags: &'a [&'a str]) -> Case<'a> {
    Case { flags, patterns: &["foo"], gits: None, prefixes, globs: &[] }
}

const CASES: &[Case<'_>] = &[
    // Constructs.
    case(&[], &["foo"]),
    case(&[], &["TODO"]),
    case(&[], &["not in any file"]),
    case(&[], &[r"foo\s+bar"]),
    case(&[], &[r"foo\Sbar"]),
    case(&["-c"], &["[^a]"]),
    case(&["-c"], &[r"\W"]),
    case(&["-c"], &[r"\w"]),
    case(&["-c"], &[r"\s"]),
    case(&["-c"], &[r"\S"]),
    case(&["-c"], &["."]),
    Case { gits: Some(&["-e", "a.b"]), ..case(&[], &["(?s)a.b"]) },
    case(&[], &["a.b"]),
    case(&[], &["^foo"]),
    case(&[], &["foo$"]),
    case(&[], &["^foo$"]),
    Case { gits: Some(&["-e", "^$", "--and", "-e", ""]), ..case(&[], &["^$"]) },
    case(&["-c"], &["^"]),
    case(&["-c"], &["$"]),
    case(&["-c"], &[""]),
    case(&["-c"], &["x*"]),
    Case { gits: Some(&["-e", r"^\s*$", "--and", "-e", ""]), ..case(&["-c"], &[r"^\s*$"]) },
    case(&[], &["fo{2,3}b?"]),
    case(&[], &["(foo|bar)foo"]),
    case(&[], &["colou?r"]),
    case(&[], &["(abc)+"]),
    case(&[], &["[f-g]oo[0-9]"]),
    case(&[], &["[[:upper:]]oo"]),
    case(&[], &[r"\bfoo\b"]),
    case(&[], &[r"\Boo\b"]),
    case(&[], &[r"\<foo\>"]),
    case(&[], &["^É|école"]),
    case(&[], &["日本. foo"]),
    case(&[], &["foo|TODO|abcabc"]),
    case(&[], &[r"\("]),
    case(&[], &[r"foo\.$"]),
    case(&[], &["foo.bar"]),
    case(&[], &["caf. foo"]),
    // Fixed strings.
    case(&["-F"], &["foo"]),
    case(&["-F"], &["a.b"]),
    case(&["-F"], &["[0]"]),
    case(&["-F"], &["$x"]),
    case(&["-F"], &["\"text\" //"]),
    case(&["-F", "-c"], &[""]),
    case(&["-F", "-i"], &["TODO"]),
    case(&["-F", "-i"], &["École"]),
    case(&["-F", "-w"], &["foo"]),
    case(&["-F", "-v", "-c"], &["e"]),
    case(&["-F"], &["foo", "TODO", "aXb"]),
    case(&["-F", "-o"], &["foo", "oo b", "foobar"]),
    // Flags.
    case(&["-i"], &["foo"]),
    case(&["-i"], &["éCOLE"]),
    case(&["-i", "-w"], &["foo|todo"]),
    case(&["-w"], &["foo"]),
    case(&["-w"], &["fo+"]),
    case(&["-w", "-o"], &["[a-z]+1"]),
    case(&["-w", "-v", "-c"], &["foo|bar"]),
    case(&["-v"], &["[a-z]"]),
    case(&["-v", "-c"], &["foo"]),
    case(&["-v"], &[""]),
    case(&["-v", "-l"], &["e"]),
    case(&["-v", "-o"], &["[a-z]"]),
    case(&["-o"], &["fo+"]),
    case(&["-o"], &["[0-9]+"]),
    case(&["-o", "-i"], &["foo"]),
    case(&["-o", "-c"], &["foo"]),
    case(&["-c"], &["foo"]),
    case(&["-l"], &["foo"]),
    case(&["-l", "-i"], &["todo"]),
    case(&["-a"], &["foo"]),
    case(&["-a", "-c"], &["o"]),
    case(&["-a", "-v", "-c"], &["o"]),
    case(&["--column"], &["foo"]),
    case(&["--column", "-i"], &["todo|foo"]),
    case(&["-m1"], &["foo"]),
    case(&["-m3"], &["foo"]),
    case(&["-m3", "-c"], &["foo"]),
    case(&["-m3", "-v"], &["[a-z]"]),
    case(&["-m1", "-l"], &["foo"]),
    // Context.
    case(&["-A1"], &["foo"]),
    case(&["-A3"], &["TODO"]),
    case(&["-B1"], &["foo"]),
    case(&["-B4"], &["TODO"]),
    case(&["-C1"], &["foo"]),
    case(&["-C3"], &["TODO|foo1"]),
    case(&["-C100"], &["aXb"]),
    case(&["-A1", "-B2"], &["^foo"]),
    case(&["-C1", "-v"], &["[a-z]"]),
    case(&["-C2", "-m1"], &["foo"]),
    case(&["-A2", "-m2"], &["foo"]),
    case(&["-C1", "-c"], &["foo"]),
    case(&["-C1", "-l"], &["foo"]),
    case(&["-C1", "-w", "-i"], &["foo"]),
    // Several patterns.
    case(&[], &["foo", "TODO"]),
    case(&["-c"], &["foo", "^bar", r"\s$"]),
    case(&["-v", "-c"], &["foo", "[0-9]"]),
    case(&["-o"], &["foo", "bar"]),
    case(&["-o"], &["fo", "foobar", "oo"]),
    case(&["-i", "-w"], &["foo", "todo"]),
    case(&["-C1"], &["foobar", "aXb"]),
    case(&["--column"], &["bar", "foo"]),
    // Paths.
    within(&["src"], &[]),
    within(&["odd/crlf"], &[]),
    within(&["odd", "lib/3", "file0.c"], &["-c"]),
    within(&["od"], &[]),
    within(&["odd.c"], &["-l"]),
    within(&["odd/link", "odd/foo-link", "odd/foo-module"], &[]),
    within(&["lib/3", "lib/3/1"], &["-l"]),
    Case { globs: &["*.rs"], ..within(&[], &["-c"]) },
    Case { globs: &["*.md", "*.txt"], ..within(&["src", "lib/1"], &["-l"]) },
    Case { globs: &["!*.c"], ..within(&[], &["-l"]) },
];

#[test]
fn every_case_finds_what_git_grep_finds() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("corpus.git", &[]);
    repo.commit("main", &corpus(2_000));
    compare(&repo, CASES, 90);
}

#[test]
fn context_of_every_width_is_gits() {
    let sandbox = Sandbox::new();
    let repo = sandbox.strict_bare("corpus.git", &[]);
    repo.commit("main", &corpus(60));
    for before in 0..5 {
        for after in 0..5 {
            let (b, a) = (format!("-B{before}"), format!("-A{after}"));
            let flags = [b.as_str(), a.as_str()];
            let with = |more: &'static str| [flags[0], flags[1], more];
            compare(
                &repo,
                &[
                    case(&flags, &["foo"]),
                    case(&with("-m2"), &["foo"]),
                    case(&with("-v"), &["[a-z]"]),
                    case(&with("-i"), &["todo"]),
                ],
                4,
            );
        }
    }
}

/// Compares all `cases`, of which at least `found` find something.
fn compare(repo: &Repo, cases: &[Case<'_>], found: usize) {
    let (plain, packed) = (Loaded::new(repo), packed(repo));
    let root: ObjectId = repo.git().run(["rev-parse", "HEAD^{tree}"]).parse().unwrap();
    let (one, two) = (SharedWorkers::default(), SharedWorkers::new(Arc::new(Pool::new(2))));
    let mut with_hits = 0;
    for case in cases {
        let git = git_grep(repo, case);
        let (ours, stats) = our_grep(&plain, root, case, &one);
        if let Some((line, (ours, git))) =
            ours.lines().zip(git.lines()).enumerate().find(|(_, (ours, git))| ours != git)
        {
            let [ours, git] = [ours, git].map(|line| line[..line.len().min(200)].as_bstr());
            panic!("{case:?}: line {line}:\n ours {ours:?}\n git  {git:?}");
        }
        let counts = (ours.lines().count(), git.lines().count());
        assert_eq!(ours, git, "{case:?}: {counts:?} lines");
        assert_eq!(stats.files_matched > 0, !git.is_empty(), "{case:?}");
        for workers in [&one, &two] {
            let (at_once, stats_at_once) = our_grep(&packed, root, case, workers);
            assert!(at_once == ours, "{case:?}: {workers:?} find something else");
            assert_eq!(stats_at_once, stats, "{case:?}");
        }
        with_hits += usize::from(!git.is_empty());
    }
    assert!(with_hits >= found, "only {with_hits} cases find anything");
}

/// All that `repo` has now, taken in from a pack.
fn packed(repo: &Repo) -> MemoryStore {
    let (format, limits) = (ObjectFormat::Sha1, Limits::default());
    let budget = Budget::new(limits.max_memory);
    let store = MemoryStore::new(format, &budget, &limits);
    let pack = repo.git().bytes(["pack-objects", "--all", "--stdout", "-q", "--delta-base-offset"]);
    let mut ingest = Ingest::new(format, &limits, &budget, store.stage());
    ingest.push(&pack, &NeverInterrupt).unwrap();
    ingest.finish(&NeverInterrupt).unwrap().0.commit().unwrap();
    assert!(store.stats().arena_bytes > 0);
    store
}

fn git_grep(repo: &Repo, case: &Case<'_>) -> Vec<u8> {
    let mut command = repo.git().command();
    command.env("LC_ALL", "C.UTF-8").args(["grep", "-n"]);
    command.args(case.flags);
    if !case.flags.contains(&"-F") {
        command.arg("-E");
    }
    if !case.flags.contains(&"-a") {
        command.arg("-I");
    }
    match case.gits {
        Some(gits) => drop(command.args(gits)),
        None => drop(command.args(case.patterns.iter().flat_map(|pattern| ["-e", pattern]))),
    }
    command.args(["HEAD", "--"]);
    let including = || case.globs.iter().filter(|glob| !glob.starts_with('!'));
    if including().next().is_none() {
        command.args(case.prefixes);
    }
    for glob in including() {
        // git has one pathspec where a prefix and a glob must both agree.
        command.args(case.prefixes.iter().map(|prefix| format!("{prefix}/{glob}")));
        command.args(case.prefixes.is_empty().then_some(glob));
    }
    let excluding = case.globs.iter().filter_map(|glob| glob.strip_prefix('!'));
    command.args(excluding.map(|glob| format!(":(exclude){glob}")));
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{case:?}: {}", output.stderr.as_bstr());
    let printed = output.stdout;
    let mut kept = Vec::new();
    for line in printed.split_inclusive(|&byte| byte == b'\n') {
        kept.extend_from_slice(line.strip_prefix(b"HEAD:").unwrap_or(line));
    }
    kept
}

fn our_grep(
    objects: &impl Objects,
    root: ObjectId,
    case: &Case<'_>,
    workers: &SharedWorkers,
) -> (Vec<u8>, GrepStats) {
    let has = |flag| case.flags.contains(&flag);
    let number = |flag: &str| {
        let value = case.flags.iter().find_map(|given| given.strip_prefix(flag))?;
        value.parse::<u32>().ok()
    };
    let specs: Vec<_> = case
        .patterns
        .iter()
        .map(|pattern| match has("-F") {
            true => PatternSpec::fixed(*pattern),
            false => PatternSpec::regex(*pattern),
        })
        .collect();
    let matching =
        MatchOptions { ignore_case: has("-i"), word: has("-w"), ..MatchOptions::default() };
    let limits = Limits::default();
    let around = number("-C");
    let lines = |flag| number(flag).or(around).unwrap_or(0) as usize;
    let options = GrepOptions {
        filter: PathFilter::new(case.globs, case.prefixes, &limits).unwrap(),
        search: SearchOptions {
            invert: has("-v"),
            before: lines("-B"),
            after: lines("-A"),
            binary: has("-a"),
            output: match (has("-c"), has("-l")) {
                (true, _) => Output::Count,
                (_, true) => Output::Files,
                _ => Output::Lines,
            },
            max_per_file: number("-m").map(u64::from),
            max_total: None,
        },
    };
    let mut printer = Printer {
        out: Vec::new(),
        output: options.search.output,
        only_matching: has("-o") && !has("-v"),
        column: has("--column"),
    };
    let matcher = Matcher::new(&specs, &matching).unwrap();
    let mut grep = Grep::new(root, matcher, options, &limits).with_workers(workers.clone());
    match grep.run(objects, &mut printer, &NeverInterrupt).unwrap() {
        Lookup::Ready(stats) => (printer.out, stats),
        Lookup::Missing(missing) => panic!("{missing:?} is in the repository"),
    }
}

/// Prints as `git grep -n` does.
struct Printer {
    out: Vec<u8>,
    output: Output,
    only_matching: bool,
    column: bool,
}

impl Printer {
    fn path(&mut self, path: &[u8]) {
        if path.iter().all(|byte| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte)) {
            return self.out.extend_from_slice(path);
        }
        self.out.push(b'"');
        for &byte in path {
            match byte {
                b'\t' => self.out.extend_from_slice(b"\\t"),
                b'\n' => self.out.extend_from_slice(b"\\n"),
                b'"' | b'\\' => self.out.extend([b'\\', byte]),
                b' '..=b'~' => self.out.push(byte),
                _ => write!(self.out, "\\{byte:03o}").unwrap(),
            }
        }
        self.out.push(b'"');
    }

    fn line(&mut self, path: &[u8], number: u64, column: Option<usize>, sign: char, line: &[u8]) {
        self.path(path);
        write!(self.out, "{sign}{number}{sign}").unwrap();
        if self.column
            && let Some(column) = column
        {
            write!(self.out, "{column}{sign}").unwrap();
        }
        self.out.extend_from_slice(line);
        self.out.push(b'\n');
    }
}

impl Sink for Printer {
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        if !self.only_matching {
            self.line(hit.file.path, hit.line_number, hit.column(), ':', hit.line);
            return Ok(true);
        }
        for range in hit.distinct_ranges() {
            let text = &hit.line[range.start..range.end];
            self.line(hit.file.path, hit.line_number, Some(range.start + 1), ':', text);
        }
        Ok(true)
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        if !self.only_matching {
            self.line(line.file.path, line.line_number, None, '-', line.line);
        }
        Ok(true)
    }

    fn group_break(&mut self) -> Result<bool, Error> {
        self.out.extend_from_slice(b"--\n");
        Ok(true)
    }

    fn end(&mut self, file: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        let lines = summary.lines;
        match self.output {
            Output::Count => {
                self.path(file.path);
                writeln!(self.out, ":{lines}").unwrap();
            }
            Output::Files => {
                self.path(file.path);
                self.out.push(b'\n');
            }
            Output::Lines => {}
        }
        Ok(true)
    }
}
