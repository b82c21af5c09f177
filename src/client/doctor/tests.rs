#![allow(clippy::unwrap_used)]

use super::*;
use crate::client::sample::{Sampled, SampledObject};
use crate::error::{Error, ErrorKind};
use crate::pktline::PktError;
use crate::protocol::{Capabilities, LsRefsCapability, ProtocolError};
use bytes::Bytes;

fn id(digit: char) -> ObjectId {
    digit.to_string().repeat(40).parse().unwrap()
}

fn item(name: &str, target: char, symref_target: Option<&str>) -> Ref {
    let symref_target = symref_target.map(Into::into);
    Ref { name: name.into(), target: Some(id(target)), peeled: None, symref_target }
}

fn object(digit: char, kind: Kind, content: Option<&[u8]>) -> SampledObject {
    let size = content.map_or(9, |content| content.len() as u64);
    SampledObject { id: id(digit), kind, size, content: content.map(Bytes::copy_from_slice) }
}

/// The commit `c` with the tree `7` and the parent `b`.
fn commit() -> SampledObject {
    let text = format!(
        "tree {}\nparent {}\nauthor A <a> 9 +0000\ncommitter A <a> 9 +0000\n\n",
        id('7'),
        id('b')
    );
    object('c', Kind::Commit, Some(text.as_bytes()))
}

/// The tree `7` with the file `f`.
fn tree() -> SampledObject {
    let entry = [&b"100644 a\0"[..], &[0xff; 20]].concat();
    object('7', Kind::Tree, Some(&entry))
}

fn sampled(objects: &[SampledObject], declared: u64) -> Sampled {
    let shallow = vec![id('c')];
    Sampled { declared: Some(declared), objects: objects.to_vec(), shallow }
}

/// Of a host that offers everything, whose `HEAD` is the commit `c`.
fn examination() -> Examination {
    let fetch = FetchCapability { filter: true, shallow: true, ..FetchCapability::default() };
    let ls_refs = Some(LsRefsCapability { unborn: true });
    let offered = Capabilities { fetch: Some(fetch), ls_refs, ..Capabilities::default() };
    let mut examination = Examination::new(&Advertised::Capabilities(offered));
    let refs = vec![item("HEAD", 'c', Some("refs/heads/main")), item("refs/tags/t", 'a', None)];
    examination.take_refs(Some(refs), &End::Whole);
    examination
}

fn ask(examination: &Examination, probe: Probe) -> FetchRequest {
    match examination.ask(probe) {
        Ask::Send(request) => *request,
        other => panic!("{probe:?}: {other:?}"),
    }
}

fn answer(examination: &mut Examination, probe: Probe, sampled: &Sampled, end: &End) {
    let request = ask(examination, probe);
    examination.judge(probe, &request, sampled, end);
}

fn verdict(examination: &Examination, name: &str) -> Verdict {
    examination.findings().into_iter().find(|finding| finding.name == name).unwrap().verdict
}

#[test]
fn what_is_left_out_is_shown_by_what_names_it() {
    for (objects, end, expected) in [
        (vec![commit(), tree()], End::Whole, Verdict::Honoured),
        (vec![commit(), tree(), object('f', Kind::Blob, None)], End::Whole, Verdict::Ignored),
        (vec![commit(), tree(), object('f', Kind::Blob, None)], End::Cut, Verdict::Ignored),
        (vec![commit()], End::Whole, Verdict::Unknown),
        (vec![], End::Whole, Verdict::Failed),
        (vec![], End::Refused("no".into()), Verdict::Failed),
    ] {
        let mut examination = examination();
        answer(&mut examination, Probe::BlobNone, &sampled(&objects, 3), &end);
        assert_eq!(verdict(&examination, "filter blob:none"), expected, "{objects:?} {end:?}");
    }
}

#[test]
fn an_answer_that_was_cut_is_judged_by_what_a_snapshot_announces() {
    for (announced, everything, expected) in [
        (90, Some(100), Verdict::Honoured),
        (100, Some(100), Verdict::Ignored),
        (90, None, Verdict::Unknown),
    ] {
        let mut examination = examination();
        let cut = sampled(&[commit()], announced);
        answer(&mut examination, Probe::BlobNone, &cut, &End::Cut);
        assert!(examination.findings().iter().all(|f| f.name != "filter blob:none"));
        let whole = Sampled { declared: everything, ..sampled(&[commit()], 0) };
        answer(&mut examination, Probe::Everything, &whole, &End::Cut);
        examination.finish();
        assert_eq!(verdict(&examination, "filter blob:none"), expected);
    }
}

