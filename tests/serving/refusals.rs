//! What clients may not have, and what they are told.

use std::io::Write;
use std::process::{Command, Stdio};

use super::history::{Storage, repository};
use super::support::git::{File, Sandbox};

/// What `gitsip upload-pack --stateless-rpc` answers to `packets`, and its exit status.
fn answer(
    repo: &std::path::Path,
    options: &[&str],
    version: u8,
    packets: &[&str],
) -> (String, i32) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gitsip"))
        .args(["upload-pack", "--stateless-rpc"])
        .args(options)
        .arg(repo)
        .env("GIT_PROTOCOL", format!("version={version}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut body = Vec::new();
    for packet in packets {
        match *packet {
            "0000" | "0001" => body.extend_from_slice(packet.as_bytes()),
            line => write!(body, "{:04x}{line}", 4 + line.len()).unwrap(),
        }
    }
    _ = child.stdin.take().unwrap().write_all(&body);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (said, output.status.code().unwrap())
}

fn fetch<'a>(want: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["command=fetch", "0001", want][..], rest, &["done", "0000"]].concat()
}

#[test]
fn what_no_ref_reaches_is_refused_unless_allowed() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let hidden = repo.commit("gone", &[File::new("secret", "of a deleted branch\n")]);
    repo.git().run(["branch", "-D", "gone"]);
    let blob = repo.git().run(["rev-parse", &format!("{hidden}:secret")]);
    let absent = "12".repeat(20);
    for id in [&hidden, &blob, &absent] {
        let (said, status) = answer(repo.path(), &[], 2, &fetch(&format!("want {id}"), &[]));
        assert!(said.ends_with(&format!("ERR upload-pack: not our ref {id}")), "{said:?}");
        assert_eq!(status, 3);
        let first = format!("want {id} ofs-delta");
        let (said, _) = answer(repo.path(), &[], 0, &[&first, "0000", "done"]);
        assert!(said.ends_with(&format!("ERR upload-pack: not our ref {id}")), "{said:?}");
    }
    let allowed = ["--allow-any-want"];
    for id in [&hidden, &blob] {
        let (said, status) = answer(repo.path(), &allowed, 2, &fetch(&format!("want {id}"), &[]));
        assert!(said.starts_with("000dpackfile\n"), "{said:?}");
        assert_eq!(status, 0);
    }
    let (said, _) = answer(repo.path(), &allowed, 2, &fetch(&format!("want {absent}"), &[]));
    assert!(said.contains("not our ref"), "{said:?}");
}

#[test]
fn mistakes_are_told_in_one_packet() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let head = repo.git().run(["rev-parse", "main"]);
    let want = format!("want {head}");
    for (packets, says, status) in [
        (vec!["command=push", "0001", "0000"], "unknown command 'push'", 9),
        (
            fetch(&want, &["filter sparse:oid=main:x"]),
            "filter 'sparse:oid=main:x' not supported",
            9,
        ),
        (fetch("want-ref refs/heads/mian", &[]), "unknown ref refs/heads/mian", 3),
        (fetch(&want, &["deepen-not refs/heads/mian"]), "deepen-not", 3),
        (fetch(&want, &["deepen-since 4000000000"]), "no commits selected for shallow requests", 3),
        (fetch(&want, &["deepen 0"]), "'deepen 0' makes no sense", 7),
        (fetch("want 12", &[]), "'want 12' makes no sense", 7),
        (vec!["command=ls-refs", "object-format=sha256", "0001", "0000"], "sha256", 7),
    ] {
        let (said, code) = answer(repo.path(), &[], 2, &packets);
        assert!(said.get(4..8) == Some("ERR ") && said.contains(says), "{packets:?}: {said:?}");
        assert_eq!(usize::from_str_radix(&said[..4], 16).unwrap(), said.len());
        assert_eq!(code, status, "{packets:?}: {said:?}");
    }
}

#[test]
fn damage_here_is_no_news_for_clients() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Loose, "sha1");
    let head = repo.git().run(["rev-parse", "main"]);
    let file = repo.path().join("objects").join(&head[..2]).join(&head[2..]);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, b"not an object").unwrap();
    let (said, status) = answer(repo.path(), &[], 2, &fetch(&format!("want {head}"), &[]));
    assert!(said.contains("ERR the server cannot read the repository"), "{said:?}");
    assert!(!said.contains("objects/") && !said.contains("source.git"), "{said:?}");
    assert_ne!(status, 0);
}
