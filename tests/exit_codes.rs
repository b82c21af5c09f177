//! How the command ends: every exit status over the real command, and what counts as an
//! answer when only a part was looked at.
//!
//! `cli.rs` has the statuses of everyday slips.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::Read as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use support::git::File;
use support::http_server::{Behaviour, CannedResponse};
use support::world::{World, one_line, text};

#[test]
fn what_was_found_is_0_and_that_nothing_was_is_1() {
    let world = World::new();
    for (words, status) in [
        (&["grep", &world.url, "hello"][..], 0),
        (&["grep", &world.url, "hello", "-q"], 0),
        (&["grep", &world.url, "hello", "-m", "1"], 0),
        (&["grep", &world.url, "no such text"], 1),
        (&["grep", &world.url, "no such text", "-q"], 1),
        (&["glob", &world.url, "*.none"], 1),
        (&["cat", &world.url, "README.md", "--lines", "99:"], 1),
    ] {
        let output = world.gitsip(words);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(status), ""), "{words:?}");
    }
}

#[test]
fn a_part_with_a_hit_is_0_and_without_one_it_is_not_1() {
    let world = World::new();
    assert_eq!(world.status(["grep", &world.url, "hello", "--max-total", "1"]), 0);
    let nothing = world.gitsip(["grep", &world.url, "hello", "--max-total", "0"]);
    assert_eq!((nothing.status.code(), text(&nothing.stdout)), (Some(6), ""), "{nothing:?}");
}

#[test]
fn an_error_behind_hits_keeps_its_status_unless_nobody_gets_there() {
    let world = World::new();
    let repo = world.sandbox.bare("damaged.git");
    repo.commit("main", &[File::new("a", "needle\n"), File::new("b/c", "needle\n")]);
    let git = repo.git();
    let blob = git.run(["rev-parse", "main:a"]);
    let junk = ["-t", "tree", "--literally", "-w", "--stdin"];
    let write = [&["hash-object"][..], &junk].concat();
    let bad = String::from_utf8(git.bytes_with_input(write, b"100644 no end")).unwrap();
    let entries = format!("100644 blob {blob}\ta\n040000 tree {}\tb\n", bad.trim());
    let tree = String::from_utf8(git.bytes_with_input(["mktree"], entries.as_bytes())).unwrap();
    let commit = git.run(["commit-tree", "-m", "damaged", tree.trim()]);
    git.run(["update-ref", "refs/heads/main", &commit]);
    let path = repo.path().to_str().unwrap();

    let output = world.gitsip(["grep", path, "needle"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), "a:1:needle\n"));
    one_line(&output);
    for words in [&["-q"][..], &["--max-total", "1"]] {
        let words = [&["grep", path, "needle"], words].concat();
        assert_eq!(world.status(words), 0, "the hit is all that was asked for");
    }
}

