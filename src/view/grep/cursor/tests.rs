#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use bstr::BString;

use super::*;
use crate::error::ErrorKind;
use crate::limits::{Interrupted, NeverInterrupt};
use crate::object::Mode;
use crate::view::Step;
use crate::view::fixture::Fixture;
use crate::view::grep::{Hit, MatchOptions, Output, PatternSpec};

/// The paths of the hits.
#[derive(Default)]
struct Paths(Vec<BString>);

impl Sink for Paths {
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        assert_eq!(
            hit.file.id,
            crate::object::hash_object(hit.file.id.format(), Kind::Blob, hit.file.text,).unwrap()
        );
        self.0.push(hit.file.path.into());
        Ok(true)
    }
}

fn grep(root: ObjectId, pattern: &str, options: GrepOptions) -> Grep {
    let matcher = Matcher::new(&[PatternSpec::regex(pattern)], &MatchOptions::default()).unwrap();
    Grep::new(root, matcher, options, &Limits::default())
}

/// Runs to the end over a store that lacks nothing.
fn complete(fixture: &Fixture, grep: &mut Grep) -> (Vec<BString>, GrepStats) {
    let mut paths = Paths::default();
    match grep.run(fixture, &mut paths, &NeverInterrupt).unwrap() {
        Lookup::Ready(stats) => (paths.0, stats),
        Lookup::Missing(missing) => panic!("{missing:?} is held"),
    }
}

fn many_paths() -> Vec<String> {
    (0..1_200).map(|i| format!("part{}/{}/file{i}.{}", i % 3, i % 20, ["rs", "c"][i % 2])).collect()
}

/// The snapshot `root` of `full` in a store that has everything and shows nothing of it.
fn hidden(full: &Fixture, root: ObjectId) -> Fixture {
    let options = WalkOptions { trees: true, ..WalkOptions::default() };
    let mut walk = Walk::new(root, options, &Limits::default());
    let mut ids = vec![root];
    while let Step::Item(entry) = walk.next(full, &NeverInterrupt).unwrap() {
        ids.push(entry.id);
    }
    let fixture = Fixture::new();
    assert_eq!(fixture.snapshot(&many_paths()), root);
    fixture.hide_all(Kind::Tree, ids.iter().copied());
    fixture.hide_all(Kind::Blob, ids.iter().copied());
    fixture
}

#[test]
fn what_is_missing_is_asked_for_once_in_batches_and_found_in_order() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&many_paths());
    let (expected, whole) = complete(&fixture, &mut grep(root, "rs$", GrepOptions::default()));
    assert_eq!((expected.len(), whole.files_searched), (600, 1_200));
    assert!(expected.is_sorted());

    let fixture = hidden(&fixture, root);
    let mut grep = grep(root, "rs$", GrepOptions::default());
    let mut paths = Paths::default();
    let mut blobs = Vec::new();
    let stats = loop {
        match grep.run(&fixture, &mut paths, &NeverInterrupt).unwrap() {
            Lookup::Ready(stats) => break stats,
            Lookup::Missing(missing) => {
                let of_blobs = missing.iter().filter(|it| it.kind == Some(Kind::Blob)).count();
                assert!(of_blobs == 0 || of_blobs == missing.len(), "trees and blobs apart");
                blobs.extend((of_blobs > 0).then_some(of_blobs));
                // Refuses what was asked for before.
                fixture.fetch(&missing);
            }
        }
    };
    assert_eq!((paths.0, stats), (expected, whole));
    assert_eq!(blobs, [512, 512, 176]);
    assert_eq!(fixture.most_reads(), 1, "nothing is read twice");
}

