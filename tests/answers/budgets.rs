//! Questions that may cost no more than so much: what is spent, what comes of it, and that
//! the rest can be had later.

use std::time::Duration;

use gitsip::ErrorKind;
use gitsip::agent::{
    Answer, Ask, GlobQuery, GrepItem, GrepQuery, LsQuery, OutputMode, QueryBudget, ReadQuery,
    Remote, RemoteOptions, StatQuery, Stop, TreeQuery, Truncated, Unsearched,
};
use gitsip::client::allowance::Allowance;

use super::support::git::{File, Repo, Sandbox};
use super::support::http_server::Behaviour;
use super::support::http_server::in_process::{self, InProcess};
use super::{Held, ask, host, open};

/// Files in three batches, of which every third has the word, and some that are hardly text.
fn project(sandbox: &Sandbox) -> Repo {
    let repo = sandbox.bare("r.git");
    let mut files = vec![
        File::new("a.lock", "needle in a lock file\n"),
        File::new("m3/photo.JPG", "needle in a photo\n"),
    ];
    for number in 0..1_200_u32 {
        let word = if number % 3 == 0 { "needle" } else { "hay" };
        let noise = format!("{:x}", u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        files.push(File::new(
            format!("m{}/f{number:04}.txt", number % 7),
            format!("{word} {number}\n{noise}\n"),
        ));
    }
    repo.commit("main", &files);
    repo
}

/// What git finds in the files of these globs, in its order.
fn by_git(repo: &Repo, globs: &[&str]) -> Vec<String> {
    let args = [&["grep", "-n", "-F", "needle", "main", "--"], globs].concat();
    let found = repo.git().run(args);
    found.lines().map(|line| line.strip_prefix("main:").unwrap().to_owned()).collect()
}

fn needles(budget: QueryBudget) -> GrepQuery {
    // A glob, so that not everything comes at once.
    GrepQuery {
        patterns: vec!["needle".into()],
        globs: vec!["*".into()],
        budget,
        ..GrepQuery::default()
    }
}

fn lines(answer: &Answer<GrepItem>) -> Vec<String> {
    let line = |item: &GrepItem| match item {
        GrepItem::Hit(hit) => format!("{}:{}:{}", hit.path, hit.line, hit.text),
        GrepItem::File(file) => file.path.to_string(),
    };
    answer.items.iter().map(line).collect()
}

fn requests(count: u64) -> QueryBudget {
    QueryBudget { max_requests: Some(count), ..QueryBudget::default() }
}

fn received(host: &InProcess) -> u64 {
    host.requests().iter().map(|request| request.response_bytes).sum()
}

#[test]
fn no_more_requests_are_sent_than_may_be_and_the_rest_is_on_the_next_pages() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let host = host(&sandbox);
    let mut want = by_git(&origin, &["*.txt"]);
    want.extend(by_git(&origin, &["*.lock", "*.JPG"]));
    for most in 0..8 {
        let repo = open(&host);
        host.forget_requests();
        let query = needles(requests(most));
        let page = match ask(&repo, &query) {
            Ok(page) => page,
            // Not even the ref can be looked up.
            Err(error) => {
                assert_eq!(
                    (most, error.kind(), error.code()),
                    (0, ErrorKind::Limit, "requests_spent")
                );
                assert_eq!(host.requests().len(), 0);
                continue;
            }
        };
        // The ref, the commit with its folders, three batches of text and one of the rest.
        let sent = host.requests().len() as u64;
        assert_eq!((sent, page.stats.requests), (most.min(6), most.min(6)));
        assert_eq!(page.truncated, (most < 6).then_some(Truncated::Requests));
        let search = page.stats.search.unwrap();
        let found = lines(&page);
        assert_eq!(found, want[..found.len()]);
        match most {
            1 => assert_eq!(search.unsearched, Some(Unsearched::default())),
            2..6 => {
                let left = search.unsearched.unwrap();
                assert_eq!(left.files, Some(1_202 - search.files_searched));
                assert_eq!((Some(left.files_of_unknown_size), left.bytes_known), (left.files, 0));
                assert_eq!(search.files_searched, [0, 512, 1_024, 1_200][most as usize - 2]);
            }
            _ => assert_eq!((found.len(), search.unsearched), (402, None)),
        }

        // Each page has a budget of its own, and a repository that holds nothing.
        let (mut joined, mut cursor, mut pages) = (found, page.next, 0);
        while cursor.is_some() && most > 2 {
            let query = GrepQuery { cursor, ..query.clone() };
            let page = ask(&open(&host), &query).unwrap();
            joined.extend(lines(&page));
            cursor = page.next;
            pages += 1;
            assert!(pages < 10, "each page gets on");
        }
        if most > 2 {
            assert_eq!(joined, want, "{most}");
        }
    }
}

