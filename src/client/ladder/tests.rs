//! Every rung, what leads from it, what is remembered of it and what is told of it.

use super::*;
use crate::error::ErrorKind;
use crate::oid::ObjectFormat;

const ALL: FetchCapability = FetchCapability {
    filter: true,
    packfile_uris: false,
    ref_in_want: false,
    shallow: true,
    sideband_all: false,
    wait_for_done: false,
};

fn id(number: u64) -> ObjectId {
    let hex = format!("{number:040x}");
    ObjectId::from_hex(hex.as_bytes()).unwrap_or(ObjectFormat::Sha1.empty_tree())
}

fn missing(kind: Kind) -> MissingSet {
    MissingSet::of(id(1), Some(kind))
}

/// The one request for something of this kind.
fn request(ladder: &Ladder, kind: Kind) -> FetchRequest {
    let mut requests = ladder.requests(&missing(kind), &[]);
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

fn said(words: &str) -> Error {
    Error::from(PktError::Remote { text: words.into() })
}

fn coded(code: &'static str) -> Error {
    Error::new(ErrorKind::Transport, "no").with_code(code)
}

/// The words of every fallback are for people: a line each, none like another.
#[test]
fn each_fallback_is_told_in_words_of_its_own() {
    let all = [
        Fallback::CannotCutHistory,
        Fallback::CannotFilter,
        Fallback::IgnoresFilters,
        Fallback::IgnoresPrefixes,
        Fallback::LeavesOutIds,
        Fallback::OldVersion(0),
        Fallback::OldVersion(1),
        Fallback::RefusesDepth,
        Fallback::RefusesFilters,
        Fallback::RefusesIds,
        Fallback::RefusesSizes,
    ];
    let mut words: Vec<_> = all.iter().map(ToString::to_string).collect();
    assert!(words.iter().all(|line| line.starts_with("the host ") && !line.contains('\n')));
    words.sort();
    words.dedup();
    assert_eq!(words.len(), all.len());
    // Those that bring more than was asked for, and no others, are told before they do.
    let smaller: Vec<_> = all.into_iter().filter(|fallback| !fallback.enlarges()).collect();
    let (old, older) = (Fallback::OldVersion(1), Fallback::OldVersion(0));
    assert_eq!(smaller, [Fallback::IgnoresPrefixes, older, old, Fallback::RefusesSizes]);
}

#[test]
fn what_is_learnt_is_kept_once_in_the_order_it_was() {
    let mut ladder = Ladder::new(ALL);
    assert!(ladder.learn(Fallback::OldVersion(0)));
    assert!(ladder.learn(Fallback::IgnoresPrefixes));
    assert!(!ladder.learn(Fallback::OldVersion(0)));
    assert_eq!(ladder.learnt(), [Fallback::OldVersion(0), Fallback::IgnoresPrefixes]);
}

#[test]
fn a_refused_filter_is_left_out_for_good_and_told_once() {
    let mut ladder = Ladder::new(ALL);
    let first = request(&ladder, Kind::Commit);
    assert_eq!(first.filter, Some(Filter::BlobNone));
    assert_eq!(ladder.announce(&first, false), []);
    let refusal = said("Filter 'blob:none' NOT SUPPORTED");
    let lower = FetchRequest { filter: None, ..first.clone() };
    let next = ladder.after_error(&first, false, &refusal);
    assert_eq!(next, Some(Next::Ask(Box::new(lower.clone()))));
    assert_eq!(ladder.announce(&lower, false), [Fallback::RefusesFilters]);
    assert_eq!(ladder.announce(&lower, false), [], "it is announced once");
    // The same words to what had no filter are no matter of filters.
    assert_eq!(ladder.after_error(&lower, false, &refusal), None);
    for kind in [Kind::Commit, Kind::Tree, Kind::Blob] {
        assert_eq!(request(&ladder, kind).filter, None, "{kind}");
    }
    assert_eq!(ladder.snapshot(id(1), Some(9)).map(|request| request.filter), Some(None));
    assert_eq!(ladder.learnt(), [Fallback::RefusesFilters], "and not CannotFilter as well");
}

#[test]
fn a_refused_size_makes_it_two_steps_and_leaves_the_other_filters() {
    let mut ladder = Ladder::new(ALL);
    let first = ladder.snapshot(id(1), Some(9)).unwrap_or_default();
    assert_eq!(first.filter, Some(Filter::BlobLimit(10)), "git's limit is what is left out");
    let next = ladder.after_error(&first, false, &said("filter 'blob:limit' not allowed"));
    assert_eq!(next, Some(Next::InSteps));
    assert_eq!(ladder.snapshot(id(1), Some(9)), None);
    assert!(ladder.snapshot(id(1), None).is_some_and(|whole| whole.filter.is_none()));
    let trees = request(&ladder, Kind::Commit);
    assert_eq!(trees.filter, Some(Filter::BlobNone));
    assert_eq!(ladder.announce(&trees, false), [], "nothing more comes than was asked for");
    assert_eq!(ladder.learnt(), [Fallback::RefusesSizes]);
}

#[test]
fn an_address_that_holds_the_words_of_a_refusal_refuses_nothing() {
    let mut ladder = Ladder::new(ALL);
    let first = request(&ladder, Kind::Commit);
    let error = said("pushes are not allowed").while_doing("https://host/depth/filter.git");
    assert_eq!(ladder.after_error(&first, false, &error), None);
    let error = coded("forbidden").while_doing("https://host/shallow not supported.git");
    assert_eq!(ladder.after_error(&first, false, &error), None);
}

#[test]
fn a_refused_depth_brings_all_history_and_is_told_once() {
    let mut ladder = Ladder::new(ALL);
    let first = request(&ladder, Kind::Commit);
    assert_eq!(first.deepen, Deepen::Depth(1));
    let lower = FetchRequest { deepen: Deepen::None, ..first.clone() };
    for words in ["shallow fetches are not supported", "deepen: unsupported", "depth not allowed"] {
        let next = ladder.clone().after_error(&first, false, &said(words));
        assert_eq!(next, Some(Next::Ask(Box::new(lower.clone()))), "{words}");
    }
    let refusal = said("shallow fetches are not supported");
    assert!(ladder.after_error(&first, false, &refusal).is_some());
    assert_eq!(ladder.announce(&lower, false), [Fallback::RefusesDepth]);
    assert_eq!(ladder.after_error(&lower, false, &refusal), None);
    assert_eq!(request(&ladder, Kind::Commit).deepen, Deepen::None);
    assert_eq!(ladder.learnt(), [Fallback::RefusesDepth], "and not CannotCutHistory as well");
}

#[test]
fn what_was_never_offered_is_told_before_the_first_request_that_feels_it() {
    let mut ladder = Ladder::new(FetchCapability::default());
    let commit = request(&ladder, Kind::Commit);
    assert_eq!((&commit.filter, &commit.deepen), (&None, &Deepen::None));
    let both = [Fallback::CannotFilter, Fallback::CannotCutHistory];
    assert_eq!(ladder.announce(&commit, false), both);
    assert_eq!(ladder.announce(&commit, false), []);
    assert_eq!(ladder.learnt(), both);

    let no_depth = FetchCapability { shallow: false, ..ALL };
    let mut ladder = Ladder::new(no_depth);
    let blob = request(&ladder, Kind::Blob);
    assert_eq!(ladder.announce(&blob, true), [], "an object by id has no history");
}

#[test]
fn each_way_to_refuse_an_id_leads_to_whole_snapshots_until_one_has_come() {
    for code in ["bad_request", "empty_answer", "forbidden", "host_failed", "not_our_ref"] {
        let mut ladder = Ladder::new(ALL);
        let blob = request(&ladder, Kind::Blob);
        let next = ladder.after_error(&blob, true, &coded(code));
        assert_eq!(next, Some(Next::Whole), "{code}");
        assert_eq!(ladder.learnt(), [], "what is to blame shows when the whole has come");
        assert_eq!(ladder.after_error(&blob, false, &coded(code)), None, "{code}: no id");
        // Once an id was answered, an error is an error.
        assert_eq!(ladder.after_answer(&blob, true, true), None);
        assert_eq!(ladder.after_error(&blob, true, &coded(code)), None, "{code}");
    }
    let mut ladder = Ladder::new(ALL);
    let blob = request(&ladder, Kind::Blob);
    for code in ["auth", "credentials_refused", "cut", "limit", "rate_limited", "stalled"] {
        assert_eq!(ladder.after_error(&blob, true, &coded(code)), None, "{code}");
    }
}

#[test]
fn ids_that_were_given_up_are_asked_for_no_more() {
    for why in [Fallback::RefusesIds, Fallback::LeavesOutIds] {
        let mut ladder = Ladder::new(ALL);
        assert!(!ladder.is_whole_only());
        ladder.give_up_ids(why);
        assert!(ladder.is_whole_only());
        assert_eq!(ladder.learnt(), [why]);
        assert_eq!(ladder.requests(&missing(Kind::Blob), &[]), []);
        assert_eq!(ladder.requests(&missing(Kind::Tree), &[]), []);
        let commit = request(&ladder, Kind::Commit);
        assert_eq!((&commit.filter, &commit.deepen), (&None, &Deepen::Depth(1)));
        // Whoever gave it up has told of it; and it is this that keeps filters out.
        assert_eq!(ladder.announce(&commit, false), []);
        assert_eq!(ladder.snapshot(id(1), Some(9)).map(|request| request.filter), Some(None));
        assert_eq!(ladder.after_error(&commit, true, &coded("not_our_ref")), None);
    }
}

#[test]
fn an_answer_without_what_was_wanted_leads_on_and_one_with_it_does_not() {
    let mut ladder = Ladder::new(ALL);
    let commit = request(&ladder, Kind::Commit);
    assert_eq!(ladder.after_answer(&commit, false, true), None);
    assert_eq!(ladder.after_answer(&request(&ladder, Kind::Tree), true, false), Some(Next::Whole));

    // A commit that did not come: once more without a filter and without haves, then not.
    let joining = ladder.requests(&missing(Kind::Commit), &[id(7)]).remove(0);
    assert!(joining.thin_pack && joining.haves == [id(7)]);
    let plain = ladder.whole(id(1));
    assert!(!plain.thin_pack && plain.haves.is_empty() && plain.filter.is_none());
    for first in [&joining, &commit] {
        let next = ladder.after_answer(first, false, false);
        assert_eq!(next, Some(Next::Ask(Box::new(plain.clone()))));
    }
    assert_eq!(ladder.after_answer(&plain, false, false), None);
    assert_eq!(ladder.learnt(), []);
}

#[test]
fn a_filter_that_is_ignored_is_told_once_and_still_sent() {
    let mut ladder = Ladder::new(ALL);
    let commit = request(&ladder, Kind::Commit);
    assert!(ladder.wonders_about_filter(&commit));
    assert!(!ladder.wonders_about_filter(&ladder.whole(id(1))), "it has none");
    ladder.saw_filter(false);
    assert!(!ladder.wonders_about_filter(&commit));
    assert_eq!(ladder.announce(&commit, false), [Fallback::IgnoresFilters]);
    assert_eq!(ladder.announce(&commit, false), []);
    assert_eq!(ladder.learnt(), [Fallback::IgnoresFilters]);
    for kind in [Kind::Commit, Kind::Tree, Kind::Blob] {
        assert_eq!(request(&ladder, kind).filter, Some(Filter::BlobNone), "{kind}");
    }
    // A host that refuses them in the end goes the way of all that do.
    let next = ladder.after_error(&commit, false, &said("filter not supported"));
    assert!(matches!(next, Some(Next::Ask(_))));

    let mut honest = Ladder::new(ALL);
    honest.saw_filter(true);
    assert!(!honest.wonders_about_filter(&commit));
    assert_eq!(honest.learnt(), []);
}

#[test]
fn filter_and_depth_may_both_be_refused_one_after_the_other() {
    let mut ladder = Ladder::new(ALL);
    let first = request(&ladder, Kind::Commit);
    let Some(Next::Ask(second)) = ladder.after_error(&first, false, &said("filter unsupported"))
    else {
        panic!("a refused filter is left out");
    };
    let Some(Next::Ask(third)) = ladder.after_error(&second, false, &said("depth unsupported"))
    else {
        panic!("a refused depth is left out");
    };
    assert_eq!((&third.filter, &third.deepen), (&None, &Deepen::None));
    let both = [Fallback::RefusesFilters, Fallback::RefusesDepth];
    assert_eq!(ladder.announce(&third, false), both);
    assert_eq!(request(&ladder, Kind::Commit), *third);
}
