//! Multi-pack indexes.

use std::fs;
use std::path::PathBuf;

use gitsip::ObjectId;
use gitsip::store::{Object, Objects as _};

use super::log::listen;
use super::support::git::{File, Repo, Sandbox};
use super::{open, replace};

/// A repository of four packs, all of them in a multi-pack index, one that came later, and a
/// loose object.
fn repository(sandbox: &Sandbox, format: &str) -> (Repo, PathBuf) {
    let repo = sandbox.strict_bare("source.git", &[&format!("--object-format={format}")]);
    let pack = |number: usize| {
        let name = format!("file{number}");
        repo.commit("main", &[File::new(name, format!("{number}\n")), File::new("same", "-\n")]);
        repo.git().run(["repack", "-dq"]);
    };
    (0..4).for_each(pack);
    repo.git().run(["multi-pack-index", "write"]);
    pack(4);
    repo.object("blob", b"loose");
    let index = repo.path().join("objects/pack/multi-pack-index");
    (repo, index)
}

/// Every object that git knows of, as it is read here, and what was said of the files.
fn read_all(repo: &Repo) -> (Vec<(ObjectId, Object)>, Vec<String>) {
    let ids = repo.git().run(["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    listen(|| {
        let repository = open(repo.path());
        let read = |line: &str| {
            let id: ObjectId = line.parse().unwrap();
            let digits = &line.as_bytes()[..8];
            assert_eq!(repository.ids_with_prefix(digits, 2).unwrap(), [id]);
            (id, repository.read(&id).unwrap().unwrap())
        };
        ids.lines().map(read).collect()
    })
}

#[test]
fn reads_are_the_same_with_and_without() {
    for format in ["sha1", "sha256"] {
        let sandbox = Sandbox::new();
        let (repo, index) = repository(&sandbox, format);
        let with = read_all(&repo);
        assert_eq!((with.0.len(), &with.1[..]), (5 * 3 + 2, &[][..]));
        fs::remove_file(index).unwrap();
        assert_eq!(read_all(&repo), with);
    }
}

#[test]
fn one_that_is_stale_or_damaged_is_not_used() {
    let sandbox = Sandbox::new();
    let (repo, index) = repository(&sandbox, "sha1");
    let sound = fs::read(&index).unwrap();
    let (objects, _) = read_all(&repo);
    let said_of = |bytes: &[u8]| {
        replace(&index, bytes);
        let (found, said) = read_all(&repo);
        assert!(found == objects);
        said
    };
    assert!(said_of(&sound[..sound.len() / 2])[0].contains("multi-pack-index is not used: its"));
    assert!(said_of(b"")[0].ends_with("it ends within its header"));
    // Every object in the same pack: whatever is not there is looked for elsewhere.
    let mut wrong = sound.clone();
    let row = wrong.windows(4).position(|name| name == b"OOFF").unwrap();
    let word = |at: usize| u64::from_be_bytes(sound[at..at + 8].try_into().unwrap()) as usize;
    for at in (word(row + 4)..word(row + 16)).step_by(8) {
        wrong[at..at + 4].fill(0);
    }
    assert!(wrong != sound && said_of(&wrong).is_empty());
    // A repack takes the packs away, and someone puts the old file back.
    fs::remove_file(&index).unwrap();
    repo.git().run(["repack", "-adq"]);
    assert!(said_of(&sound)[0].ends_with("it names a pack that cannot be used"));
}

/// A lookup asks one table, whatever the number of packs: packs that the multi-pack index
/// covers are not asked even where they would have another copy.
#[test]
fn packs_that_it_covers_are_not_asked() {
    let sandbox = Sandbox::new();
    let (repo, index) = repository(&sandbox, "sha1");
    let bytes = fs::read(&index).unwrap();
    let id: ObjectId = repo.git().run(["rev-parse", "main~1"]).parse().unwrap();
    // The id is written as another one: it is found all the same, but after another look.
    let at = bytes.windows(20).position(|raw| raw == id.as_bytes()).unwrap();
    let mut blind = bytes.clone();
    blind[at + 19] ^= 1;
    for (bytes, looks) in [(bytes, 0), (blind, 1)] {
        replace(&index, &bytes);
        let repository = open(repo.path());
        // A second look lists the folders: what was put there meanwhile is noticed.
        replace(&index, b"MIDX of nothing");
        let (read, said) = listen(|| repository.read(&id).unwrap());
        assert!(read.is_some());
        assert_eq!(said.len(), looks);
    }
}
