//! A program for wasm32-unknown-unknown that takes an answer to a fetch through the
//! core, from packets to objects read back. `smoke.mjs` runs it under Node.
//!
//! It imports no host function, which `smoke.mjs` asserts: what runs here runs in a
//! browser, in an edge worker and in any other WebAssembly host. Its exit code is the
//! number of objects read back, so that a program that ends early is found out.

use std::process::ExitCode;

use gitsip::limits::NeverInterrupt;
use gitsip::object::Kind;
use gitsip::pack::write::PackWriter;
use gitsip::pack::{Ingest, delta};
use gitsip::pktline::{self, Band};
use gitsip::protocol::{FetchEvent, FetchResponse};
use gitsip::store::{MemoryStore, Objects as _, Staging as _};
use gitsip::{Budget, Error, Limits, ObjectFormat};

fn main() -> ExitCode {
    let objects = [ObjectFormat::Sha1, ObjectFormat::Sha256].map(fetch_into_memory);
    match objects {
        [Ok(one), Ok(other)] => ExitCode::from(one + other),
        _ => ExitCode::from(u8::MAX),
    }
}

/// Receives a blob and its delta, and gives how many objects came out right.
fn fetch_into_memory(format: ObjectFormat) -> Result<u8, Error> {
    let (old, new) = (b"the first line\nold\n", b"the first line\nnew\n");
    let mut pack = PackWriter::new(format, 2);
    let base = pack.whole(Kind::Blob, old);
    pack.ofs_delta(base, &delta::encode(old, new));

    let mut answer = Vec::new();
    pktline::encode(&mut answer, b"packfile\n")?;
    pktline::encode_band(&mut answer, Band::Data, &pack.finish()?);
    answer.extend_from_slice(pktline::FLUSH);

    let (limits, budget) = (Limits::edge(), Budget::new(Limits::edge().max_memory));
    let store = MemoryStore::new(format, &budget, &limits);
    let mut ingest = Ingest::new(format, &limits, &budget, store.stage());
    let mut response = FetchResponse::new(format);
    for chunk in answer.chunks(7) {
        let mut rest = chunk;
        while let Some(event) = response.push(&mut rest)? {
            if let FetchEvent::PackData(bytes) = event {
                ingest.push(bytes, &NeverInterrupt)?;
            }
        }
    }
    response.finish()?;
    let (staging, _) = ingest.finish(&NeverInterrupt)?;
    let mut right = 0;
    for (id, expected) in staging.commit()?.ids.iter().zip([old, new]) {
        let object = store.read(id)?;
        right += u8::from(object.is_some_and(|object| object.bytes == expected[..]));
    }
    Ok(right)
}
