//! Cursors that are none, are of other questions, or of other repositories: one clear
//! error each.

use gitsip::ErrorKind;
use gitsip::agent::{Ask, GlobQuery, GrepQuery, LsQuery, RefsQuery};

use super::support::git::{File, Sandbox};
use super::{Held, ask, host, open};

#[track_caller]
fn refused<Q: Ask>(repo: &Held, query: &Q, words: &str) {
    let error = ask(repo, query).err().expect("the cursor is refused");
    assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, "bad_cursor"), "{error}");
    assert!(error.to_string().contains(words), "{error}");
    assert!(!error.to_string().contains('\n'));
}

#[test]
fn a_cursor_belongs_to_one_question() {
    let sandbox = Sandbox::new();
    let files: Vec<File> = (0..9).map(|n| File::new(format!("d/f{n}"), "x\nx\n")).collect();
    sandbox.bare("r.git").commit("main", &files);
    let repo = open(&host(&sandbox));
    let grep = GrepQuery { patterns: vec!["x".into()], limit: Some(3), ..GrepQuery::default() };
    let cursor = ask(&repo, &grep).unwrap().next;
    assert!(cursor.is_some());
    let grep = GrepQuery { cursor, ..grep };
    assert!(ask(&repo, &grep).is_ok());
    // How a page is cut is no part of the question; everything else is.
    assert!(ask(&repo, &GrepQuery { limit: Some(7), max_bytes: Some(9), ..grep.clone() }).is_ok());
    for other in [
        GrepQuery { patterns: vec!["y".into()], ..grep.clone() },
        GrepQuery { fixed_strings: true, ..grep.clone() },
        GrepQuery { ignore_case: true, ..grep.clone() },
        GrepQuery { smart_case: true, ..grep.clone() },
        GrepQuery { word: true, ..grep.clone() },
        GrepQuery { invert: true, ..grep.clone() },
        GrepQuery { multiline: true, ..grep.clone() },
        GrepQuery { binary: true, ..grep.clone() },
        GrepQuery { globs: vec!["d".into()], ..grep.clone() },
        GrepQuery { names: vec!["f*".into()], ..grep.clone() },
        GrepQuery { paths: vec!["d".into()], ..grep.clone() },
        GrepQuery { before: 1, ..grep.clone() },
        GrepQuery { after: 1, ..grep.clone() },
        GrepQuery { max_count: Some(1), ..grep.clone() },
        GrepQuery { max_total: Some(9), ..grep.clone() },
        GrepQuery { max_columns: None, ..grep.clone() },
        GrepQuery { at: "main".into(), ..grep.clone() },
    ] {
        refused(&repo, &other, "another question");
    }
    let cursor = grep.cursor.clone();
    refused(&repo, &LsQuery { cursor: cursor.clone(), ..LsQuery::default() }, "another question");
    refused(&repo, &RefsQuery { cursor, ..RefsQuery::default() }, "another question");
}

#[test]
fn what_is_no_cursor_is_refused_before_anything_is_sent() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n"), File::new("b", "b\n")]);
    let host = host(&sandbox);
    let repo = open(&host);
    let ls = LsQuery { limit: Some(1), ..LsQuery::default() };
    let next = ask(&repo, &ls).unwrap().next.unwrap();
    host.forget_requests();
    let mut other = next.clone();
    other.replace_range(10..11, if next.as_bytes()[10] == b'A' { "B" } else { "A" });
    for cursor in
        ["", "next", "%", "😀", &other, &next[1..], &format!("{next}A"), &format!("{next}=")]
    {
        let query = LsQuery { cursor: Some(cursor.to_owned()), ..ls.clone() };
        refused(&repo, &query, "no cursor");
    }
    assert!(host.requests().is_empty());
}

#[test]
fn a_cursor_of_another_repository_names_a_commit_that_is_not_there() {
    let (sandbox, other) = (Sandbox::new(), Sandbox::new());
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n"), File::new("b", "b\n")]);
    other.bare("r.git").commit("main", &[File::new("c", "c\n")]);
    let glob = GlobQuery { patterns: vec!["*".into()], limit: Some(1), ..GlobQuery::default() };
    let page = ask(&open(&host(&sandbox)), &glob).unwrap();
    let error = ask(&open(&host(&other)), &GlobQuery { cursor: page.next, ..glob }).err().unwrap();
    assert_eq!((error.kind(), error.code()), (ErrorKind::NotFound, "snapshot_gone"));
    assert!(error.to_string().contains(&page.commit.unwrap().to_string()), "{error}");
}
