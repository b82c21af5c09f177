use super::*;
use proptest::prelude::*;

const STORE: u32 = 0;

fn owner(staging: u32, index: u32) -> Owner {
    Owner { staging, index }
}

fn text(len: usize, seed: usize) -> Vec<u8> {
    let pattern: Vec<u8> = (0..26).map(|i| b'a' + ((i * 7 + seed) % 26) as u8).collect();
    pattern.repeat(len / 26 + 1)[..len].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn texts_come_back_each_followed_by_a_line_feed(
        lens in prop::collection::vec(
            prop_oneof![8 => 0..200_usize, 8 => 30_000..90_000_usize, 1 => Just(5 << 20)], 1..40),
        handed_over in any::<u64>(), removed in any::<u64>(),
    ) {
        let budget = Budget::new(1 << 30);
        let mut arena = Arena::default();
        let texts: Vec<_> = lens.iter().enumerate().map(|(i, &len)| text(len, i)).collect();
        let mut slots = Vec::new();
        for (i, text) in (0_u32..).zip(&texts) {
            slots.push(arena.append(owner(1, i), text, &budget).unwrap());
        }
        for (i, text) in (0_u32..).zip(&texts) {
            let read = arena.read(slots[i as usize], owner(1, i), &budget).unwrap();
            prop_assert_eq!(&read[..], &text[..]);
        }
        arena.freeze(1);
        let bit = |bits: u64, i: u32| bits & (1 << i) != 0;
        for (i, &slot) in (0_u32..).zip(&slots) {
            if bit(handed_over, i) {
                prop_assert!(arena.hand_over(slot, owner(1, i), owner(STORE, i)));
            }
            if bit(removed, i) {
                arena.remove(slot, owner(1, i));
            }
        }
        for (i, &slot) in (0_u32..).zip(&slots) {
            let of_store = bit(handed_over, i);
            prop_assert_eq!(arena.has(slot, owner(STORE, i)), of_store);
            prop_assert_eq!(arena.has(slot, owner(1, i)), !of_store && !bit(removed, i));
            if let Some(TextPlace { segment, start, len }) = arena.place(slot, owner(STORE, i)) {
                let segment = arena.share(segment).unwrap();
                let end = (start + len) as usize;
                prop_assert_eq!(&segment[start as usize..end], &texts[i as usize][..]);
                prop_assert_eq!(segment[end], b'\n');
            }
        }
        while arena.evict_one().is_some() {}
        prop_assert_eq!(budget.used_bytes(), 0);
        prop_assert_eq!((arena.bytes(), arena.segments()), (0, 0));
    }
}

#[test]
fn segments_grow_to_4_mib_and_one_small_text_holds_little() {
    let budget = Budget::new(1 << 30);
    let mut arena = Arena::default();
    arena.append(owner(1, 0), &text(1_000, 0), &budget).unwrap();
    arena.freeze(1);
    assert!(budget.used_bytes() < 1_001 + 64 * 48 + 200, "{}", budget.used_bytes());
    for i in 0..1_000 {
        arena.append(owner(2, i), &text(20_000, 0), &budget).unwrap();
    }
    // 64 KiB, doubling to 4 MiB, and as many of those as it takes.
    assert_eq!(arena.segments(), 1 + 6 + 4);
    assert!(budget.used_bytes() < 25 << 20, "{}", budget.used_bytes());
}

#[test]
fn what_was_searched_longest_ago_goes_first_and_of_equals_the_youngest() {
    let budget = Budget::new(1 << 30);
    let mut arena = Arena::default();
    let slots: Vec<u32> = (0..4)
        .map(|i| {
            let slot = arena.append(owner(STORE, i), &text(100, 0), &budget).unwrap();
            arena.freeze(STORE);
            slot
        })
        .collect();
    arena.begin_search();
    arena.share(0).unwrap();
    arena.share(1).unwrap();
    let standing = |arena: &Arena| -> Vec<bool> {
        (0_u32..).zip(&slots).map(|(i, &slot)| arena.has(slot, owner(STORE, i))).collect()
    };
    let changes = arena.changes();
    arena.evict_one().unwrap();
    assert_eq!(standing(&arena), [true, true, true, false]);
    assert_ne!(arena.changes(), changes, "places that were read no longer hold");
    arena.evict_one().unwrap();
    arena.evict_one().unwrap();
    assert_eq!(standing(&arena), [true, false, false, false]);
}

#[test]
fn a_segment_in_a_searchs_hands_is_paid_for_until_he_drops_it() {
    let budget = Budget::new(1 << 30);
    let mut arena = Arena::default();
    arena.append(owner(STORE, 0), &text(50_000, 0), &budget).unwrap();
    arena.freeze(STORE);
    let shared = arena.share(0).unwrap();
    arena.evict_one().unwrap();
    assert_eq!(budget.used_bytes(), 50_001 + SEGMENT_OVERHEAD_BYTES);
    drop(shared);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn nothing_is_taken_that_is_not_free() {
    let budget = Budget::new(8 << 20);
    let mut arena = Arena::default();
    let mut kept = 0;
    while arena.append(owner(STORE, kept), &text(10_000, 0), &budget).is_some() {
        kept += 1;
    }
    assert!(budget.used_bytes() <= 7 << 20, "an eighth is left: {}", budget.used_bytes());
    assert!(budget.used_bytes() > 6 << 20, "smaller segments fill it: {}", budget.used_bytes());
    let _all = budget.reserve_free(budget.limit_bytes() - budget.used_bytes()).unwrap();
    assert!(arena.read(0, owner(STORE, 0), &budget).is_some(), "frozen, so shared");
}

#[test]
fn a_nul_in_the_first_8000_bytes_is_binary() {
    let mut text = b"foo\n".repeat(2_001);
    text[8_000] = 0;
    assert!(!is_binary(&text));
    text[7_999] = 0;
    assert!(is_binary(&text));
}
