//! Answers of version 0: with and without a depth, haves and a sideband, damaged, endless.

use proptest::prelude::*;

use super::*;
use crate::limits::Which;
use crate::pktline::{self, Band};
use crate::protocol::fixture::packets;

const A: &str = "1111111111111111111111111111111111111111";

#[derive(Debug, PartialEq)]
struct Read {
    events: Vec<String>,
    pack: Vec<u8>,
    end: Result<(), ProtocolError>,
}

fn read(mut answer: FetchResponse, pieces: &[&[u8]]) -> Read {
    let mut read = Read { events: Vec::new(), pack: Vec::new(), end: Ok(()) };
    for &piece in pieces {
        let mut input = piece;
        loop {
            match answer.push(&mut input) {
                Ok(Some(FetchEvent::PackData(bytes))) => read.pack.extend_from_slice(bytes),
                Ok(Some(FetchEvent::Progress(_))) => {}
                Ok(Some(event)) => read.events.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(answer.push(&mut input), Err(error.clone()));
                    return Read { end: Err(error), ..read };
                }
            }
        }
    }
    read.end = answer.finish();
    read
}

fn answer(deepen: bool, banded: bool) -> FetchResponse {
    let depth = if deepen { Deepen::Depth(1) } else { Deepen::None };
    let request = FetchRequest { deepen: depth, done: true, ..FetchRequest::default() };
    let features = Features { side_band: banded, ..Features::default() };
    FetchResponse::new(ObjectFormat::Sha1, &request, &features)
}

fn read_split(deepen: bool, banded: bool, input: &[u8]) -> Read {
    let whole = read(answer(deepen, banded), &[input]);
    let bytes = read(answer(deepen, banded), &input.chunks(1).collect::<Vec<_>>());
    assert_eq!(bytes, whole);
    whole
}

fn lines(lines: &[&str]) -> Vec<u8> {
    packets(
        &lines
            .iter()
            .map(|line| if *line == "0000" { (*line).to_owned() } else { format!("{line}\n") })
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
    )
}

fn banded(mut head: Vec<u8>) -> Vec<u8> {
    pktline::encode_band(&mut head, Band::Data, b"PA");
    pktline::encode_band(&mut head, Band::Progress, b"50%");
    head.extend_from_slice(b"0005\x01");
    pktline::encode_band(&mut head, Band::Data, b"CK");
    head.extend_from_slice(b"0000");
    head
}

#[test]
fn a_pack_comes_on_the_sideband_or_as_it_is() {
    let read = read_split(false, true, &banded(lines(&["NAK"])));
    assert_eq!((read.pack.as_slice(), read.end), (&b"PACK"[..], Ok(())));
    let plain = [&lines(&["NAK"])[..], b"PACK and more"].concat();
    let read = read_split(false, false, &plain);
    assert_eq!((read.pack.as_slice(), read.end), (&b"PACK and more"[..], Ok(())));
}

#[test]
fn case_24_shallow_lines_are_waited_for_only_when_a_depth_was_asked_for() {
    let (shallow, unshallow) = (format!("shallow {A}"), format!("unshallow {A}"));
    let head = lines(&[&shallow, &unshallow, "0000", "NAK"]);
    let read = read_split(true, true, &banded(head.clone()));
    assert_eq!((read.events.len(), read.end), (3, Ok(())));
    assert!(read.events[0].starts_with("Shallow") && read.events[1].starts_with("Unshallow"));
    let unasked = read_split(false, true, &banded(head));
    let bad = ProtocolError::bad_line("acknowledgments", shallow.as_bytes());
    assert_eq!(unasked.end, Err(bad));
    assert_eq!(read_split(true, true, &banded(lines(&["0000", "NAK"]))).end, Ok(()));
}

