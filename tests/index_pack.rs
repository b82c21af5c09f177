//! Does `gitsip index-pack` write what `git index-pack` writes, and nothing when git
//! writes nothing?

#![allow(clippy::unwrap_used)]

#[path = "support/pack_builder.rs"]
mod pack_builder;
#[path = "index_pack/packs.rs"]
mod packs;
#[path = "index_pack/refusals.rs"]
mod refusals;
mod support;
#[path = "index_pack/thin.rs"]
mod thin;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gitsip::ObjectFormat;
use packs::{Pack, packs};
use support::git::Sandbox;

/// The command, without anything on standard input.
fn gitsip(args: &[&str]) -> Output {
    gitsip_with_input(args, b"")
}

fn gitsip_with_input(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gitsip"))
        .arg("index-pack")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // Who refuses a pack stops reading it.
        scope.spawn(move || drop(std::io::Write::write_all(&mut stdin, input)));
        child.wait_with_output().unwrap()
    })
}

/// Its standard output, when it succeeded.
#[track_caller]
fn answer(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes `pack` into a folder of its own.
fn place(sandbox: &Sandbox, pack: &Pack) -> PathBuf {
    let folder = sandbox.path().join(pack.name);
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("x.pack");
    std::fs::write(&path, &pack.bytes).unwrap();
    path
}

fn format_option(format: ObjectFormat) -> String {
    format!("--object-format={}", format.name())
}

#[test]
fn index_and_reverse_index_are_gits_byte_for_byte() {
    let sandbox = Sandbox::new();
    let all = packs(&sandbox);
    assert!(all.len() >= 20, "{}", all.len());
    for pack in &all {
        let path = place(&sandbox, pack);
        let format = format_option(pack.format);
        for version in ["--index-version=2", "--index-version=2,0x40"] {
            let by_git = path.with_file_name("git.idx");
            let args = ["index-pack", "--rev-index", version, &format];
            sandbox.git().run(args.into_iter().chain(["-o", text(&by_git), text(&path)]));
            for threads in ["1", "2", "4"] {
                let ours = path.with_file_name("ours.idx");
                let args = [&format, version, "--threads", threads, "-o", text(&ours)];
                let checksum = answer(gitsip(&[&args[..], &[text(&path)]].concat()));
                let trailer = pack.trailer();
                assert_eq!(checksum.trim(), trailer);
                for extension in ["idx", "rev"] {
                    let ours = std::fs::read(ours.with_extension(extension)).unwrap();
                    let gits = std::fs::read(by_git.with_extension(extension)).unwrap();
                    let same = ours == gits;
                    assert!(same, "{} {version}, {threads} threads: .{extension}", pack.name);
                }
            }
        }
        let names = names_in(path.parent().unwrap());
        assert_eq!(names, ["git.idx", "git.rev", "ours.idx", "ours.rev", "x.pack"]);
    }
}

#[test]
fn a_pack_on_standard_input_is_written_as_it_came() {
    let sandbox = Sandbox::new();
    for pack in packs(&sandbox) {
        let folder = sandbox.path().join(format!("{}-stdin", pack.name));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("x.pack");
        let format = format_option(pack.format);
        let answer = answer(gitsip_with_input(&["--stdin", &format, text(&path)], &pack.bytes));
        assert_eq!(answer, format!("pack\t{}\n", pack.trailer()));
        assert_eq!(std::fs::read(&path).unwrap(), pack.bytes);
        assert_eq!(names_in(&folder), ["x.idx", "x.pack", "x.rev"]);
        let by_git = sandbox.path().join(format!("{}-stdin.idx", pack.name));
        sandbox.git().run(["index-pack", &format, "-o", text(&by_git), text(&path)]);
        assert_eq!(
            std::fs::read(path.with_extension("idx")).unwrap(),
            std::fs::read(by_git).unwrap()
        );
    }
}

#[test]
fn verify_counts_chains_as_git_does_and_writes_nothing() {
    let sandbox = Sandbox::new();
    for pack in packs(&sandbox) {
        let path = place(&sandbox, &pack);
        let format = format_option(pack.format);
        let missing = gitsip(&["--verify", &format, text(&path)]);
        assert_eq!(missing.status.code(), Some(3), "there is no index yet");
        sandbox.git().run(["index-pack", &format, text(&path)]);
        let before = names_in(path.parent().unwrap());
        let ours = answer(gitsip(&["--verify", &format, text(&path)]));
        assert_eq!(names_in(path.parent().unwrap()), before);
        if !pack.git_counts_it {
            continue;
        }
        let gits = sandbox.git().run(["verify-pack", "-s", &format, text(&path)]);
        assert_eq!(ours.trim_end(), gits, "{}", pack.name);
    }
}

#[test]
fn verify_finds_an_index_that_lies() {
    let sandbox = Sandbox::new();
    let all = packs(&sandbox);
    let pack = all.iter().find(|pack| pack.name == "ofs").unwrap();
    let path = place(&sandbox, pack);
    answer(gitsip(&[text(&path)]));
    let index = path.with_extension("idx");
    let sound = std::fs::read(&index).unwrap();
    std::fs::remove_file(&index).unwrap();
    for at in [9, 1_100, sound.len() / 2, sound.len() - 30, sound.len() - 5] {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        // A lie whose checksum is right.
        if at < sound.len() - 20 {
            let body = damaged.len() - 20;
            damaged = pack_builder::seal(ObjectFormat::Sha1, damaged[..body].to_vec());
        }
        std::fs::write(&index, &damaged).unwrap();
        let output = gitsip(&["--verify", text(&path)]);
        assert_eq!(output.status.code(), Some(7), "byte {at}");
        assert_eq!(output.stdout, b"");
    }
}
