//! The answer to `fetch`: sections of lines, then a pack on the sideband.
//!
//! Follows git's `protocol-v2` ("fetch", "output"). The decoder takes sections in any
//! order, skips those it does not know, keeps nothing, and hands the pack's bytes out as
//! slices of its input. Addresses of packs elsewhere (`packfile-uris`) are never
//! fetched, so they are skipped too. What is not pack is bounded, kept or not: a server
//! that never comes to the pack, or never stops talking beside it, is told from a slow
//! one.

use bstr::BString;

use super::sections::{End, Grammar, PLACE, Sections};
use super::{ProtocolError, parse_id, unexpected};
use crate::limits::Limits;
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline::{Carriage, Token};

/// What a part of the answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchEvent<'a> {
    /// The server has this object too.
    Acknowledged(ObjectId),
    /// The server has none of the objects named.
    Nak,
    /// More of the pack, as it came: where pieces are cut means nothing.
    PackData(&'a [u8]),
    /// More text for a person, as it came.
    Progress(&'a [u8]),
    /// The server knows enough; the pack follows in this answer.
    Ready,
    /// History is cut here: this commit's parents are not sent.
    Shallow(ObjectId),
    /// History is no longer cut here.
    Unshallow(ObjectId),
    /// What a ref wanted by name points to.
    WantedRef {
        /// The object.
        id: ObjectId,
        /// The ref.
        name: BString,
    },
}

/// Reads the answer as it arrives.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::{FetchEvent, FetchResponse};
///
/// let mut answer = FetchResponse::new(ObjectFormat::Sha1);
/// let mut input = &b"000dpackfile\n0009\x01PACK0000"[..];
/// assert_eq!(answer.push(&mut input)?, Some(FetchEvent::PackData(b"PACK")));
/// assert_eq!(answer.push(&mut input)?, None);
/// answer.finish()?;
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct FetchResponse(Sections<Answer>);

/// What the sections of an answer depend on, and what was seen of them.
#[derive(Debug)]
struct Answer {
    format: ObjectFormat,
    sideband_all: bool,
    has_packfile: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Acknowledgments,
    /// After the last flush.
    Ended,
    Packfile,
    ShallowInfo,
    /// One whose name is not known, or whose content is not used.
    Skipped,
    /// Before a section's name.
    Start,
    WantedRefs,
}

impl FetchResponse {
    /// Expects an answer from a repository of `format`, under the default limits.
    pub fn new(format: ObjectFormat) -> Self {
        let answer = Answer { format, sideband_all: false, has_packfile: false };
        Self(Sections::new(answer, Section::Start))
    }

    /// The same under other limits: [`max_refs`](Limits::max_refs) lines, and
    /// [`max_ref_bytes`](Limits::max_ref_bytes) of anything that is not pack (lines, text
    /// for people, the packets' own bytes).
    #[must_use]
    pub fn with_limits(self, limits: &Limits) -> Self {
        Self(self.0.with_limits(limits))
    }

    /// Expects the answer to a request with [`sideband_all`](super::FetchRequest).
    #[must_use]
    pub fn with_sideband_all(mut self) -> Self {
        self.0.grammar.sideband_all = true;
        self
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
        self.0.push(input)
    }

    /// Whether the end of the answer has come.
    pub fn is_complete(&self) -> bool {
        self.0.section() == Some(Section::Ended)
    }

    /// Whether the answer has a pack, so far.
    pub fn has_packfile(&self) -> bool {
        self.0.grammar.has_packfile
    }

    /// Says that no input follows.
    ///
    /// # Errors
    /// When the answer is not whole. If the server was just saying why it gives up, the
    /// error is what came of that.
    pub fn finish(&self) -> Result<(), ProtocolError> {
        self.0.finish()
    }
}

impl Grammar for Answer {
    type Section = Section;

    fn carriage(&self, section: Section) -> Option<Carriage> {
        Some(match section {
            Section::Packfile => Carriage::BandedStream,
            _ if self.sideband_all => Carriage::BandedLines,
            _ => Carriage::Lines,
        })
    }

    fn end(section: Section) -> End {
        match section {
            Section::Ended => End::Came,
            _ => End::Owed,
        }
    }

    fn take<'a>(
        &mut self,
        section: Section,
        token: Token<'a>,
        line: &[u8],
    ) -> Result<(Option<FetchEvent<'a>>, Section), ProtocolError> {
        let next = match (section, token) {
            (Section::Ended, Token::ResponseEnd) => Section::Ended,
            (Section::Ended, _) => return Err(ProtocolError::TrailingBytes { place: PLACE }),
            (_, Token::Data(bytes)) => return Ok((Some(FetchEvent::PackData(bytes)), section)),
            (_, Token::Progress(bytes)) => return Ok((Some(FetchEvent::Progress(bytes)), section)),
            (Section::Start, Token::Line) => Section::named(line),
            (_, Token::Line) => return Ok((self.read_line(section, line)?, section)),
            (_, Token::Flush) => Section::Ended,
            // No section follows a pack.
            (Section::Start | Section::Packfile, token @ Token::Delimiter)
            | (_, token @ Token::ResponseEnd) => return Err(unexpected(token, PLACE)),
            (_, Token::Delimiter) => Section::Start,
        };
        self.has_packfile |= next == Section::Packfile;
        Ok((None, next))
    }
}

impl Answer {
    fn read_line(
        &self,
        section: Section,
        line: &[u8],
    ) -> Result<Option<FetchEvent<'static>>, ProtocolError> {
        let bad = |place| ProtocolError::bad_line(place, line);
        let id = |hex, place| parse_id(hex, self.format, place, line);
        Ok(Some(match section {
            Section::Acknowledgments => {
                let place = "acknowledgments";
                match line {
                    b"NAK" => FetchEvent::Nak,
                    b"ready" => FetchEvent::Ready,
                    _ => {
                        let hex = line.strip_prefix(b"ACK ").ok_or_else(|| bad(place))?;
                        FetchEvent::Acknowledged(id(hex, place)?)
                    }
                }
            }
            Section::ShallowInfo => {
                let place = "shallow-info";
                if let Some(hex) = line.strip_prefix(b"shallow ") {
                    FetchEvent::Shallow(id(hex, place)?)
                } else if let Some(hex) = line.strip_prefix(b"unshallow ") {
                    FetchEvent::Unshallow(id(hex, place)?)
                } else {
                    return Err(bad(place));
                }
            }
            Section::WantedRefs => {
                let place = "wanted-refs";
                let space = memchr::memchr(b' ', line).ok_or_else(|| bad(place))?;
                let (hex, name) = line.split_at(space);
                let name = name.get(1..).filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| bad(place))?.into();
                FetchEvent::WantedRef { id: id(hex, place)?, name }
            }
            Section::Ended | Section::Packfile | Section::Skipped | Section::Start => {
                return Ok(None);
            }
        }))
    }
}

impl Section {
    fn named(name: &[u8]) -> Self {
        match name {
            b"acknowledgments" => Self::Acknowledgments,
            b"packfile" => Self::Packfile,
            b"shallow-info" => Self::ShallowInfo,
            b"wanted-refs" => Self::WantedRefs,
            _ => Self::Skipped,
        }
    }
}

#[cfg(test)]
mod tests;
