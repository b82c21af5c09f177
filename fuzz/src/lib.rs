//! What every fuzz target does with its input. `tests/fuzz_corpus.rs` includes this file
//! and does the same with the files of `corpus/`, so that a crash once found stays fixed
//! without a fuzzer at hand.
//!
//! A target asserts more than that nothing panics: a parser of a stream gives the same
//! whether its input comes whole or byte by byte.

mod saved;

use std::collections::BTreeSet;
use std::sync::Arc;

use gitsip::limits::{LimitExceeded, NeverInterrupt, SharedWorkers};
use gitsip::object::{Kind, hash_object};
use gitsip::oid::Hasher;
use gitsip::pack::delta::{self, Delta};
use gitsip::pack::index::PackIndex;
use gitsip::pack::write::PackWriter;
use gitsip::pack::{Ingest, PackError};
use gitsip::pktline::{Carriage, PktError, Reader, Token};
use gitsip::protocol::{FetchEvent, FetchResponse, ProtocolError};
use gitsip::store::{MemoryStaging, MemoryStore, Objects as _, Staging as _};
use gitsip::{Budget, Limits, ObjectFormat, ObjectId, Workers};

pub use saved::saved;

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

/// A pack of whole objects and deltas, four bytes of input each, on one thread and on
/// three, at the end and on the way: the same objects or the same refusal, and what a naive
/// reader says of it.
pub fn pack_threads(input: &[u8]) {
    let plan = Plan::read(input);
    let pack = plan.pack();
    let in_any_order = |ids: Vec<ObjectId>| ids.into_iter().collect::<BTreeSet<_>>();
    let alone = receive(&[&pack]).map(in_any_order);
    let finish = |ingest: Ingest<_>| Ok(ingest.finish_on(&Threads, &NeverInterrupt)?.store);
    let together = receive_with(&[&pack], |ingest| ingest, finish).map(in_any_order);
    let workers = SharedWorkers::new(Arc::new(Threads));
    let start = |ingest: Ingest<_>| ingest.resolving_early(workers, 1);
    let early = receive_with(&[&pack], start, finish).map(in_any_order);
    for other in [&together, &early] {
        match (&alone, other) {
            // Which of several errors is met first is chance.
            (Err(_), Err(_)) => {}
            _ => assert_eq!(other, &alone),
        }
    }
    if plan.entries.iter().any(|entry| entry.damage.is_some()) {
        return;
    }
    match (plan.unresolved(), together) {
        (0, Ok(ids)) => {
            assert_eq!(ids, in_any_order(plan.entries.iter().map(Planned::id).collect()));
        }
        (left, Err(PackError::Unresolved { count, .. })) => assert_eq!(count, left),
        (left, received) => panic!("{left} should be left, not {received:?}"),
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

/// Entries of a pack as an input asks for them.
struct Plan {
    entries: Vec<Planned>,
}

struct Planned {
    content: Vec<u8>,
    base: PlannedBase,
    /// A byte of the delta to flip a bit of.
    damage: Option<usize>,
}

enum PlannedBase {
    None,
    /// An earlier entry, by offset.
    Earlier(usize),
    /// Any entry, by the id that it should have.
    Any(usize),
}

impl Plan {
    fn read(input: &[u8]) -> Self {
        let (records, _) = input.as_chunks();
        let count = records.len().min(MAX_PLANNED);
        let planned = |(number, &[what, base, len, mark]): (usize, &[u8; 4])| Planned {
            content: [&vec![b'='; usize::from(len)][..], &[mark]].concat(),
            base: match what % 4 {
                1 | 2 if number > 0 => PlannedBase::Earlier(usize::from(base) % number),
                3 => PlannedBase::Any(usize::from(base) % count),
                _ => PlannedBase::None,
            },
            damage: (what >= 0xf0).then_some(usize::from(what & 0xf)),
        };
        Self { entries: records.iter().take(count).enumerate().map(planned).collect() }
    }

    fn pack(&self) -> Vec<u8> {
        let mut writer =
            PackWriter::new(ObjectFormat::Sha1, self.entries.len() as u32).with_level(0);
        let mut offsets = Vec::new();
        for entry in &self.entries {
            let from = |base: usize| {
                let mut delta = delta::encode(&self.entries[base].content, &entry.content);
                if let Some(at) = entry.damage {
                    let len = delta.len();
                    delta[at % len] ^= 1 << (at % 8);
                }
                delta
            };
            offsets.push(match entry.base {
                PlannedBase::None => writer.whole(Kind::Blob, &entry.content),
                PlannedBase::Earlier(base) => writer.ofs_delta(offsets[base], &from(base)),
                PlannedBase::Any(base) => writer.ref_delta(self.entries[base].id(), &from(base)),
            });
        }
        writer.finish().expect("its bytes are no collision")
    }

    /// How many entries have no base, found by asking all of them again and again.
    fn unresolved(&self) -> u64 {
        let ids: Vec<ObjectId> = self.entries.iter().map(Planned::id).collect();
        let mut resolved = vec![false; ids.len()];
        loop {
            let before = resolved.clone();
            for (number, entry) in self.entries.iter().enumerate() {
                resolved[number] = match entry.base {
                    PlannedBase::None => true,
                    PlannedBase::Earlier(base) => resolved[base],
                    PlannedBase::Any(base) => {
                        resolved.iter().zip(&ids).any(|(&done, id)| done && *id == ids[base])
                    }
                };
            }
            if resolved == before {
                return resolved.iter().filter(|&&done| !done).count() as u64;
            }
        }
    }
}

impl Planned {
    fn id(&self) -> ObjectId {
        hash_object(ObjectFormat::Sha1, Kind::Blob, &self.content)
            .expect("its bytes are no collision")
    }
}

/// Three threads for every piece of work.
struct Threads;

impl Workers for Threads {
    fn threads(&self) -> usize {
        3
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        std::thread::scope(|scope| {
            (0..n).for_each(|part| drop(scope.spawn(move || job(part))));
        });
    }
}

fn receive_whole_and_in_bytes(pack: &[u8]) {
    let whole = receive(&[pack]);
    let pieces: Vec<&[u8]> = pack.chunks(1).collect();
    assert_eq!(receive(&pieces), whole);
}

fn receive(pieces: &[&[u8]]) -> Result<Vec<ObjectId>, PackError> {
    receive_with(pieces, |ingest| ingest, |ingest| Ok(ingest.finish(&NeverInterrupt)?.0))
}

/// Takes a pack into a store: what it holds afterwards, each object read back.
fn receive_with(
    pieces: &[&[u8]],
    start: impl FnOnce(Ingest<MemoryStaging>) -> Ingest<MemoryStaging>,
    finish: impl FnOnce(Ingest<MemoryStaging>) -> Result<MemoryStaging, PackError>,
) -> Result<Vec<ObjectId>, PackError> {
    let budget = Budget::new(64 << 20);
    let limits = Limits {
        max_object_bytes: MAX_OBJECT_BYTES as u64,
        resolved_allowance_bytes: 16 << 20,
        max_chain_bytes: 16 << 20,
        ..Limits::default()
    };
    let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
    let mut ingest = start(Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage()));
    let mut result = Ok(());
    for piece in pieces {
        result = ingest.push(piece, &NeverInterrupt);
        if result.is_err() {
            break;
        }
    }
    let received = result.and_then(|()| finish(ingest));
    let staging = received.inspect_err(|_| {
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

/// Enough for trees of every shape.
const MAX_PLANNED: usize = 64;
/// Small, so that a fuzzer makes many runs a second.
const MAX_OBJECT_BYTES: usize = 1 << 20;
