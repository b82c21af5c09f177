//! What questions are refused, and what long lines, damaged folders and absent paths do to
//! an answer.

use gitsip::agent::{
    Ask as _, GlobQuery, GrepItem, GrepQuery, LsQuery, Query, ReadItem, ReadQuery, Repo, StatItem,
    StatQuery, Stop, TreeQuery, Truncated,
};
use gitsip::disk::{Local, Repository};
use gitsip::{Budget, ErrorKind, Limits};

use super::support::git::{File, Sandbox};
use super::support::http_server::in_process;
use super::{ask, host, open};

#[test]
fn a_long_line_is_cut_around_its_match_and_says_so() {
    let sandbox = Sandbox::new();
    let line = format!("{}needle{}", "é".repeat(5_000), "日".repeat(5_000));
    sandbox.bare("r.git").commit("main", &[File::new("long", format!("{line}\n{line}\n"))]);
    let repo = open(&host(&sandbox));
    let query = GrepQuery {
        patterns: vec!["needle".into()],
        after: 1,
        max_columns: Some(100),
        max_count: Some(1),
        ..GrepQuery::default()
    };
    let page = ask(&repo, &query).unwrap();
    let [GrepItem::Hit(hit)] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!(hit.column, Some(10_001));
    let text = std::str::from_utf8(&hit.text).expect("no character is cut");
    let (cut, range) = (hit.cut.unwrap(), hit.ranges[0]);
    assert!(text.len() <= 100 && text.len() > 90);
    assert_eq!(&text[range.start as usize..range.end as usize], "needle");
    assert_eq!(cut.before_bytes + range.start + 1, 10_001);
    assert_eq!(cut.before_bytes + text.len() as u64 + cut.after_bytes, line.len() as u64);
    assert!(hit.after[0].cut.is_some() && hit.after[0].text.len() <= 100);
}

#[test]
fn a_page_keeps_to_its_bytes() {
    let sandbox = Sandbox::new();
    let text = "\u{1}\"needle\"\\\t\n".repeat(9_000);
    let files =
        [File::new("escapes", text), File::new("bytes", b"needle \xff\xfe\n".repeat(9_000))];
    sandbox.bare("r.git").commit("main", &files);
    let repo = open(&host(&sandbox));
    for max_bytes in [2_000, 20_000, 40_000] {
        let patterns = vec!["needle".into()];
        let query = GrepQuery { patterns, max_bytes: Some(max_bytes), ..GrepQuery::default() };
        let page = ask(&repo, &query).unwrap();
        assert_eq!(page.truncated, Some(Truncated::Bytes));
        let json = serde_json::to_string(&page.items).unwrap().len() as u64;
        assert!(json <= max_bytes && json > max_bytes / 2, "{json} of {max_bytes}");
        for path in ["escapes", "bytes"] {
            let paths = vec![path.into()];
            let query = ReadQuery { paths, max_bytes: Some(max_bytes), ..ReadQuery::default() };
            let page = ask(&repo, &query).unwrap();
            assert_eq!(page.truncated, Some(Truncated::Bytes));
            let json = serde_json::to_string(&page.items).unwrap().len() as u64;
            assert!(
                json <= max_bytes + 400 && json > max_bytes / 2,
                "{path}: {json} of {max_bytes}"
            );
        }
    }
}

#[test]
fn what_is_behind_a_damaged_folder_is_on_the_next_page() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[File::new("a", "needle\n")]);
    let blob = origin.git().run(["rev-parse", "main:a"]);
    let damaged = origin.object("tree", b"100644 no end");
    let mut tree = Vec::new();
    for (mode, name, id) in
        [("100644", "a", &blob), ("40000", "damaged", &damaged), ("100644", "z", &blob)]
    {
        tree.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        let byte = |at: usize| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap();
        tree.extend((0..20).map(byte));
    }
    let tree = origin.object("tree", &tree);
    let commit = origin.git().run(["commit-tree", "-m", "damaged", &tree]);
    origin.git().run(["update-ref", "refs/heads/main", &commit]);
    let limits = Limits::default();
    let budget = Budget::new(limits.max_memory);
    let local = Repository::open(origin.path(), &limits, &budget).unwrap();
    let repo = Repo::new(Local::new(local, &budget), limits);
    let mut query = GrepQuery { patterns: vec!["needle".into()], ..GrepQuery::default() };
    let page = in_process::run(query.ask(&repo, &Stop::default())).unwrap();
    assert_eq!((page.items.len(), page.truncated), (1, Some(Truncated::Damaged)));
    query.cursor = page.next;
    let page = in_process::run(query.ask(&repo, &Stop::default())).unwrap();
    assert_eq!((page.items.len(), page.truncated), (1, None));
}

