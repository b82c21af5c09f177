//! Answers as a server writes them: every form of acknowledgment, and read back in any split.

use proptest::prelude::*;

use super::*;
use crate::oid::ObjectFormat;
use crate::pktline::PktError;
use crate::protocol::v0::FetchResponse;
use crate::protocol::{FetchEvent, ProtocolError};

const A: &str = "1111111111111111111111111111111111111111";
const B: &str = "2222222222222222222222222222222222222222";
const C: &str = "3333333333333333333333333333333333333333";

fn id(hex: &str) -> ObjectId {
    hex.parse().unwrap()
}

/// The lines that a server writes which has A and B, is content with them at C when it is
/// `ready`, and whether a pack follows.
fn told(used: Features, done: bool, ready: bool) -> (String, bool) {
    let haves = vec![id(A), id(C), id(B)];
    let request = FetchRequest { done, haves, ..FetchRequest::default() };
    let mut answer = FetchResponseWriter::new(&request, &used);
    let mut out = Vec::new();
    answer.common(&mut out, id(A));
    answer.common(&mut out, id(B));
    if ready {
        answer.ready(&mut out, id(C));
    }
    let pack = answer.end_haves(&mut out);
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<_> = text.lines().map(|line| line[4..].to_owned()).collect();
    let text = lines.join(",").replace(A, "A").replace(B, "B").replace(C, "C");
    (text, pack.is_some())
}

#[test]
fn each_way_to_acknowledge_has_gits_words() {
    let detailed = Features { multi_ack_detailed: true, ..Features::default() };
    let both = Features { multi_ack: true, ..detailed };
    let multi = Features { multi_ack: true, ..Features::default() };
    let no_done = Features { no_done: true, ..detailed };
    for (used, done, ready, lines, pack) in [
        (detailed, true, false, "ACK A common,ACK B common,ACK B", true),
        (both, true, true, "ACK A common,ACK B common,ACK C ready,ACK B", true),
        (detailed, false, true, "ACK A common,ACK B common,ACK C ready,NAK", false),
        (no_done, false, true, "ACK A common,ACK B common,ACK C ready,NAK,ACK B", true),
        (no_done, false, false, "ACK A common,ACK B common,NAK", false),
        (multi, true, true, "ACK A continue,ACK B continue,ACK C continue,ACK B", true),
        (multi, false, false, "ACK A continue,ACK B continue,NAK", false),
        (Features::default(), true, true, "ACK A", true),
        (Features::default(), false, true, "ACK A", false),
    ] {
        assert_eq!(told(used, done, ready), (lines.to_owned(), pack), "{used:?}, {done}");
    }
}

#[test]
fn a_server_that_has_nothing_in_common_says_nak() {
    for used in [true, false].map(|multi_ack| Features { multi_ack, ..Features::default() }) {
        for done in [true, false] {
            let request = FetchRequest { done, haves: vec![id(C)], ..FetchRequest::default() };
            let mut out = Vec::new();
            let pack = FetchResponseWriter::new(&request, &used).end_haves(&mut out);
            assert_eq!((out.as_slice(), pack.is_some()), (&b"0008NAK\n"[..], done));
        }
    }
}

#[test]
fn the_boundary_is_told_first_once_and_only_to_who_asked_to_cut_history() {
    let cuts = FetchRequest { deepen: Deepen::Depth(1), done: true, ..FetchRequest::default() };
    let plain = FetchRequest { done: true, ..FetchRequest::default() };
    let answer = |request: &FetchRequest, shallow: &[ObjectId]| {
        let mut out = Vec::new();
        let mut answer = FetchResponseWriter::new(request, &Features::default());
        if !shallow.is_empty() {
            answer.shallow_info(&mut out, shallow, &[id(B)]);
        }
        answer.common(&mut out, id(A));
        answer.shallow_info(&mut out, shallow, &[]);
        let _ = answer.end_haves(&mut out);
        String::from_utf8(out).unwrap()
    };
    let ack = format!("0031ACK {A}\n");
    let told = format!("0034shallow {A}0036unshallow {B}0000{ack}");
    assert_eq!(answer(&cuts, &[id(A)]), told);
    assert_eq!(answer(&cuts, &[]), format!("0000{ack}"), "a client waits for the end of it");
    assert_eq!(answer(&plain, &[id(A)]), ack);
    let first = FetchRequest { done: false, ..cuts };
    let mut out = Vec::new();
    assert!(FetchResponseWriter::new(&first, &Features::default()).end_haves(&mut out).is_none());
    assert_eq!(out, b"0000", "nothing was named that could be acknowledged");
    assert_eq!(read(&first, &Features::default(), &[&out]).end, None);
}

#[test]
fn a_client_that_waits_after_each_block_of_haves_is_answered_each_time() {
    let request = FetchRequest { done: true, ..FetchRequest::default() };
    for (used, lines) in [
        (Features { multi_ack: true, ..Features::default() }, "NAK,ACK A continue,NAK,NAK,ACK A"),
        (Features::default(), "NAK,ACK A"),
    ] {
        let mut out = Vec::new();
        let mut answer = FetchResponseWriter::new(&request, &used);
        answer.end_block(&mut out);
        answer.common(&mut out, id(A));
        answer.end_block(&mut out);
        answer.end_block(&mut out);
        assert!(answer.end_haves(&mut out).is_some());
        let text = String::from_utf8(out).unwrap();
        let told: Vec<_> = text.lines().map(|line| line[4..].replace(A, "A")).collect();
        assert_eq!(told.join(","), lines);
    }
}

