//! A whole conversation with one client: requests are read, answers are sent as they are made.
//!
//! Standard input and output and HTTP share it. What they are is not known here: bytes come
//! from a [`Read`] and go to an [`Outlet`].

use std::io::Read;
use std::time::Duration;

use super::{Answer, OldUploadPack, PackWork, Refusal, Served, UploadPack};
use crate::error::{Error, ErrorKind};
use crate::limits::Interrupt;
use crate::pktline;
use crate::store::{Objects, Refs};

/// How a client talks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Talk {
    /// 0, 1 or 2: what the client asked for, as in `GIT_PROTOCOL`.
    pub version: u8,
    /// One request and its answer, without the advertisement, as behind an HTTP server.
    pub stateless: bool,
    /// Nothing but the advertisement.
    pub advertise_only: bool,
}

impl Talk {
    /// The highest version that `asked` names, a list of `key=value` with colons between, as
    /// in `GIT_PROTOCOL` and in the header `Git-Protocol`; 0 when it names none that is known.
    pub fn version_asked(asked: &str) -> u8 {
        let versions = asked.split(':').filter_map(|pair| pair.strip_prefix("version="));
        let known = versions.filter_map(|version| version.parse().ok());
        known.filter(|version| *version <= 2).max().unwrap_or(0)
    }
}

/// Where answers go.
pub trait Outlet {
    /// Sends the next bytes of an answer.
    ///
    /// # Errors
    /// When nobody takes them any more: the conversation ends.
    fn send(&mut self, piece: Vec<u8>) -> Result<(), Error>;

    /// Sends a piece that says no more than that work goes on.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    fn send_meanwhile(&mut self, piece: Vec<u8>) -> Result<(), Error> {
        self.send(piece)
    }

    /// For how long nothing was sent. Where there is no clock it is no time at all, and clients
    /// hear nothing while they wait.
    fn quiet(&self) -> Duration {
        Duration::ZERO
    }

    /// An answer is complete.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    fn end_answer(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Tells the client that there is no answer, and why.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    fn refuse(&mut self, refusal: &Refusal) -> Result<(), Error> {
        let mut said = Vec::new();
        pktline::encode_error(&mut said, refusal.words().as_bytes());
        self.send(said)
    }
}

/// What a conversation came to.
#[derive(Debug)]
pub struct Talked {
    /// What was done for the packs that were sent.
    pub work: PackWork,
    /// Why the client could not be answered, of which it was told, or the stream that failed.
    pub ended: Result<(), Error>,
}

/// Serves one client to the end of its conversation.
pub fn converse<S: Objects + Refs + Sync>(
    served: &Served<S>,
    talk: Talk,
    input: &mut dyn Read,
    out: &mut dyn Outlet,
    interrupt: &dyn Interrupt,
) -> Talked {
    let mut work = PackWork::default();
    let mut ended = if talk.stateless { Ok(()) } else { advertise(served, talk.version, out) };
    if ended.is_ok() && !talk.advertise_only {
        ended = answer_all(served, talk, input, out, &mut work, interrupt);
    }
    Talked { work, ended }
}

fn advertise<S: Objects + Refs + Sync>(
    served: &Served<S>,
    version: u8,
    out: &mut dyn Outlet,
) -> Result<(), Error> {
    let mut said = Vec::new();
    let told = match version {
        2 => served.advertise(&mut said).map_err(Refusal::from),
        version => served.advertise_old(version, &mut said),
    };
    match told {
        Ok(()) => out.send(said).and_then(|()| out.end_answer()),
        Err(refusal) => {
            // The client may be gone; what is wrong here is said anyway.
            _ = out.refuse(&refusal).and_then(|()| out.end_answer());
            Err(happened(&refusal))
        }
    }
}

fn answer_all<S: Objects + Refs + Sync>(
    served: &Served<S>,
    talk: Talk,
    input: &mut dyn Read,
    out: &mut dyn Outlet,
    work: &mut PackWork,
    interrupt: &dyn Interrupt,
) -> Result<(), Error> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut new = UploadPack::new(served);
    let mut old = OldUploadPack::new(served, talk.stateless);
    loop {
        let len = input.read(&mut buffer).map_err(unreadable)?;
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
            if say(out, answer, work, interrupt)? {
                return Ok(());
            }
        }
    }
}

/// Sends an answer; whether it is the last one.
fn say<S: Objects + Refs + Sync>(
    out: &mut dyn Outlet,
    mut answer: Answer<'_, S>,
    work: &mut PackWork,
    interrupt: &dyn Interrupt,
) -> Result<bool, Error> {
    answer.prepare(out, interrupt)?;
    if let Some(refusal) = answer.refusal()
        && !answer.has_begun()
    {
        out.refuse(refusal)?;
        out.end_answer()?;
        return Err(happened(refusal));
    }
    let before = *work;
    while let Some(piece) = answer.next(interrupt) {
        let sent = out.send(piece);
        *work = before + answer.work();
        sent?;
    }
    out.end_answer()?;
    match answer.refusal() {
        Some(refusal) => Err(happened(refusal)),
        None => Ok(answer.is_end()),
    }
}

fn happened(refusal: &Refusal) -> Error {
    Error::new(refusal.error().kind(), refusal.error().context())
}

/// A reader may bring an error of its own.
fn unreadable(error: std::io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => own,
        Err(error) => Error::new(ErrorKind::Io, format!("the request cannot be read: {error}"))
            .with_source(error),
    }
}

const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_known_version_is_taken() {
        for (asked, version) in [
            ("", 0),
            ("version=2", 2),
            ("version=1:version=2:other=7", 2),
            ("version=3", 0),
            ("version=3:version=1", 1),
            ("version=-1:version=x:version=", 0),
        ] {
            assert_eq!(Talk::version_asked(asked), version, "{asked}");
        }
    }
}