#[test]
fn everything_in_one_request_is_within_a_budget_of_requests() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let repo = open(&host(&sandbox));
    let query = GrepQuery { globs: Vec::new(), ..needles(requests(2)) };
    let page = ask(&repo, &query).unwrap();
    assert_eq!((page.items.len(), page.truncated), (402, None));
}

#[test]
fn no_more_bytes_come_than_may_and_what_came_is_searched() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let chunks = || Behaviour { max_chunk_bytes: Some(512), ..Behaviour::default() };
    let host = InProcess::new(sandbox.repos(), chunks());
    let want = by_git(&origin, &["*.txt"]);
    let whole = {
        let repo = open(&host);
        host.forget_requests();
        ask(&repo, &needles(QueryBudget::default())).unwrap();
        received(&host)
    };
    let mut searched = Vec::new();
    for percent in [0, 1, 20, 50, 70, 90, 200] {
        let most = whole * percent / 100;
        let repo = open(&host);
        host.forget_requests();
        let query = needles(QueryBudget { max_bytes: Some(most), ..QueryBudget::default() });
        let page = match ask(&repo, &query) {
            Ok(page) => page,
            Err(error) => {
                assert_eq!((percent, error.code()), (0, "bytes_spent"));
                assert_eq!(host.requests().len(), 0);
                continue;
            }
        };
        assert!(received(&host) <= most + 512, "{} of {most} bytes", received(&host));
        let search = page.stats.search.unwrap();
        let found = lines(&page);
        searched.push(search.files_searched);
        if percent > 100 {
            assert_eq!((found.len(), page.truncated), (402, None));
            continue;
        }
        assert_eq!(page.truncated, Some(Truncated::Transfer));
        // Just what git finds in these files.
        let listing = origin.git().run(["ls-tree", "-r", "--name-only", "main"]);
        let paths: Vec<&str> = listing.lines().filter(|path| path.ends_with(".txt")).collect();
        let paths = &paths[..search.files_searched as usize];
        let is_in = |line: &&String| paths.contains(&line.split(':').next().unwrap());
        assert_eq!(found, want.iter().filter(is_in).cloned().collect::<Vec<_>>());
        if let Some(left) = search.unsearched.unwrap().files {
            assert_eq!(left, 1_202 - search.files_searched);
        }
        // No file comes alone.
        let batches = host.requests().len().saturating_sub(2);
        assert!(batches <= 80, "{batches} batches");
    }
    assert!(searched.is_sorted(), "{searched:?}");
    assert!(searched[3] > 100 && searched[4] > searched[2], "{searched:?}");
}

#[test]
fn an_answer_ends_at_its_deadline_with_what_it_has() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    // Time passes only where the host takes it.
    let delay = Duration::from_millis(100);
    let host = InProcess::new(sandbox.repos(), Behaviour { delay, ..Behaviour::default() });
    let want = by_git(&origin, &["*.txt"]);
    let mut counts = Vec::new();
    for millis in [50, 150, 350, 10_000] {
        let repo = open(&host);
        let deadline = Some(Duration::from_millis(millis));
        let answer = ask(&repo, &needles(QueryBudget { deadline, ..QueryBudget::default() }));
        let page = match answer {
            Ok(page) => page,
            Err(error) => {
                assert_eq!((millis, error.code()), (50, "deadline"));
                continue;
            }
        };
        let is_late = millis < 10_000;
        assert_eq!(page.truncated, is_late.then_some(Truncated::Deadline));
        assert_eq!(page.next.is_some(), is_late);
        let found = lines(&page);
        counts.push(found.len());
        let shown = found.len().min(want.len());
        assert_eq!(found[..shown], want[..shown]);
    }
    assert_eq!(counts.first(), Some(&0));
    assert!(counts.is_sorted() && counts.last() == Some(&402), "{counts:?}");
}

#[test]
fn results_end_where_the_budget_of_them_does() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let repo = open(&host(&sandbox));
    let budget = QueryBudget { max_results: Some(5), ..QueryBudget::default() };
    let page = ask(&repo, &GrepQuery { limit: Some(9), ..needles(budget) }).unwrap();
    assert_eq!((page.items.len(), page.truncated), (5, Some(Truncated::Limit)));
    // One batch was enough, and the order is that of paths.
    assert_eq!(page.stats.requests, 3);
    assert_eq!(lines(&page), by_git(&origin, &["."])[..5]);
    let next = GrepQuery { limit: Some(2), cursor: page.next, ..needles(budget) };
    assert_eq!(lines(&ask(&repo, &next).unwrap()), by_git(&origin, &["."])[5..7]);
}

