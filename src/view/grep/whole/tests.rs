//! One pass over an arena finds what walking from file to file finds, which is held against
//! a naive searcher elsewhere.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use bstr::BString;
use proptest::prelude::*;

use super::super::tests::{any_matching, any_options, any_spec, any_text};
use crate::error::{Error, ErrorKind};
use crate::limits::{
    Budget, Interrupt, Interrupted, Limits, NeverInterrupt, SharedWorkers, Workers,
};
use crate::object::{Kind, Mode, Tree, TreeEntry, hash_object};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::inflate::deflate;
use crate::pack::{EntryStore as _, ResolvedEntry};
use crate::store::{
    Header, Lookup, MemoryStore, Object, Objects, PackedEntry, Staging as _, StoreError,
};
use crate::view::glob::PathFilter;
use crate::view::grep::{
    ContextLine, FilePlace, FileRef, FileSummary, Grep, GrepOptions, GrepStats, Hit, MatchOptions,
    Matcher, Output, PatternSpec, SearchOptions, Sink,
};
use crate::view::walk::Place;

const SHA1: ObjectFormat = ObjectFormat::Sha1;

/// The same store without its arena.
struct Plain<'a>(&'a MemoryStore);

impl Objects for Plain<'_> {
    fn format(&self) -> ObjectFormat {
        self.0.format()
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        self.0.header(id)
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.0.read(id)
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.0.packed(id)
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        self.0.ids_with_prefix(prefix, limit)
    }
}

/// Runs every part on a thread of its own, and counts them. Where no thread can be started
/// the parts run in turn.
#[derive(Default)]
struct Threads(AtomicUsize);

impl Workers for Threads {
    fn threads(&self) -> usize {
        3
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        self.0.fetch_add(n, Ordering::Relaxed);
        if cfg!(target_family = "wasm") {
            return (0..n).for_each(job);
        }
        std::thread::scope(|scope| (0..n).for_each(|part| drop(scope.spawn(move || job(part)))));
    }
}

/// What a sink saw, line by line.
#[derive(Default)]
struct Seen {
    lines: Vec<String>,
    stop_after: Option<usize>,
}

impl Seen {
    fn add(&mut self, line: String) -> Result<bool, Error> {
        self.lines.push(line);
        Ok(self.stop_after.is_none_or(|most| self.lines.len() < most))
    }
}

impl Sink for Seen {
    fn begin(&mut self, file: &FileRef<'_>) -> Result<bool, Error> {
        assert_eq!(file.id, hash_object(SHA1, Kind::Blob, file.text).unwrap());
        self.add(format!("begin {}", file.path))
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        let ranges: Vec<_> = hit.ranges().collect();
        let (path, line) = (hit.file.path, BString::from(hit.line));
        self.add(format!("{path}:{}:{}:{line:?} {ranges:?}", hit.line_number, hit.offset))
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        let text = BString::from(line.line);
        self.add(format!("{}-{}-{text:?}", line.file.path, line.line_number))
    }

    fn group_break(&mut self) -> Result<bool, Error> {
        self.add("--".to_owned())
    }

    fn end(&mut self, file: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        self.add(format!("end {} {}", file.path, summary.lines))
    }
}

/// Takes `blobs` in as a pack would bring them.
fn bring(store: &MemoryStore, blobs: &[impl AsRef<[u8]>]) {
    let mut staging = store.stage();
    for (entry, content) in (0_u32..).zip(blobs) {
        let content = content.as_ref();
        staging.begin().unwrap();
        staging.append(&deflate(content, 1)).unwrap();
        staging.end().unwrap();
        let id = hash_object(SHA1, Kind::Blob, content).unwrap();
        let inflated_size = content.len() as u64;
        let base = None;
        let entry = ResolvedEntry { entry, kind: Kind::Blob, id, base, inflated_size, content };
        staging.resolved(entry).unwrap();
    }
    staging.commit().unwrap();
}

