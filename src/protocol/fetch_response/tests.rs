//! Answers to a fetch: whole, cut anywhere, damaged, without end.

use proptest::prelude::*;

use super::*;
use crate::limits::Which;
use crate::pktline::{self, Band, PktError};
use crate::protocol::FetchResponseWriter;
use crate::protocol::fixture::packets;

const A: &str = "1111111111111111111111111111111111111111";
const B: &str = "2222222222222222222222222222222222222222";

/// What an answer said, and how it ended.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    /// One line for each event that is not a piece of a stream.
    said: Vec<String>,
    pack: Vec<u8>,
    progress: Vec<u8>,
    error: Option<ProtocolError>,
}

fn read(mut answer: FetchResponse, pieces: &[&[u8]]) -> Seen {
    let mut seen = Seen::default();
    for &piece in pieces {
        let mut input = piece;
        loop {
            match answer.push(&mut input) {
                Ok(None) => break,
                Ok(Some(FetchEvent::PackData(bytes))) => seen.pack.extend_from_slice(bytes),
                Ok(Some(FetchEvent::Progress(bytes))) => seen.progress.extend_from_slice(bytes),
                Ok(Some(event)) => seen.said.push(format!("{event:?}")),
                Err(error) => {
                    assert_eq!(answer.finish(), Err(error.clone()));
                    seen.error = Some(error);
                    return seen;
                }
            }
        }
    }
    seen.error = answer.finish().err();
    seen
}

fn read_split(input: &[u8], sideband_all: bool) -> Seen {
    let answer = || match sideband_all {
        true => FetchResponse::new(ObjectFormat::Sha1).with_sideband_all(),
        false => FetchResponse::new(ObjectFormat::Sha1),
    };
    let whole = read(answer(), &[input]);
    assert_eq!(read(answer(), &input.chunks(1).collect::<Vec<_>>()), whole);
    assert_eq!(read(answer(), &input.chunks(7).collect::<Vec<_>>()), whole);
    whole
}

fn id(hex: &str) -> ObjectId {
    hex.parse().unwrap()
}

/// Every section a server writes.
fn full() -> (Vec<u8>, Seen) {
    written(FetchResponseWriter::new())
}

fn written(mut writer: FetchResponseWriter) -> (Vec<u8>, Seen) {
    let mut out = Vec::new();
    writer.acknowledgments(&mut out, &[id(A)], true);
    writer.shallow_info(&mut out, &[id(A)], &[id(B)]);
    writer.wanted_refs(&mut out, [(id(B), &b"refs/heads/x"[..])]).unwrap();
    let pack = writer.packfile(&mut out);
    pack.pack_data(&mut out, b"PACK");
    pack.progress(&mut out, b"50%\r");
    pack.keepalive(&mut out);
    pack.pack_data(&mut out, b"rest");
    pack.end(&mut out);
    let said = [
        FetchEvent::Acknowledged(id(A)),
        FetchEvent::Ready,
        FetchEvent::Shallow(id(A)),
        FetchEvent::Unshallow(id(B)),
        FetchEvent::WantedRef { id: id(B), name: "refs/heads/x".into() },
    ];
    let said = said.iter().map(|event| format!("{event:?}")).collect();
    let seen = Seen { said, pack: b"PACKrest".into(), progress: b"50%\r".into(), error: None };
    (out, seen)
}

#[test]
fn what_a_server_writes_is_read_back() {
    let (bytes, want) = full();
    assert_eq!(read_split(&bytes, false), want);
    assert_eq!(read_split(&[&bytes[..], b"0002"].concat(), false), want);
    let (bytes, want) = written(FetchResponseWriter::new().with_sideband_all());
    assert!(bytes.starts_with(b"0015\x01acknowledgments\n"), "{}", bytes.escape_ascii());
    assert_eq!(read_split(&bytes, true), want);
}

#[test]
fn a_server_says_that_it_gives_up_before_the_pack_and_in_it() {
    let text = "not our ref".to_owned();
    let remote = Some(ProtocolError::from(PktError::Remote { text: text.as_str().into() }));
    for sideband_all in [false, true] {
        let writer = || match sideband_all {
            true => FetchResponseWriter::new().with_sideband_all(),
            false => FetchResponseWriter::new(),
        };
        let (mut early, mut late) = (Vec::new(), Vec::new());
        let begun = writer();
        begun.keepalive(&mut early);
        begun.progress(&mut early, b"looking");
        begun.error(&mut early, text.as_bytes());
        let seen = read_split(&early, sideband_all);
        assert_eq!((&seen.error, seen.progress.is_empty()), (&remote, !sideband_all));
        let pack = writer().packfile(&mut late);
        pack.pack_data(&mut late, b"PACK");
        pack.error(&mut late, text.as_bytes());
        let seen = read_split(&late, sideband_all);
        assert_eq!((seen.error, seen.pack), (remote.clone(), b"PACK".to_vec()));
    }
}

#[test]
fn sections_come_in_any_order_and_unknown_ones_are_skipped() {
    let shallow = format!("shallow {A}\n");
    let input = packets(&[
        "future-info\n",
        "ACK nonsense",
        "\x01",
        "0001",
        "shallow-info\n",
        &shallow,
        "0001",
        "packfile-uris\n",
        "https://evil.example/",
        "0001",
        "acknowledgments\n",
        "NAK\n",
        "0001",
        "packfile",
        "\x01PACK",
        "0000",
    ]);
    let seen = read_split(&input, false);
    let said = [FetchEvent::Shallow(id(A)), FetchEvent::Nak].map(|e| format!("{e:?}"));
    assert_eq!((seen.said.as_slice(), seen.error), (&said[..], None));
    assert_eq!(seen.pack, b"PACK");
}

