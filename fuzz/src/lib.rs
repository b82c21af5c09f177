//! What every fuzz target does with its input. `tests/fuzz_corpus.rs` includes this file
//! and does the same with the files of `corpus/`, so that a crash once found stays fixed
//! without a fuzzer at hand.
//!
//! A target asserts more than that nothing panics: a parser of a stream gives the same
//! whether its input comes whole or byte by byte.

use gitsip::limits::{LimitExceeded, NeverInterrupt};
use gitsip::oid::Hasher;
use gitsip::pack::delta::{self, Delta};
use gitsip::pack::index::PackIndex;
use gitsip::pack::{Ingest, PackError};
use gitsip::pktline::{Carriage, PktError, Reader, Token};
use gitsip::protocol::{FetchEvent, FetchResponse, ProtocolError};
use gitsip::store::{MemoryStore, Objects as _, Staging as _};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId};

/// Packets, read as what the first byte says.
pub fn pktline(input: &[u8]) {
    let Some((&first, packets)) = input.split_first() else { return };
    let carriage = match first % 3 {
        0 => Carriage::Lines,
        1 => Carriage::BandedLines,
        _ => Carriage::BandedStream,
    };
    let whole = read_packets(&[packets], carriage);
    let pieces: Vec<&[u8]> = packets.chunks(1).collect();
    assert_eq!(read_packets(&pieces, carriage), whole);
}

/// A pack, as it is and with the trailer that it should have.
pub fn pack_stream(input: &[u8]) {
    receive_whole_and_in_bytes(input);
    let mut hasher = Hasher::new(ObjectFormat::Sha1);
    hasher.update(input);
    if let Ok(trailer) = hasher.finish() {
        receive_whole_and_in_bytes(&[input, trailer.as_bytes()].concat());
    }
}

/// A delta, against a base as long as the first two bytes say; and, the other way round,
/// a delta made for the rest.
pub fn delta(input: &[u8]) {
    let Some((len, rest)) = input.split_first_chunk() else { return };
    let base: Vec<u8> = (0..u16::from_le_bytes(*len)).map(|n| (n >> 3) as u8).collect();
    if let Ok(delta) = Delta::parse(rest, base.len())
        && delta.result_len() <= MAX_OBJECT_BYTES
    {
        let mut result = Vec::new();
        delta.apply(&base, &mut result);
        assert_eq!(result.len(), delta.result_len());
    }
    let made = delta::encode(&base, rest);
    let mut result = Vec::new();
    Delta::parse(&made, base.len()).expect("it was just made").apply(&base, &mut result);
    assert_eq!(result, rest);
}

/// A pack index.
pub fn idx(input: &[u8]) {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let Ok(index) = PackIndex::parse(input, format) else { continue };
        let _ = index.verify_checksum();
        for at in (0..index.len()).take(1_000).chain([index.len(), u32::MAX]) {
            let id = index.id_at(at);
            assert_eq!(id.is_some(), at < index.len());
            let Some(id) = id else { continue };
            let _ = (index.offset_at(at), index.crc32_at(at), index.find(&id));
            let range = index.prefix_range(&id.as_bytes()[..2]);
            assert!(range.start <= range.end && range.end <= index.len());
        }
    }
}

/// The answer to a fetch.
pub fn fetch_response(input: &[u8]) {
    let whole = read_answer(&[input]);
    let pieces: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read_answer(&pieces), whole);
}

/// What packets say, with pieces that follow each other joined.
#[derive(Debug, Default, PartialEq)]
struct Said {
    /// A letter for the kind, and the bytes.
    parts: Vec<(char, Vec<u8>)>,
}

impl Said {
    fn part(&mut self, kind: char, bytes: &[u8]) {
        self.parts.push((kind, bytes.to_vec()));
    }

    fn piece(&mut self, kind: char, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some((last, part)) if *last == kind => part.extend_from_slice(bytes),
            _ => self.part(kind, bytes),
        }
    }
}

fn read_packets(pieces: &[&[u8]], carriage: Carriage) -> (Said, Result<(), PktError>) {
    let mut said = Said::default();
    let mut reader = Reader::new();
    for piece in pieces {
        let mut rest = *piece;
        loop {
            match reader.next(&mut rest, carriage) {
                Ok(None) => break,
                Ok(Some(Token::Data(bytes))) => said.piece('d', bytes),
                Ok(Some(Token::Progress(bytes))) => said.piece('p', bytes),
                Ok(Some(Token::Line)) => said.part('l', reader.line()),
                Ok(Some(Token::Delimiter)) => said.part('1', b""),
                Ok(Some(Token::Flush)) => said.part('0', b""),
                Ok(Some(Token::ResponseEnd)) => said.part('2', b""),
                Err(error) => return (said, Err(error)),
            }
        }
    }
    (said, reader.finish())
}

fn read_answer(pieces: &[&[u8]]) -> (Said, Result<(), ProtocolError>) {
    let mut said = Said::default();
    let mut answer = FetchResponse::new(ObjectFormat::Sha1);
    for piece in pieces {
        let mut rest = *piece;
        loop {
            match answer.push(&mut rest) {
                Ok(None) => break,
                Ok(Some(FetchEvent::PackData(bytes))) => said.piece('d', bytes),
                Ok(Some(FetchEvent::Progress(bytes))) => said.piece('p', bytes),
                Ok(Some(event)) => said.part('e', format!("{event:?}").as_bytes()),
                Err(error) => return (said, Err(error)),
            }
        }
    }
    (said, answer.finish())
}

fn receive_whole_and_in_bytes(pack: &[u8]) {
    let whole = receive(&[pack]);
    let pieces: Vec<&[u8]> = pack.chunks(1).collect();
    assert_eq!(receive(&pieces), whole);
}

/// Takes a pack into a store: what it holds afterwards, each object read back.
fn receive(pieces: &[&[u8]]) -> Result<Vec<ObjectId>, PackError> {
    let budget = Budget::new(64 << 20);
    let limits = Limits {
        max_object_bytes: MAX_OBJECT_BYTES as u64,
        resolved_allowance_bytes: 16 << 20,
        max_chain_bytes: 16 << 20,
        ..Limits::default()
    };
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
    let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage());
    let mut result = Ok(());
    for piece in pieces {
        result = ingest.push(piece, &NeverInterrupt);
        if result.is_err() {
            break;
        }
    }
    let received = result.and_then(|()| ingest.finish(&NeverInterrupt));
    let (staging, _) = received.inspect_err(|_| {
        assert_eq!(store.stats().objects, 0, "nothing of a refused pack is kept");
    })?;
    let Ok(committed) = staging.commit() else {
        return Err(
            LimitExceeded { which: gitsip::limits::Which::Memory, allowed: 0, seen: 0 }.into()
        );
    };
    for id in &committed.ids {
        assert!(store.read(id).is_ok_and(|object| object.is_some()));
    }
    Ok(committed.ids)
}

/// Small, so that a fuzzer makes many runs a second.
const MAX_OBJECT_BYTES: usize = 1 << 20;