/// A tree in which every file `number` is `number.txt`, and every third is in a folder.
fn tree_of(store: &MemoryStore, blobs: &[impl AsRef<[u8]>]) -> ObjectId {
    let mut folders: BTreeMap<usize, Tree> = BTreeMap::new();
    for (number, content) in blobs.iter().enumerate() {
        let id = hash_object(SHA1, Kind::Blob, content.as_ref()).unwrap();
        let extension = ["txt", "c"][number % 2];
        let name = format!("{number:05}.{extension}").into();
        let entry = TreeEntry { mode: Mode::BLOB, name, id };
        folders.entry(number % 3).or_default().entries.push(entry);
    }
    let insert = |mut tree: Tree| {
        tree.sort();
        let mut bytes = Vec::new();
        tree.encode(&mut bytes);
        store.insert(Kind::Tree, &bytes).unwrap()
    };
    let mut root = folders.remove(&0).unwrap_or_default();
    for (number, folder) in folders {
        let name = format!("{number}-folder").into();
        root.entries.push(TreeEntry { mode: Mode::TREE, name, id: insert(folder) });
    }
    insert(root)
}

fn store_of(bytes: u64) -> MemoryStore {
    MemoryStore::new(SHA1, &Budget::new(bytes), &Limits::default())
}

/// A store of `blobs` in a good order for nobody, and their tree.
fn stored(blobs: &[impl AsRef<[u8]>]) -> (MemoryStore, ObjectId) {
    let store = store_of(256 << 20);
    let (even, odd): (Vec<_>, Vec<_>) =
        blobs.iter().map(AsRef::as_ref).enumerate().partition(|(number, _)| number % 2 == 0);
    let shuffled: Vec<&[u8]> = odd.into_iter().chain(even).map(|(_, blob)| blob).collect();
    bring(&store, &shuffled);
    let root = tree_of(&store, blobs);
    (store, root)
}

fn literal(pattern: &str) -> Matcher {
    Matcher::new(&[PatternSpec::fixed(pattern)], &MatchOptions::default()).unwrap()
}

fn grep(root: ObjectId, matcher: &Matcher, options: &GrepOptions) -> Grep {
    Grep::new(root, matcher.clone(), options.clone(), &Limits::default())
}

/// Runs to the end over a store that lacks nothing.
fn run(grep: Grep, objects: &impl Objects, stop_after: Option<usize>) -> (Vec<String>, GrepStats) {
    let mut grep = grep;
    let mut seen = Seen { stop_after, ..Seen::default() };
    match grep.run(objects, &mut seen, &NeverInterrupt).unwrap() {
        Lookup::Ready(stats) => (seen.lines, stats),
        Lookup::Missing(missing) => panic!("{missing:?} is held"),
    }
}

/// Asserts that both ways see the same, the one pass on one thread and on several, the
/// first time and the second; what they see.
fn agree(
    store: &MemoryStore,
    root: ObjectId,
    matcher: &Matcher,
    options: &GrepOptions,
    stop_after: Option<usize>,
) -> (Vec<String>, GrepStats) {
    let walked = run(grep(root, matcher, options), &Plain(store), stop_after);
    for _ in 0..2 {
        let inline = run(grep(root, matcher, options), store, stop_after);
        assert_eq!(inline, walked);
        let workers = SharedWorkers::new(std::sync::Arc::new(Threads::default()));
        let threads = grep(root, matcher, options).with_workers(workers);
        assert_eq!(run(threads, store, stop_after), walked);
    }
    walked
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn one_pass_finds_what_walking_finds_in_every_mode(
        specs in prop::collection::vec(any_spec(), 1..4),
        matching in any_matching(),
        multi_line in prop::bool::weighted(0.2),
        search in any_options(),
        output in prop::sample::select(vec![Output::Lines, Output::Count, Output::Files]),
        globs in prop::sample::select(vec![&[][..], &["*.c"], &["!*.c"], &["1-folder/**"]]),
        prefixes in prop::sample::select(vec![&[][..], &["2-folder"], &["00000.txt", "1-folder"]]),
        blobs in prop::collection::vec(
            prop_oneof![6 => any_text(), 1 => Just(b"a\0b\n".to_vec()), 1 => Just(Vec::new())],
            1..16),
        stop_after in prop::option::weighted(0.2, 1usize..10),
    ) {
        let (store, root) = stored(&blobs);
        let matching = MatchOptions { multi_line, ..matching };
        let matcher = Matcher::new(&specs, &matching).unwrap();
        let all = GrepOptions::default();
        // Makes the table that filtered searches use.
        agree(&store, root, &matcher, &all, None);
        prop_assert!(store.stats().arena_segments > 0 || blobs.iter().all(|it| it.contains(&0)));
        let filter = PathFilter::new(globs, prefixes, &Limits::default()).unwrap();
        let options = GrepOptions { filter, search: SearchOptions { output, ..search } };
        agree(&store, root, &matcher, &options, stop_after);
    }
}

