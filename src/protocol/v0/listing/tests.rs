//! Listings: every form, damaged, large, and over their limits.

use proptest::prelude::*;

use super::*;
use crate::limits::Budget;
use crate::protocol::fixture::message;
use crate::protocol::{Advertised, Advertisement, SERVICE_HEADER};

const A: &str = "1111111111111111111111111111111111111111";
const B: &str = "2222222222222222222222222222222222222222";

fn read(pieces: &[&[u8]]) -> Result<Listing, ProtocolError> {
    let limits = Limits { max_refs: 1_000, max_ref_bytes: 100_000, ..Limits::default() };
    let mut answer = Advertisement::new(&Budget::new(10 << 20)).with_limits(&limits);
    for piece in pieces {
        answer.push(piece)?;
    }
    match answer.finish()? {
        Advertised::Listing(listing) => Ok(listing),
        Advertised::Capabilities(other) => panic!("{other:?}"),
    }
}

fn read_split(input: &[u8]) -> Result<Listing, ProtocolError> {
    let whole = read(&[input]);
    assert_eq!(read(&input.chunks(1).collect::<Vec<_>>()), whole);
    whole
}

fn id(hex: &str) -> ObjectId {
    hex.parse().unwrap()
}

fn item(name: &str, target: &str) -> Ref {
    Ref { name: name.into(), target: Some(id(target)), peeled: None, symref_target: None }
}

#[test]
fn refs_capabilities_symrefs_peeled_tags_and_the_boundary_are_read() {
    let lines = [
        format!(
            "{A} HEAD\0multi_ack side-band-64k filter future symref=HEAD:refs/heads/x agent=a/1"
        ),
        format!("{A} refs/heads/x"),
        format!("{B} refs/tags/t"),
        format!("{A} refs/tags/t^{{}}"),
        format!("shallow {A}"),
    ];
    let plain = message(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let read_back = read_split(&plain).unwrap();
    let head = Ref { symref_target: Some("refs/heads/x".into()), ..item("HEAD", A) };
    let tag = Ref { peeled: Some(id(A)), ..item("refs/tags/t", B) };
    assert_eq!(read_back.refs, [head, item("refs/heads/x", A), tag]);
    assert_eq!(read_back.shallow, [id(A)]);
    let on = Features { agent: true, filter: true, multi_ack: true, ..Features::default() };
    assert_eq!(read_back.features, Features { side_band_64k: true, ..on });
    assert_eq!(read_back.capabilities.agent, Some("a/1".into()));
    assert_eq!(read_back.capabilities.unknown, ["future"]);
    let fetch = read_back.capabilities.fetch.unwrap();
    assert!(fetch.filter && !fetch.shallow);

    assert_eq!(read_split(&[SERVICE_HEADER, &plain].concat()).unwrap(), read_back);
    let first = message(&["version 1"]);
    let version_1 = [&first[..first.len() - 4], &plain].concat();
    assert_eq!(read_split(&version_1).unwrap(), Listing { version: 1, ..read_back });
}

#[test]
fn an_empty_repository_has_no_refs_in_any_form() {
    let null = "0".repeat(40);
    let no_ref = message(&[&format!("{null} capabilities^{{}}\0ofs-delta object-format=sha1")]);
    assert!(read_split(&no_ref).unwrap().features.ofs_delta);
    for input in [no_ref, [SERVICE_HEADER, b"0000"].concat(), message(&["version 1"])] {
        assert_eq!(read_split(&input).unwrap().refs, []);
    }
    let unborn = format!("{null} capabilities^{{}}\0symref=HEAD:refs/heads/weird");
    let refs = read_split(&message(&[&unborn])).unwrap().refs;
    assert_eq!(
        (refs[0].target, refs[0].symref_target.clone()),
        (None, Some("refs/heads/weird".into()))
    );
}

#[test]
fn case_22_a_first_ref_without_capabilities_and_ids_of_either_hash_are_read() {
    assert_eq!(read_split(&message(&[&format!("{A} HEAD")])).unwrap().refs, [item("HEAD", A)]);
    let long = "a".repeat(64);
    let sha256 = format!("{long} HEAD\0object-format=sha256");
    assert_eq!(read_split(&message(&[&sha256])).unwrap().refs, [item("HEAD", &long)]);
    let wrong =
        ProtocolError::WrongFormat { expected: ObjectFormat::Sha1, found: ObjectFormat::Sha256 };
    assert_eq!(read_split(&message(&[&format!("{long} HEAD\0")])), Err(wrong));
}

#[test]
fn damaged_listings_are_typed_errors() {
    let first = format!("{A} HEAD\0ofs-delta");
    let bad = |line: &str| ProtocolError::bad_line(PLACE, line.as_bytes());
    for line in [
        format!("{A} refs/tags/t^{{}}"),
        format!("{A}  x"),
        format!("{A} x y"),
        format!("{A} x\x1b[31m"),
        A.to_owned(),
        "shallow 12".to_owned(),
        "../../etc/passwd x".to_owned(),
    ] {
        assert_eq!(read_split(&message(&[&first, &line])), Err(bad(&line)));
    }
    let whole = message(&[&first, &format!("{B} refs/heads/x")]);
    for len in 1..whole.len() {
        assert!(read_split(&whole[..len]).is_err());
    }
    assert!(read_split(&[&whole[..], b"0005x"].concat()).is_err());
}

#[test]
fn refs_and_their_bytes_are_limited_and_spent() {
    let line = format!("{A} HEAD");
    let limit = |input: &[u8]| match read(&[input]) {
        Err(ProtocolError::Limit(limit)) => limit.which,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&[&message(&[line.as_str(); 1_000])]).unwrap().refs.len(), 1_000);
    assert_eq!(limit(&message(&[line.as_str(); 1_001])), Which::Refs);
    let long = format!("{A} {}", "x".repeat(60_000));
    assert_eq!(limit(&message(&[&long, &long])), Which::RefBytes);

    let budget = Budget::new(50_000);
    let mut answer = Advertisement::new(&budget);
    answer.push(&message(&[line.as_str(); 100])).unwrap();
    let (advertised, held) = answer.finish_reserved().unwrap();
    let Advertised::Listing(listing) = advertised else { panic!() };
    assert!(held.bytes() >= (listing.refs.capacity() * size_of::<Ref>() + 400) as u64);
    drop(held);
    assert_eq!(budget.used_bytes(), 0);
    let mut answer = Advertisement::new(&budget);
    let error = answer.push(&message(&[line.as_str(); 1_000])).unwrap_err();
    assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Memory));
}

