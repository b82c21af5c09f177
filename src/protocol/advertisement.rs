//! A server's first answer, in whichever version, as it arrives.
//!
//! Follows git's `protocol-v2` ("Capability Advertisement") and `http-protocol` ("Smart
//! Server Response"). The lines of versions 0 and 1 are read in `v0`. Answers that are
//! something else (dumb HTTP, a web page) are recognised by their first bytes and named.

use bstr::BString;

use super::v0::{Listing, ListingReader};
use super::{Capabilities, ProtocolError, quoted, unexpected};
use crate::limits::{Budget, Limits, Reservation, Which, check};
use crate::oid::ObjectId;
use crate::pktline::{Carriage, Reader, Token};

const PLACE: &str = "the capability advertisement";
/// A server has some ten capabilities; 2,000 odd ones take less than 100 KiB.
const MAX_BYTES: u64 = 1 << 20;
/// Unknown capabilities kept by name. Nobody asks for them but people.
const MAX_UNKNOWN: usize = 4_096;
/// After so many bytes that could be both, they are packets: a version 0 answer without
/// a service header begins with 4 + 64 hexadecimal digits.
const MAX_SNIFFED_BYTES: usize = 69;

/// Reads a server's first answer as it arrives.
///
/// ```
/// use gitsip::Budget;
/// use gitsip::protocol::{Advertised, Advertisement};
///
/// let mut answer = Advertisement::new(&Budget::new(1 << 20));
/// answer.push(b"001e# service=git-upload-pack\n0000")?;
/// answer.push(b"000eversion 2\n0018fetch=filter shallow0000")?;
/// let Advertised::Capabilities(capabilities) = answer.finish()? else { unreachable!() };
/// assert!(capabilities.fetch.is_some_and(|fetch| fetch.filter));
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct Advertisement {
    state: Result<Stage, ProtocolError>,
    /// The first bytes, until they show what the answer is.
    sniffed: Vec<u8>,
    reader: Reader,
    capabilities: Capabilities,
    /// Set once the version turned out to be 0 or 1.
    listing: Option<ListingReader>,
    limits: Limits,
    bytes: u64,
    held: Reservation,
}

/// What a server says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advertised {
    /// What it can do, in version 2.
    Capabilities(Capabilities),
    /// All its refs, in version 0 or 1.
    Listing(Listing),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first bytes may still turn out to be no packets.
    Sniffing,
    /// Before the service header or the version.
    Start,
    /// After the service header, before its flush.
    Service,
    /// Before the version.
    Version,
    Capabilities,
    /// Among the refs of version 0 and 1.
    Listing,
    Ended,
}

impl Advertisement {
    /// Expects an answer; what is kept of it is spent from `budget` until the end.
    pub fn new(budget: &Budget) -> Self {
        Self {
            state: Ok(Stage::Sniffing),
            sniffed: Vec::new(),
            reader: Reader::new(),
            capabilities: Capabilities::default(),
            listing: None,
            limits: Limits::default(),
            bytes: 0,
            held: budget.empty(),
        }
    }

