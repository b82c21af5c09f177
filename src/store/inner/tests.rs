//! Evictions: what goes, what goes with it, what stays, and what comes again.

use proptest::prelude::*;

use crate::limits::{Budget, Inline, Limits, NeverInterrupt};
use crate::object::{Kind, hash_object};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::inflate::deflate;
use crate::pack::{BaseLink, EntryStore as _, ResolvedEntry, delta};
use crate::store::saved::{Loading, SavedState, Saving};
use crate::store::{Committed, Kept, MemoryStore, Objects as _, Staging as _};

const SHA1: ObjectFormat = ObjectFormat::Sha1;
const OBJECTS: usize = 24;

fn store_of(budget: &Budget) -> MemoryStore {
    let store = MemoryStore::new(SHA1, budget, &Limits::default());
    store.set_can_fetch_again(true);
    store
}

/// Text that hardly compresses and is like that of its neighbours.
fn content(number: usize) -> Vec<u8> {
    let line = |n: usize| format!("{:016x}\n", (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let own = number * 1_000;
    (0..100).chain(own..own + 40 + number).map(line).collect::<String>().into_bytes()
}

fn id_of(content: &[u8]) -> ObjectId {
    hash_object(SHA1, Kind::Blob, content).unwrap()
}

/// Brings blobs by their numbers, each a delta of the object that it names, if that is in
/// the same pack before it, or held.
fn bring(store: &MemoryStore, blobs: &[(usize, Option<usize>)]) -> Committed {
    let mut staging = store.stage();
    let mut brought: Vec<usize> = Vec::new();
    for (entry, &(number, base)) in (0..).zip(blobs) {
        let content = content(number);
        let link = base.and_then(|base| {
            let base_content = self::content(base);
            let id = id_of(&base_content);
            let here = brought.iter().position(|&other| other == base);
            let held = store.contains(&id).unwrap().then_some(BaseLink::External(id));
            let link = here.map(|at| BaseLink::Entry(at as u32)).or(held)?;
            Some((link, base_content))
        });
        let data = match &link {
            Some((_, base)) => delta::encode(base, &content),
            None => content.clone(),
        };
        staging.begin().unwrap();
        staging.append(&deflate(&data, 1)).unwrap();
        staging.end().unwrap();
        let resolved = ResolvedEntry {
            entry,
            kind: Kind::Blob,
            id: id_of(&content),
            base: link.map(|(link, _)| link),
            inflated_size: data.len() as u64,
            content: &content,
        };
        staging.resolved(resolved).unwrap();
        brought.push(number);
    }
    staging.commit().unwrap()
}

fn evict_all(store: &MemoryStore) {
    while store.lock().evict(u64::MAX) {}
}

fn held(store: &MemoryStore) -> Vec<usize> {
    (0..OBJECTS).filter(|&number| store.contains(&id_of(&content(number))).unwrap()).collect()
}

#[test]
fn a_base_goes_with_its_deltas_and_each_comes_again() {
    let budget = Budget::new(64 << 20);
    let store = store_of(&budget);
    drop(bring(&store, &[(0, None), (1, Some(0)), (2, Some(1))]));
    drop(bring(&store, &[(3, Some(2)), (4, Some(3)), (5, None)]));
    let before = store.stats();
    evict_all(&store);
    assert!(held(&store).is_empty());
    let after = store.stats();
    assert_eq!((after.objects, after.packed_bytes, after.segments), (0, 0, 0));
    assert_eq!((after.evicted_objects, after.evicted_bytes), (6, before.packed_bytes));
    assert_eq!(budget.used_bytes(), after.table_bytes, "all else is given back");
    drop(bring(&store, &[(4, None), (2, Some(4))]));
    assert_eq!(held(&store), [2, 4]);
    assert_eq!(store.read(&id_of(&content(2))).unwrap().unwrap().bytes, content(2));
    assert_eq!(store.stats().returned_objects, 2);
    assert_eq!(store.stats().table_bytes, after.table_bytes, "they keep their numbers");
}

#[test]
fn deltas_elsewhere_go_with_a_base_although_their_segment_stays() {
    let store = store_of(&Budget::new(64 << 20));
    drop(bring(&store, &[(0, None)]));
    let kept = bring(&store, &[(1, Some(0)), (2, None)]).kept;
    evict_all(&store);
    assert_eq!(held(&store), [2], "a commit keeps its own segments, not those of old bases");
    drop(kept);
    drop(bring(&store, &[(0, None), (1, Some(0))]));
    let kept = store.keep([&id_of(&content(1))]);
    evict_all(&store);
    assert_eq!(held(&store), [0, 1], "who keeps an object keeps what it is a delta of");
    drop(kept);
    evict_all(&store);
    assert!(held(&store).is_empty());
}

#[test]
fn without_anyone_to_send_them_again_objects_stay() {
    let store = store_of(&Budget::new(64 << 20));
    drop(bring(&store, &[(0, None), (1, Some(0))]));
    store.set_can_fetch_again(false);
    evict_all(&store);
    assert_eq!(held(&store), [0, 1]);
}

#[test]
fn commits_and_trees_stay_and_so_do_blobs_beside_them() {
    let store = store_of(&Budget::new(64 << 20));
    let mut staging = store.stage();
    crate::store::conformance::fill_staging(
        &mut staging,
        SHA1,
        &crate::store::conformance::samples(SHA1),
    );
    let ids = staging.commit().unwrap().ids;
    let is_inner = |id: &&ObjectId| store.header(id).unwrap().unwrap().kind != Kind::Blob;
    let inner: Vec<ObjectId> = ids.iter().filter(is_inner).copied().collect();
    assert!(!inner.is_empty());
    evict_all(&store);
    for id in &inner {
        assert!(store.read(id).unwrap().is_some());
    }
}

#[test]
fn a_duplicate_that_was_evicted_before_it_counted_leaves_nothing_half_there() {
    let budget = Budget::new(64 << 20);
    let store = store_of(&budget);
    drop(bring(&store, &[(0, None)]));
    let mut staging = store.stage();
    for (entry, number) in [(0, 0), (1, 1)] {
        let (content, base) = (content(number), content(0));
        let data = if number == 0 { content.clone() } else { delta::encode(&base, &content) };
        staging.begin().unwrap();
        staging.append(&deflate(&data, 1)).unwrap();
        staging.end().unwrap();
        let base = (number == 1).then_some(BaseLink::Entry(0));
        let (id, inflated_size) = (id_of(&content), data.len() as u64);
        let kind = Kind::Blob;
        let content = &content;
        staging.resolved(ResolvedEntry { entry, kind, id, base, inflated_size, content }).unwrap();
    }
    // The table is full, and growing it takes the last duplicate's place.
    let paid = fill_table_and_memory(&store, &budget);
    let committed = staging.commit();
    drop(paid);
    if let Ok(committed) = committed {
        drop(committed);
        for number in held(&store) {
            let read = store.read(&id_of(&content(number))).unwrap().unwrap();
            assert_eq!(read.bytes, content(number));
        }
    }
}

fn fill_table_and_memory(store: &MemoryStore, budget: &Budget) -> crate::limits::Reservation {
    let mut number = 0_u32;
    while store.lock().entries.growth(2).unwrap().is_none() {
        store.insert(Kind::Blob, &number.to_be_bytes()).unwrap();
        number += 1;
    }
    let growth = store.lock().entries.growth(2).unwrap().unwrap().bytes;
    let free = budget.limit_bytes() - budget.used_bytes();
    // Enough for the commit's scratch, too little for the table without evicting.
    budget.reserve(free - growth + 500).unwrap()
}

#[derive(Clone, Debug)]
enum Do {
    Bring(Vec<(usize, Option<usize>)>),
    Read(usize),
    Evict(u64),
    Keep(Vec<usize>),
    LetGo,
}

fn steps() -> impl Strategy<Value = Vec<Do>> {
    let object = || 0..OBJECTS;
    let blob = (object(), prop::option::weighted(0.7, object()));
    let step = prop_oneof![
        4 => prop::collection::vec(blob, 1..8).prop_map(Do::Bring),
        3 => object().prop_map(Do::Read),
        4 => (1..20_000_u64).prop_map(Do::Evict),
        1 => prop::collection::vec(object(), 1..4).prop_map(Do::Keep),
        1 => Just(Do::LetGo),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    // Fewer where PROPTEST_CASES says so: as WebAssembly these take longer than all other tests.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.min(200)))]
    #[test]
    fn what_is_held_can_be_read_whatever_came_and_went(steps in steps()) {
        let budget = Budget::new(64 << 20);
        let store = store_of(&budget);
        let mut kept: Vec<(Kept, Vec<usize>)> = Vec::new();
        for step in steps {
            match step {
                Do::Bring(blobs) => {
                    let committed = bring(&store, &blobs);
                    for (number, _) in blobs {
                        prop_assert!(store.contains(&id_of(&content(number))).unwrap());
                    }
                    drop(committed);
                }
                Do::Read(number) => {
                    let read = store.read(&id_of(&content(number))).unwrap();
                    if let Some(read) = read {
                        prop_assert_eq!(&read.bytes[..], &content(number)[..]);
                    }
                }
                Do::Evict(bytes) => {
                    store.lock().evict(bytes);
                }
                Do::Keep(numbers) => {
                    let ids: Vec<_> = numbers.iter().map(|&n| id_of(&content(n))).collect();
                    let there = held(&store);
                    let numbers = numbers.into_iter().filter(|n| there.contains(n)).collect();
                    kept.push((store.keep(&ids), numbers));
                }
                Do::LetGo => drop(kept.pop()),
            }
            let there = held(&store);
            prop_assert_eq!(store.stats().objects, there.len() as u64);
            for number in kept.iter().flat_map(|(_, numbers)| numbers) {
                prop_assert!(there.contains(number), "{} is kept", number);
            }
        }
        // Cold, so that every chain is followed to its end.
        while store.lock().raw.evict(u64::MAX) {}
        let there = held(&store);
        for &number in &there {
            let read = store.read(&id_of(&content(number))).unwrap().unwrap();
            prop_assert_eq!(&read.bytes[..], &content(number)[..]);
        }
        let other = MemoryStore::new(SHA1, &Budget::new(64 << 20), &Limits::default());
        let mut saving = Saving::new(&store, &SavedState::default()).unwrap();
        let mut loading = Loading::new(&other, &Limits::default());
        while let Some(chunk) = saving.next_chunk().unwrap() {
            store.lock().evict(u64::MAX);
            loading.push(&chunk, &NeverInterrupt).unwrap();
        }
        loading.finish(&Inline, &NeverInterrupt).unwrap();
        prop_assert_eq!(held(&other), there);
        drop(saving);
        kept.clear();
        evict_all(&store);
        prop_assert_eq!(budget.used_bytes(), store.stats().table_bytes);
    }
}