#[test]
fn acknowledgments_end_with_the_one_that_says_nothing_more() {
    let ack = |word: &str| format!("ACK {A}{word}");
    let detailed = lines(&[&ack(" common"), &ack(" ready"), &ack("")]);
    let read = read_split(false, true, &banded(detailed));
    assert_eq!((read.events.len(), read.pack.len(), read.end), (3, 4, Ok(())));
    assert_eq!(read.events[1], "Ready");
    for head in [lines(&[&ack(" continue"), "NAK"]), lines(&[&ack("")])] {
        assert_eq!(read_split(false, true, &banded(head)).pack, b"PACK");
    }
    let odd = read_split(false, true, &lines(&[&ack(" perhaps")]));
    assert!(matches!(odd.end, Err(ProtocolError::BadLine { .. })));
}

#[test]
fn a_server_that_gives_up_is_heard_at_any_time() {
    let says = |input: &[u8], words: &str| {
        let end = read_split(true, true, input).end.unwrap_err();
        assert!(end.remote_text().is_some_and(|text| text.starts_with(words.as_bytes())), "{end}");
    };
    says(&lines(&["ERR upload-pack: not our ref x"]), "upload-pack: not our ref");
    let mut late = lines(&["0000", "NAK"]);
    pktline::encode_band(&mut late, Band::Data, b"PA");
    pktline::encode_band(&mut late, Band::Error, b"disk on fire");
    says(&late, "disk on fire");
}

#[test]
fn what_is_cut_off_or_goes_on_is_an_error() {
    let whole = banded(lines(&[&format!("shallow {A}"), "0000", "NAK"]));
    let truncated = Err(ProtocolError::Truncated { place: PLACE });
    let told = lines(&[&format!("shallow {A}"), "0000", "NAK"]).len();
    for len in (0..whole.len()).filter(|&len| len != told) {
        assert_eq!(read_split(true, true, &whole[..len]).end, truncated, "{len}");
    }
    for tail in [&b"0000"[..], b"0005x", b"0"] {
        let end = read_split(true, true, &[&whole[..], tail].concat()).end;
        assert_eq!(end, Err(ProtocolError::TrailingBytes { place: PLACE }));
    }
    let other = format!("shallow {}", "a".repeat(64));
    let end = read_split(true, true, &lines(&[&other])).end;
    assert!(matches!(end, Err(ProtocolError::WrongFormat { .. })));
}

#[test]
fn an_answer_may_end_where_a_pack_was_due_and_has_none_then() {
    for (banded, tail) in [(true, &b""[..]), (true, b"0000"), (true, b"0005\x01"), (false, b"")] {
        let mut answer = answer(false, banded);
        let whole = [&lines(&["NAK"])[..], tail].concat();
        let mut input = whole.as_slice();
        assert_eq!(answer.push(&mut input), Ok(Some(FetchEvent::Nak)));
        assert_eq!(answer.push(&mut input), Ok(None));
        assert_eq!((answer.finish(), answer.has_packfile()), (Ok(()), false), "{tail:?}");
    }
}

#[test]
fn talk_without_end_has_one() {
    let limits = Limits { max_refs: 10, max_ref_bytes: 1_000, ..Limits::default() };
    let shallow = format!("shallow {A}");
    let many = lines(&[shallow.as_str(); 11]);
    let keepalives = [lines(&["0000", "NAK"]), b"0005\x01".repeat(300)].concat();
    for (input, which) in [(many, Which::Refs), (keepalives, Which::RefBytes)] {
        let end = read(answer(true, true).with_limits(&limits), &[&input]).end;
        let limit = crate::Error::from(end.unwrap_err()).limit().unwrap();
        assert_eq!(limit.which, which);
    }
}

proptest! {
    #[test]
    fn damage_never_panics_and_reads_the_same_in_any_split(
        at in any::<prop::sample::Index>(), bit in 0u8..8, deepen: bool, band: bool,
    ) {
        let mut bytes = banded(lines(&[&format!("shallow {A}"), "0000", &format!("ACK {A} common"), "NAK"]));
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let whole = read_split(deepen, band, &bytes);
        let (a, b) = bytes.split_at(at);
        prop_assert_eq!(read(answer(deepen, band), &[a, b]), whole);
    }
}