#[test]
fn every_section_may_be_carried_on_the_sideband() {
    let ack = format!("\x01ACK {A}\n");
    let input = packets(&[
        "\x02hello",
        "\x01acknowledgments\n",
        "\x01",
        &ack,
        "\x02 there",
        "0001",
        "\x01packfile\n",
        "\x01PACK",
        "\x01",
        "0000",
    ]);
    let seen = read_split(&input, true);
    assert_eq!(seen.said, [format!("{:?}", FetchEvent::Acknowledged(id(A)))]);
    assert_eq!(
        (seen.pack, seen.progress, seen.error),
        (b"PACK".into(), b"hello there".into(), None)
    );
}

#[test]
fn a_server_that_gives_up_is_quoted_whenever_it_does() {
    let remote = |text: &str| Some(ProtocolError::from(PktError::Remote { text: text.into() }));
    for (lines, text) in [
        (&["ERR not our ref"][..], "not our ref"),
        (&["acknowledgments", "ERR x"], "x"),
        (&["packfile", "\x01PACKhalf", "\x03out of memory"], "out of memory"),
        (&["packfile", "\x01PACKhalf", "ERR late"], "late"),
        (&["packfile", "\x02fatal: not decisive", "\x03this is"], "this is"),
    ] {
        assert_eq!(read_split(&packets(lines), false).error, remote(text));
    }
    let cut = [&packets(&["packfile", "\x01PACK"])[..], b"0040\x03it died"].concat();
    assert_eq!(read_split(&cut, false).error, remote("it died"));
}

#[test]
fn damaged_answers_are_typed_errors() {
    let bad = |place, line: &str| ProtocolError::bad_line(place, line.as_bytes());
    let trailing = || ProtocolError::TrailingBytes { place: PLACE };
    let sha256 = format!("ACK {}", "a".repeat(64));
    let unexpected = |packet| ProtocolError::UnexpectedPacket { packet, place: PLACE };
    for (lines, error) in [
        (&["acknowledgments", "ACK"][..], bad("acknowledgments", "ACK")),
        (
            &["acknowledgments", &sha256],
            ProtocolError::WrongFormat {
                expected: ObjectFormat::Sha1,
                found: ObjectFormat::Sha256,
            },
        ),
        (&["shallow-info", "shallow x"], bad("shallow-info", "shallow x")),
        (&["shallow-info", "deepen"], bad("shallow-info", "deepen")),
        (&["wanted-refs", A], bad("wanted-refs", A)),
        (&["packfile", "\x01PACK", "0001"], unexpected("delimiter")),
        (&["0001"], unexpected("delimiter")),
        (&["packfile", "0002"], unexpected("response-end")),
        (&["packfile", "\x09x"], PktError::BadBand { offset: 12, band: 9 }.into()),
        (&["packfile", "0000", "0000"], trailing()),
        (&["packfile", "0000", "x"], trailing()),
    ] {
        assert_eq!(read_split(&packets(lines), false).error, Some(error), "{lines:?}");
    }
    let (bytes, _) = full();
    assert_eq!(read_split(&[&bytes[..], b"00"].concat(), false).error, Some(trailing()));
    for len in 0..bytes.len() {
        let truncated = Some(ProtocolError::Truncated { place: PLACE });
        assert_eq!(read_split(&bytes[..len], false).error, truncated, "{len}");
    }
}

#[test]
fn talk_without_end_has_one_however_it_is_cut() {
    let limits = Limits { max_refs: 10, max_ref_bytes: 1_000, ..Limits::default() };
    let answer = || FetchResponse::new(ObjectFormat::Sha1).with_limits(&limits);
    let shallow = format!("shallow {A}");
    let mut many = vec!["shallow-info"];
    many.extend([shallow.as_str(); 11]);
    let mut skipped = vec!["future"];
    skipped.extend(["a line that nobody knows"; 40]);
    let banded = |packet: &[u8]| [packets(&["packfile"]), packet.repeat(250)].concat();
    for (input, which) in [
        (packets(&many), Which::Refs),
        (packets(&skipped), Which::RefBytes),
        (banded(b"0005\x01"), Which::RefBytes),
        (banded(b"0006\x02."), Which::RefBytes),
        (banded(b"0004"), Which::RefBytes),
        (banded(b"0006\x01P"), Which::RefBytes),
    ] {
        let whole = read(answer(), &[&input]);
        assert_eq!(read(answer(), &input.chunks(1).collect::<Vec<_>>()), whole);
        let limit = crate::Error::from(whole.error.unwrap()).limit().unwrap();
        assert_eq!((limit.which, limit.allowed < limit.seen), (which, true));
    }
    // A pack of any length is none of it.
    let mut long = packets(&["packfile"]);
    (0..9).for_each(|_| pktline::encode_band(&mut long, Band::Data, &[7; 60_000]));
    long.extend_from_slice(b"0000");
    assert_eq!(read(answer(), &[&long]).error, None);
}

proptest! {
    #[test]
    fn damage_never_panics_and_reads_the_same_in_any_split(
        at in any::<prop::sample::Index>(), bit in 0u8..8, sideband_all: bool,
    ) {
        let (mut bytes, _) = full();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        read_split(&bytes, sideband_all);
    }
}
