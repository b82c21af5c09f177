use std::cell::Cell;
use std::collections::BTreeSet;

use bstr::BString;
use proptest::prelude::*;

use super::super::fixture::Fixture;
use super::ahead::MAX_BYTES_AHEAD;
use super::*;
use crate::error::Error;
use crate::limits::{Interrupted, NeverInterrupt};
use crate::object::Mode;

/// Walks to the end, fetching what is missing: the paths, and how many ids each
/// missing set had.
fn walk_all(fixture: &Fixture, root: ObjectId, options: WalkOptions) -> (Vec<BString>, Vec<usize>) {
    let mut walk = Walk::new(root, options, &Limits::default());
    let (mut paths, mut fetched) = (Vec::new(), Vec::new());
    loop {
        match walk.next(fixture, &NeverInterrupt).unwrap() {
            Step::Item(entry) => paths.push(entry.path.to_owned()),
            Step::Missing(missing) => {
                fetched.push(missing.len());
                fixture.fetch(&missing);
            }
            Step::Done => return (paths, fetched),
        }
    }
}

fn trees_below(fixture: &Fixture, root: ObjectId) -> Vec<(BString, ObjectId)> {
    let options = WalkOptions { trees: true, ..WalkOptions::default() };
    let mut walk = Walk::new(root, options, &Limits::default());
    let mut trees = vec![(BString::default(), root)];
    while let Step::Item(entry) = walk.next(fixture, &NeverInterrupt).unwrap() {
        if entry.mode == Mode::TREE {
            trees.push((entry.path.to_owned(), entry.id));
        }
    }
    trees
}

fn filtered(globs: &[&str], prefixes: &[&str]) -> WalkOptions {
    let filter = PathFilter::new(globs, prefixes, &Limits::default()).unwrap();
    WalkOptions { filter, ..WalkOptions::default() }
}

const PATHS: [&str; 9] =
    ["a/1/x", "a/1/y", "a/2/deep/er/x", "b", "c/1/z", "c/3/w", "d.rs", "e/f/g/h", "e/f/i"];

#[test]
fn each_missing_set_is_a_whole_level_of_trees() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let trees = trees_below(&fixture, root);
    let (seen, fetched) = {
        let hidden = Fixture::new();
        hidden.snapshot(&PATHS);
        hidden.hide_all(Kind::Tree, trees.iter().map(|(_, id)| *id));
        let seen = walk_all(&hidden, root, WalkOptions::default());
        assert_eq!(hidden.most_reads(), 1, "each tree is decoded once");
        seen
    };
    assert_eq!(seen, PATHS);
    // The root; a c e; a/1 a/2 c/1 c/3 e/f; a/2/deep e/f/g; a/2/deep/er.
    assert_eq!(fetched, [1, 3, 5, 2, 1]);
}

#[test]
fn everything_before_a_missing_tree_is_handed_out_and_nothing_after_it() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let trees = trees_below(&fixture, root);
    let id = |path: &str| trees.iter().find(|(p, _)| p == path).unwrap().1;
    fixture.hide(id("c"));
    fixture.hide(id("e/f"));
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    for path in ["a/1/x", "a/1/y", "a/2/deep/er/x", "b"] {
        let Step::Item(entry) = walk.next(&fixture, &NeverInterrupt).unwrap() else { panic!() };
        assert_eq!(entry.path, path);
    }
    for _ in 0..2 {
        let Step::Missing(missing) = walk.next(&fixture, &NeverInterrupt).unwrap() else {
            panic!()
        };
        let ids: Vec<_> = missing.iter().map(|item| item.id).collect();
        assert_eq!(ids, [id("c"), id("e/f")], "asked twice, the answer is the same");
    }
    let Step::Missing(missing) = walk.next(&fixture, &NeverInterrupt).unwrap() else { panic!() };
    fixture.fetch(&missing);
    let Step::Item(entry) = walk.next(&fixture, &NeverInterrupt).unwrap() else { panic!() };
    assert_eq!((entry.path.to_string(), entry.depth), ("c/1/z".into(), 3));
}