#[test]
fn what_is_wrong_with_one_path_is_said_beside_the_others() {
    let sandbox = Sandbox::new();
    let files =
        [File::new("src/main.rs", "fn main() {}\n"), File::submodule("sub", &"1".repeat(40))];
    sandbox.bare("r.git").commit("main", &files);
    let repo = open(&host(&sandbox));
    let paths: Vec<_> = ["src/mian.rs", "src", "src/main.rs", "sub"].map(Into::into).into();
    let read = ask(&repo, &ReadQuery { paths: paths.clone(), ..ReadQuery::default() }).unwrap();
    let [ReadItem::Error(slip), ReadItem::Error(folder), ReadItem::File(_), ReadItem::Submodule(_)] =
        &read.items[..]
    else {
        panic!("{read:?}")
    };
    assert_eq!((slip.error.code, folder.error.code), ("not_found", "is_folder"));
    assert!(slip.error.message.contains("did you mean 'src/main.rs'"));
    let stat = ask(&repo, &StatQuery { paths, ..StatQuery::default() }).unwrap();
    assert!(matches!(&stat.items[0], StatItem::Error(slip) if slip.error.code == "not_found"));
    assert!(stat.items[1..].iter().all(|item| matches!(item, StatItem::Entry(_))));
}

#[test]
fn questions_that_cannot_be_meant_are_refused_before_anything_is_sent() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    let host = host(&sandbox);
    let repo = open(&host);
    host.forget_requests();
    let grep = || GrepQuery { patterns: vec!["x".into()], ..GrepQuery::default() };
    let many: Vec<bstr::BString> = vec!["x".into(); 10_001];
    let refused = [
        ask(&repo, &GrepQuery::default()).err(),
        ask(&repo, &GrepQuery { patterns: many.clone(), ..grep() }).err(),
        ask(&repo, &GrepQuery { patterns: vec!["(".into()], ..grep() }).err(),
        ask(&repo, &GrepQuery { globs: vec!["[".into()], ..grep() }).err(),
        ask(&repo, &GrepQuery { paths: vec!["../x".into()], ..grep() }).err(),
        ask(&repo, &ReadQuery::default()).err(),
        ask(&repo, &ReadQuery { paths: many, ..ReadQuery::default() }).err(),
        ask(&repo, &GlobQuery::default()).err(),
        ask(&repo, &GlobQuery { patterns: vec!["{".into()], ..GlobQuery::default() }).err(),
    ];
    for error in refused {
        assert_eq!(error.expect("it is refused").kind(), ErrorKind::Usage);
    }
    assert!(host.requests().is_empty());
    assert_eq!(
        ask(&repo, &GrepQuery { paths: vec!["b".into()], ..grep() }).err().unwrap().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        ask(&repo, &LsQuery { at: "mian".into(), ..LsQuery::default() }).err().unwrap().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_tree_that_names_more_paths_than_anybody_walks_is_drawn_at_once() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    origin.commit("main", &[File::new("a", "a\n")]);
    let mut entry = format!("100644 blob {}", origin.git().run(["rev-parse", "main:a"]));
    for _ in 0..10 {
        let listing: String = (0..10).map(|name| format!("{entry}\tf{name}\n")).collect();
        let tree = origin.git().bytes_with_input(["mktree"], listing.as_bytes());
        entry = format!("040000 tree {}", String::from_utf8(tree).unwrap().trim());
    }
    let tree = entry.split(' ').nth(2).unwrap();
    let commit = origin.git().run(["commit-tree", "-m", "bomb", tree]);
    origin.git().run(["update-ref", "refs/heads/main", &commit]);
    let page =
        ask(&open(&host(&sandbox)), &TreeQuery { depth: 1, ..TreeQuery::default() }).unwrap();
    assert_eq!(page.items.len(), 10);
    assert_eq!(page.items[0].below.unwrap().files, 1_000_000_000);
    assert!(page.items[0].is_closed);
}

