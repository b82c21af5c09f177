//! Bodies that come gzip'd (RFC 1952): answers although plain ones were asked for, and
//! requests of clients with many refs.
//!
//! What is sent is compressed already, so nothing here asks for more; but a proxy or an
//! old server in between may do it unasked. Output is handed on in pieces as it appears,
//! and the consumer's own limits end a bomb.

#[cfg(feature = "http-client")]
use std::io::Write as _;
#[cfg(feature = "serve")]
use std::io::{BufRead, Read};

#[cfg(feature = "http-client")]
use crate::error::{Error, ErrorKind};

/// A body on its way out of its gzip wrapping.
#[cfg(feature = "http-client")]
#[derive(Debug)]
pub(super) struct Gunzip {
    /// Writes what it inflates, some 32 KiB a call, to a buffer that is emptied after each.
    decoder: flate2::write::MultiGzDecoder<Vec<u8>>,
    is_empty: bool,
}

#[cfg(feature = "http-client")]
impl Gunzip {
    pub(super) fn new() -> Self {
        Self { decoder: flate2::write::MultiGzDecoder::new(Vec::new()), is_empty: true }
    }

    /// Takes the next bytes of the body, and hands what they hold to `push`.
    pub(super) fn push(
        &mut self,
        mut input: &[u8],
        host: &str,
        push: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while !input.is_empty() {
            self.is_empty = false;
            let used = self.decoder.write(input).map_err(|error| damaged(&error, host))?;
            let inflated = self.hand_on(push)?;
            if used == 0 && !inflated {
                return Err(damaged(&"bytes follow its end", host));
            }
            input = &input[used..];
        }
        // What is left inside is less than a window.
        self.decoder.flush().map_err(|error| damaged(&error, host))?;
        self.hand_on(push)?;
        Ok(())
    }

    /// The body has ended: is it whole, and its checksum right?
    pub(super) fn finish(mut self, host: &str) -> Result<(), Error> {
        if self.is_empty {
            return Ok(());
        }
        self.decoder.try_finish().map_err(|error| damaged(&error, host))?;
        if self.decoder.get_ref().is_empty() {
            Ok(())
        } else {
            Err(damaged(&"it ends early", host))
        }
    }

    fn hand_on(&mut self, push: &mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<bool, Error> {
        let inflated = self.decoder.get_mut();
        if inflated.is_empty() {
            return Ok(false);
        }
        let pushed = push(inflated);
        inflated.clear();
        pushed.map(|()| true)
    }
}

#[cfg(feature = "http-client")]
fn damaged(why: &dyn std::fmt::Display, host: &str) -> Error {
    let text = format!("the gzip'd answer of '{host}' is damaged ({why}): try again");
    Error::new(ErrorKind::Corrupt, text)
}

/// What a gzip'd body holds, inflated as it is read.
#[cfg(feature = "serve")]
pub(crate) fn reader(body: impl BufRead) -> impl Read {
    flate2::bufread::MultiGzDecoder::new(body)
}

/// `content` as such a body.
#[cfg(all(test, feature = "http-client"))]
pub(super) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory takes all")
}