#[test]
fn a_tree_in_two_places_is_asked_for_and_read_once() {
    let fixture = Fixture::new();
    let inner = fixture.snapshot(&["x/y", "z"]);
    let root = fixture.tree(&[
        (Mode::TREE, b"a", inner),
        (Mode::TREE, b"b", inner),
        (Mode::TREE, b"c", inner),
    ]);
    let x = trees_below(&fixture, inner)[1].1;
    let walked = Fixture::new();
    walked.snapshot(&["x/y", "z"]);
    assert_eq!(
        walked.tree(&[
            (Mode::TREE, b"a", inner),
            (Mode::TREE, b"b", inner),
            (Mode::TREE, b"c", inner),
        ]),
        root
    );
    walked.hide(inner);
    walked.hide(x);
    let (paths, fetched) = walk_all(&walked, root, WalkOptions::default());
    assert_eq!(paths, ["a/x/y", "a/z", "b/x/y", "b/z", "c/x/y", "c/z"]);
    assert_eq!(fetched, [1, 1]);
    assert_eq!((walked.reads(&inner), walked.reads(&x)), (1, 1));
}

#[test]
fn what_is_behind_the_cursor_is_not_asked_for_again() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let trees = trees_below(&fixture, root);
    let id = |path: &str| trees.iter().find(|(p, _)| p == path).unwrap().1;
    let walked = Fixture::new();
    walked.snapshot(&PATHS);
    walked.hide_all(Kind::Tree, trees.iter().map(|(_, id)| *id));
    // No room to keep trees: a store that drops one makes the walk ask for it again.
    let limits = Limits { max_memory: 0, ..Limits::default() };
    let mut walk = Walk::new(root, WalkOptions::default(), &limits);
    let mut last = BString::default();
    while last != "b" {
        match walk.next(&walked, &NeverInterrupt).unwrap() {
            Step::Item(entry) => last = entry.path.to_owned(),
            Step::Missing(missing) => walked.fetch(&missing),
            Step::Done => panic!("there is more behind 'b'"),
        }
    }
    for behind in ["a", "a/1", "a/2", "a/2/deep", "a/2/deep/er"] {
        walked.hide(id(behind));
    }
    walked.hide(id("c"));
    let Step::Missing(missing) = walk.next(&walked, &NeverInterrupt).unwrap() else { panic!() };
    assert!(missing.contains(&id("c")) && !missing.contains(&id("a")));
    for behind in ["a/1", "a/2", "a/2/deep", "a/2/deep/er"] {
        assert!(!missing.contains(&id(behind)), "{behind}");
    }
}

#[test]
fn trees_outside_the_prefixes_and_globs_are_never_read() {
    for (globs, prefixes, want, unread) in [
        (&[][..], &["a/2", "e"][..], &["a/2/deep/er/x", "e/f/g/h", "e/f/i"][..], &["a/1", "c"][..]),
        (&[], &["b", "c/3"], &["b", "c/3/w"], &["a", "e", "c/1"]),
        (&["a/**/x"], &[], &["a/1/x", "a/2/deep/er/x"], &["c", "e"]),
        (&["!a", "!e/f/"], &[], &["b", "c/1/z", "c/3/w", "d.rs"], &["a", "e/f"]),
        (&["*.rs"], &[], &["d.rs"], &[]),
        (&["h"], &["e", "c"], &["e/f/g/h"], &["a"]),
    ] {
        let fixture = Fixture::new();
        let root = fixture.snapshot(&PATHS);
        let trees = trees_below(&fixture, root);
        let walked = Fixture::new();
        walked.snapshot(&PATHS);
        walked.hide_all(Kind::Tree, trees.iter().map(|(_, id)| *id));
        let (paths, _) = walk_all(&walked, root, filtered(globs, prefixes));
        assert_eq!(paths, want, "{globs:?} {prefixes:?}");
        assert_eq!(walked.most_reads(), 1);
        for (path, id) in trees {
            let spared = unread.iter().any(|&folder| {
                path == folder || path.strip_prefix(folder.as_bytes()).is_some_and(|p| p[0] == b'/')
            });
            assert!(
                !spared || walked.reads(&id) == 0,
                "{path} was read for {globs:?} {prefixes:?}"
            );
        }
    }
}

