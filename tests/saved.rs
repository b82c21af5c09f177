//! What a repository holds, saved and loaded by another one: against real git, and against a
//! host that counts what it is asked.

#![allow(clippy::unwrap_used)]

mod support;

use bstr::ByteSlice as _;
use gitsip::agent::{
    PrefetchOptions, ReadAnswer, ReadOptions, Remote, RemoteOptions, Repo, Snapshot, Source as _,
};
use gitsip::limits::NeverInterrupt;
use gitsip::{Error, ErrorKind, Limits};
use support::git::{File, Git, Sandbox, ids_in_pack};
use support::http_server::in_process::run;
use support::http_server::{Behaviour, InProcess};

type RemoteRepo = Repo<Remote<InProcess>>;

struct World {
    sandbox: Sandbox,
    server: InProcess,
}

impl World {
    /// Some folders, and a file that a prefetch of small files leaves out.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let bare = sandbox.bare("r.git");
        for round in 0..3 {
            let mut files = vec![
                File::new("a/b/c.txt", format!("round {round}\n")),
                File::new("large", "needle\n".repeat(300_000)),
            ];
            for number in 0..30 {
                let text = format!("{}needle {number}\n", "line\n".repeat(number));
                files.push(File::new(format!("src/{number}.txt"), text));
            }
            bare.commit("main", &files);
        }
        bare.repack();
        let server = InProcess::new(sandbox.repos(), Behaviour::default());
        Self { sandbox, server }
    }

    fn open(&self) -> RemoteRepo {
        self.open_with(Limits::default()).unwrap()
    }

    fn open_with(&self, limits: Limits) -> Result<RemoteRepo, Error> {
        let options = RemoteOptions { limits: limits.clone(), ..RemoteOptions::default() };
        let remote = run(Remote::open(self.server.clone(), "http://localhost/r.git", options))?;
        Ok(Repo::new(remote, limits))
    }

    fn prefetched(&self) -> RemoteRepo {
        let repo = self.open();
        run(head(&repo).prefetch(&PrefetchOptions::default())).unwrap();
        repo
    }
}

fn head(repo: &RemoteRepo) -> Snapshot<Remote<InProcess>> {
    run(repo.snapshot("HEAD")).unwrap()
}

fn read(repo: &RemoteRepo, path: &str) -> String {
    match run(head(repo).read_path(path, ReadOptions::default())).unwrap() {
        ReadAnswer::File(file) => String::from_utf8(file.bytes.to_vec()).unwrap(),
        ReadAnswer::Submodule(other) => panic!("{other:?}"),
    }
}

fn saved(repo: &RemoteRepo) -> Vec<u8> {
    let mut bytes = Vec::new();
    let saved = repo.save(&mut bytes).unwrap();
    assert_eq!((saved.bytes, saved.objects), (bytes.len() as u64, repo.stats().objects));
    bytes
}

fn load(repo: &RemoteRepo, bytes: &[u8]) -> Result<(), Error> {
    repo.load(&mut &bytes[..], &NeverInterrupt).map(drop)
}

fn kinds(repo: &RemoteRepo) -> Vec<&'static str> {
    repo.stats().exchanges.iter().map(|exchange| exchange.kind).collect()
}

#[test]
fn git_accepts_the_pack_and_finds_the_same_objects_in_it() {
    let world = World::new();
    let repo = world.prefetched();
    let bytes = saved(&repo);
    let pack = &bytes[bytes.find(b"PACK").unwrap()..];
    let dir = world.sandbox.path().join("extracted");
    world.sandbox.git().run(["init", "-q", "--bare", dir.to_str().unwrap()]);
    let git = Git::new(&dir, world.sandbox.path());
    git.bytes_with_input(["index-pack", "--stdin"], pack);
    assert_eq!(ids_in_pack(pack).len() as u64, repo.stats().objects);
    assert_eq!(git.run(["show", &format!("{}:a/b/c.txt", head(&repo).commit())]), "round 2");
}

#[test]
fn another_process_asks_only_for_the_refs() {
    let world = World::new();
    let first = world.prefetched();
    assert_eq!(first.unsaved_objects(), first.stats().objects);
    let bytes = saved(&first);
    assert_eq!(first.unsaved_objects(), 0);

    let second = world.open();
    load(&second, &bytes).unwrap();
    assert_eq!(read(&second, "a/b/c.txt"), "round 2\n");
    let prefetched = run(head(&second).prefetch(&PrefetchOptions::default())).unwrap();
    // Also what was left out is known to be, and is not asked for again.
    assert_eq!(prefetched.blobs_left_out, 1);
    assert!(kinds(&second).iter().all(|kind| matches!(*kind, "capabilities" | "refs")));
    assert_eq!(second.unsaved_objects(), 0);
    let loaded = second.stats().loaded.unwrap();
    assert_eq!((loaded.objects, loaded.bytes), (first.stats().objects, bytes.len() as u64));

    // What was left out comes when it is asked for, and is saved with the rest.
    assert_eq!(read(&second, "large").len(), 2_100_000);
    assert_eq!(kinds(&second).last(), Some(&"blobs"));
    assert_eq!(second.unsaved_objects(), 1);
    let third = world.open();
    load(&third, &saved(&second)).unwrap();
    read(&third, "large");
    assert!(!kinds(&third).contains(&"blobs"));
}

