//! Requests as they arrive: one after the other, repeated, damaged.

use proptest::prelude::*;

use super::*;
use crate::oid::ObjectId;
use crate::protocol::fixture::packets;
use crate::protocol::{Deepen, Filter};

fn read(format: ObjectFormat, pieces: &[&[u8]]) -> Result<Vec<Request>, ProtocolError> {
    let limits = Limits { max_refs: 1_000, ..Default::default() };
    let mut decoder = RequestDecoder::new(format, &limits, &Budget::new(1 << 20));
    let mut requests = Vec::new();
    for &piece in pieces {
        let mut input = piece;
        while let Some(request) = decoder.push(&mut input)? {
            requests.push(request);
        }
    }
    decoder.finish()?;
    Ok(requests)
}

fn read_split(format: ObjectFormat, input: &[u8]) -> Result<Vec<Request>, ProtocolError> {
    let whole = read(format, &[input]);
    assert_eq!(read(format, &input.chunks(1).collect::<Vec<_>>()), whole);
    whole
}

#[test]
fn requests_of_one_connection_are_read_one_after_the_other() {
    let refs = LsRefsRequest { prefixes: vec!["HEAD".into()], symrefs: true, ..Default::default() };
    let wants = vec![ObjectFormat::Sha1.empty_tree()];
    let fetch = FetchRequest { wants, done: true, ..Default::default() };
    let mut input = Vec::new();
    refs.encode("a", ObjectFormat::Sha1, &mut input).unwrap();
    fetch.encode("a", ObjectFormat::Sha1, &mut input).unwrap();
    input.extend_from_slice(b"0000");
    let want = [Request::LsRefs(refs), Request::Fetch(fetch), Request::End];
    assert_eq!(read_split(ObjectFormat::Sha1, &input).unwrap(), want);
    let bare = packets(&["command=ls-refs", "0000"]);
    let want = [Request::LsRefs(LsRefsRequest::default())];
    assert_eq!(read_split(ObjectFormat::Sha1, &bare).unwrap(), want);
}

#[test]
fn what_is_repeated_is_kept_once_and_counted() {
    let want = format!("want {}", ObjectFormat::Sha1.empty_tree());
    let mut lines = vec!["command=fetch", "0001"];
    lines.extend([want.as_str(); 900]);
    lines.push("0000");
    match read(ObjectFormat::Sha1, &[&packets(&lines)]).unwrap().as_slice() {
        [Request::Fetch(request)] => assert_eq!(request.wants.len(), 1),
        other => panic!("{other:?}"),
    }
    lines.extend(["command=fetch", "0001"]);
    lines.extend([want.as_str(); 1_000]);
    let error = read(ObjectFormat::Sha1, &[&packets(&lines)]).unwrap_err();
    assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Refs));
}

#[test]
fn what_a_request_occupies_is_spent_until_it_is_handed_out() {
    let budget = Budget::new(1_000);
    let mut decoder = RequestDecoder::new(ObjectFormat::Sha1, &Limits::default(), &budget);
    let prefixes: Vec<_> = (0..5).map(|number| format!("ref-prefix {number}")).collect();
    let mut lines = vec!["command=ls-refs", "0001"];
    lines.extend(prefixes.iter().map(String::as_str));
    for _ in 0..9 {
        assert_eq!(decoder.push(&mut packets(&lines).as_slice()), Ok(None));
        assert!(budget.used_bytes() > 0);
        assert!(decoder.push(&mut &b"0000"[..]).unwrap().is_some());
        assert_eq!(budget.used_bytes(), 0);
    }
    let more: Vec<_> = (0..50).map(|number| format!("ref-prefix {number}")).collect();
    lines.extend(more.iter().map(String::as_str));
    let error = decoder.push(&mut packets(&lines).as_slice()).unwrap_err();
    assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Memory));
}

#[test]
fn damaged_requests_are_typed_errors() {
    let wrong = |expected, found| ProtocolError::WrongFormat { expected, found };
    let (sha1, sha256) = (ObjectFormat::Sha1, ObjectFormat::Sha256);
    let unknown = |name: &str| ProtocolError::UnknownCommand { name: name.into() };
    for (format, lines, error) in [
        (sha1, &["command=rm"][..], unknown("rm")),
        (sha1, &["agent=x", "0001"], unknown("")),
        (sha1, &["command=fetch", "object-format=sha256"], wrong(sha1, sha256)),
        (sha256, &["command=fetch", "0001"], wrong(sha256, sha1)),
        (
            sha1,
            &["command=fetch", "object-format=md5"],
            ProtocolError::UnknownFormat { name: "md5".into() },
        ),
        (
            sha1,
            &["command=fetch", "command=ls-refs"],
            ProtocolError::bad_line(PLACE, b"command=ls-refs"),
        ),
        (sha1, &["command=fetch", "0001"], ProtocolError::Truncated { place: PLACE }),
        (sha1, &["command=fetch"], ProtocolError::Truncated { place: PLACE }),
        (sha1, &["0001"], unknown("")),
        (sha1, &["0002"], ProtocolError::UnexpectedPacket { packet: "response-end", place: PLACE }),
    ] {
        assert_eq!(read_split(format, &packets(lines)), Err(error), "{lines:?}");
    }
}

fn fetches() -> impl Strategy<Value = FetchRequest> {
    let ids = prop::collection::hash_set(any::<[u8; 32]>(), 0..4).prop_map(|raws| {
        raws.iter().map(|raw| ObjectId::from_raw(raw).unwrap()).collect::<Vec<_>>()
    });
    let names = prop::collection::hash_set("[a-z/]{1,9}", 0..3)
        .prop_map(|names| names.into_iter().map(BString::from).collect::<Vec<_>>());
    let deepen = prop_oneof![
        Just(Deepen::None),
        (1u32..).prop_map(Deepen::Depth),
        (any::<u64>(), names.clone())
            .prop_map(|(since, not)| Deepen::Bounded { since: Some(since), not }),
    ];
    let filter = prop::option::of(prop_oneof![
        Just(Filter::BlobNone),
        any::<u64>().prop_map(Filter::BlobLimit),
    ]);
    (any::<[bool; 8]>(), ids.clone(), ids.clone(), ids, names, deepen, filter).prop_map(
        |(flags, wants, haves, shallow, want_refs, deepen, filter)| {
            let [thin_pack, no_progress, include_tag, ofs_delta, sideband_all, ..] = flags;
            let [.., wait_for_done, deepen_relative, done] = flags;
            FetchRequest {
                deepen,
                deepen_relative,
                done,
                filter,
                haves,
                include_tag,
                no_progress,
                ofs_delta,
                shallow,
                sideband_all,
                thin_pack,
                want_refs,
                wants,
                wait_for_done,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_damage_never_panics(
        fetch in fetches(), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let mut input = Vec::new();
        fetch.encode("git/x", ObjectFormat::Sha256, &mut input).unwrap();
        let read_back = read_split(ObjectFormat::Sha256, &input).unwrap();
        prop_assert_eq!(read_back, [Request::Fetch(fetch)]);
        let at = at.index(input.len());
        input[at] ^= 1 << bit;
        let whole = read_split(ObjectFormat::Sha256, &input);
        let (a, b) = input.split_at(at);
        prop_assert_eq!(read(ObjectFormat::Sha256, &[a, b]), whole);
    }
}
