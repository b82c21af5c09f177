//! The command prints what `git grep -n -I -E` prints in a bare repository, byte for byte
//! and with the same status, over HTTP and from disk.
//!
//! Compared are constructs that POSIX extended expressions and the regex crate share. How
//! a search finds lines is held against git in more cases by `grep_against_git.rs`; this
//! is about the whole way from an address to standard output.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::corpus::corpus;
use support::git::{Git, Sandbox, isolate};
use support::http_server::HttpServer;

/// Words for both: flags, then the pattern or `-e` patterns, then paths after `--`.
const CASES: &[&[&str]] = &[
    // Constructs.
    &["foo"],
    &["TODO"],
    &["not in any file"],
    &[r"foo\s+bar"],
    &["[^a]"],
    &[r"\W"],
    &[r"\w+1"],
    &["a.b"],
    &["^foo"],
    &["foo$"],
    &["^foo$"],
    &[""],
    &["fo{2,3}b?"],
    &["(foo|bar)foo"],
    &["colou?r"],
    &["[[:upper:]]oo"],
    &[r"\bfoo\b"],
    &["école|日本"],
    &["foo|TODO|abcabc"],
    &[r"\("],
    // Fixed strings.
    &["-F", "a.b"],
    &["-F", "[0]"],
    &["-F", ""],
    &["-F", "-i", "todo"],
    &["-F", "-w", "foo"],
    &["-F", "-e", "foo", "-e", "TODO"],
    // What is reported.
    &["-i", "foo"],
    &["-i", "éCOLE"],
    &["-w", "foo"],
    &["-iw", "foo|todo"],
    &["-v", "[a-z]"],
    &["-v", ""],
    &["-o", "fo+"],
    &["-o", "-i", "foo"],
    &["-o", "-v", "[a-z]"],
    &["-c", "foo"],
    &["-c", "-v", "e"],
    &["-l", "foo"],
    &["-l", "-c", "foo"],
    &["-a", "foo"],
    &["-m", "2", "foo"],
    &["-m1", "-c", "foo"],
    &["-m0", "foo"],
    // Context.
    &["-A1", "foo"],
    &["-B2", "TODO"],
    &["-C3", "foo1|TODO"],
    &["-A1", "-B2", "^foo"],
    &["-C1", "-v", "[a-z]"],
    &["-C2", "-m1", "foo"],
    &["-C1", "-l", "foo"],
    // Several patterns, and those that begin with a dash.
    &["-e", "foo", "-e", "TODO"],
    &["-o", "-e", "foo", "-e", "bar"],
    &["-e", "-foo"],
    &["foo1\nTODO"],
    &["-F", "-o", "foo1\nTODO"],
    // Names.
    &["-z", "foo"],
    &["-z", "-l", "foo"],
    &["-z", "-c", "foo"],
    &["-z", "-C1", "TODO"],
    &["-z", "-o", "foo"],
    // Paths.
    &["foo", "--", "src"],
    &["foo", "--", "."],
    &["-l", "foo", "--", "odd", "lib/3"],
    &["-c", "-e", "foo", "--", "odd/crlf"],
    // Words of habit.
    &["-nHIE", "foo"],
    &["-r", "foo"],
];

#[test]
fn the_command_prints_what_git_grep_prints_over_http_and_from_disk() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("corpus.git");
    repo.commit("main", &corpus(2_000));
    repo.repack();
    let small = sandbox.bare("small.git");
    small.commit("main", &corpus(100));
    let server = HttpServer::start(sandbox.repos());
    let url = server.url("small.git");
    in_parallel(CASES, |case| {
        let found = compare(&sandbox, &repo.git(), repo.path(), case);
        let over_http = compare(&sandbox, &small.git(), url.as_ref(), case);
        assert_eq!(found, over_http, "{case:?}: both corpora have a hit or none");
        found
    });
}

