//! First answers: every kind of host, cut anywhere, damaged.

use proptest::prelude::*;

use super::*;
use crate::oid::ObjectFormat;
use crate::pktline;
use crate::protocol::fixture::message;
use crate::protocol::{FetchCapability, LsRefsCapability, SERVICE_HEADER};

fn read(pieces: &[&[u8]]) -> Result<Advertised, ProtocolError> {
    let mut answer = Advertisement::new(&Budget::new(10 << 20));
    for piece in pieces {
        answer.push(piece)?;
    }
    answer.finish()
}

/// The answer read whole and byte by byte, which must be the same.
fn read_split(input: &[u8]) -> Result<Advertised, ProtocolError> {
    let whole = read(&[input]);
    assert_eq!(read(&input.chunks(1).collect::<Vec<_>>()), whole);
    whole
}

fn full() -> Capabilities {
    Capabilities {
        agent: Some("git/gitsip-0".into()),
        fetch: Some(FetchCapability { filter: true, shallow: true, ..Default::default() }),
        ls_refs: Some(LsRefsCapability { unborn: true }),
        object_format: ObjectFormat::Sha256,
        object_info: true,
        server_option: true,
        session_id: Some("x=y".into()),
        unknown: vec!["bundle-uri".into(), "promisor-remote=name=a,url=b".into()],
    }
}

#[test]
fn a_service_header_may_be_there_or_not() {
    let mut plain = Vec::new();
    full().encode(&mut plain).unwrap();
    assert_eq!(read_split(&plain), Ok(Advertised::Capabilities(full())));
    assert_eq!(
        read_split(&[SERVICE_HEADER, &plain].concat()),
        Ok(Advertised::Capabilities(full()))
    );
    assert_eq!(
        read_split(&[&plain[..], pktline::RESPONSE_END].concat()),
        Ok(Advertised::Capabilities(full()))
    );
}

#[test]
fn answers_that_are_something_else_are_named() {
    let dumb = format!("{}\trefs/heads/main\n", "a".repeat(40)).into_bytes();
    let start = |text: &str| ProtocolError::NotGit { start: text.into() };
    let truncated = ProtocolError::Truncated { place: PLACE };
    let json =
        "{\"message\":\"Not Found\",\"documentation_url\":\"https://docs.example.com/rest/of\"}";
    for (input, error) in [
        (message(&["version 3"]), ProtocolError::UnknownVersion { line: "version 3".into() }),
        (dumb, ProtocolError::DumbHttp),
        (b"\n<!doctype html>".to_vec(), ProtocolError::Html),
        (b"\xef\xbb\xbf<html>".to_vec(), ProtocolError::Html),
        (json.as_bytes().to_vec(), start(&json[..MAX_SNIFFED_BYTES])),
        (b"no".to_vec(), start("no")),
        (Vec::new(), truncated.clone()),
        (b"000eversion 2\n".to_vec(), truncated.clone()),
        (b"000".to_vec(), truncated),
        (b"0000".to_vec(), ProtocolError::UnexpectedPacket { packet: "flush", place: PLACE }),
        (
            message(&["version 2", "object-format=sha512"]),
            ProtocolError::UnknownFormat { name: "sha512".into() },
        ),
        (
            message(&["ERR no such repository"]),
            pktline::PktError::Remote { text: "no such repository\n".into() }.into(),
        ),
        (
            [&message(&["version 2"])[..], b"x"].concat(),
            ProtocolError::TrailingBytes { place: PLACE },
        ),
        (
            [&message(&["version 2"])[..], b"0000"].concat(),
            ProtocolError::TrailingBytes { place: PLACE },
        ),
        (
            message(&["# service=git-receive-pack"]),
            ProtocolError::bad_line(PLACE, b"# service=git-receive-pack"),
        ),
    ] {
        assert_eq!(read_split(&input), Err(error));
    }
}

#[test]
fn two_thousand_unknown_capabilities_are_kept_and_a_flood_is_refused() {
    let names: Vec<_> = (0..2_000).map(|number| format!("future-{number}=x")).collect();
    let mut lines = vec!["version 2"];
    lines.extend(names.iter().map(String::as_str));
    let Advertised::Capabilities(read_back) = read(&[&message(&lines)]).unwrap() else { panic!() };
    assert_eq!(read_back.unknown, names);
    let long = "y".repeat(60_000);
    let flood = message(&[&["version 2"][..], &[long.as_str(); 18]].concat());
    assert!(matches!(read(&[&flood]), Err(ProtocolError::Limit(_))));
}

#[test]
fn what_is_kept_is_spent_from_the_budget() {
    let mut answer = Advertisement::new(&Budget::new(10));
    let error = answer.push(&message(&["version 2", "unknown"])).unwrap_err();
    assert!(matches!(error, ProtocolError::Limit(_)));
    assert_eq!(answer.push(b"0000"), Err(error.clone()));
    assert_eq!(answer.finish(), Err(error));
}

proptest! {
    #[test]
    fn damage_never_panics_and_reads_the_same_in_any_split(
        at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>(),
    ) {
        let mut input = SERVICE_HEADER.to_vec();
        full().encode(&mut input).unwrap();
        let at = at.index(input.len());
        input[at] ^= 1 << bit;
        let whole = read_split(&input);
        let (a, b) = input.split_at(cut.index(input.len()));
        prop_assert_eq!(read(&[a, b]), whole);
    }
}