#[test]
fn paths_are_chosen_by_type_as_files_to_search_are() {
    let sandbox = Sandbox::new();
    let paths = ["a.rs", "a.py", "src/b.rs", "src/c.md", "src/Makefile"];
    sandbox.bare("r.git").commit("main", &paths.map(|path| File::new(path, "x\n")));
    let repo = open(&host(&sandbox));
    let found = |patterns: &[&str], types: &[&str], path: &str| {
        let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (patterns, types) = (texts(patterns), texts(types));
        let query = GlobQuery { patterns, types, path: path.into(), ..GlobQuery::default() };
        let items = ask(&repo, &query).map(|answer| answer.items)?;
        Ok::<_, gitsip::Error>(
            items.into_iter().map(|entry| entry.path.to_string()).collect::<Vec<_>>(),
        )
    };
    assert_eq!(found(&[], &["rust"], "").unwrap(), ["a.rs", "src/b.rs"]);
    assert_eq!(found(&[], &["rust", "make"], "src").unwrap(), ["src/Makefile", "src/b.rs"]);
    assert_eq!(found(&["src/**"], &["!rust"], "").unwrap(), ["src/Makefile", "src/c.md"]);
    assert_eq!(found(&["a.*"], &["py"], "").unwrap(), ["a.py"]);
    assert!(found(&["*.rs"], &["py"], "").unwrap().is_empty());
    let requests = repo.stats().requests;
    let refused = [found(&[], &[], ""), found(&["*"], &["ruts"], "")];
    assert!(
        refused
            .iter()
            .all(|error| { error.as_ref().is_err_and(|error| error.kind() == ErrorKind::Usage) })
    );
    assert_eq!(repo.stats().requests, requests, "judged before anything is asked of the host");
}

#[test]
fn questions_are_read_from_json_and_slips_are_named() {
    let read = |json: &str| serde_json::from_str::<Query>(json);
    let Ok(Query::Grep(grep)) = read(
        r#"{"method":"grep","params":{"patterns":["a",{"bytes":"/w=="}],"ref":"v1","output_mode":"files","max_columns":null}}"#,
    ) else {
        panic!()
    };
    assert_eq!(grep.patterns, ["a".into(), bstr::BString::from(b"\xff")]);
    assert_eq!((grep.at.as_str(), grep.max_columns), ("v1", None));
    let Ok(Query::Read(query)) =
        read(r#"{"method":"read","params":{"paths":[{"text":"a"}],"lines":"2:9"}}"#)
    else {
        panic!()
    };
    assert_eq!(query.lines, Some("2:9".parse().unwrap()));
    for (json, words) in [
        (r#"{"method":"grpe","params":{}}"#, "unknown variant `grpe`"),
        (r#"{"method":"ls","params":{"paths":["a"]}}"#, "unknown field `paths`"),
        (r#"{"method":"ls","params":{"limit":-1}}"#, "invalid value"),
        (r#"{"method":"read","params":{"paths":["a"],"lines":"9:2"}}"#, "no range of lines"),
        (r#"{"method":"read","params":{"paths":[{"bytes":"-"}]}}"#, "base64"),
        (r#"{"method":"grep","params":{"output_mode":"all"}}"#, "unknown variant `all`"),
    ] {
        let error = read(json).unwrap_err().to_string();
        assert!(error.contains(words), "{json}: {error}");
    }
    for method in Query::METHODS {
        assert!(read(&format!(r#"{{"method":"{method}","params":{{}}}}"#)).is_ok(), "{method}");
    }
}

#[test]
fn a_question_that_is_waited_for_takes_little_of_the_stack() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n")]);
    let (repo, stop) = (open(&host(&sandbox)), Stop::default());
    let query = Query::Grep(Box::default());
    let asked = repo.ask(&query, &stop);
    // A thread has 2 MiB, of which a build without optimizations wastes most.
    assert!(size_of_val(&asked) < 4 << 10, "{} bytes", size_of_val(&asked));
}