#[test]
fn the_command_prints_what_git_grep_prints_of_this_projects_history() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sandbox = Sandbox::new();
    let clone = sandbox.repos().join("project.git");
    let cloned = sandbox.git().output(
        [Path::new("clone"), Path::new("--quiet"), Path::new("--bare"), Path::new("--no-local")]
            .into_iter()
            .chain([project, &clone]),
    );
    if !cloned.status.success() && !project.join(".git").exists() {
        eprintln!("not compared: these sources came without their history");
        return;
    }
    assert!(cloned.status.success(), "{cloned:?}");
    let git = Git::new(&clone, sandbox.path().join("home"));
    let server = HttpServer::start(sandbox.repos());
    // Without, the command says that more comes than was asked for.
    git.run(["config", "uploadpack.allowFilter", "true"]);
    let url = server.url("project.git");
    let mut found = 0;
    for case in [
        &["fn main"][..],
        &[r"\bunsafe\b"],
        &["-i", "todo"],
        &["-c", "^//!"],
        &["-C2", "impl.*for"],
        &["-F", "()?;"],
        &["-o", "[A-Z][a-z]+Error"],
        &["-l", "-w", "git"],
        &["-z", "-m1", "use"],
    ] {
        found += u32::from(compare(&sandbox, &git, url.as_ref(), case));
        compare(&sandbox, &git, project, case);
        compare(&sandbox, &git, &clone, case);
    }
    assert!(found >= 6, "{found}");
}

/// Runs both with `case`; whether anything was found.
fn compare(sandbox: &Sandbox, git: &Git, repo: &Path, case: &[&str]) -> bool {
    let theirs = git_grep(git, case);
    let ours = gitsip_grep(sandbox, repo, case);
    let want = without_prefix(&theirs.stdout);
    let differs = ours
        .stdout
        .split(|&b| b == b'\n')
        .zip(want.split(|&b| b == b'\n'))
        .position(|(ours, want)| ours != want);
    assert!(
        ours.stdout == want,
        "{repo:?} {case:?} differs in line {differs:?}: {:.2000}",
        String::from_utf8_lossy(&ours.stderr)
    );
    assert_eq!(ours.status.code(), theirs.status.code(), "{repo:?} {case:?}");
    assert_eq!(String::from_utf8_lossy(&ours.stderr), "", "{repo:?} {case:?}");
    theirs.status.success()
}

fn git_grep(git: &Git, case: &[&str]) -> Output {
    let (words, paths) = split(case);
    let mut command = git.command();
    command.args(["grep", "-n", "-I", "-E"]).args(words).arg("HEAD").arg("--").args(paths);
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{case:?} {output:?}");
    output
}

fn gitsip_grep(sandbox: &Sandbox, repo: &Path, case: &[&str]) -> Output {
    let (words, paths) = split(case);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.arg("grep").arg(repo).args(words).arg("--").args(paths).stdin(Stdio::null());
    command.output().unwrap()
}

fn split<'a>(case: &'a [&'a str]) -> (&'a [&'a str], &'a [&'a str]) {
    match case.iter().position(|&word| word == "--") {
        Some(at) => (&case[..at], &case[at + 1..]),
        None => (case, &[]),
    }
}

/// What git printed, without the `HEAD:` before each name.
fn without_prefix(output: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(output.len());
    let mut at_name = true;
    let mut rest = output;
    while let Some((&first, after)) = rest.split_first() {
        if at_name && let Some(name) = rest.strip_prefix(b"HEAD:") {
            rest = name;
            at_name = false;
            continue;
        }
        clean.push(first);
        // A NUL ends a name of -l -z; elsewhere no name follows one.
        at_name = first == b'\n' || first == 0;
        rest = after;
    }
    clean
}

/// Runs `each` on two threads.
fn in_parallel(cases: &[&[&str]], each: impl Fn(&[&str]) -> bool + Sync) {
    let found = std::thread::scope(|scope| {
        let halves: Vec<_> = cases
            .chunks(cases.len().div_ceil(2))
            .map(|half| scope.spawn(|| half.iter().filter(|case| each(case)).count()))
            .collect();
        halves.into_iter().map(|half| half.join().unwrap()).sum::<usize>()
    });
    assert!(found >= cases.len() - 4, "only {found} of {} cases find anything", cases.len());
}