fn listings() -> impl Strategy<Value = Listing> {
    let oid = || any::<[u8; 20]>().prop_map(|raw| ObjectId::from_raw(&raw).unwrap());
    let refs =
        prop::collection::btree_map("refs/[a-z/]{1,9}", (oid(), prop::option::of(oid())), 0..9);
    (refs, prop::collection::vec(oid(), 0..3), any::<[bool; 5]>(), 0u8..2).prop_map(
        |(refs, shallow, on, version)| {
            let [filter, shallow_too, multi_ack, side_band, allow_tip] = on;
            let features = Features {
                filter,
                shallow: shallow_too,
                multi_ack,
                side_band,
                allow_tip,
                agent: true,
                object_format: true,
                ..Features::default()
            };
            let fetch = FetchCapability { filter, shallow: shallow_too, ..Default::default() };
            let refs = refs
                .into_iter()
                .map(|(name, (target, peeled))| Ref { peeled, ..item(&name, &target.to_string()) });
            let capabilities = Capabilities {
                agent: Some("git/x".into()),
                fetch: Some(fetch),
                unknown: vec!["future=1".into()],
                ..Capabilities::default()
            };
            let refs = refs.collect();
            Listing { version, capabilities, features, refs, shallow }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(listing in listings()) {
        let mut out = Vec::new();
        listing.encode(&mut out).unwrap();
        prop_assert_eq!(read_split(&out), Ok(listing));
    }

    #[test]
    fn damage_never_panics_and_reads_the_same_in_any_split(
        listing in listings(), at in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let mut out = SERVICE_HEADER.to_vec();
        listing.encode(&mut out).unwrap();
        let at = at.index(out.len());
        out[at] ^= 1 << bit;
        let read = |pieces: &[&[u8]]| {
            let mut answer = Advertisement::new(&Budget::new(10 << 20));
            pieces.iter().try_for_each(|piece| answer.push(piece))?;
            answer.finish()
        };
        let whole = read(&[&out]);
        prop_assert_eq!(read(&out.chunks(1).collect::<Vec<_>>()), whole.clone());
        let (a, b) = out.split_at(at);
        prop_assert_eq!(read(&[a, b]), whole);
    }
}