#[test]
fn depth_counts_from_the_prefix_and_deeper_trees_are_not_read() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let list = |prefixes: &[&str], max_depth, trees| {
        let options = WalkOptions { max_depth, trees, ..filtered(&[], prefixes) };
        let mut walk = Walk::new(root, options, &Limits::default());
        let mut seen = Vec::new();
        while let Step::Item(entry) = walk.next(&fixture, &NeverInterrupt).unwrap() {
            seen.push(format!("{} {}", entry.depth, entry.path));
        }
        seen
    };
    assert_eq!(list(&[], Some(1), false), ["1 b", "1 d.rs"]);
    assert_eq!(list(&[], Some(1), true), ["1 a", "1 b", "1 c", "1 d.rs", "1 e"]);
    assert_eq!(list(&["e/f"], Some(1), true), ["1 e/f/g", "1 e/f/i"]);
    assert_eq!(list(&["e"], Some(2), true), ["1 e/f", "2 e/f/g", "2 e/f/i"]);
    assert_eq!(list(&["b", "a"], Some(1), true), ["1 a/1", "1 a/2", "0 b"]);
    assert_eq!(list(&["d.rs"], None, false), ["0 d.rs"]);

    let walked = Fixture::new();
    walked.snapshot(&PATHS);
    let options = WalkOptions { max_depth: Some(1), trees: true, ..WalkOptions::default() };
    walked.hide_all(Kind::Tree, trees_below(&fixture, root).iter().map(|(_, id)| *id));
    assert_eq!(walk_all(&walked, root, options).1, [1], "the root is enough");
}

#[test]
fn a_bomb_ends_by_the_entries_limit_with_what_was_found() {
    let fixture = Fixture::new();
    let mut id = fixture.blob("bomb");
    let mut mode = Mode::BLOB;
    let names: Vec<[u8; 1]> = (b'0'..=b'9').map(|digit| [digit]).collect();
    for _ in 0..10 {
        let entries: Vec<_> = names.iter().map(|name| (mode, &name[..], id)).collect();
        id = fixture.tree(&entries);
        mode = Mode::TREE;
    }
    let limits = Limits { max_walk_entries: 100_000, ..Limits::default() };
    let mut walk = Walk::new(id, WalkOptions::default(), &limits);
    let mut found = 0;
    let error = loop {
        match walk.next(&fixture, &NeverInterrupt) {
            Ok(Step::Item(_)) => found += 1,
            Ok(_) => panic!("it has 10 to the power of 10 paths"),
            Err(error) => break error,
        }
    };
    assert!(error.leaves_a_partial_answer());
    assert!(
        matches!(error, ViewError::Limit(l) if l.which == Which::WalkEntries && l.seen == 100_001)
    );
    assert!(found > 80_000, "{found}");
    assert_eq!(fixture.most_reads(), 1);
    assert!(walk.next(&fixture, &NeverInterrupt).is_err(), "and stays ended");
}

#[test]
fn a_bomb_is_looked_ahead_in_bounded_work() {
    let fixture = Fixture::new();
    let leaf = fixture.snapshot(&["leaf"]);
    let mut id = leaf;
    let names: Vec<[u8; 1]> = (b'0'..=b'9').map(|digit| [digit]).collect();
    for _ in 0..10 {
        let entries: Vec<_> = names.iter().map(|name| (Mode::TREE, &name[..], id)).collect();
        id = fixture.tree(&entries);
    }
    fixture.hide(leaf);
    // Fewer where pointers are wider.
    let as_room_allows = MAX_BYTES_AHEAD / size_of::<(Folder, BString)>();
    for (options, max_queued) in [
        // A tree that contributes the same everywhere is queued for one of its places.
        (WalkOptions::default(), 200),
        (filtered(&["leaf"], &[]), as_room_allows),
        (WalkOptions { max_depth: Some(50), ..WalkOptions::default() }, as_room_allows),
    ] {
        let mut walk = Walk::new(id, options, &Limits::default());
        for _ in 0..3 {
            let Ok(Step::Missing(missing)) = walk.next(&fixture, &NeverInterrupt) else { panic!() };
            assert_eq!(missing.len(), 1);
            assert!(walk.ahead.held_bytes <= MAX_BYTES_AHEAD);
            assert!(walk.ahead.queue.len() + walk.ahead.waiting.len() < max_queued);
        }
    }
}

