//! Pages joined by their cursors are the answer that one page gives, while the branch
//! moves and whoever answers them.

use std::fmt::Debug;

use gitsip::agent::{
    Ask, GlobQuery, GrepItem, GrepQuery, LsQuery, OutputMode, ReadItem, ReadQuery, RefsQuery,
    StatQuery, TreeQuery, Truncated,
};
use proptest::prelude::*;

use super::support::git::{self, File, Sandbox};
use super::support::http_server::in_process::InProcess;
use super::{ask, host, open};

/// A question of which the page can be chosen.
trait Paged: Ask + Clone {
    fn page(&self, cursor: Option<String>, limit: Option<u64>, max_bytes: Option<u64>) -> Self;
}

macro_rules! paged {
    ($($query:ty),*) => {$(
        impl Paged for $query {
            fn page(&self, cursor: Option<String>, limit: Option<u64>, max_bytes: Option<u64>) -> Self {
                Self { cursor, limit, max_bytes, ..self.clone() }
            }
        }
    )*};
}

paged!(GlobQuery, GrepQuery, LsQuery, ReadQuery, RefsQuery, StatQuery, TreeQuery);

/// Two commits that `main` moves between.
struct Moving {
    _sandbox: Sandbox,
    origin: git::Repo,
    host: InProcess,
    first: String,
    second: String,
}

impl Moving {
    fn new(files: &[File]) -> Self {
        let sandbox = Sandbox::new();
        let origin = sandbox.bare("r.git");
        let first = origin.commit("main", files);
        let second = origin.commit("main", &[File::new("new", "needle\n"), File::new("b", "x\n")]);
        let host = host(&sandbox);
        let moving = Self { _sandbox: sandbox, origin, host, first, second };
        moving.move_to(&moving.first);
        moving
    }

    fn move_to(&self, commit: &str) {
        self.origin.git().run(["update-ref", "refs/heads/main", commit]);
    }

    /// All items of `query` on pages of `limit` items and `max_bytes`, each asked of a
    /// repository that was opened for it if `anew`.
    fn joined<Q: Paged>(
        &self,
        query: &Q,
        (limit, max_bytes): (Option<u64>, Option<u64>),
        anew: bool,
    ) -> Vec<Q::Item> {
        self.move_to(&self.first);
        let mut repo = open(&self.host);
        let (mut items, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = ask(&repo, &query.page(cursor, limit, max_bytes)).unwrap();
            assert!(page.commit.is_none_or(|id| id.to_string() == self.first), "pinned");
            assert!(page.ref_name.is_none_or(|name| name == "HEAD"));
            assert_eq!(page.next.is_some(), page.truncated.is_some(), "{:?}", page.truncated);
            items.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return items;
            }
            pages += 1;
            assert!(pages < 1_000, "each page gets on");
            self.move_to(if pages % 2 == 1 { &self.second } else { &self.first });
            if anew {
                repo = open(&self.host);
            }
        }
    }

    fn check<Q: Paged>(&self, query: &Q, limit: Option<u64>, max_bytes: Option<u64>, anew: bool)
    where
        Q::Item: Debug + PartialEq,
    {
        self.move_to(&self.first);
        let whole = ask(&open(&self.host), query).unwrap();
        assert_eq!((whole.truncated, &whole.next), (None, &None));
        assert_eq!(self.joined(query, (limit, max_bytes), anew), whole.items);
    }
}

fn some_files() -> Vec<File> {
    vec![
        File::new("a.c", "needle\nb\nneedle needle\n\n\nneedle\n"),
        File::new("a/deep/er/x.c", "x\nneedle\n".repeat(5)),
        File::new("a/y.c", ""),
        File::new(b"caf\xe9", b"needle \xff\n"),
        File::executable("run", "no such thing\n"),
        File::symlink("z-link", "a.c"),
        File::new("z/1", "needle"),
        File::new("z/2", "needle\r\nneedle\r\n"),
    ]
}