#[test]
fn a_branch_that_moved_brings_what_changed() {
    let world = World::new();
    let bytes = saved(&world.prefetched());
    let bare = world.sandbox.repos().join("r.git");
    let git = Git::new(&bare, world.sandbox.path());
    let tree = git.run(["rev-parse", "main^{tree}"]);
    let new = git.run(["commit-tree", "-p", "main", "-m", "same tree", &tree]);
    git.run(["update-ref", "refs/heads/main", &new]);
    let repo = world.open();
    load(&repo, &bytes).unwrap();
    let before = repo.stats().objects;
    assert_eq!(read(&repo, "a/b/c.txt"), "round 2\n");
    assert_eq!(repo.stats().objects, before + 1);
}

#[test]
fn no_credential_and_no_foreign_state_is_in_the_file() {
    let world = World::new();
    let options = RemoteOptions::default();
    let address = "http://user:s3cret@localhost/r.git";
    let remote = run(Remote::open(world.server.clone(), address, options)).unwrap();
    let repo = Repo::new(remote, Limits::default());
    read(&repo, "a/b/c.txt");
    let bytes = saved(&repo);
    assert!(bytes.contains_str("http://localhost/r.git"));
    for secret in ["user", "s3cret", "dXNlcjpzM2NyZXQ"] {
        assert!(!bytes.contains_str(secret), "{secret}");
    }
}

#[test]
fn what_is_bad_is_refused_and_the_repository_goes_on_without() {
    let world = World::new();
    let bytes = saved(&world.prefetched());
    let pack = bytes.find(b"PACK").unwrap();
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 4;
        bytes
    };
    let cases = [
        (Vec::new(), ErrorKind::Corrupt),
        (b"<html>".to_vec(), ErrorKind::Malformed),
        (bytes[..pack - 1].to_vec(), ErrorKind::Corrupt),
        (bytes[..bytes.len() - 7].to_vec(), ErrorKind::Malformed),
        (flipped(0), ErrorKind::Malformed),
        (flipped(11), ErrorKind::Unsupported),
        (flipped(60), ErrorKind::Corrupt),
        (flipped(bytes.len() - 3), ErrorKind::Corrupt),
    ];
    for (bad, kind) in cases {
        let repo = world.open();
        let error = load(&repo, &bad).unwrap_err();
        assert!(error.kind() == kind || error.kind() == ErrorKind::Corrupt, "{kind}: {error:?}");
        assert_eq!((repo.stats().objects, repo.stats().loaded), (0, None));
        assert_eq!(read(&repo, "a/b/c.txt"), "round 2\n");
    }
}

#[test]
fn what_does_not_fit_is_a_limit_and_smaller_questions_still_work() {
    let world = World::new();
    let full = world.open();
    read(&full, "large");
    run(head(&full).prefetch(&PrefetchOptions::default())).unwrap();
    let bytes = saved(&full);
    let repo = world.open_with(Limits { max_memory: 1 << 20, ..Limits::default() }).unwrap();
    assert_eq!(load(&repo, &bytes).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(read(&repo, "a/b/c.txt"), "round 2\n");
}

#[test]
fn a_commit_whose_trees_are_not_all_there_is_not_said_to_be_held() {
    let world = World::new();
    let repo = world.prefetched();
    let commit = head(&repo).commit();
    let store = gitsip::store::MemoryStore::new(
        commit.format(),
        repo.source().budget(),
        &Limits::default(),
    );
    let object = gitsip::store::Objects::read(repo.source().store(), &commit).unwrap().unwrap();
    store.insert(object.kind, &object.bytes).unwrap();
    let state = gitsip::store::saved::SavedState {
        commits: vec![gitsip::store::saved::SavedCommit { id: commit, is_whole: true }],
        left_out: Some((commit, 1)),
        ..Default::default()
    };
    let mut saving = gitsip::store::saved::Saving::new(&store, &state).unwrap();
    let mut bytes = Vec::new();
    while let Some(chunk) = saving.next_chunk().unwrap() {
        bytes.extend(chunk);
    }
    let other = world.open();
    let loaded = other.load(&mut &bytes[..], &NeverInterrupt).unwrap();
    assert_eq!((loaded.objects, loaded.state.commits.len(), loaded.state.left_out), (1, 0, None));
    assert_eq!(read(&other, "a/b/c.txt"), "round 2\n");
}