#[test]
fn a_nest_of_trees_ends_at_the_depth_limit_and_what_follows_is_walked() {
    let fixture = Fixture::new();
    let mut id = fixture.snapshot(&["bottom"]);
    for _ in 0..100_000 {
        id = fixture.tree(&[(Mode::TREE, b"d", id)]);
    }
    let file = fixture.blob("file");
    let root = fixture.tree(&[(Mode::TREE, b"nest", id), (Mode::BLOB, b"z", file)]);
    let limits = Limits { max_path_bytes: 1 << 20, ..Limits::default() };
    let mut walk = Walk::new(root, WalkOptions::default(), &limits);
    match walk.next(&fixture, &NeverInterrupt) {
        Err(ViewError::Limit(limit)) => {
            assert_eq!((limit.which, limit.allowed, limit.seen), (Which::TreeDepth, 2_048, 2_049));
        }
        other => panic!("{other:?}"),
    }
    let Ok(Step::Item(entry)) = walk.next(&fixture, &NeverInterrupt) else { panic!() };
    assert_eq!(entry.path, "z");
    assert!(matches!(walk.next(&fixture, &NeverInterrupt), Ok(Step::Done)));

    // With the default path limit, that one answers first.
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    assert!(matches!(
        walk.next(&fixture, &NeverInterrupt),
        Err(ViewError::Limit(limit)) if limit.which == Which::PathBytes || limit.which == Which::TreeDepth
    ));
}

#[test]
fn a_name_longer_than_a_path_may_be_is_refused_before_it_is_copied() {
    let fixture = Fixture::new();
    let (file, absent) = (fixture.blob("file"), fixture.snapshot(&["absent"]));
    let long = vec![b'n'; 1 << 20];
    let root = fixture.tree(&[
        (Mode::BLOB, &long, file),
        (Mode::TREE, b"o", absent),
        (Mode::TREE, &long, absent),
    ]);
    fixture.hide(absent);
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    assert!(matches!(
        walk.next(&fixture, &NeverInterrupt),
        Err(ViewError::Limit(limit)) if limit.which == Which::PathBytes
    ));
    assert!(matches!(walk.next(&fixture, &NeverInterrupt), Ok(Step::Missing(_))));
    assert!(walk.path.capacity() < 1 << 10 && walk.ahead.held_bytes < 1 << 10);
}

#[test]
fn one_bad_tree_does_not_make_the_rest_unreadable() {
    let fixture = Fixture::new();
    let file = fixture.blob("file");
    let cut = fixture.insert(Kind::Tree, b"100644 cut off");
    let good = fixture.snapshot(&["x"]);
    let root = fixture.tree(&[
        (Mode::TREE, b"..", good),
        (Mode::TREE, b"bad", cut),
        (Mode::BLOB, b"file", file),
        (Mode::TREE, b"not-a-tree", file),
        (Mode::TREE, b"z", good),
    ]);
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    let mut told = Vec::new();
    loop {
        told.push(match walk.next(&fixture, &NeverInterrupt) {
            Ok(Step::Item(entry)) => entry.path.to_string(),
            Ok(Step::Done) => break,
            Ok(Step::Missing(missing)) => panic!("{missing:?}"),
            Err(ViewError::Tree { path, id, .. }) => {
                assert_eq!(id, cut);
                format!("damaged {path}")
            }
            Err(ViewError::WrongKind { id, .. }) => {
                assert_eq!(id, file);
                "wrong kind".into()
            }
            Err(other) => panic!("{other}"),
        });
    }
    assert_eq!(told, ["../x", "damaged bad", "file", "wrong kind", "z/x"]);
}

/// Stops at the nth question.
struct StopAt(Cell<u32>);

impl Interrupt for StopAt {
    fn check(&self) -> Result<(), Interrupted> {
        self.0.set(self.0.get() - 1);
        if self.0.get() == 0 { Err(Interrupted::Deadline) } else { Ok(()) }
    }
}

