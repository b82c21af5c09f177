//! Upload-pack on standard input and output, as git starts it for a local clone or over SSH.

use std::io::{Read, Write};

use super::{Answer, OldUploadPack, Refusal, Served, UploadPack};
use crate::error::{Error, ErrorKind};
use crate::limits::Interrupt;
use crate::store::{Objects, Refs};

/// How a client talks over a pair of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// 0, 1 or 2: what the client asked for, as in `GIT_PROTOCOL`.
    pub version: u8,
    /// One request and its answer, without the advertisement, as behind an HTTP server.
    pub stateless: bool,
    /// Nothing but the advertisement.
    pub advertise_only: bool,
}

/// Serves one client to the end of its conversation.
///
/// # Errors
/// When a stream fails, and when the client could not be answered: it was told by then.
pub fn serve<S: Objects + Refs + Sync>(
    served: &Served<S>,
    talk: Talk,
    input: &mut dyn Read,
    output: &mut dyn Write,
    interrupt: &dyn Interrupt,
) -> Result<(), Error> {
    if !talk.stateless {
        let mut said = Vec::new();
        let told = match talk.version {
            2 => served.advertise(&mut said).map_err(Refusal::from),
            version => served.advertise_old(version, &mut said),
        };
        send(output, &said)?;
        told.map_err(|refusal| refuse(output, &refusal))?;
    }
    if talk.advertise_only {
        return Ok(());
    }
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut new = UploadPack::new(served);
    let mut old = OldUploadPack::new(served, talk.stateless);
    loop {
        let len = input.read(&mut buffer).map_err(|error| broken("standard input", error))?;
        let mut rest = buffer.get(..len).unwrap_or_default();
        if rest.is_empty() {
            return match talk.version {
                2 => new.finish(),
                _ => Ok(old.finish()?),
            };
        }
        loop {
            let answer = match talk.version {
                2 => new.push(&mut rest, interrupt),
                _ => old.push(&mut rest, interrupt),
            };
            let Some(answer) = answer else { break };
            if say(output, answer, interrupt)? {
                return Ok(());
            }
        }
    }
}

/// Sends an answer; whether it is the last one.
fn say<S: Objects + Sync>(
    output: &mut dyn Write,
    mut answer: Answer<'_, S>,
    interrupt: &dyn Interrupt,
) -> Result<bool, Error> {
    while let Some(piece) = answer.next(interrupt) {
        send(output, &piece)?;
    }
    output.flush().map_err(|error| broken("standard output", error))?;
    match answer.refusal() {
        Some(refusal) => Err(happened(refusal)),
        None => Ok(answer.is_end()),
    }
}

fn refuse(output: &mut dyn Write, refusal: &Refusal) -> Error {
    let mut said = Vec::new();
    crate::pktline::encode_error(&mut said, refusal.words().as_bytes());
    // The client may be gone; what is wrong here is said anyway.
    _ = output.write_all(&said).and_then(|()| output.flush());
    happened(refusal)
}

fn happened(refusal: &Refusal) -> Error {
    Error::new(refusal.error().kind(), refusal.error().context())
}

fn send(output: &mut dyn Write, bytes: &[u8]) -> Result<(), Error> {
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(|error| broken("standard output", error))
}

fn broken(what: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}")).with_source(error)
}

const BUFFER_BYTES: usize = 64 << 10;
