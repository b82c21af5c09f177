//! Lists of refs: every form, damaged, and over their limits.

use proptest::prelude::*;

use super::*;
use crate::oid::ObjectId;
use crate::protocol::fixture::message;

const A: &str = "1111111111111111111111111111111111111111";
const B: &str = "2222222222222222222222222222222222222222";

fn read(pieces: &[&[u8]]) -> Result<Vec<Ref>, ProtocolError> {
    let limits = Limits { max_refs: 100, max_ref_bytes: 10_000, ..Default::default() };
    let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &limits, &Budget::new(100_000));
    for piece in pieces {
        answer.push(piece)?;
    }
    answer.finish()
}

fn read_split(input: &[u8]) -> Result<Vec<Ref>, ProtocolError> {
    let whole = read(&[input]);
    assert_eq!(read(&input.chunks(1).collect::<Vec<_>>()), whole);
    whole
}

fn id(hex: &str) -> ObjectId {
    hex.parse().unwrap()
}

fn item(name: &str, target: Option<&str>) -> Ref {
    Ref { name: name.into(), target: target.map(id), peeled: None, symref_target: None }
}

#[test]
fn every_form_of_a_ref_is_read() {
    let lines = [
        "unborn HEAD symref-target:refs/heads/weird".to_owned(),
        format!("{A} HEAD"),
        format!("{A} HEAD symref-target:refs/heads/main"),
        format!("{A} refs/tags/v1 peeled:{B} future:attribute"),
        format!("{A} refs/heads/x-\u{e9}"),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let symref = |name: &str| Some(name.into());
    let want = [
        Ref { symref_target: symref("refs/heads/weird"), ..item("HEAD", None) },
        item("HEAD", Some(A)),
        Ref { symref_target: symref("refs/heads/main"), ..item("HEAD", Some(A)) },
        Ref { peeled: Some(id(B)), ..item("refs/tags/v1", Some(A)) },
        item("refs/heads/x-\u{e9}", Some(A)),
    ];
    assert_eq!(read_split(&message(&lines)).unwrap(), want);
    assert_eq!(read_split(b"0000").unwrap(), []);
}

#[test]
fn damaged_answers_are_typed_errors() {
    let sha256 = "a".repeat(64);
    let bad = |line: &str| ProtocolError::bad_line(PLACE, line.as_bytes());
    let wrong =
        ProtocolError::WrongFormat { expected: ObjectFormat::Sha1, found: ObjectFormat::Sha256 };
    for (line, error) in [
        (format!("{sha256} HEAD"), wrong.clone()),
        (format!("{A} refs/tags/x peeled:{sha256}"), wrong),
        ("../../../../etc/passwd HEAD".into(), bad("../../../../etc/passwd HEAD")),
        (A.into(), bad(A)),
        (format!("{A}  HEAD"), bad(&format!("{A}  HEAD"))),
        (format!("{A} HE\x1bAD"), bad(&format!("{A} HE\x1bAD"))),
        (format!("{A} HEAD symref-target:"), bad(&format!("{A} HEAD symref-target:"))),
    ] {
        assert_eq!(read_split(&message(&[&line])), Err(error), "{line}");
    }
    let cut = message(&[&format!("{A} HEAD")]);
    let truncated = Err(ProtocolError::Truncated { place: PLACE });
    for len in 0..cut.len() {
        assert_eq!(read_split(&cut[..len]), truncated);
    }
    for tail in [&b"x"[..], b"0000", b"0005x"] {
        let trailing = Err(ProtocolError::TrailingBytes { place: PLACE });
        assert_eq!(read_split(&[&cut, tail].concat()), trailing);
    }
    assert_eq!(
        read_split(b"0001"),
        Err(ProtocolError::UnexpectedPacket { packet: "delimiter", place: PLACE })
    );
}

#[test]
fn refs_and_their_bytes_are_limited_and_spent() {
    let line = format!("{A} HEAD");
    assert_eq!(read(&[&message(&[line.as_str(); 100])]).unwrap().len(), 100);
    let limit = |input: &[u8]| match read(&[input]) {
        Err(ProtocolError::Limit(limit)) => limit.which,
        other => panic!("{other:?}"),
    };
    assert_eq!(limit(&message(&[line.as_str(); 101])), Which::Refs);
    let long = format!("{A} {}", "x".repeat(9_960));
    assert_eq!(limit(&message(&[&long])), Which::RefBytes);

    let budget = Budget::new(20_000);
    let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &budget);
    answer.push(&message(&[&line])).unwrap();
    let (refs, held) = answer.finish_reserved().unwrap();
    assert_eq!((refs.len(), budget.used_bytes()), (1, held.bytes()));
    assert!(held.bytes() >= (refs.capacity() * size_of::<Ref>() + "HEAD".len()) as u64);
    drop(held);
    let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &budget);
    let error = answer.push(&message(&[line.as_str(); 1_000])).unwrap_err();
    assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Memory));
    drop(answer);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn whichever_spend_fails_the_answer_fails_with_it() {
    let input = message(&[format!("{A} HEAD").as_str(); 40]);
    let mut spends = 0;
    loop {
        let budget = Budget::failing_after(1 << 20, spends);
        let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &budget);
        match answer.push(&input) {
            Ok(()) => break assert_eq!(answer.finish().unwrap().len(), 40),
            Err(error) => assert!(matches!(error, ProtocolError::Limit(_))),
        }
        spends += 1;
    }
    assert_eq!(spends, 43, "one for each line, one whenever the list grows");
}

fn refs() -> impl Strategy<Value = Vec<Ref>> {
    let name = "[a-z/.-]{1,12}";
    let oid = any::<[u8; 20]>().prop_map(|raw| ObjectId::from_raw(&raw).unwrap());
    let item = (name, prop::option::of(oid.clone()), prop::option::of(oid), prop::option::of(name))
        .prop_map(|(name, target, peeled, symref)| Ref {
            name: name.into(),
            target,
            peeled,
            symref_target: symref.map(BString::from),
        });
    prop::collection::vec(item, 0..10)
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(refs in refs()) {
        let mut out = Vec::new();
        encode_ls_refs(&refs, &mut out).unwrap();
        prop_assert_eq!(read_split(&out), Ok(refs));
    }

    #[test]
    fn damage_never_panics_and_reads_the_same_in_any_split(
        refs in refs(), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let mut out = Vec::new();
        encode_ls_refs(&refs, &mut out).unwrap();
        let at = at.index(out.len());
        out[at] ^= 1 << bit;
        let whole = read_split(&out);
        let (a, b) = out.split_at(at);
        prop_assert_eq!(read(&[a, b]), whole);
    }
}
