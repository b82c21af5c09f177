//! A pack that git made goes into a memory store, and every object comes out as git
//! has it, however little memory there is for raw copies.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use gitsip::limits::NeverInterrupt;
use gitsip::object::Kind;
use gitsip::pack::{Ingest, PackError};
use gitsip::store::{MemoryStaging, MemoryStore, Objects, PackedAs, Staging, StoreError};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};
use support::git::{File, Repo, Sandbox};

#[test]
fn objects_come_out_as_git_has_them_whatever_the_budget() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let repo = history(&sandbox, format);
        let objects = git_objects(&repo);
        let all =
            repo.git().bytes(["pack-objects", "-q", "--all", "--stdout", "--delta-base-offset"]);
        let content: u64 = objects.values().map(|(_, content)| content.len() as u64).sum();
        let mut evicting = 0;
        for bytes in [64 << 20, content / 2, content / 4] {
            let budget = Budget::new(bytes);
            let store = MemoryStore::new(format, &budget, &Limits::default());
            let staging = ingest(&store, &budget, &all, 4_096).unwrap();
            let committed = staging.commit().unwrap();
            assert_eq!(committed.new_objects, objects.len() as u64);
            drop(committed);
            for _ in 0..2 {
                for (id, (kind, content)) in &objects {
                    let object = store.read(id).unwrap().unwrap();
                    assert_eq!((object.kind, &object.bytes[..]), (*kind, &content[..]));
                }
            }
            assert!(budget.peak_bytes() <= bytes);
            evicting += u32::from(store.stats().inflates > 0);
            drop(store);
            assert_eq!(budget.used_bytes(), 0);
        }
        assert_eq!(evicting, 2, "the two smaller budgets are too small for raw copies");
    }
}

#[test]
fn what_was_fetched_later_rests_on_what_was_held() {
    let sandbox = Sandbox::new();
    let repo = history(&sandbox, ObjectFormat::Sha1);
    let objects = git_objects(&repo);
    let budget = Budget::new(64 << 20);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
    let pack = |args: &[&str], revisions: &str| {
        let args = [&["pack-objects", "-q", "--revs", "--stdout"], args].concat();
        repo.git().bytes_with_input(args, revisions.as_bytes())
    };
    let old = pack(&[], "main~10\n");
    ingest(&store, &budget, &old, 1_000).unwrap().commit().unwrap();
    let held = store.stats();
    let thin = pack(&["--thin"], "v1\n--not\nmain~10\n");
    let staging = ingest(&store, &budget, &thin, 1_000).unwrap();
    assert_eq!(store.stats().objects, held.objects, "nothing shows before the commit");
    let committed = staging.commit().unwrap();
    assert_eq!(held.objects + committed.new_objects, objects.len() as u64);
    let mut across = 0;
    for (id, (_, content)) in &objects {
        assert_eq!(store.read(id).unwrap().unwrap().bytes, content);
        if let PackedAs::DeltaOf(base) = store.packed(id).unwrap().unwrap().form {
            across += usize::from(committed.ids.contains(id) && !committed.ids.contains(&base));
        }
    }
    assert!(across > 0, "the thin pack has deltas of what was held");
    // The old pack once more brings nothing and costs nothing.
    let stats = store.stats();
    let again = ingest(&store, &budget, &old, 1_000).unwrap().commit().unwrap();
    assert_eq!((again.new_objects, store.stats().packed_bytes), (0, stats.packed_bytes));
}

#[test]
fn a_budget_too_small_for_the_pack_is_a_limit_and_leaves_the_store_usable() {
    let sandbox = Sandbox::new();
    let repo = history(&sandbox, ObjectFormat::Sha1);
    let all = repo.git().bytes(["pack-objects", "-q", "--all", "--stdout"]);
    let budget = Budget::new(150_000);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
    let id = store.insert(Kind::Blob, b"here before").unwrap();
    let used = budget.used_bytes();
    match ingest(&store, &budget, &all, 4_096).map(Staging::commit) {
        Err(PackError::Limit(_)) | Ok(Err(StoreError::Limit(_))) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!((store.stats().objects, budget.used_bytes()), (1, used));
    assert_eq!(&store.read(&id).unwrap().unwrap().bytes[..], b"here before");
}

#[test]
fn readers_and_fetches_on_many_threads_agree() {
    let sandbox = Sandbox::new();
    let repo = history(&sandbox, ObjectFormat::Sha1);
    let objects = git_objects(&repo);
    let all = repo.git().bytes(["pack-objects", "-q", "--all", "--stdout", "--delta-base-offset"]);
    let content: u64 = objects.values().map(|(_, content)| content.len() as u64).sum();
    // Small enough that readers and stagings evict each other's copies all the time.
    let budget = Budget::new(content / 3);
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
    ingest(&store, &budget, &all, 4_096).unwrap().commit().unwrap();
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (store, objects) = (store.clone(), &objects);
            scope.spawn(move || {
                for (id, (_, content)) in objects.iter().skip(seed * 7).chain(objects) {
                    assert_eq!(store.read(id).unwrap().unwrap().bytes, content);
                }
            });
        }
        let (store, budget, all) = (store.clone(), &budget, &all);
        scope.spawn(move || {
            for _ in 0..3 {
                if let Ok(staging) = ingest(&store, budget, all, 4_096) {
                    assert_eq!(staging.commit().unwrap().new_objects, 0);
                }
            }
        });
    });
    drop(store);
    assert_eq!(budget.used_bytes(), 0);
}

fn ingest(
    store: &MemoryStore,
    budget: &Budget,
    pack: &[u8],
    chunk: usize,
) -> Result<MemoryStaging, PackError> {
    let mut ingest = Ingest::new(store.format(), &Limits::default(), budget, store.stage());
    for chunk in pack.chunks(chunk) {
        ingest.push(chunk, &NeverInterrupt)?;
    }
    Ok(ingest.finish(&NeverInterrupt)?.0)
}

/// A repository of text that changes a little with each commit, repacked with deltas.
fn history(sandbox: &Sandbox, format: ObjectFormat) -> Repo {
    let option = format!("--object-format={format}");
    let repo = sandbox.strict_bare(&format!("{format}.git"), &[&option]);
    for version in 0..25 {
        let text = |name: u32| -> String {
            let line = |i: u32| {
                let changed = if i % 31 == version % 31 { version } else { 0 };
                format!("{name} line {i} {changed} {:x}\n", i.wrapping_mul(2_654_435_761))
            };
            (0..600).map(line).collect()
        };
        let files: Vec<File> =
            (0..4).map(|name| File::new(format!("dir{name}/file"), text(name))).collect();
        repo.commit("main", &files);
    }
    repo.git().run(["tag", "-m", "annotated", "v1", "main"]);
    repo.repack();
    repo
}

/// Everything git can read, by id.
fn git_objects(repo: &Repo) -> BTreeMap<ObjectId, (Kind, Vec<u8>)> {
    let objects = repo.git().all_objects().into_iter();
    let typed = |(id, (kind, content)): (String, (String, Vec<u8>))| {
        (id.parse().unwrap(), (Kind::from_name(kind.as_bytes()).unwrap(), content))
    };
    objects.map(typed).collect()
}