#[test]
fn a_search_gets_on_though_most_of_each_batch_is_gone_at_once() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&many_paths());
    let (expected, _) = complete(&fixture, &mut grep(root, "rs$", GrepOptions::default()));
    let fixture = hidden(&fixture, root);
    let mut grep = grep(root, "rs$", GrepOptions::default());
    let mut paths = Paths::default();
    let mut sizes = Vec::new();
    while let Lookup::Missing(missing) = grep.run(&fixture, &mut paths, &NeverInterrupt).unwrap() {
        sizes.push(missing.len());
        fixture.fetch(&missing);
        fixture.hide_all(Kind::Blob, missing.iter().skip(20).map(|it| it.id));
    }
    assert_eq!(paths.0, expected);
    let blobs = &sizes[sizes.iter().position(|&len| len == 512).unwrap()..];
    assert_eq!(blobs[..6], [512, 256, 128, 64, 32, 16]);
    assert!(blobs.len() < 1_200 / 16 + 6, "{blobs:?}");
}

#[test]
fn a_batch_is_halved_down_to_one() {
    let mut batch = Batch::default();
    batch.ask();
    let halvings = std::iter::from_fn(|| batch.halve().then_some(())).count();
    assert_eq!(halvings, 9);
}

#[test]
fn a_long_search_tells_how_far_it_has_come() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&many_paths());
    let told = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&told);
    let tell = Tell::new(move |stats| hear.lock().unwrap().push(stats.files_searched));
    let mut grep = grep(root, "nowhere", GrepOptions::default()).telling(tell);
    let (_, stats) = complete(&fixture, &mut grep);
    assert!(stats.files_searched > 1_024, "{stats:?}");
    assert_eq!(*told.lock().unwrap(), [1_024]);
    assert!(grep.has_told());
}

#[test]
fn links_and_submodules_are_not_searched() {
    let fixture = Fixture::new();
    let target = fixture.blob("x");
    let commit = fixture.insert(Kind::Commit, "x");
    let root = fixture.tree(&[
        (Mode::BLOB, b"file", target),
        (Mode::SYMLINK, b"link", target),
        (Mode::GITLINK, b"module", commit),
        (Mode::EXECUTABLE, b"run", target),
    ]);
    let (paths, stats) = complete(&fixture, &mut grep(root, "x", GrepOptions::default()));
    assert_eq!(paths, ["file", "run"], "the same blob is found at both paths");
    assert_eq!((stats.files_searched, stats.bytes_searched), (2, 2));
}

#[test]
fn a_filter_decides_what_is_read() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["a/x.rs", "a/y.c", "b/x.rs", "c/x.rs", "c.rs"]);
    fixture.hide_all(Kind::Blob, [fixture.blob("b/x.rs"), fixture.blob("a/y.c")]);
    let filter = PathFilter::new(&["*.rs"], &["a", "c", "c.rs"], &Limits::default()).unwrap();
    let options = GrepOptions { filter, ..GrepOptions::default() };
    assert_eq!(complete(&fixture, &mut grep(root, "x", options)).0, ["a/x.rs", "c/x.rs"]);
}

#[test]
fn a_maximum_ends_the_search_before_more_is_read() {
    let fixture = Fixture::new();
    let root = fixture.snapshot(&["a", "b", "c", "d"]);
    let (b, c) = (fixture.blob("b"), fixture.blob("c"));
    fixture.hide(c);
    for output in [Output::Lines, Output::Files, Output::Count] {
        let search = SearchOptions { max_total: Some(2), output, ..SearchOptions::default() };
        let options = GrepOptions { search, ..GrepOptions::default() };
        let mut grep = grep(root, "", options);
        let before = fixture.reads(&b);
        let (_, stats) = complete(&fixture, &mut grep);
        assert_eq!((stats.lines_found, stats.files_matched, stats.stopped), (2, 2, true));
        assert_eq!(fixture.reads(&b), before + 1);
        assert_eq!(complete(&fixture, &mut grep).1, stats, "it stays ended");
    }
}

