//! Upload-pack on standard input and output, as git starts it for a local clone or over SSH.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::{Outlet, Served, Talk, converse};
use crate::error::{Error, ErrorKind};
use crate::limits::Interrupt;
use crate::store::{Objects, Refs};

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
    let mut output = Stream { output, sent: Instant::now() };
    converse(served, talk, input, &mut output, interrupt).ended
}

/// A stream of bytes, each piece of which is on its way before the next one is made.
struct Stream<'a> {
    output: &'a mut dyn Write,
    sent: Instant,
}

impl Outlet for Stream<'_> {
    fn send(&mut self, piece: Vec<u8>) -> Result<(), Error> {
        self.sent = Instant::now();
        self.output.write_all(&piece).and_then(|()| self.output.flush()).map_err(broken)
    }

    fn quiet(&self) -> Duration {
        self.sent.elapsed()
    }
}

fn broken(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("standard output: {error}")).with_source(error)
}
