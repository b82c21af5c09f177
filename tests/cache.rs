//! `--cache`: what the next process asks a host for, and what it makes of a cache that is
//! bad, busy or cannot be written.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use bstr::ByteSlice as _;
use serde_json::Value;
use support::http_server::{Auth, Behaviour};
use support::world::{World, one_line, text};

fn folder(world: &World) -> PathBuf {
    world.sandbox.path().join("cache")
}

fn grep(world: &World) -> Output {
    let folder = folder(world);
    world.gitsip(["grep", &world.url, "hello", "--cache", folder.to_str().unwrap()])
}

/// The only file with `extension` in the folder.
fn only(folder: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files = files.filter(|path| path.extension().is_some_and(|e| e == extension));
    let file = files.next().unwrap();
    assert_eq!(files.next(), None);
    file
}

#[track_caller]
fn is_quiet(output: &Output) {
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{output:?}");
}

#[test]
fn the_second_search_asks_for_the_refs_and_for_no_object() {
    let world = World::new();
    let first = grep(&world);
    is_quiet(&first);
    assert!(!world.server.objects_sent().is_empty());
    world.server.forget_requests();

    let mut command = world.command(["grep", &world.url, "hello", "--stats"]);
    let second = command.env("GITSIP_CACHE", folder(&world)).output().unwrap();
    assert_eq!(text(&second.stdout), text(&first.stdout));
    assert_eq!(world.server.objects_sent(), [""; 0]);
    assert_eq!(world.server.requests().len(), 2);
    let stats: Value = serde_json::from_str(one_line(&second)).unwrap();
    let kinds = stats["exchanges"].as_array().unwrap().iter().map(|one| one["kind"].clone());
    assert_eq!(kinds.collect::<Vec<_>>(), ["capabilities", "refs"]);
    assert_eq!(stats["loaded"]["objects"], stats["objects"]);
    let kept = only(&folder(&world), "gitsip");
    assert_eq!(stats["loaded"]["bytes"], kept.metadata().unwrap().len());

    // Nothing was fetched, so nothing is written.
    let before = fs::read(&kept).unwrap();
    let inode = kept.metadata().unwrap();
    is_quiet(&grep(&world));
    assert_eq!(fs::read(&kept).unwrap(), before);
    assert_eq!(kept.metadata().unwrap().created().ok(), inode.created().ok());
}

#[test]
fn a_bad_cache_is_set_aside_with_one_line_and_fetched_anew() {
    let world = World::new();
    let first = grep(&world);
    is_quiet(&first);
    let kept = only(&folder(&world), "gitsip");
    let good = fs::read(&kept).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 16;
    let mut newer = good.clone();
    newer[11] += 1;
    let half = good[..good.len() / 2].to_vec();
    let cases = [(flipped, ""), (newer, "version 2"), (half, ""), (Vec::new(), "cut short")];
    for (bad, why) in cases {
        fs::write(&kept, &bad).unwrap();
        let output = grep(&world);
        assert_eq!(output.stdout, first.stdout);
        assert_eq!(output.status.code(), Some(0));
        let said = one_line(&output);
        assert!(said.starts_with("gitsip: warning: the cache of http://"), "{said}");
        assert!(said.contains(why) && said.ends_with("fetched anew"), "{said}");
        assert_eq!(fs::read(only(&folder(&world), "bad")).unwrap(), bad);
        is_quiet(&grep(&world));
    }
}

#[test]
fn a_cache_that_cannot_be_used_costs_a_warning_and_no_answer() {
    let world = World::new();
    fs::write(folder(&world), "a file").unwrap();
    let output = grep(&world);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("hello"));
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains("is not used") && said.contains("is not cached"), "{said}");
}

#[test]
fn what_takes_more_than_the_cache_may_is_not_kept() {
    let world = World::new();
    let folder = folder(&world);
    let words = ["--cache", folder.to_str().unwrap(), "--cache-size", "64"];
    let output = world.gitsip([&["grep", &world.url, "hello"][..], &words].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(one_line(&output).contains("more than --cache-size"));
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert_eq!(files.sum::<u64>(), 0);
}

#[test]
fn a_private_repository_is_not_answered_from_the_cache_to_who_may_not_read_it() {
    let world = World::new();
    let auth = Some(Auth::Basic { user: "me".into(), password: "s3cret".into() });
    world.server.set_behaviour(Behaviour { auth, ..Behaviour::default() });
    let folder = folder(&world);
    let cache = ["--cache", folder.to_str().unwrap()];
    let address = world.url.replace("http://", "http://me:s3cret@");
    is_quiet(&world.gitsip([&["grep", &address, "hello"][..], &cache].concat()));
    let kept = only(&folder, "gitsip");
    let bytes = fs::read(&kept).unwrap();
    assert!(!bytes.contains_str("s3cret") && !kept.to_str().unwrap().contains("s3cret"));

    let output = world.gitsip([&["grep", &world.url, "hello"][..], &cache].concat());
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "");
    // Who may read it has it from there, however he is called.
    world.server.forget_requests();
    is_quiet(&world.gitsip([&["grep", &address, "hello"][..], &cache].concat()));
    assert_eq!(world.server.objects_sent(), [""; 0]);
}

#[test]
fn several_processes_share_a_folder_and_one_may_be_killed_at_any_time() {
    let world = World::new();
    let path = folder(&world);
    let words = ["grep", &world.url, "hello", "--cache", path.to_str().unwrap()];
    let expected = grep(&world).stdout;
    for round in 0..8 {
        if round % 2 == 0 {
            fs::remove_file(only(&path, "gitsip")).unwrap();
        }
        let mut command = world.command(words);
        let mut doomed = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut other = world.command(words);
        let other = other.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It writes its cache when it has printed.
        let mut first = String::new();
        BufReader::new(doomed.stdout.take().unwrap()).read_line(&mut first).unwrap();
        doomed.kill().unwrap();
        doomed.wait().unwrap();
        let output = other.wait_with_output().unwrap();
        is_quiet(&output);
        assert_eq!(output.stdout, expected);
        let last = grep(&world);
        is_quiet(&last);
        assert_eq!(last.stdout, expected);
    }
}

#[test]
fn what_a_killed_process_left_is_written_over_and_a_busy_one_is_not_waited_for() {
    let world = World::new();
    is_quiet(&grep(&world));
    let kept = only(&folder(&world), "gitsip");
    fs::write(kept.with_extension("new"), "half of").unwrap();
    fs::remove_file(&kept).unwrap();
    let lock = fs::File::options().write(true).open(kept.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    is_quiet(&grep(&world));
    assert!(!kept.exists());
    drop(lock);
    is_quiet(&grep(&world));
    assert!(kept.exists() && !kept.with_extension("new").exists());
}

#[test]
fn a_session_keeps_what_it_fetched_and_begins_with_what_is_kept() {
    let world = World::new();
    let path = folder(&world);
    let ask = || {
        let mut command = world.command(["session", &world.url, "--cache"]);
        let command = command.arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let request =
            b"{\"id\": 1, \"method\": \"read\", \"params\": {\"paths\": [\"README.md\"]}}\n";
        child.stdin.take().unwrap().write_all(request).unwrap();
        let output = child.wait_with_output().unwrap();
        is_quiet(&output);
        assert!(text(&output.stdout).contains("# hello"), "{output:?}");
    };
    ask();
    world.server.forget_requests();
    ask();
    assert_eq!(world.server.objects_sent(), [""; 0]);
}