#[test]
fn an_error_about_one_folder_comes_after_the_hits_before_it() {
    let fixture = Fixture::new();
    let (a, b) = (fixture.blob("a"), fixture.blob("b"));
    let damaged = fixture.insert(Kind::Tree, "100644 no end");
    let root = fixture.tree(&[
        (Mode::BLOB, b"a", a),
        (Mode::TREE, b"damaged", damaged),
        (Mode::BLOB, b"z", b),
    ]);
    for hidden in [vec![], vec![a], vec![a, b]] {
        hidden.iter().for_each(|id| fixture.hide(*id));
        let mut grep = grep(root, "", GrepOptions::default());
        let mut paths = Paths::default();
        let mut errors = 0;
        loop {
            match grep.run(&fixture, &mut paths, &NeverInterrupt) {
                Ok(Lookup::Ready(_)) => break,
                Ok(Lookup::Missing(missing)) => fixture.fetch(&missing),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Malformed);
                    assert_eq!(paths.0, ["a"]);
                    errors += 1;
                }
            }
        }
        assert_eq!((paths.0.as_slice(), errors), (&["a".into(), "z".into()][..], 1));
    }
}

/// Reports at most so many lines, and where the next one is to be looked for.
struct Some {
    most: usize,
    paths: Vec<BString>,
    within: FilePlace,
}

impl Sink for Some {
    fn begin(&mut self, _: &FileRef<'_>) -> Result<bool, Error> {
        self.within.found = 0;
        Ok(true)
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        self.paths.push(format!("{}:{}", hit.file.path, hit.line_number).into());
        self.within = FilePlace {
            offset: hit.offset + hit.line.len() + 1,
            lines_before: hit.line_number,
            shown_to: 0,
            found: self.within.found + 1,
        };
        Ok(self.paths.len() < self.most)
    }
}

#[test]
fn searches_that_go_on_find_together_what_one_finds_and_read_nothing_twice() {
    for most in [1, 2, 3, 7, 100] {
        let fixture = Fixture::new();
        let file = |text: &str| fixture.blob(text);
        let (three, one, none) = (file("x\n\nx\nx"), file("-\nx\n"), file("-\n"));
        let inner = fixture.tree(&[(Mode::BLOB, b"1", three), (Mode::BLOB, b"2", none)]);
        let root = fixture.tree(&[
            (Mode::BLOB, b"a", none),
            (Mode::TREE, b"b", inner),
            (Mode::BLOB, b"c", one),
            (Mode::TREE, b"d", inner),
        ]);
        let mut all = Some { most: 100, paths: Vec::new(), within: FilePlace::default() };
        assert!(matches!(
            grep(root, "x", GrepOptions::default()).run(&fixture, &mut all, &NeverInterrupt),
            Ok(Lookup::Ready(_))
        ));
        assert_eq!(all.paths.len(), 7);

        let (mut paths, mut place, mut within) = (Vec::new(), Place::default(), None);
        for _ in 0..=7 {
            let mut grep = grep(root, "x", GrepOptions::default()).starting_at(&place, within);
            let mut page = Some { most, paths: Vec::new(), within: within.unwrap_or_default() };
            fixture.hide(one);
            let stats = loop {
                match grep.run(&fixture, &mut page, &NeverInterrupt).unwrap() {
                    Lookup::Ready(stats) => break stats,
                    Lookup::Missing(missing) => fixture.fetch(&missing),
                }
            };
            assert!(stats.files_searched <= most as u64 + 3);
            paths.append(&mut page.paths);
            (place, within) = (grep.place(), Option::Some(page.within));
            if !stats.stopped {
                break;
            }
        }
        assert_eq!(paths, all.paths, "{most} at a time");
    }
}

#[test]
fn a_search_goes_on_after_an_interrupt() {
    struct Third(Cell<u32>);
    impl Interrupt for Third {
        fn check(&self) -> Result<(), Interrupted> {
            self.0.set(self.0.get() + 1);
            if self.0.get() == 3 { Err(Interrupted::Cancelled) } else { Ok(()) }
        }
    }
    let fixture = Fixture::new();
    let root = fixture.snapshot(&many_paths());
    let (expected, _) = complete(&fixture, &mut grep(root, "rs$", GrepOptions::default()));
    let mut grep = grep(root, "rs$", GrepOptions::default());
    let (mut paths, interrupt) = (Paths::default(), Third(Cell::new(0)));
    let error = grep.run(&fixture, &mut paths, &interrupt).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(paths.0.len() < 600);
    assert!(matches!(grep.run(&fixture, &mut paths, &interrupt), Ok(Lookup::Ready(_))));
    assert_eq!(paths.0, expected);
}