#[test]
fn listings_join() {
    let moving = Moving::new(&some_files());
    for tag in ["v1", "v2", "x/v1"] {
        moving.origin.git().run(["tag", tag, &moving.first]);
    }
    let glob = GlobQuery { patterns: vec!["*.c".into(), "z*/**".into()], ..GlobQuery::default() };
    let recursive = LsQuery { recursive: true, ..LsQuery::default() };
    let tree = TreeQuery { depth: 2, limit: None, ..TreeQuery::default() };
    let folders = TreeQuery { folders_only: true, ..tree.clone() };
    let paths = ["a.c", "a", "none", "z-link", "run"].map(Into::into).into();
    let stat = StatQuery { paths, ..StatQuery::default() };
    let refs = RefsQuery { patterns: vec!["v1".into(), "HEAD".into()], ..RefsQuery::default() };
    for limit in [1, 2, 5] {
        for (limit, max_bytes) in [(Some(limit), None), (None, Some(200 * limit))] {
            let anew = limit == Some(2);
            moving.check(&LsQuery::default(), limit, max_bytes, anew);
            moving.check(&recursive, limit, max_bytes, anew);
            moving.check(&glob, limit, max_bytes, anew);
            moving.check(&tree, limit, max_bytes, anew);
            moving.check(&folders, limit, max_bytes, anew);
            moving.check(&stat, limit, max_bytes, anew);
            moving.check(&refs, limit, max_bytes, anew);
        }
    }
}

#[test]
fn files_join_line_by_line_and_within_lines_that_are_longer_than_a_page() {
    let long = "日本語 and more of it\t".repeat(300);
    let files = [
        File::new("bytes", [&b"\xff\xfe"[..], &[0x80; 2_000]].concat()),
        File::new("lines", "one\ntwo\n\nfour"),
        File::new("long", format!("short\n{long}\nshort\n")),
        File::new("nothing", ""),
    ];
    let moving = Moving::new(&files);
    let paths = ["lines", "none", "long", "nothing", "bytes", "lines"].map(Into::into);
    let all = ReadQuery { paths: paths.into(), ..ReadQuery::default() };
    let some = ReadQuery { lines: Some("2:3".parse().unwrap()), ..all.clone() };
    for query in [&all, &some] {
        let whole = joined_text(ask(&open(&moving.host), query).unwrap().items);
        for (limit, max_bytes) in [
            (Some(1), None),
            (Some(3), None),
            (None, Some(1)),
            (None, Some(700)),
            (Some(2), Some(400)),
        ] {
            let parts = moving.joined(query, (limit, max_bytes), limit == Some(3));
            for part in &parts {
                let ReadItem::File(file) = part else { continue };
                let name = file.path.to_string();
                let is_text = std::str::from_utf8(&file.text).is_ok();
                assert!(is_text || name == "bytes", "no character is cut: {name}");
                let lines = file.text.split_inclusive(|&byte| byte == b'\n').count() as u64;
                assert_eq!(file.last_line + u64::from(lines > 0) - file.first_line, lines);
                assert!(limit.is_none_or(|limit| lines <= limit));
            }
            assert!(joined_text(parts) == whole, "{limit:?} {max_bytes:?}");
        }
    }
}

/// The texts of what was read, those of one path in a row joined.
fn joined_text(items: Vec<ReadItem>) -> Vec<(String, Vec<u8>)> {
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for item in items {
        let (path, text, goes_on) = match item {
            ReadItem::File(file) => {
                let goes_on =
                    file.first_line > 1 || file.cut.is_some_and(|cut| cut.before_bytes > 0);
                (file.path.to_string(), file.text.to_vec(), goes_on)
            }
            ReadItem::Error(error) => (error.path.to_string(), b"(error)".to_vec(), false),
            ReadItem::Submodule(other) => panic!("{other:?}"),
        };
        match texts.last_mut() {
            Some((last, so_far)) if *last == path && goes_on => so_far.extend(text),
            _ => texts.push((path, text)),
        }
    }
    texts
}