    /// The same under other limits on refs, which versions 0 and 1 list at once.
    #[must_use]
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.limits = limits.clone();
        self
    }

    /// Takes more of the answer.
    ///
    /// # Errors
    /// When the answer is no advertisement, or is over a limit; every later call gives the
    /// same error.
    pub fn push(&mut self, input: &[u8]) -> Result<(), ProtocolError> {
        let stage = self.state.clone()?;
        let result = match stage {
            Stage::Sniffing => self.sniff(input),
            stage => self.read(stage, input),
        };
        self.state = result;
        self.state.clone().map(drop)
    }

    /// What the server said, once the answer is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn finish(self) -> Result<Advertised, ProtocolError> {
        self.finish_reserved().map(|(advertised, _)| advertised)
    }

    /// What the server said, and the part of the budget it occupies while it is held.
    ///
    /// # Errors
    /// When the answer is not whole.
    pub fn finish_reserved(mut self) -> Result<(Advertised, Reservation), ProtocolError> {
        let mut stage = self.state.clone()?;
        if stage == Stage::Sniffing {
            let start = std::mem::take(&mut self.sniffed);
            stage = match look(&start) {
                Look::NotGit => return Err(ProtocolError::NotGit { start: start.into() }),
                _ => self.read(Stage::Start, &start)?,
            };
        }
        match stage {
            Stage::Ended if self.reader.is_between_packets() => Ok(self.into_said()),
            Stage::Ended => Err(ProtocolError::TrailingBytes { place: PLACE }),
            _ => Err(ProtocolError::Truncated { place: PLACE }),
        }
    }

    /// What the server said so far, of an answer that is not read to its end, and what that
    /// occupies; `None` when not even the version is known.
    pub fn into_so_far(self) -> Option<(Advertised, Reservation)> {
        let is_known = self.listing.is_some() || self.capabilities != Capabilities::default();
        is_known.then(|| self.into_said())
    }

    fn into_said(self) -> (Advertised, Reservation) {
        let advertised = match self.listing {
            Some(listing) => Advertised::Listing(listing.finish()),
            None => Advertised::Capabilities(self.capabilities),
        };
        (advertised, self.held)
    }

    fn sniff(&mut self, input: &[u8]) -> Result<Stage, ProtocolError> {
        let room = MAX_SNIFFED_BYTES.saturating_sub(self.sniffed.len());
        let (start, rest) = input.split_at(room.min(input.len()));
        self.sniffed.extend_from_slice(start);
        let full = self.sniffed.len() == MAX_SNIFFED_BYTES;
        match look(&self.sniffed) {
            Look::Dumb => return Err(ProtocolError::DumbHttp),
            Look::Html => return Err(ProtocolError::Html),
            Look::NotGit if full => {
                return Err(ProtocolError::NotGit { start: self.sniffed.as_slice().into() });
            }
            Look::Undecided | Look::NotGit if !full => return Ok(Stage::Sniffing),
            Look::Packets | Look::Undecided | Look::NotGit => {}
        }
        let start = std::mem::take(&mut self.sniffed);
        let stage = self.read(Stage::Start, &start)?;
        self.read(stage, rest)
    }

    fn read(&mut self, mut stage: Stage, mut input: &[u8]) -> Result<Stage, ProtocolError> {
        while let Some(token) = self.reader.next(&mut input, Carriage::Lines)? {
            stage = match (stage, token) {
                (Stage::Ended, Token::ResponseEnd) => Stage::Ended,
                (Stage::Ended, _) => return Err(ProtocolError::TrailingBytes { place: PLACE }),
                (Stage::Start, Token::Line) if self.reader.line().starts_with(b"# service=") => {
                    if self.reader.line() != b"# service=git-upload-pack" {
                        return Err(ProtocolError::bad_line(PLACE, self.reader.line()));
                    }
                    Stage::Service
                }
                (Stage::Service, Token::Flush) => Stage::Version,
                (Stage::Start | Stage::Version, Token::Line) => self.begin()?,
                // Version 0 of an empty repository, by servers that say nothing then.
                (Stage::Version, Token::Flush) => {
                    self.listing = Some(ListingReader::new(0));
                    Stage::Ended
                }
                (Stage::Listing, Token::Line) => {
                    self.take_ref()?;
                    Stage::Listing
                }
                (Stage::Listing, Token::Flush) => Stage::Ended,
                (Stage::Capabilities, Token::Line) => {
                    self.take_line()?;
                    Stage::Capabilities
                }
                (Stage::Capabilities, Token::Flush) => Stage::Ended,
                (_, Token::Line) => {
                    return Err(ProtocolError::bad_line(PLACE, self.reader.line()));
                }
                (_, token) => return Err(unexpected(token, PLACE)),
            };
        }
        Ok(stage)
    }

    /// The first line tells the version: by its number or, in version 0, by being a ref.
    fn begin(&mut self) -> Result<Stage, ProtocolError> {
        let line = self.reader.line();
        match line {
            b"version 2" => return Ok(Stage::Capabilities),
            b"version 1" => {
                self.listing = Some(ListingReader::new(1));
                return Ok(Stage::Listing);
            }
            _ if line.starts_with(b"version ") => {
                return Err(ProtocolError::UnknownVersion { line: quoted(line) });
            }
            _ => {}
        }
        let first = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        if ObjectId::from_hex(first).is_err() {
            return Err(ProtocolError::bad_line(PLACE, line));
        }
        self.take_ref()?;
        Ok(Stage::Listing)
    }

    fn take_ref(&mut self) -> Result<(), ProtocolError> {
        let listing = self.listing.get_or_insert_with(|| ListingReader::new(0));
        listing.take(self.reader.line(), &self.limits, &mut self.held)
    }

    fn take_line(&mut self) -> Result<(), ProtocolError> {
        let line = self.reader.line();
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        check(Which::RefBytes, MAX_BYTES.min(self.limits.max_ref_bytes), self.bytes)?;
        self.held.grow((size_of::<BString>() + line.len()) as u64)?;
        if let Some(line) = self.capabilities.take(line)?
            && self.capabilities.unknown.len() < MAX_UNKNOWN
        {
            self.capabilities.unknown.push(line.into());
        }
        Ok(())
    }
}

/// What an answer is, by its first bytes.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// `<id>\t<name>` lines: the file `info/refs`.
    Dumb,
    Html,
    NotGit,
    Packets,
    Undecided,
}

fn look(start: &[u8]) -> Look {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    match text.first() {
        Some(b'<') => return Look::Html,
        Some(_) if text.len() == start.len() => {}
        Some(_) => return Look::NotGit,
        None => return Look::Undecided,
    }
    let digits = start.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    match (digits, start.get(digits)) {
        (_, None) => Look::Undecided,
        (40 | 64, Some(b'\t')) => Look::Dumb,
        (0..4, Some(_)) => Look::NotGit,
        _ => Look::Packets,
    }
}

#[cfg(test)]
mod tests;