#[test]
fn an_interrupted_walk_goes_on_where_it_was() {
    let fixture = Fixture::new();
    let paths: Vec<String> = (0..1_000).map(|i| format!("{:03}/{}", i / 10, i % 10)).collect();
    let root = fixture.snapshot(&paths);
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    let stop = StopAt(Cell::new(4));
    let mut seen = Vec::new();
    let mut stopped = 0;
    loop {
        match walk.next(&fixture, &stop) {
            Ok(Step::Item(entry)) => seen.push(entry.path.to_string()),
            Ok(Step::Missing(missing)) => panic!("{missing:?}"),
            Ok(Step::Done) => break,
            Err(ViewError::Interrupted(Interrupted::Deadline)) => {
                assert!(seen.len() < 1_000);
                stopped += 1;
                stop.0.set(2);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(stopped > 1, "it asks every 256 entries");
    assert_eq!(seen, paths);
}

#[test]
fn submodules_and_links_are_handed_out_and_not_entered() {
    let fixture = Fixture::new();
    let commit = ObjectId::from_raw(&[9; 20]).unwrap();
    let target = fixture.blob("..");
    let root =
        fixture.tree(&[(Mode::SYMLINK, b"link", target), (Mode::GITLINK, b"module", commit)]);
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    for (path, mode, id) in [("link", Mode::SYMLINK, target), ("module", Mode::GITLINK, commit)] {
        let Ok(Step::Item(entry)) = walk.next(&fixture, &NeverInterrupt) else { panic!() };
        assert_eq!(entry, WalkEntry { path: path.into(), mode, id, depth: 1 });
    }
    assert_eq!(fixture.reads(&target), 0);
    assert!(matches!(walk.next(&fixture, &NeverInterrupt), Ok(Step::Done)));
}

#[test]
fn a_place_is_exact_where_names_repeat_and_nothing_is_in_order() {
    let fixture = Fixture::new();
    let file = fixture.blob("file");
    let inner = fixture.tree(&[(Mode::BLOB, b"z", file), (Mode::BLOB, b"a/b", file)]);
    let root = fixture.tree(&[
        (Mode::BLOB, b"x", file),
        (Mode::TREE, b"x", inner),
        (Mode::BLOB, b"x", file),
        (Mode::TREE, b"", inner),
        (Mode::TREE, b"x", inner),
    ]);
    let (want, _) = walk_all(&fixture, root, WalkOptions::default());
    assert_eq!(want.len(), 8);
    let mut walk = Walk::new(root, WalkOptions::default(), &Limits::default());
    for at in 0..want.len() {
        assert!(matches!(walk.next(&fixture, &NeverInterrupt), Ok(Step::Item(_))));
        let rest = Walk::new(root, WalkOptions::default(), &Limits::default());
        let mut rest = rest.starting_at(&walk.place());
        for path in &want[at..] {
            let Step::Item(entry) = rest.next(&fixture, &NeverInterrupt).unwrap() else { panic!() };
            assert_eq!(entry.path, path);
        }
        assert!(matches!(rest.next(&fixture, &NeverInterrupt), Ok(Step::Done)));
    }
}

#[test]
fn a_place_of_another_tree_is_an_error_once() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&PATHS);
    let filtered = filtered(&["!a"], &[]);
    for (options, levels) in [
        (WalkOptions::default(), &[9][..]),
        (WalkOptions::default(), &[0, 0, 0, 0]),
        (WalkOptions::default(), &[1, 0]),
        (WalkOptions::default(), &[u32::MAX, u32::MAX]),
        (filtered, &[0, 0]),
    ] {
        let place = Place::new(levels.to_vec());
        let mut walk = Walk::new(root, options, &Limits::default()).starting_at(&place);
        let error = walk.next(&fixture, &NeverInterrupt).unwrap_err();
        assert_eq!(Error::from(error).code(), "bad_cursor", "{levels:?}");
        assert!(matches!(walk.next(&fixture, &NeverInterrupt), Ok(Step::Done)));
    }
}

fn some_paths() -> impl Strategy<Value = BTreeSet<String>> {
    prop::collection::btree_set("[abc]{1,2}(/[abc]{1,2}){0,4}(\\.[rc])?", 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_missing_the_walk_is_the_same_and_reads_each_tree_once(
        paths in some_paths(),
        hidden in prop::collection::vec(any::<bool>(), 64),
        trees in any::<bool>(),
    ) {
        let paths: Vec<_> = paths.into_iter().collect();
        let fixture = Fixture::new();
        let root = fixture.snapshot(&paths);
        let options = || WalkOptions { trees, ..WalkOptions::default() };
        let (want, fetched) = walk_all(&fixture, root, options());
        prop_assert_eq!(fetched, [0usize; 0]);
        if !trees {
            prop_assert!(want.is_sorted(), "git's order is that of the paths' bytes");
        }

        let all: BTreeSet<_> = trees_below(&fixture, root).into_iter().map(|(_, id)| id).collect();
        let walked = Fixture::new();
        walked.snapshot(&paths);
        for (id, _) in all.iter().zip(&hidden).filter(|(_, hide)| **hide) {
            walked.hide(*id);
        }
        let (seen, fetched) = walk_all(&walked, root, options());
        prop_assert_eq!(seen, want);
        prop_assert!(fetched.len() <= 6, "one request for each level: {:?}", fetched);
        prop_assert!(walked.most_reads() <= 1);
    }

    #[test]
    fn a_walk_goes_on_where_another_one_stood(
        paths in some_paths(),
        globs in prop::collection::vec("!?([abc]{1,2}|\\*\\.r)/?", 0..2),
        at in 0usize..40,
        trees in any::<bool>(),
        missing in any::<bool>(),
    ) {
        let paths: Vec<_> = paths.into_iter().collect();
        let fixture = Fixture::new();
        let root = fixture.snapshot(&paths);
        let filter = PathFilter::new(&globs, &[""; 0], &Limits::default()).unwrap();
        let options = WalkOptions { filter, trees, ..WalkOptions::default() };
        let (want, _) = walk_all(&fixture, root, options.clone());
        let mut walk = Walk::new(root, options.clone(), &Limits::default());
        let mut before = 0;
        let mut place = walk.next_place();
        while before < at && let Step::Item(_) = walk.next(&fixture, &NeverInterrupt).unwrap() {
            place = walk.next_place();
            prop_assert!(walk.place().levels() < place.levels());
            before += 1;
        }
        let all: Vec<_> = trees_below(&fixture, root).into_iter().map(|(_, id)| id).collect();
        if missing {
            fixture.hide_all(Kind::Tree, all.iter().copied());
        }
        let mut rest = Walk::new(root, options.clone(), &Limits::default()).starting_at(&place);
        let mut seen = Vec::new();
        loop {
            match rest.next(&fixture, &NeverInterrupt).unwrap() {
                Step::Item(entry) => seen.push(entry.path.to_owned()),
                Step::Missing(missing) => {
                    fixture.fetch(&missing);
                    // Given up in the middle, and taken up again.
                    let place = rest.next_place();
                    rest = Walk::new(root, options.clone(), &Limits::default()).starting_at(&place);
                }
                Step::Done => break,
            }
        }
        prop_assert_eq!(&seen, &want[before..]);
    }

    #[test]
    fn a_filtered_walk_is_the_walk_filtered(
        paths in some_paths(),
        globs in prop::collection::vec("!?/?([ab*]{1,2}|\\*\\*)(/([abc*]{1,2}|\\*\\*)){0,2}/?", 0..3),
        prefixes in prop::collection::vec("[ab](/[abc]{1,2}){0,2}", 0..3),
    ) {
        let paths: Vec<_> = paths.into_iter().collect();
        let fixture = Fixture::new();
        let root = fixture.snapshot(&paths);
        let filter = PathFilter::new(&globs, &prefixes, &Limits::default()).unwrap();
        let (all, _) = walk_all(&fixture, root, WalkOptions::default());
        let want: Vec<_> = all.into_iter().filter(|path| filter.matches(path)).collect();
        for path in &want {
            for slash in path.find_iter("/") {
                prop_assert!(filter.may_contain(&path[..slash]), "{} leads to {}", &path[..slash].as_bstr(), path);
            }
        }
        let options = WalkOptions { filter, ..WalkOptions::default() };
        prop_assert_eq!(walk_all(&fixture, root, options).0, want);
    }
}
