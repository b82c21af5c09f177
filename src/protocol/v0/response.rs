//! The answer to a fetch in version 0: where history is cut, what both sides have, a pack.
//!
//! Follows git's `protocol-pack` ("Packfile Negotiation", "Packfile Data"). Where history
//! is cut is told first, and only when a depth was asked for; then come acknowledgments
//! up to the last, then the pack, on the sideband or as it is. After a request that does not
//! say `done` the answer may end with the acknowledgments. The decoder keeps nothing, and
//! bounds what is no pack.

use super::Features;
use crate::limits::Limits;
use crate::oid::ObjectFormat;
use crate::pktline::{Carriage, Token};
use crate::protocol::sections::{End, Grammar, PLACE, Sections};
use crate::protocol::{Deepen, FetchEvent, FetchRequest, ProtocolError, parse_id, unexpected};

/// Reads the answer as it arrives.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::v0::{Features, FetchResponse};
/// use gitsip::protocol::{FetchEvent, FetchRequest};
///
/// let request = FetchRequest { done: true, ..FetchRequest::default() };
/// let features = Features { side_band_64k: true, ..Features::default() };
/// let mut answer = FetchResponse::new(ObjectFormat::Sha1, &request, &features);
/// let mut input = &b"0008NAK\n0009\x01PACK0000"[..];
/// assert_eq!(answer.push(&mut input)?, Some(FetchEvent::Nak));
/// assert_eq!(answer.push(&mut input)?, Some(FetchEvent::PackData(b"PACK")));
/// assert_eq!(answer.push(&mut input)?, None);
/// answer.finish()?;
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct FetchResponse {
    sections: Sections<Answer>,
    has_packfile: bool,
}

/// What the sections of an answer depend on.
#[derive(Debug)]
struct Answer {
    format: ObjectFormat,
    is_banded: bool,
    is_done: bool,
    asks_boundary_only: bool,
    /// Whether a bare `ACK` is the last of several.
    is_multi_ack: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Acknowledgments,
    /// After the last acknowledgment, before any packet of the pack.
    Due,
    /// After the last flush.
    Ended,
    Pack,
    /// The pack without packets, up to the end of the input.
    PlainPack,
    /// After acknowledgments that a client may answer to, and a server may go on from.
    Round,
    ShallowInfo,
}

impl FetchResponse {
    /// Expects the answer to `request` from a server with `features` whose repository is
    /// of `format`, under the default limits.
    pub fn new(format: ObjectFormat, request: &FetchRequest, features: &Features) -> Self {
        let answer = Answer {
            format,
            is_banded: features.is_banded(),
            is_done: request.done,
            asks_boundary_only: super::asks_boundary_only(request),
            is_multi_ack: features.multi_ack || features.multi_ack_detailed,
        };
        let first = match request.deepen {
            Deepen::None => answer.after_shallow_info(),
            Deepen::Depth(_) | Deepen::Bounded { .. } => Section::ShallowInfo,
        };
        Self { sections: Sections::new(answer, first), has_packfile: false }
    }

    /// The same under other limits: [`max_refs`](Limits::max_refs) lines, and
    /// [`max_ref_bytes`](Limits::max_ref_bytes) of anything that is not pack.
    #[must_use]
    pub fn with_limits(self, limits: &Limits) -> Self {
        Self { sections: self.sections.with_limits(limits), ..self }
    }

    /// The next event; `None` when all input was used. `input` is left at what follows
    /// the event.
    ///
    /// # Errors
    /// When the answer is damaged or speaks of another hash, and when the server gives
    /// up, at any time; every later call gives the same error.
    pub fn push<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Option<FetchEvent<'a>>, ProtocolError> {
        let event = self.sections.push(input)?;
        self.has_packfile |= matches!(event, Some(FetchEvent::PackData(_)));
        Ok(event)
    }

    /// Whether the answer has a pack, so far.
    pub fn has_packfile(&self) -> bool {
        self.has_packfile
    }

    /// Says that no input follows. Whether a pack that came without packets is whole, it
    /// alone tells; and where none [came](Self::has_packfile) at all the server had its
    /// reasons, which it does not tell.
    ///
    /// # Errors
    /// When the answer is not whole. If the server was just saying why it gives up, the
    /// error is what came of that.
    pub fn finish(&self) -> Result<(), ProtocolError> {
        self.sections.finish()
    }
}

