//! Packs of all kinds, made by git and by hand.

use gitsip::object::{Kind, hash_object};
use gitsip::pack::delta;
use gitsip::{ObjectFormat, ObjectId};

use crate::pack_builder::{COMMIT, PackBuilder, TREE};
use crate::support::git::{File, Repo, Sandbox};

pub(crate) struct Pack {
    pub(crate) name: &'static str,
    pub(crate) format: ObjectFormat,
    pub(crate) bytes: Vec<u8>,
    /// git's count of chains is that of the pack: it knows the objects of one only by id.
    pub(crate) git_counts_it: bool,
}

impl Pack {
    pub(crate) fn trailer(&self) -> String {
        let trailer = &self.bytes[self.bytes.len() - self.format.raw_len()..];
        ObjectId::from_raw(trailer).unwrap().to_string()
    }
}

/// One of every kind that git accepts.
pub(crate) fn packs(sandbox: &Sandbox) -> Vec<Pack> {
    let mut packs = Vec::new();
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let is_sha1 = format == ObjectFormat::Sha1;
        let repo = history(sandbox, format);
        let pick = |sha1, sha256| if is_sha1 { sha1 } else { sha256 };
        for (name, options) in [
            (pick("ofs", "ofs-256"), &["--delta-base-offset"][..]),
            (pick("ref", "ref-256"), &["--no-delta-base-offset"]),
            (pick("deep", "deep-256"), &["--delta-base-offset", "--depth=4095", "--window=50"]),
            (pick("whole", "whole-256"), &["--depth=0"]),
            (pick("stored", "stored-256"), &["--depth=1", "--compression=0"]),
        ] {
            let bytes = pack_of(&repo, options, "main\nv1\n");
            packs.push(Pack { name, format, bytes, git_counts_it: true });
        }
        let empty = PackBuilder::new(format).finish();
        let name = pick("empty", "empty-256");
        packs.push(Pack { name, format, bytes: empty, git_counts_it: true });
        let name = pick("reversed", "reversed-256");
        packs.push(Pack { name, format, bytes: reversed(format, 300), git_counts_it: true });
        let name = pick("3000-deep", "3000-deep-256");
        packs.push(Pack { name, format, bytes: chain(format, 3_000), git_counts_it: true });
    }
    let more = [
        ("wide", wide(), true),
        ("kinds", kinds(), true),
        ("nothing-in-it", one(b""), true),
        ("version-3", version_3(), true),
        ("twice", twice(), false),
        ("both-ways", both_ways(), true),
    ];
    packs.extend(more.into_iter().map(|(name, bytes, git_counts_it)| Pack {
        name,
        format: ObjectFormat::Sha1,
        bytes,
        git_counts_it,
    }));
    packs
}

pub(crate) fn history(sandbox: &Sandbox, format: ObjectFormat) -> Repo {
    let name = format!("history-{}-{}.git", format.name(), names_used(sandbox));
    let repo = sandbox.strict_bare(&name, &[&format!("--object-format={}", format.name())]);
    let mut lines: Vec<String> = (0..200).map(|n| format!("line {n} of a file\n")).collect();
    for version in 0..40 {
        lines.insert(version * 4, format!("inserted by version {version}\n"));
        let mut files = vec![File::new("growing.txt", lines.concat()), File::new("empty", "")];
        for n in 0..12 {
            let content = format!("{n} {}\n", version / 7).repeat(n + 1);
            files.push(File::new(format!("src/dir{}/file{n}.c", n % 4), content));
        }
        repo.commit("main", &files);
    }
    repo.git().run(["tag", "-a", "-m", "a tag", "v1", "main"]);
    repo
}

fn names_used(sandbox: &Sandbox) -> usize {
    std::fs::read_dir(sandbox.repos()).unwrap().count()
}

pub(crate) fn pack_of(repo: &Repo, options: &[&str], revisions: &str) -> Vec<u8> {
    let mut args = vec!["pack-objects", "--stdout", "--revs", "-q"];
    args.extend(options);
    repo.git().bytes_with_input(args, revisions.as_bytes())
}

/// Version `n` of a text.
fn version(n: usize) -> Vec<u8> {
    format!("{}version {n}\n", "the same in every version\n".repeat(9)).into_bytes()
}

fn id(format: ObjectFormat, content: &[u8]) -> ObjectId {
    hash_object(format, Kind::Blob, content).unwrap()
}

fn step(n: usize) -> Vec<u8> {
    delta::encode(&version(n - 1), &version(n))
}

/// A chain by id, its end first.
fn reversed(format: ObjectFormat, length: usize) -> Vec<u8> {
    let mut pack = PackBuilder::new(format);
    for n in (1..length).rev() {
        pack.ref_delta(id(format, &version(n - 1)), &step(n));
    }
    pack.blob(&version(0));
    pack.finish()
}

fn chain(format: ObjectFormat, length: usize) -> Vec<u8> {
    let mut pack = PackBuilder::new(format);
    let mut base = pack.blob(&version(0));
    for n in 1..=length {
        base = pack.ofs_delta(base, &step(n));
    }
    pack.finish()
}

fn wide() -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&version(0));
    for n in 1..500 {
        pack.ofs_delta(base, &delta::encode(&version(0), &version(n)));
    }
    pack.finish()
}

fn kinds() -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let tree = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let who = "A <a@b> 1700000000 +0000";
    let commit = format!("{tree}\nauthor {who}\ncommitter {who}\n\nx\n");
    pack.entry(
        COMMIT,
        commit.len() as u64,
        &[],
        &gitsip::pack::inflate::deflate(commit.as_bytes(), 6),
    );
    pack.entry(TREE, 0, &[], &gitsip::pack::inflate::deflate(b"", 6));
    pack.blob(b"text");
    pack.finish()
}

fn one(content: &[u8]) -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    pack.blob(content);
    pack.finish()
}

fn version_3() -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    pack.blob(b"text");
    pack.version(3).finish()
}

/// The same objects twice and three times, whole and as deltas.
fn twice() -> Vec<u8> {
    let mut pack = PackBuilder::sha1();
    let base = pack.blob(&version(0));
    pack.ofs_delta(base, &step(1));
    pack.blob(&version(0));
    pack.ofs_delta(base, &step(1));
    pack.blob(&version(1));
    pack.blob(b"once");
    pack.finish()
}

/// Bases named by id and by offset, before and after.
fn both_ways() -> Vec<u8> {
    let sha1 = ObjectFormat::Sha1;
    let to = |n| delta::encode(&version(0), &version(n));
    let mut pack = PackBuilder::sha1();
    pack.ref_delta(id(sha1, &version(0)), &to(1));
    let base = pack.blob(&version(0));
    pack.ofs_delta(base, &to(2));
    pack.ref_delta(id(sha1, &version(0)), &to(3));
    let fourth = pack.ref_delta(id(sha1, &version(1)), &delta::encode(&version(1), &version(4)));
    pack.ofs_delta(fourth, &delta::encode(&version(4), &version(5)));
    pack.finish()
}