#[test]
fn a_total_ends_the_last_page_for_good_and_tells_whether_there_is_more() {
    let moving = Moving::new(&some_files());
    for (output_mode, most) in
        [(OutputMode::Lines, 12), (OutputMode::Files, 5), (OutputMode::Count, 5)]
    {
        for max_total in 1..=most {
            let patterns = vec!["needle".into()];
            let query = GrepQuery {
                patterns,
                output_mode,
                max_total: Some(max_total),
                ..GrepQuery::default()
            };
            let whole = ask(&open(&moving.host), &query).unwrap();
            assert_eq!(whole.items.len() as u64, max_total, "{output_mode:?}");
            let truncated = (max_total < most).then_some(Truncated::Total);
            assert_eq!((whole.truncated, whole.next), (truncated, None), "{output_mode:?}");
            let mut pages = query.clone();
            let mut items = Vec::new();
            pages.limit = Some(3);
            let repo = open(&moving.host);
            let last = loop {
                let page = ask(&repo, &pages).unwrap();
                items.extend(page.items);
                pages.cursor = page.next;
                if pages.cursor.is_none() {
                    break page.truncated;
                }
            };
            assert_eq!((items, last), (whole.items, truncated));
        }
    }
}

#[test]
fn a_page_is_not_searched_for_again() {
    let files: Vec<File> =
        (0..60).map(|number| File::new(format!("f{number:02}"), "needle\n".repeat(100))).collect();
    let moving = Moving::new(&files);
    let repo = open(&moving.host);
    let patterns = vec!["needle".into()];
    let mut query = GrepQuery { patterns, limit: Some(250), ..GrepQuery::default() };
    let (mut searched, mut found) = (0, 0);
    loop {
        let page = ask(&repo, &query).unwrap();
        searched += page.stats.search.unwrap().files_searched;
        found += page.items.len();
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, 6_000);
    // Each of the 24 pages looks at the rest of the file that the last one ended in.
    assert!((60..=60 + 24).contains(&searched), "{searched} files");
}

fn some_text() -> impl Strategy<Value = String> {
    "(([xyné ]{0,6}|[xy ]{0,3}needle{0,2}[x ]{0,3})\r?\n){0,12}(needle|x)?"
}

fn a_search() -> impl Strategy<Value = GrepQuery> {
    let pattern = prop::sample::select(vec!["needle", "^x", "y", "\\bx|e\\b", "needle\\s+x"]);
    (
        pattern,
        any::<(bool, bool, bool)>(),
        (0u32..3, 0u32..3),
        prop::option::of(1u64..4),
        prop::sample::select(vec![
            OutputMode::Lines,
            OutputMode::Lines,
            OutputMode::Files,
            OutputMode::Count,
        ]),
        prop::option::of(64u64..80),
    )
        .prop_map(
            |(
                pattern,
                (invert, word, multiline),
                (before, after),
                max_count,
                mode,
                max_columns,
            )| {
                GrepQuery {
                    patterns: vec![pattern.into()],
                    invert,
                    word,
                    multiline,
                    before,
                    after,
                    max_count,
                    output_mode: mode,
                    max_columns,
                    ..GrepQuery::default()
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn searches_join(
        texts in prop::collection::vec(some_text(), 1..7),
        queries in prop::collection::vec((a_search(), 1u64..5, any::<bool>()), 3),
    ) {
        let names = ["a", "a.b", "a/b", "c/d/e", "c/f", "g", "h"];
        let files: Vec<_> = names.iter().zip(&texts).map(|(n, text)| {
            // A file and a folder of one name do not go together.
            File::new(if *n == "a" { "a-" } else { n }, text)
        }).collect();
        let moving = Moving::new(&files);
        for (query, limit, anew) in queries {
            moving.check(&query, Some(limit), None, anew);
            moving.check(&query, None, Some(limit * 200), anew);
            for item in ask(&open(&moving.host), &query).unwrap().items {
                let GrepItem::Hit(hit) = item else { continue };
                let column = hit.column.map(|column| column - 1);
                let cut = hit.cut.map_or(0, |cut| cut.before_bytes);
                prop_assert_eq!(hit.ranges.first().map(|range| range.start + cut), column);
                prop_assert!(std::str::from_utf8(&hit.text).is_ok());
            }
        }
    }
}