#[test]
fn many_hits_long_files_and_large_gaps_are_all_found() {
    let dense = "x hit\n".repeat(5_000);
    let long = format!("{}\nhit\n{}", "y".repeat(900_000), "z\n".repeat(600_000));
    let other = "nothing\n".repeat(1_000);
    let mut blobs: Vec<String> = (0..400).map(|i| format!("{other}{i} hit\n{i}")).collect();
    blobs.insert(7, dense.clone());
    blobs.insert(200, long);
    blobs.insert(300, dense.clone() + "end");
    let (store, root) = stored(&blobs);
    let matcher = literal("hit");
    for output in [Output::Lines, Output::Count, Output::Files] {
        for max_per_file in [None, Some(1), Some(3_000)] {
            let search = SearchOptions { output, max_per_file, ..SearchOptions::default() };
            let options = GrepOptions { search, ..GrepOptions::default() };
            let (_, stats) = agree(&store, root, &matcher, &options, None);
            let most = max_per_file.unwrap_or(5_000);
            let lines = if output == Output::Files { 403 } else { 401 + 2 * most };
            assert_eq!((stats.lines_found, stats.files_matched), (lines, 403));
        }
    }
    let filter = PathFilter::new(&["000[37]*"], &[""; 0], &Limits::default()).unwrap();
    let options = GrepOptions { filter, ..GrepOptions::default() };
    let (_, stats) = agree(&store, root, &matcher, &options, None);
    assert_eq!(stats.files_matched, 20);
}

#[test]
fn a_blob_at_several_paths_is_shown_at_each() {
    let blobs = ["same hit\n", "other\n", "same hit\n", "same hit\n"];
    let (store, root) = stored(&blobs);
    let (lines, stats) = agree(&store, root, &literal("hit"), &GrepOptions::default(), None);
    assert_eq!(lines.iter().filter(|line| line.starts_with("begin")).count(), 3);
    assert_eq!((stats.files_searched, stats.bytes_searched), (4, 3 * 9 + 6));
    assert_eq!(store.stats().arena_bytes, 10 + 7, "each once");
}

#[test]
fn a_search_that_has_enough_has_not_searched_everything() {
    let blobs: Vec<String> =
        (0..600).map(|i| format!("{i} hit\n{}", "-\n".repeat(40_000))).collect();
    let (store, root) = stored(&blobs);
    let search = SearchOptions { max_total: Some(2), ..SearchOptions::default() };
    let options = GrepOptions { search, ..GrepOptions::default() };
    let threads = std::sync::Arc::new(Threads::default());
    let workers = SharedWorkers::new(threads.clone());
    let search = grep(root, &literal("hit"), &options).with_workers(workers.clone());
    let (_, stats) = run(search, &store, None);
    assert_eq!((stats.lines_found, stats.stopped), (2, true));
    let few = threads.0.load(Ordering::Relaxed);
    let all = run(
        grep(root, &literal("no such"), &GrepOptions::default()).with_workers(workers),
        &store,
        None,
    );
    assert_eq!(all.1.files_searched, 600);
    let most = threads.0.load(Ordering::Relaxed) - few;
    assert!(few * 10 < most, "{few} chunks of {most}");
}