#[test]
fn too_little_memory_is_6_and_the_error_names_the_numbers_and_the_flag() {
    let world = World::new();
    for repo in [&world.url, world.big_repo().path().to_str().unwrap()] {
        let output = world.gitsip(["grep", repo, "hello", "--max-memory", "1k"]);
        assert_eq!(output.status.code(), Some(6), "{output:?}");
        let line = one_line(&output);
        for part in ["gitsip: limit: ", "1024 allowed", "--max-memory SIZE"] {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(world.status(["grep", repo, "hello", "-q", "--max-memory", "1g"]), 0);
        let files = world.gitsip(["cat", repo, "README.md", "many", "--max-memory", "1k"]);
        assert_eq!(files.status.code(), Some(6), "{files:?}");
        assert!(text(&files.stderr).lines().all(|line| line.ends_with("--max-memory SIZE")));
    }
}

#[test]
fn hosts_have_their_statuses() {
    let world = World::new();
    let refuse = |status, page: &'static str| {
        let hook = move |_: &_| Some(CannedResponse::new(status, "text/plain", page));
        Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() }
    };
    let silent = Behaviour { silent: true, ..Behaviour::default() };
    let cut = Behaviour { cut_after: Some(20), ..Behaviour::default() };
    for (behaviour, status, part) in [
        (refuse(404, "no"), 3, "not found"),
        (refuse(401, "no"), 4, "auth"),
        (refuse(403, "no"), 4, "auth"),
        (refuse(500, "no"), 5, "transport"),
        (cut, 5, "transport"),
        (Behaviour::default().with_wrong_trailers(), 7, "corrupt"),
        (refuse(200, "what is this"), 7, "malformed"),
        (Behaviour::default().busy(429, "3600", u32::MAX), 8, "in 3600 seconds"),
        (Behaviour::default().busy(503, "3600", u32::MAX), 8, "in 3600 seconds"),
        (Behaviour::default().dumb(), 9, "unsupported"),
        (silent, 10, "deadline"),
    ] {
        world.server.set_behaviour(behaviour);
        let output = world.gitsip(["cat", &world.url, "README.md", "--timeout", "3s"]);
        assert_eq!(output.status.code(), Some(status), "{part}: {output:?}");
        assert!(one_line(&output).contains(part), "{part}: {output:?}");
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_12_whatever_is_printed() {
    let world = World::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let url = world.url.as_str();
    for words in [
        &["--help"][..],
        &["--version"],
        &["cat", "--help"],
        &["cat", url, "README.md"],
        &["glob", url, "*.rs"],
        &["grep", url, "hello"],
        &["grep", "--type-list"],
        &["ls", url, "-r"],
        &["refs", url],
    ] {
        let output = world.command(words).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(12), "{words:?}: {output:?}");
        assert!(one_line(&output).starts_with("gitsip: io: standard output"), "{output:?}");
    }
}

#[test]
fn an_interrupt_is_130_at_once_and_leaves_no_half_line() {
    let world = World::new();
    let big = world.big_repo();
    for interrupts in [1, 3] {
        let mut child = start(world.command(["grep", big.path().to_str().unwrap(), "hello"]));
        // It stands still when the pipe is full, because nobody reads.
        let mut unread = child.stdout.take().unwrap();
        while rustix::io::ioctl_fionread(&unread).unwrap() < 60_000 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let start = Instant::now();
        (0..interrupts).for_each(|_| interrupt(&child));
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(130), ""));
        let mut printed = String::new();
        unread.read_to_string(&mut printed).unwrap();
        assert!(printed.ends_with(":hello there\n"), "{:?}", printed.lines().last());
        assert!(printed.lines().all(|line| line.ends_with(":hello there")));
    }
}

#[test]
fn an_interrupt_is_heard_in_the_middle_of_a_transfer_and_of_a_search() {
    let world = World::new();
    world.server.set_behaviour(Behaviour {
        stall_after: Some(10),
        faults_when: Some(Box::new(|request| request.method == "POST")),
        ..Behaviour::default()
    });
    let child = start(world.command(["ls", &world.url]));
    while world.server.requests().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    ends_with_130(child);

    // A handful of objects with more paths than anybody waits for.
    let bomb = world.sandbox.bare("bomb.git");
    bomb.commit("main", &[File::new("a", "a\n")]);
    let git = bomb.git();
    let mut line = format!("100644 blob {}", git.run(["rev-parse", "main:a"]));
    for _ in 0..10 {
        let entries: String = (0..10).map(|name| format!("{line}\t{name}\n")).collect();
        let tree = git.bytes_with_input(["mktree"], entries.as_bytes());
        line = format!("040000 tree {}", String::from_utf8(tree).unwrap().trim());
    }
    let tree = line.rsplit(' ').next().unwrap();
    let commit = git.run(["commit-tree", "-m", "bomb", tree]);
    git.run(["update-ref", "refs/heads/main", &commit]);
    let child = start(world.command(["glob", bomb.path().to_str().unwrap(), "*.none"]));
    std::thread::sleep(Duration::from_millis(300));
    ends_with_130(child);
}

fn ends_with_130(child: Child) {
    let start = Instant::now();
    interrupt(&child);
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!((status.code(), text(&stdout), text(&stderr)), (Some(130), "", ""));
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    // One that has ended is not there any more.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
}
