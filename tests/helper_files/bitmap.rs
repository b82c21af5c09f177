//! Bitmaps: what is sent is what git says by the same bitmaps, and nothing is walked that they
//! know.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use gitsip::limits::NeverInterrupt;
use gitsip::server::{ServeOptions, Served, Talk, stdio};
use gitsip::{Budget, Limits};

use super::counted::Counted;
use super::history::{self, Storage};
use super::log::listen;
use super::support::git::{File, Repo, Sandbox, ids_in_pack};
use super::{open, replace};

/// A repository with bitmaps of all but its last commits; and the file of them.
fn repository(sandbox: &Sandbox, format: &str) -> (Repo, PathBuf) {
    let repo = history::repository(sandbox, "source.git", Storage::Packed, format);
    repo.git().run(["repack", "-adbq"]);
    for number in 0..3 {
        repo.commit("late", &[File::new("file", format!("{number}\n")), File::new("same", "-")]);
    }
    repo.git().run(["branch", "later", "main"]);
    repo.commit("later", &[File::new("same", "never changes\n"), File::new("new", "new\n")]);
    let folder = fs::read_dir(repo.path().join("objects/pack")).unwrap();
    let mut files = folder.map(|entry| entry.unwrap().path());
    let bitmap = files.find(|path| path.extension().is_some_and(|end| end == "bitmap"));
    (repo, bitmap.unwrap())
}

/// What a client gets that wants and has some commits: the objects, how many were read for it,
/// and what was said.
fn fetch(repo: &Repo, wants: &[&str], haves: &[&str]) -> (BTreeSet<String>, u64, Vec<String>) {
    let store = Counted::new(open(repo.path()));
    let format = repo.git().run(["rev-parse", "--show-object-format"]);
    let mut request =
        packet("command=fetch") + &packet(&format!("object-format={format}")) + "0001";
    for (word, names) in [("want", wants), ("have", haves)] {
        for name in names {
            request += &packet(&format!("{word} {}", repo.git().run(["rev-parse", name])));
        }
    }
    request += &(packet("no-progress") + &packet("ofs-delta") + &packet("done") + "0000");
    let (mut out, budget) = (Vec::new(), Budget::new(64 << 20));
    let ((), said) = listen(|| {
        let served =
            Served::new(store.clone(), ServeOptions::default(), &Limits::default(), &budget);
        let talk = Talk { version: 2, stateless: true, ..Talk::default() };
        stdio::serve(&served, talk, &mut request.as_bytes(), &mut out, &NeverInterrupt).unwrap();
    });
    assert_eq!(budget.used_bytes(), 0);
    (ids_in_pack(&pack_in(&out)).into_iter().collect(), store.reads(), said)
}

fn packet(text: &str) -> String {
    format!("{:04x}{text}\n", text.len() + 5)
}

/// The pack in an answer: what follows the line that says so, of the first band.
fn pack_in(mut answer: &[u8]) -> Vec<u8> {
    let mut pack = Vec::new();
    let mut is_pack = false;
    while let Some((len, rest)) = answer.split_at_checked(4) {
        let len = usize::from_str_radix(std::str::from_utf8(len).unwrap(), 16).unwrap();
        let (packet, rest) = rest.split_at(len.saturating_sub(4));
        match packet {
            [1, bytes @ ..] if is_pack => pack.extend_from_slice(bytes),
            packet => is_pack |= packet == b"packfile\n",
        }
        answer = rest;
    }
    pack
}

/// What `git rev-list` says by the same bitmaps that `names` reach.
fn reached(repo: &Repo, names: &[&str]) -> BTreeSet<String> {
    let options = ["rev-list", "--objects", "--use-bitmap-index"];
    let lines = match names {
        [] => String::new(),
        names => repo.git().run(options.iter().chain(names)),
    };
    lines.lines().map(|line| line[..40].to_owned()).collect()
}

#[test]
fn a_client_gets_what_git_lists() {
    let sandbox = Sandbox::new();
    let (repo, _) = repository(&sandbox, "sha1");
    for (wants, haves) in [
        (&["main", "side", "old"][..], &[][..]),
        (&["main", "v2", "folder", "file"], &["v1"]),
        (&["main"], &["side"]),
        (&["side"], &["main~6"]),
        // Commits without bits on either side, and on both.
        (&["late", "later", "main"], &[]),
        (&["late"], &["main"]),
        (&["main"], &["late"]),
        (&["later"], &["main", "late~1"]),
        (&["main", "late"], &["later"]),
    ] {
        let (found, _, said) = fetch(&repo, wants, haves);
        let had = reached(&repo, haves);
        let expected = reached(&repo, wants).difference(&had).cloned().collect();
        let odd: Vec<&String> = found.symmetric_difference(&expected).collect();
        assert_eq!((odd, said), (vec![], vec![]), "{wants:?} {haves:?}");
    }
}

#[test]
fn nothing_is_read_that_bitmaps_know() {
    let sandbox = Sandbox::new();
    let (repo, bitmap) = repository(&sandbox, "sha1");
    let branches = &["main", "old", "side"][..];
    let (found, reads, _) = fetch(&repo, branches, &[]);
    assert_eq!(reads, 0);
    // A commit that came later and its tree are looked into; all three objects are loose.
    let (news, reads, _) = fetch(&repo, &["later"], &["main"]);
    assert_eq!((news.len(), reads), (3, 2 + 3));
    let sound = fs::read(&bitmap).unwrap();
    let mut other = sound.clone();
    other[12] ^= 1;
    let mut damaged = sound.clone();
    damaged[sound.len() / 2] ^= 1;
    for bytes in [&sound[..sound.len() - 30], &other, &damaged, b""] {
        replace(&bitmap, bytes);
        let (same, reads, said) = fetch(&repo, branches, &[]);
        assert!(same == found && reads > 30 && said[0].contains(".bitmap is not used: "));
    }
    fs::remove_file(&bitmap).unwrap();
    let (same, reads, said) = fetch(&repo, branches, &[]);
    assert!(same == found && reads > 30 && said.is_empty());
}