#[test]
fn what_is_missing_is_asked_for_in_batches_and_found_in_order() {
    let blobs: Vec<String> = (0..1_300).map(|i| format!("{i} hit\n")).collect();
    let (full, root) = stored(&blobs);
    let (expected, whole) = run(grep(root, &literal("hit"), &GrepOptions::default()), &full, None);
    assert_eq!(whole.files_matched, 1_300);

    let store = store_of(256 << 20);
    assert_eq!(tree_of(&store, &blobs), root);
    bring(&store, &blobs[..3]);
    let mut search = grep(root, &literal("hit"), &GrepOptions::default());
    let (mut seen, mut batches) = (Seen::default(), Vec::new());
    let stats = loop {
        match search.run(&store, &mut seen, &NeverInterrupt).unwrap() {
            Lookup::Ready(stats) => break stats,
            Lookup::Missing(missing) => {
                batches.push(missing.len());
                let asked = missing.iter().map(|it| full.read(&it.id).unwrap().unwrap().bytes);
                bring(&store, &asked.collect::<Vec<_>>());
            }
        }
    };
    assert_eq!((seen.lines, stats), (expected, whole));
    assert_eq!(batches, [512, 512, 273]);
}

#[test]
fn a_batch_that_does_not_come_is_halved() {
    let blobs: Vec<String> = (0..40).map(|i| format!("{i} hit\n")).collect();
    let store = store_of(64 << 20);
    let root = tree_of(&store, &blobs);
    let mut search = grep(root, &literal("hit"), &GrepOptions::default());
    let mut ask = || match search.run(&store, &mut Seen::default(), &NeverInterrupt).unwrap() {
        Lookup::Missing(missing) => missing.len(),
        Lookup::Ready(stats) => panic!("{stats:?} without a blob"),
    };
    let sizes: Vec<usize> = (0..10).map(|_| ask()).collect();
    assert_eq!(sizes, [40, 40, 40, 40, 32, 16, 8, 4, 2, 1]);
}

#[test]
fn a_search_goes_on_after_an_interrupt_and_after_an_error_of_its_sink() {
    struct Once(AtomicUsize, usize);
    impl Interrupt for Once {
        fn check(&self) -> Result<(), Interrupted> {
            let now = self.0.fetch_add(1, Ordering::Relaxed);
            if now == self.1 { Err(Interrupted::Cancelled) } else { Ok(()) }
        }
    }
    struct Refuses(Seen, usize);
    impl Sink for Refuses {
        fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
            if self.0.lines.len() == self.1 {
                self.1 = usize::MAX;
                return Err(Error::new(ErrorKind::Io, "no paper"));
            }
            self.0.add(hit.file.path.to_string())
        }
    }
    let blobs: Vec<String> = (0..90).map(|i| format!("{i} hit\n{}", "-".repeat(50_000))).collect();
    let (store, root) = stored(&blobs);
    for check in [0, 3, 7] {
        let mut search = grep(root, &literal("hit"), &GrepOptions::default());
        let (mut sink, interrupt) = (Refuses(Seen::default(), 20), Once(0.into(), check));
        let mut errors = Vec::new();
        let stats = loop {
            match search.run(&store, &mut sink, &interrupt) {
                Ok(Lookup::Ready(stats)) => break stats,
                Ok(Lookup::Missing(missing)) => panic!("{missing:?}"),
                Err(error) => errors.push(error.kind()),
            }
        };
        errors.sort_by_key(|kind| kind.code());
        assert_eq!(errors, [ErrorKind::Cancelled, ErrorKind::Io], "{check}");
        // The file that the sink refused is not shown again.
        assert_eq!((sink.0.lines.len(), stats.files_searched), (89, 89));
        assert!(sink.0.lines.iter().collect::<std::collections::HashSet<_>>().len() == 89);
    }
}

#[test]
fn blobs_outside_the_arena_are_found_and_displace_nothing_of_it() {
    let blobs: Vec<String> =
        (0..300).map(|i| format!("{i} hit\n{}", format!("{i:09}\n").repeat(5_000))).collect();
    let store = store_of(8 << 20);
    bring(&store, &blobs);
    let root = tree_of(&store, &blobs);
    let before = store.stats();
    assert!(before.arena_bytes > 4 << 20 && before.arena_bytes < 8 << 20, "{before:?}");
    let mut inflated = 0;
    for _ in 0..5 {
        let (lines, stats) =
            run(grep(root, &literal("hit"), &GrepOptions::default()), &store, None);
        assert_eq!((lines.len(), stats.files_matched), (900, 300));
        let after = store.stats();
        assert_eq!(after.arena_bytes, before.arena_bytes);
        inflated = after.inflates - inflated;
        assert!(inflated <= 300 - before.arena_bytes / 51_000, "{inflated} read again");
        inflated = after.inflates;
    }
}