/// What an answer said.
#[derive(Debug, Default, PartialEq)]
struct Read {
    events: Vec<String>,
    pack: Vec<u8>,
    progress: Vec<u8>,
    end: Option<ProtocolError>,
}

fn read(request: &FetchRequest, used: &Features, pieces: &[&[u8]]) -> Read {
    let mut answer = FetchResponse::new(ObjectFormat::Sha1, request, used);
    let mut read = Read::default();
    for &piece in pieces {
        let mut input = piece;
        loop {
            match answer.push(&mut input) {
                Ok(Some(FetchEvent::PackData(bytes))) => read.pack.extend_from_slice(bytes),
                Ok(Some(FetchEvent::Progress(bytes))) => read.progress.extend_from_slice(bytes),
                Ok(Some(event)) => read.events.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => return Read { end: Some(error), ..read },
            }
        }
    }
    read.end = answer.finish().err();
    read
}

/// What a server may answer, apart from the form.
#[derive(Clone, Debug)]
struct Said {
    request: FetchRequest,
    used: Features,
    shallow: Vec<ObjectId>,
    unshallow: Vec<ObjectId>,
    common: Vec<ObjectId>,
    ready: Option<ObjectId>,
    pack: Vec<Vec<u8>>,
    fails: bool,
}

impl Said {
    /// The answer, and what a reader of it should see.
    fn write(&self) -> (Vec<u8>, Read) {
        let mut want = Read::default();
        let mut see = |event: FetchEvent<'_>| want.events.push(format!("{event:?}"));
        let mut out = Vec::new();
        let mut answer = FetchResponseWriter::new(&self.request, &self.used);
        answer.shallow_info(&mut out, &self.shallow, &self.unshallow);
        if self.request.deepen != Deepen::None {
            self.shallow.iter().for_each(|id| see(FetchEvent::Shallow(*id)));
            self.unshallow.iter().for_each(|id| see(FetchEvent::Unshallow(*id)));
        }
        let (detailed, multi) = (self.used.multi_ack_detailed, self.used.multi_ack);
        for (number, id) in self.common.iter().enumerate() {
            answer.common(&mut out, *id);
            if detailed || multi || number == 0 {
                see(FetchEvent::Acknowledged(*id));
            }
        }
        if let Some(id) = self.ready {
            answer.ready(&mut out, id);
            match (detailed, multi) {
                (true, _) => see(FetchEvent::Ready),
                (false, true) => see(FetchEvent::Acknowledged(id)),
                (false, false) => {}
            }
        }
        let Some(pack) = answer.end_haves(&mut out) else {
            if self.common.is_empty() || detailed || multi {
                see(FetchEvent::Nak);
            }
            return (out, want);
        };
        let last = self.common.last().copied().or(self.ready.filter(|_| detailed));
        match last {
            None => see(FetchEvent::Nak),
            Some(id) if detailed || multi => {
                if !self.request.done {
                    see(FetchEvent::Nak);
                }
                see(FetchEvent::Acknowledged(id));
            }
            Some(_) => {}
        }
        for piece in &self.pack {
            pack.keepalive(&mut out);
            pack.pack_data(&mut out, piece);
            pack.progress(&mut out, b"50%\r");
            want.pack.extend_from_slice(piece);
            if pack.is_banded() {
                want.progress.extend_from_slice(b"50%\r");
            }
        }
        let text = b"disk on fire";
        if self.fails && pack.is_banded() {
            want.end = Some(PktError::Remote { text: text[..].into() }.into());
        }
        match self.fails {
            true => pack.error(&mut out, text),
            false => pack.end(&mut out),
        }
        (out, want)
    }
}

fn answers() -> impl Strategy<Value = Said> {
    let oid = || any::<[u8; 20]>().prop_map(|raw| ObjectId::from_raw(&raw).unwrap());
    let ids = move || prop::collection::vec(oid(), 0..4);
    let pack = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..3_000), 0..4);
    (any::<[bool; 7]>(), any::<bool>(), ids(), ids(), ids(), prop::option::of(oid()), pack)
        .prop_map(|(on, fails, shallow, unshallow, common, ready, pack)| {
            let [multi_ack, multi_ack_detailed, no_done, side_band, side_band_64k, done, cuts] = on;
            let deepen = if cuts { Deepen::Depth(1) } else { Deepen::None };
            let haves = vec![id(C)];
            let request = FetchRequest { deepen, done, haves, ..FetchRequest::default() };
            let used = Features {
                multi_ack,
                multi_ack_detailed,
                no_done,
                side_band,
                side_band_64k,
                ..Features::default()
            };
            Said { request, used, shallow, unshallow, common, ready, pack, fails }
        })
}

proptest! {
    #[test]
    fn what_a_server_writes_is_read_back_in_any_split(
        said in answers(), at in any::<prop::sample::Index>(),
    ) {
        let (bytes, want) = said.write();
        let read = |pieces: &[&[u8]]| read(&said.request, &said.used, pieces);
        prop_assert_eq!(&read(&[&bytes]), &want);
        prop_assert_eq!(&read(&bytes.chunks(1).collect::<Vec<_>>()), &want);
        let (a, b) = bytes.split_at(at.index(bytes.len()));
        prop_assert_eq!(&read(&[a, b]), &want);
    }
}