#[test]
fn nothing_is_asked_twice_or_without_need() {
    let mut examination = examination();
    assert_eq!(examination.ask(Probe::Everything), Ask::Settled);
    assert_eq!(examination.ask(Probe::BlobById), Ask::Skip(NO_COMMIT));
    let only_commit = sampled(&[commit()], 1);
    answer(&mut examination, Probe::TreeDepth, &only_commit, &End::Whole);
    assert_eq!(examination.ask(Probe::TreeDepth), Ask::Settled);
    assert_eq!(examination.ask(Probe::Depth), Ask::Settled, "the same answer showed it");
    assert_eq!(verdict(&examination, "depth 1"), Verdict::Honoured);
    // From here on, each answer is made as small as was found to be possible.
    for probe in [Probe::CommitById, Probe::TreeById, Probe::DeepenSince, Probe::DeepenNot] {
        assert_eq!(ask(&examination, probe).filter, Some(Filter::TreeDepth(0)), "{probe:?}");
    }
    assert_eq!(ask(&examination, Probe::CommitById).wants, [id('b')]);
    assert_eq!(ask(&examination, Probe::TreeById).wants, [id('7')]);
    let since = Deepen::Bounded { since: Some(9), not: Vec::new() };
    assert_eq!(ask(&examination, Probe::DeepenSince).deepen, since);
    assert_eq!(examination.ask(Probe::BlobById), Ask::Skip(NO_BLOB));
    answer(&mut examination, Probe::TreeById, &sampled(&[tree()], 1), &End::Whole);
    assert_eq!(ask(&examination, Probe::BlobById).wants, [id('f')]);
}

#[test]
fn history_is_cut_at_a_tag_that_lies_behind_the_tip_if_one_is_known_to() {
    let mut examination = examination();
    let tags = vec![
        item("HEAD", 'c', None),
        item("refs/tags/1.0", 'b', None),
        item("refs/tags/elsewhere", 'a', None),
        item("refs/tags/tip", 'c', None),
    ];
    examination.take_refs(Some(tags), &End::Whole);
    let not = |name: &str| Deepen::Bounded { since: None, not: vec![name.into()] };
    assert_eq!(ask(&examination, Probe::DeepenNot).deepen, not("refs/tags/elsewhere"));
    answer(&mut examination, Probe::TreeDepth, &sampled(&[commit()], 1), &End::Whole);
    assert_eq!(ask(&examination, Probe::DeepenNot).deepen, not("refs/tags/1.0"));
}

#[test]
fn a_tag_that_shows_nothing_is_named_and_an_answer_that_was_cut_is_called_so() {
    for (end, note) in [
        (End::Whole, "'refs/tags/t' shares no history with the tip"),
        (End::Cut, "its answer was cut too early to tell"),
    ] {
        let mut examination = examination();
        let sampled = Sampled { shallow: Vec::new(), ..sampled(&[commit()], 1) };
        answer(&mut examination, Probe::DeepenNot, &sampled, &end);
        let findings = examination.findings();
        let found = findings.iter().find(|finding| finding.name == "deepen-not").unwrap();
        assert_eq!((found.verdict, found.note.as_str()), (Verdict::Unknown, note));
    }
}

#[test]
fn refs_that_were_not_asked_for_show_that_prefixes_are_ignored() {
    let head = || item("HEAD", 'c', Some("refs/heads/main"));
    for (refs, expected) in [
        (vec![head()], Verdict::Honoured),
        (vec![head(), item("refs/heads/main", 'c', None)], Verdict::Ignored),
        (vec![item("HEAD", 'c', None)], Verdict::Unknown),
        (vec![], Verdict::Unknown),
    ] {
        for end in [End::Whole, End::Cut] {
            let offered = Advertised::Capabilities(Capabilities::default());
            let mut examination = Examination::new(&offered);
            examination.take_refs(Some(refs.clone()), &end);
            assert_eq!(verdict(&examination, "ref prefixes"), expected, "{refs:?} {end:?}");
        }
    }
}

#[test]
fn refs_that_did_not_come_are_no_empty_repository() {
    let offered = Advertised::Capabilities(Capabilities::default());
    let mut examination = Examination::new(&offered);
    examination.take_refs(Some(Vec::new()), &End::Refused("no".into()));
    assert_eq!(examination.ask(Probe::Depth), Ask::Skip(NO_REF));
    assert!(examination.meaning()[0].contains("could not be listed"));
    assert_eq!(verdict(&examination, "symrefs"), Verdict::Refused);
}

#[test]
fn a_no_is_told_from_what_breaks() {
    let remote = |text: &str| ProtocolError::Packet(PktError::Remote { text: text.into() });
    let says = |error: ProtocolError| End::of(200, &Error::from(error).while_doing("h"));
    assert_eq!(says(remote("go \x1b away\n")), End::Refused("'go \\x1b away'".into()));
    let ended = says(ProtocolError::Truncated { place: "x" });
    assert!(matches!(ended, End::Refused(words) if words.contains("without a word")));
    assert!(matches!(says(ProtocolError::Html), End::Failed(_)));
    let error = |kind| Error::new(kind, "words");
    assert_eq!(End::of(200, &error(ErrorKind::Limit)), End::Cut);
    assert_eq!(End::of(400, &error(ErrorKind::Transport)), End::Refused("words".into()));
    assert_eq!(End::of(429, &error(ErrorKind::RateLimited)), End::Failed("words".into()));
    assert_eq!(End::of(500, &error(ErrorKind::Transport)), End::Failed("words".into()));
}
