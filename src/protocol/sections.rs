//! What the answers to a fetch have in common in every version: packets in sections, a
//! bound on what is no pack, and an error that is final.
//!
//! Which sections there are, and what stands in them, is told by a [`Grammar`].

use super::{FetchEvent, ProtocolError};
use crate::limits::{Limits, Which, check};
use crate::pktline::{Carriage, PktError, Reader, Token};

/// How messages call what is read here.
pub(super) const PLACE: &str = "the answer to a fetch";

/// The sections of an answer in one version.
pub(super) trait Grammar {
    /// Where in the answer a packet stands.
    type Section: Copy;

    /// How packets are read there; `None` where the pack goes on without packets, up to
    /// the end of the input.
    fn carriage(&self, section: Self::Section) -> Option<Carriage>;

    /// What it means when the input ends there.
    fn end(section: Self::Section) -> End;

    /// What `token` says, `line` being the text of a [`Token::Line`], and where the next
    /// one stands.
    fn take<'a>(
        &mut self,
        section: Self::Section,
        token: Token<'a>,
        line: &[u8],
    ) -> Result<(Option<FetchEvent<'a>>, Self::Section), ProtocolError>;
}

/// Whether an answer may end at a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is whole, and nothing may follow.
    Came,
    /// It may end, and it may go on.
    MayCome,
    /// Something is still owed.
    Owed,
}

/// Reads an answer as it arrives and keeps nothing of it.
#[derive(Debug)]
pub(super) struct Sections<G: Grammar> {
    pub(super) grammar: G,
    section: Result<G::Section, ProtocolError>,
    reader: Reader,
    /// Lines that were handed out, each of which its receiver may keep.
    lines: u64,
    max_lines: u64,
}

impl<G: Grammar> Sections<G> {
    /// At the first section of an answer, under the default limits.
    pub(super) fn new(grammar: G, first: G::Section) -> Self {
        let limits = Limits::default();
        Self {
            grammar,
            section: Ok(first),
            reader: Reader::new().with_max_other_bytes(limits.max_ref_bytes),
            lines: 0,
            max_lines: limits.max_refs,
        }
    }

    /// The same under other limits.
    pub(super) fn with_limits(mut self, limits: &Limits) -> Self {
        self.reader = self.reader.with_max_other_bytes(limits.max_ref_bytes);
        self.max_lines = limits.max_refs;
        self
    }

    /// Where the next packet stands; `None` after an error.
    pub(super) fn section(&self) -> Option<G::Section> {
        self.section.as_ref().ok().copied()
    }

    /// The next event; every call after an error gives the same one.
    pub(super) fn push<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Option<FetchEvent<'a>>, ProtocolError> {
        let result = match &self.section {
            Ok(section) => self.read(*section, input),
            Err(error) => return Err(error.clone()),
        };
        if let Err(error) = &result {
            self.section = Err(error.clone());
        }
        result
    }

    /// Says that no input follows.
    pub(super) fn finish(&self) -> Result<(), ProtocolError> {
        let section = match &self.section {
            Ok(section) => *section,
            Err(error) => return Err(error.clone()),
        };
        match G::end(section) {
            End::Came | End::MayCome if self.reader.is_between_packets() => Ok(()),
            End::Came => Err(ProtocolError::TrailingBytes { place: PLACE }),
            // Whether a pack that came without packets is whole, it alone tells.
            End::MayCome | End::Owed if self.grammar.carriage(section).is_none() => Ok(()),
            End::MayCome | End::Owed => match self.reader.finish() {
                Err(error @ PktError::Remote { .. }) => Err(error.into()),
                _ => Err(ProtocolError::Truncated { place: PLACE }),
            },
        }
    }

    fn read<'a>(
        &mut self,
        mut section: G::Section,
        input: &mut &'a [u8],
    ) -> Result<Option<FetchEvent<'a>>, ProtocolError> {
        loop {
            let Some(carriage) = self.grammar.carriage(section) else {
                let bytes = std::mem::take(input);
                return Ok((!bytes.is_empty()).then_some(FetchEvent::PackData(bytes)));
            };
            let Some(token) = self.reader.next(input, carriage)? else { return Ok(None) };
            let is_line = matches!(token, Token::Line);
            let (event, next) = self.grammar.take(section, token, self.reader.line())?;
            section = next;
            self.section = Ok(section);
            if event.is_some() {
                self.lines += u64::from(is_line);
                check(Which::Refs, self.max_lines, self.lines)?;
                return Ok(event);
            }
        }
    }
}