impl Grammar for Answer {
    type Section = Section;

    fn carriage(&self, section: Section) -> Option<Carriage> {
        match section {
            Section::Due | Section::Pack => Some(Carriage::BandedStream),
            Section::PlainPack => None,
            _ => Some(Carriage::Lines),
        }
    }

    fn end(section: Section) -> End {
        match section {
            Section::Ended => End::Came,
            Section::Due | Section::PlainPack | Section::Round => End::MayCome,
            Section::Acknowledgments | Section::Pack | Section::ShallowInfo => End::Owed,
        }
    }

    fn take<'a>(
        &mut self,
        section: Section,
        token: Token<'a>,
        line: &[u8],
    ) -> Result<(Option<FetchEvent<'a>>, Section), ProtocolError> {
        let section = if section == Section::Due { Section::Pack } else { section };
        match (section, token) {
            (Section::Ended, _) => Err(ProtocolError::TrailingBytes { place: PLACE }),
            (_, Token::Data(bytes)) => Ok((Some(FetchEvent::PackData(bytes)), section)),
            (_, Token::Progress(bytes)) => Ok((Some(FetchEvent::Progress(bytes)), section)),
            (_, Token::Line) => {
                let (event, next) = self.read_line(section, line)?;
                Ok((Some(event), next))
            }
            (Section::ShallowInfo, Token::Flush) => Ok((None, self.after_shallow_info())),
            (Section::Pack, Token::Flush) => Ok((None, Section::Ended)),
            (_, token) => Err(unexpected(token, PLACE)),
        }
    }
}

impl Answer {
    fn after_shallow_info(&self) -> Section {
        match self.asks_boundary_only {
            true => Section::Round,
            false => Section::Acknowledgments,
        }
    }

    /// What a line says, and where the next one stands.
    fn read_line(
        &self,
        section: Section,
        line: &[u8],
    ) -> Result<(FetchEvent<'static>, Section), ProtocolError> {
        if section == Section::ShallowInfo {
            let place = "shallow lines";
            let id = |hex| parse_id(hex, self.format, place, line);
            let event = if let Some(hex) = line.strip_prefix(b"shallow ") {
                FetchEvent::Shallow(id(hex)?)
            } else if let Some(hex) = line.strip_prefix(b"unshallow ") {
                FetchEvent::Unshallow(id(hex)?)
            } else {
                return Err(ProtocolError::bad_line(place, line));
            };
            return Ok((event, section));
        }
        let place = "acknowledgments";
        let pack = if self.is_banded { Section::Due } else { Section::PlainPack };
        if line == b"NAK" {
            let next = if self.is_done { pack } else { Section::Round };
            return Ok((FetchEvent::Nak, next));
        }
        let bad = || ProtocolError::bad_line(place, line);
        let mut words = line.strip_prefix(b"ACK ").ok_or_else(bad)?.split(|&byte| byte == b' ');
        let id = parse_id(words.next().unwrap_or_default(), self.format, place, line)?;
        match words.next() {
            // The last one says nothing more, and neither does an only one.
            None if self.is_done || self.is_multi_ack => Ok((FetchEvent::Acknowledged(id), pack)),
            None => Ok((FetchEvent::Acknowledged(id), Section::Round)),
            Some(b"common" | b"continue") => Ok((FetchEvent::Acknowledged(id), section)),
            Some(b"ready") => Ok((FetchEvent::Ready, section)),
            Some(_) => Err(bad()),
        }
    }
}

#[cfg(test)]
mod tests;