#[test]
fn memory_that_the_search_itself_holds_can_be_had() {
    // Nearly all of the budget is the arena, and the one blob outside needs more than is
    // left.
    let store = store_of(8 << 20);
    let mut blobs: Vec<String> = vec![format!("hit\n{}", "0\n".repeat(1_500_000))];
    blobs.extend((0..90).map(|i| format!("{i} hit\n{}", format!("{i:09}\n").repeat(5_500))));
    bring(&store, &blobs[1..]);
    bring(&store, &blobs[..1]);
    assert!(store.stats().arena_bytes > 4 << 20, "{:?}", store.stats());
    let root = tree_of(&store, &blobs);
    let (lines, stats) = run(grep(root, &literal("hit"), &GrepOptions::default()), &store, None);
    assert_eq!((lines.len(), stats.files_matched), (3 * 91, 91));
}

#[test]
fn a_damaged_folder_is_reported_between_its_neighbours() {
    let store = store_of(64 << 20);
    bring(&store, &["hit 1\n", "hit 2\n"]);
    let damaged = store.insert(Kind::Tree, b"100644 no end").unwrap();
    let blob = |content: &[u8]| hash_object(SHA1, Kind::Blob, content).unwrap();
    let mut tree = Tree::default();
    for (mode, name, id) in [
        (Mode::BLOB, "a", blob(b"hit 1\n")),
        (Mode::TREE, "b", damaged),
        (Mode::BLOB, "c", blob(b"hit 2\n")),
    ] {
        tree.entries.push(TreeEntry { mode, name: name.into(), id });
    }
    let mut bytes = Vec::new();
    tree.encode(&mut bytes);
    let root = store.insert(Kind::Tree, &bytes).unwrap();
    let mut search = grep(root, &literal("hit"), &GrepOptions::default());
    let mut seen = Seen::default();
    let error = search.run(&store, &mut seen, &NeverInterrupt).unwrap_err();
    assert_eq!((error.kind(), seen.lines.len()), (ErrorKind::Malformed, 3));
    assert!(matches!(search.run(&store, &mut seen, &NeverInterrupt), Ok(Lookup::Ready(_))));
    assert_eq!(seen.lines.len(), 6);
}

/// Takes so many hits, and knows where the next one is to be looked for.
struct Page {
    most: usize,
    hits: Vec<String>,
    within: FilePlace,
}

impl Sink for Page {
    fn begin(&mut self, _: &FileRef<'_>) -> Result<bool, Error> {
        self.within.found = 0;
        Ok(true)
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        self.hits.push(format!("{}:{}", hit.file.path, hit.line_number));
        self.within = FilePlace {
            offset: hit.offset + hit.line.len() + 1,
            lines_before: hit.line_number,
            shown_to: 0,
            found: self.within.found + 1,
        };
        Ok(self.hits.len() < self.most)
    }
}

#[test]
fn a_search_goes_on_where_one_pass_was_stopped() {
    let blobs: Vec<String> = (0..60).map(|i| format!("-\nhit {i}\nhit\n")).collect();
    let (store, root) = stored(&blobs);
    let page = |place: &Place, within: Option<FilePlace>, most| {
        let mut search =
            grep(root, &literal("hit"), &GrepOptions::default()).starting_at(place, within);
        let mut page = Page { most, hits: Vec::new(), within: within.unwrap_or_default() };
        assert!(matches!(search.run(&store, &mut page, &NeverInterrupt), Ok(Lookup::Ready(_))));
        (page.hits, search.place(), page.within)
    };
    let (all, ..) = page(&Place::default(), None, usize::MAX);
    assert_eq!(all.len(), 120);
    for most in [1, 2, 31, 119] {
        let (mut first, place, within) = page(&Place::default(), None, most);
        let (rest, ..) = page(&place, Some(within), usize::MAX);
        first.extend(rest);
        assert_eq!(first, all, "{most}");
    }
}
