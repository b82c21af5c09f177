//! Work that is stopped from outside, by its caller or by limits, and what is left of it.

use gitsip::ErrorKind;
use gitsip::Limits;
use gitsip::agent::{
    Ask as _, GrepItem, GrepQuery, LsQuery, Remote, RemoteOptions, Repo, Stop, Truncated,
};

use super::support::git::{File, Sandbox};
use super::support::http_server::in_process::{self, InProcess};
use super::{host, open};

/// A file of a million lines that match, and one behind it.
fn large(sandbox: &Sandbox) -> InProcess {
    let files = [File::new("a", "needle\n".repeat(1_000_000)), File::new("b", "needle\n")];
    sandbox.bare("r.git").commit("main", &files);
    host(sandbox)
}

fn needles() -> GrepQuery {
    GrepQuery { patterns: vec!["needle".into()], ..GrepQuery::default() }
}

#[test]
fn a_search_hears_within_64_kib_that_it_is_cancelled() {
    let sandbox = Sandbox::new();
    let repo = open(&large(&sandbox));
    let stop = Stop::default();
    let mut taken = 0;
    let error = in_process::run(needles().stream(&repo, &stop, |_| {
        taken += 1;
        stop.cancel();
        Ok(true)
    }))
    .unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Cancelled, "cancelled"));
    assert!(taken <= (64 << 10) / 7 + 2, "{taken} lines");
}

#[test]
fn what_a_deadline_cuts_short_goes_on_where_it_was() {
    let sandbox = Sandbox::new();
    let host = large(&sandbox);
    let repo = open(&host);
    for after in [0, 2] {
        let stop = Stop::default();
        let query = GrepQuery { after, ..needles() };
        let mut lines = Vec::new();
        let envelope = in_process::run(query.stream(&repo, &stop, |item| {
            let GrepItem::Hit(hit) = item else { panic!() };
            lines.push((hit.path, hit.line));
            stop.pass_deadline();
            Ok(true)
        }))
        .unwrap();
        assert_eq!(envelope.truncated, Some(Truncated::Deadline));
        let rest = GrepQuery { cursor: envelope.next, ..query };
        let envelope = in_process::run(rest.stream(&open(&host), &Stop::default(), |item| {
            let GrepItem::Hit(hit) = item else { panic!() };
            lines.push((hit.path, hit.line));
            Ok(true)
        }))
        .unwrap();
        assert_eq!((envelope.truncated, envelope.next), (None, None));
        assert_eq!(lines.len(), 1_000_001);
        assert!(lines.is_sorted());
        lines.dedup();
        assert_eq!(lines.len(), 1_000_001);
    }
}

#[test]
fn nothing_is_asked_of_a_host_after_a_stop() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    let host = host(&sandbox);
    let repo = open(&host);
    host.forget_requests();
    let stop = Stop::default();
    stop.pass_deadline();
    let error = in_process::run(LsQuery::default().ask(&repo, &stop)).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Cancelled, "deadline"));
    assert!(host.requests().is_empty());
}

#[test]
fn a_page_is_no_larger_than_memory_and_says_so() {
    let sandbox = Sandbox::new();
    let host = large(&sandbox);
    // The file, its packed form, and room for some pages.
    let limits = Limits { max_memory: 9 << 20, ..Limits::default() };
    let options = RemoteOptions { limits: limits.clone(), ..RemoteOptions::default() };
    let remote = in_process::run(Remote::open(host.clone(), &host.url("r.git"), options)).unwrap();
    let repo = Repo::new(remote, limits);
    let query = GrepQuery { max_bytes: Some(u64::MAX), ..needles() };
    let page = in_process::run(query.ask(&repo, &Stop::default())).unwrap();
    assert_eq!(page.truncated, Some(Truncated::Budget));
    assert!(page.next.is_some() && page.items.len() > 100, "{}", page.items.len());
    let query = GrepQuery { cursor: page.next, max_bytes: None, limit: Some(1), ..query };
    let next = in_process::run(query.ask(&repo, &Stop::default())).unwrap();
    let GrepItem::Hit(hit) = &next.items[0] else { panic!() };
    assert_eq!(hit.line, page.items.len() as u64 + 1);
}
