//! What a search would cost, told before: that it is what the search costs then, and that
//! telling it costs no more than it says.

use gitsip::agent::{
    AnyAnswer, EstimatedFrom, GrepQuery, Plan, PlanQuery, Query, QueryBudget, Stop, Truncated,
};

use super::support::git::{File, Repo, Sandbox, ids_in_pack};
use super::support::http_server::Behaviour;
use super::support::http_server::in_process::{self, InProcess};
use super::{Held, ask, host, open};

/// Files in three batches, some of them twice, and what is none.
fn project(repo: &Repo) {
    let mut files = vec![
        File::symlink("link", "m1/f0001.txt"),
        File::submodule("module", &"1".repeat(40)),
        File::executable("run.sh", "#!/bin/sh\n"),
    ];
    for number in 0..1_100_u64 {
        // Every fifth is like another one.
        let mut state = if number % 5 == 0 { number % 50 } else { number } | 1 << 40;
        let mut noise = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            format!("needle {:x}\n", state >> 16)
        };
        let text: String = (0..1 + number % 9).map(|_| noise()).collect();
        files.push(File::new(format!("m{}/f{number:04}.txt", number % 7), text));
    }
    repo.commit("main", &files);
}

fn with_sizes() -> Behaviour {
    let git_config = vec![("transfer.advertiseObjectInfo", "true")];
    Behaviour { git_config, ..Behaviour::default() }
}

fn search(globs: &[&str]) -> GrepQuery {
    GrepQuery {
        patterns: vec!["needle".into()],
        globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
        ..GrepQuery::default()
    }
}

/// The plan for `query`, which is no more than it says: requests, and no file.
fn plan_of(host: &InProcess, origin: &Repo, repo: &Held, query: &GrepQuery) -> Plan {
    host.forget_requests();
    let answer = ask(repo, &PlanQuery::from(query)).unwrap();
    assert_eq!(answer.stats.requests, host.requests().len() as u64);
    assert_eq!(blobs_sent(host, origin), 0);
    assert_eq!((answer.items.len(), answer.truncated), (1, None));
    answer.items[0]
}

fn blobs_sent(host: &InProcess, origin: &Repo) -> u64 {
    let packs = host.requests().into_iter().filter_map(|request| request.pack());
    let ids: Vec<String> = packs.flat_map(|pack| ids_in_pack(&pack)).collect();
    let list: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let kinds = ["cat-file", "--batch-check=%(objecttype)"];
    let kinds = origin.git().bytes_with_input(kinds, list.as_bytes());
    String::from_utf8(kinds).unwrap().lines().filter(|kind| *kind == "blob").count() as u64
}

#[test]
fn a_plan_is_what_the_search_costs_then() {
    let sandbox = Sandbox::new();
    let large = sandbox.bare("r.git");
    project(&large);
    let other = Sandbox::new();
    let small = other.bare("r.git");
    small.commit("main", &[File::new("a", "needle\n"), File::new("b/c", "hay\n")]);
    let old = || Behaviour { version_0_only: true, ..Behaviour::default() };
    for (sandbox, origin, behaviour) in [
        (&sandbox, &large, Behaviour::default as fn() -> _),
        (&other, &small, Behaviour::default),
        (&other, &small, old),
    ] {
        for globs in [&[][..], &["*.txt"], &["m3/"], &["*", "!m1/"], &["*.none"]] {
            // Nothing is held, and then what another search brought.
            for before in [&[][..], &["m2/", "m3/f000*"]] {
                let host = InProcess::new(sandbox.repos(), behaviour());
                let repo = open(&host);
                if !before.is_empty() {
                    ask(&repo, &search(before)).unwrap();
                }
                let query = search(globs);
                let plan = plan_of(&host, origin, &repo, &query);
                host.forget_requests();
                let found = ask(&repo, &query).unwrap();
                let about = format!("{globs:?} after {before:?}: {plan:?}");
                assert_eq!(plan.requests, found.stats.requests, "{about}");
                assert_eq!(plan.requests, host.requests().len() as u64, "{about}");
                assert_eq!(plan.blobs_missing, blobs_sent(&host, origin), "{about}");
                let searched = found.stats.search.unwrap();
                let files = searched.files_searched + searched.binary_files_skipped;
                assert_eq!(plan.files, files, "{about}");
                assert!(plan.is_complete && plan.trees_missing == 0);
                let unknown = (plan.bytes_known, plan.blobs_of_unknown_size);
                assert_eq!(unknown, (0, plan.blobs_missing));
                assert_eq!(plan.estimated_from.is_some(), plan.blobs_missing > 0);

                let again = plan_of(&host, origin, &repo, &query);
                assert_eq!((again.requests, again.blobs_missing), (1, 0), "{about}");
                assert_eq!((again.bytes_estimated, again.estimated_from), (0, None));
            }
        }
    }
}

