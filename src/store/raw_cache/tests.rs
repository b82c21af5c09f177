use super::*;
use crate::limits::Budget;

/// Reads `objects` objects of 1,000 bytes in turn through a cache with room for
/// `room` of them, `rounds` times; the hits of the last round.
fn scan(objects: u32, room: u64, rounds: u32) -> u32 {
    let budget = Budget::new(room * paid_bytes(1_000));
    let mut cache = RawCache::new();
    let mut slots = vec![Slot::default(); objects as usize];
    let mut hits = 0;
    for _ in 0..rounds {
        hits = 0;
        for entry in 0..objects {
            if cache.hit(Kind::Blob, slots[entry as usize], Owner::entry(entry), &budget).is_some()
            {
                hits += 1;
                continue;
            }
            let paid = loop {
                match budget.reserve(paid_bytes(1_000)) {
                    Ok(paid) => break paid,
                    Err(_) => assert!(cache.evict(paid_bytes(1_000))),
                }
            };
            let copy = raw_copy(&[1; 1_000], paid);
            slots[entry as usize] = cache.insert(Kind::Blob, Owner::entry(entry), copy).unwrap();
        }
    }
    hits
}

#[test]
fn a_repeated_scan_that_fits_always_hits() {
    assert_eq!(scan(1_000, 1_000, 2), 1_000);
}

#[test]
fn a_repeated_scan_a_little_over_budget_keeps_most() {
    let hits = scan(1_100, 1_000, 8);
    assert!(hits > 800, "{hits} of 1100");
}

#[test]
fn what_is_no_longer_read_makes_room_for_what_is() {
    let budget = Budget::new(100 * paid_bytes(10));
    let mut cache = RawCache::new();
    let put = |cache: &mut RawCache, entry| {
        while budget.used_bytes() + paid_bytes(10) > budget.limit_bytes() {
            assert!(cache.evict(1));
        }
        let copy = raw_copy(&[0; 10], budget.reserve(paid_bytes(10)).unwrap());
        cache.insert(Kind::Blob, Owner::entry(entry), copy).unwrap()
    };
    let old: Vec<Slot> = (0..100).map(|entry| put(&mut cache, entry)).collect();
    for (entry, &slot) in old.iter().enumerate() {
        assert!(cache.hit(Kind::Blob, slot, Owner::entry(entry as u32), &budget).is_some());
    }
    let mut new = vec![None; 80];
    for _ in 0..20 {
        for entry in 0..80 {
            let slot = new[entry as usize];
            if slot.is_none_or(|slot| {
                cache.hit(Kind::Blob, slot, Owner::entry(1_000 + entry), &budget).is_none()
            }) {
                new[entry as usize] = Some(put(&mut cache, 1_000 + entry));
            }
        }
    }
    let held = (0..80)
        .filter(|&entry| {
            cache.has(Kind::Blob, new[entry as usize].unwrap(), Owner::entry(1_000 + entry))
        })
        .count();
    assert!(held > 70, "{held} of 80");
}

#[test]
fn a_copy_is_its_owners_and_nobody_elses() {
    let budget = Budget::new(1 << 20);
    let mut cache = RawCache::new();
    let copy = raw_copy(b"x", budget.reserve(paid_bytes(1)).unwrap());
    let staged = Owner { staging: 3, index: 7 };
    let slot = cache.insert(Kind::Blob, staged, copy).unwrap();
    assert!(cache.hit(Kind::Blob, slot, Owner::entry(7), &budget).is_none());
    assert!(!cache.hand_over(Kind::Blob, slot, Owner::entry(7), Owner::entry(8)));
    cache.remove(Kind::Blob, slot, Owner::entry(7));
    assert!(cache.hand_over(Kind::Blob, slot, staged, Owner::entry(8)));
    assert!(cache.hit(Kind::Blob, slot, staged, &budget).is_none());
    assert!(cache.hit(Kind::Blob, slot, Owner::entry(8), &budget).is_some());
    cache.remove(Kind::Blob, slot, Owner::entry(8));
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn blobs_outside_the_arena_go_before_it_and_a_blob_takes_only_their_place() {
    let budget = Budget::new(1 << 20);
    let mut cache = RawCache::new();
    let copy = raw_copy(b"x", budget.reserve(paid_bytes(1)).unwrap());
    let tree = cache.insert(Kind::Tree, Owner::entry(0), copy).unwrap();
    let text = cache.insert_text(Kind::Blob, Owner::entry(1), b"text", &budget).unwrap();
    let copy = raw_copy(b"\0", budget.reserve(paid_bytes(1)).unwrap());
    let binary = cache.insert(Kind::Blob, Owner::entry(2), copy).unwrap();
    assert_eq!(cache.insert_text(Kind::Blob, Owner::entry(3), b"\0", &budget), None);
    assert_eq!(cache.insert_text(Kind::Tree, Owner::entry(3), b"text", &budget), None);
    let standing = |cache: &RawCache| {
        [(Kind::Blob, binary, 2), (Kind::Blob, text, 1), (Kind::Tree, tree, 0)]
            .map(|(kind, slot, entry)| cache.has(kind, slot, Owner::entry(entry)))
    };
    assert!(cache.make_room_for(Kind::Blob, 1 << 20));
    assert_eq!(standing(&cache), [false, true, true]);
    assert!(!cache.make_room_for(Kind::Blob, 1));
    assert!(cache.evict(1));
    assert_eq!(standing(&cache), [false, false, true]);
    assert!(cache.evict(1));
    assert_eq!((standing(&cache), budget.used_bytes()), ([false; 3], 0));
}

#[test]
fn trees_outlive_every_blob() {
    let budget = Budget::new(1 << 20);
    let mut cache = RawCache::new();
    let put = |cache: &mut RawCache, kind, entry| {
        let copy = raw_copy(b"x", budget.reserve(paid_bytes(1)).unwrap());
        cache.insert(kind, Owner::entry(entry), copy).unwrap()
    };
    let tree = put(&mut cache, Kind::Tree, 0);
    for entry in 1..50 {
        put(&mut cache, Kind::Blob, entry);
    }
    assert!(cache.evict(49 * paid_bytes(1)));
    assert!(cache.has(Kind::Tree, tree, Owner::entry(0)));
    assert_eq!((cache.bytes(), cache.evictions), (1, 49));
    assert!(cache.evict(1));
    assert!(!cache.evict(1));
    assert_eq!(budget.used_bytes(), 0);
}