#[test]
fn a_cursor_of_the_later_turn_goes_on_there_and_one_of_another_order_is_refused() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox);
    let host = host(&sandbox);
    let mut want = by_git(&origin, &["*.txt"]);
    want.extend(by_git(&origin, &["*.lock", "*.JPG"]));
    for output_mode in [OutputMode::Lines, OutputMode::Files] {
        let query = GrepQuery { output_mode, limit: Some(401), ..needles(requests(9)) };
        let page = ask(&open(&host), &query).unwrap();
        assert_eq!((page.items.len(), page.truncated), (401, Some(Truncated::Limit)));
        let other = GrepQuery { cursor: page.next.clone(), ..needles(QueryBudget::default()) };
        let other = GrepQuery { output_mode, ..other };
        assert_eq!(ask(&open(&host), &other).unwrap_err().code(), "bad_cursor");
        let next = GrepQuery { cursor: page.next, ..query };
        let rest = ask(&open(&host), &next).unwrap();
        assert!(want[401].starts_with(&*lines(&rest)[0]) && rest.items.len() == 1);
        assert_eq!(rest.truncated, None);
        // The ref is pinned: a commit with its folders, and one batch.
        assert_eq!(rest.stats.requests, 2);
    }
}

fn cut_short<Q: Ask>(host: &InProcess, query: &Q) -> Answer<Q::Item> {
    ask(&open(host), query).unwrap()
}

#[test]
fn questions_for_paths_and_files_have_budgets_too() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let host = host(&sandbox);
    let budget = requests(1);
    let spent = (Some(Truncated::Requests), 1);
    let ls = LsQuery { budget, ..LsQuery::default() };
    let page = cut_short(&host, &ls);
    assert_eq!((page.truncated, page.stats.requests), spent);
    let page = cut_short(&host, &LsQuery { recursive: true, ..ls });
    assert_eq!((page.truncated, page.stats.requests), spent);
    let glob = GlobQuery { patterns: vec!["*.txt".into()], budget, ..GlobQuery::default() };
    let page = cut_short(&host, &glob);
    assert_eq!((page.truncated, page.stats.requests), spent);
    let page = cut_short(&host, &TreeQuery { budget, ..TreeQuery::default() });
    assert_eq!((page.truncated, page.stats.requests), spent);
    let paths = vec!["a.lock".into()];
    let page =
        cut_short(&host, &StatQuery { paths: paths.clone(), budget, ..StatQuery::default() });
    assert_eq!((page.truncated, page.stats.requests), spent);
    let read = ReadQuery { paths, budget: requests(2), ..ReadQuery::default() };
    let page = cut_short(&host, &read);
    assert_eq!((page.truncated, page.items.len(), page.stats.requests), (spent.0, 0, 2));
    let page = cut_short(&host, &ReadQuery { budget: requests(3), ..read });
    assert_eq!((page.truncated, page.items.len()), (None, 1));
    let max_results = Some(2);
    let budget = QueryBudget { max_results, ..QueryBudget::default() };
    let page = cut_short(&host, &GlobQuery { budget, ..glob });
    assert_eq!((page.truncated, page.items.len()), (Some(Truncated::Limit), 2));
}

#[test]
fn an_allowance_of_a_repository_holds_for_all_of_its_questions() {
    let sandbox = Sandbox::new();
    project(&sandbox);
    let host = host(&sandbox);
    let opened = |most| {
        let allowance = Allowance::new(Some(most), None);
        let options = RemoteOptions { allowance, ..RemoteOptions::default() };
        in_process::run(Remote::open(host.clone(), &host.url("r.git"), options))
    };
    assert_eq!(opened(0).unwrap_err().code(), "requests_spent");
    host.forget_requests();
    let repo = Held::new(opened(4).unwrap(), gitsip::Limits::default());
    let page = ask(&repo, &LsQuery::default()).unwrap();
    assert_eq!(page.truncated, None);
    let page = ask(&repo, &needles(QueryBudget::default())).unwrap();
    assert_eq!(page.truncated, Some(Truncated::Requests));
    assert_eq!(host.requests().len(), 4);
    let page = in_process::run(needles(requests(5)).ask(&repo, &Stop::default()));
    assert_eq!(page.unwrap_err().code(), "requests_spent");
}