#[test]
fn sizes_are_those_that_the_host_tells_and_are_asked_for_once() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    project(&origin);
    let listing = origin.git().run(["ls-tree", "-r", "-l", "main", "--", "m1", "m4"]);
    let mut sizes: Vec<(&str, u64)> = listing
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words[2], words[3].parse().unwrap())
        })
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let host = InProcess::new(sandbox.repos(), with_sizes());
    let repo = open(&host);
    let query = search(&["m1/", "m4/"]);
    let plan = plan_of(&host, &origin, &repo, &query);
    // The ref, the commit with its folders, and sizes.
    assert_eq!(host.requests().len(), 3);
    assert!(host.requests()[2].body_text().contains("command=object-info"));
    assert_eq!(plan.blobs_missing, sizes.len() as u64);
    assert_eq!(plan.bytes_known, sizes.iter().map(|(_, size)| size).sum::<u64>());
    assert_eq!(plan.blobs_of_unknown_size, 0);
    let typical = Some(EstimatedFrom::Typical);
    assert_eq!((plan.bytes_estimated, plan.estimated_from), (plan.bytes_known / 4, typical));

    assert_eq!(plan_of(&host, &origin, &repo, &query), plan);
    assert_eq!(host.requests().len(), 1, "sizes are remembered");
    let budget = QueryBudget { max_requests: Some(1), ..QueryBudget::default() };
    let page = ask(&repo, &GrepQuery { budget, ..query.clone() }).unwrap();
    assert_eq!(page.truncated, Some(Truncated::Requests));
    let left = page.stats.search.unwrap().unsearched.unwrap();
    assert_eq!(left.files, Some(plan.files));
    assert_eq!(left.files_of_unknown_size, 0);
    assert!(left.bytes_known >= plan.bytes_known);

    // A host that tells no sizes after all is not asked again, and nothing fails.
    let mut refusing = with_sizes();
    refusing.answer.push(Box::new(|request, body| {
        match request.body_text().contains("command=object-info") {
            true => b"000dERR no\n\n".to_vec(),
            false => body,
        }
    }));
    let host = InProcess::new(sandbox.repos(), refusing);
    let repo = open(&host);
    for requests in [3, 1] {
        let plan = plan_of(&host, &origin, &repo, &query);
        assert_eq!((plan.bytes_known, plan.blobs_of_unknown_size), (0, plan.blobs_missing));
        assert_eq!(host.requests().len(), requests);
    }
}

#[test]
fn an_estimate_is_of_what_comes_once_some_files_are_held() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    project(&origin);
    for behaviour in [Behaviour::default(), with_sizes()] {
        let host = InProcess::new(sandbox.repos(), behaviour);
        let repo = open(&host);
        ask(&repo, &search(&["m1/"])).unwrap();
        let query = search(&["*.txt"]);
        let plan = plan_of(&host, &origin, &repo, &query);
        assert_eq!(plan.estimated_from, Some(EstimatedFrom::Held));
        host.forget_requests();
        ask(&repo, &query).unwrap();
        let packs = host.requests().into_iter().filter_map(|request| request.pack());
        let came = packs.map(|pack| pack.len() as u64).sum::<u64>();
        let estimated = plan.bytes_estimated;
        assert!(came / 2 <= estimated && estimated <= came * 2, "{estimated} of {came}");
    }
}

#[test]
fn what_is_held_is_looked_at_without_a_request() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    project(&origin);
    let host = host(&sandbox);
    let repo = open(&host);
    let head = origin.git().run(["rev-parse", "main"]);
    let query = PlanQuery { at: head, held_only: true, ..PlanQuery::default() };
    host.forget_requests();
    let plan = ask(&repo, &query).unwrap().items[0];
    assert_eq!((plan.is_complete, plan.trees_missing, plan.requests), (false, 1, 1));
    assert_eq!((plan.files, plan.blobs_missing, host.requests().len()), (0, 0, 0));
    ask(&repo, &search(&["m1/"])).unwrap();
    host.forget_requests();
    let plan = ask(&repo, &query).unwrap().items[0];
    assert_eq!((plan.is_complete, plan.files), (true, 1_101));
    assert_eq!(host.requests().len(), 0);

    // A plan has a budget of its own.
    let budget = QueryBudget { max_requests: Some(1), ..QueryBudget::default() };
    let answer = ask(&open(&host), &PlanQuery { budget, ..PlanQuery::default() }).unwrap();
    assert_eq!((answer.items.len(), answer.truncated), (0, Some(Truncated::Requests)));
}

#[test]
fn a_host_without_filters_has_sent_everything_by_then() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    project(&origin);
    origin.git().run(["config", "uploadpack.allowFilter", "false"]);
    let repo = open(&host(&sandbox));
    let query = Query::Plan(PlanQuery::default());
    let answer = in_process::run(repo.ask(&query, &Stop::default())).unwrap();
    let AnyAnswer::Plan(answer) = answer else { panic!("{answer:?}") };
    let plan = answer.items[0];
    assert_eq!((plan.files, plan.blobs_missing, plan.requests), (1_101, 0, 1));
}
