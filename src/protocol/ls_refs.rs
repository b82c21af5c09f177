//! The command `ls-refs`: which refs a repository has.
//!
//! Follows git's `protocol-v2` ("ls-refs"). Names are kept as bytes; whether a name is
//! one git would accept, and what a symbolic ref finally means, is not decided here.

use bstr::BString;

use super::{ProtocolError, encode_command, encode_line, encode_short, parse_id, unexpected};
use crate::limits::{Budget, Limits, Reservation, Which, check};
use crate::oid::ObjectFormat;
use crate::pktline::{self, Carriage, Reader, Token};
use crate::store::Ref;

const PLACE: &str = "the list of refs";
const REQUEST: &str = "an ls-refs request";
/// Room for so many refs is made at first; it doubles from there.
const FIRST_REFS: usize = 16;

/// A request for refs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsRefsRequest {
    /// Beginnings of the names wanted; all refs when there is none. A server may send
    /// more.
    pub prefixes: Vec<BString>,
    /// Say what symbolic refs point to.
    pub symrefs: bool,
    /// Say what annotated tags finally point to.
    pub peel: bool,
    /// Tell of a HEAD without a commit. Only where it is
    /// [advertised](super::LsRefsCapability::unborn).
    pub unborn: bool,
}

impl LsRefsRequest {
    /// git's own bound: with more, a server lists everything.
    pub const MAX_PREFIXES: usize = 65_536;

    /// Appends the request, sent as `agent` to a repository of `format`.
    ///
    /// # Errors
    /// When a prefix is too long for a packet.
    pub fn encode(
        &self,
        agent: &str,
        format: ObjectFormat,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        encode_command(out, "ls-refs", agent, format)?;
        for (line, on) in [("peel", self.peel), ("symrefs", self.symrefs), ("unborn", self.unborn)]
        {
            if on {
                encode_short(out, line);
            }
        }
        for prefix in &self.prefixes {
            encode_line(out, &[b"ref-prefix ", prefix])?;
        }
        out.extend_from_slice(pktline::FLUSH);
        Ok(())
    }

    /// Takes one argument of a request that arrives.
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), ProtocolError> {
        match line {
            b"peel" => self.peel = true,
            b"symrefs" => self.symrefs = true,
            b"unborn" => self.unborn = true,
            _ => match line.strip_prefix(b"ref-prefix ") {
                Some(prefix) => self.prefixes.push(prefix.into()),
                None => return Err(ProtocolError::bad_line(REQUEST, line)),
            },
        }
        Ok(())
    }
}

/// Appends the answer that lists `refs`; a ref without a target is told as unborn.
///
/// # Errors
/// When a name is too long for a packet.
pub fn encode_ls_refs<'r>(
    refs: impl IntoIterator<Item = &'r Ref>,
    out: &mut Vec<u8>,
) -> Result<(), ProtocolError> {
    let mut line = Vec::new();
    for item in refs {
        line.clear();
        match &item.target {
            Some(id) => line.extend_from_slice(id.to_string().as_bytes()),
            None => line.extend_from_slice(b"unborn"),
        }
        line.push(b' ');
        line.extend_from_slice(&item.name);
        if let Some(target) = &item.symref_target {
            line.extend_from_slice(b" symref-target:");
            line.extend_from_slice(target);
        }
        if let Some(id) = &item.peeled {
            line.extend_from_slice(format!(" peeled:{id}").as_bytes());
        }
        encode_line(out, &[&line])?;
    }
    out.extend_from_slice(pktline::FLUSH);
    Ok(())
}

/// Reads the answer as it arrives, under [`Limits::max_refs`] and
/// [`Limits::max_ref_bytes`].
///
/// ```
/// use gitsip::protocol::LsRefsResponse;
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let mut answer =
///     LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &Budget::new(1 << 20));
/// answer.push(b"004d")?;
/// answer.push(b"4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD symref-target:refs/heads/x\n0000")?;
/// let refs = answer.finish()?;
/// assert_eq!(refs[0].name, "HEAD");
/// assert_eq!(refs[0].symref_target.as_ref().map(|n| n.as_slice()), Some(&b"refs/heads/x"[..]));
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct LsRefsResponse {
    state: Result<Stage, ProtocolError>,
    format: ObjectFormat,
    reader: Reader,
    refs: Vec<Ref>,
    bytes: u64,
    max_refs: u64,
    max_bytes: u64,
    held: Reservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Refs,
    Ended,
}

impl LsRefsResponse {
    /// Expects the refs of a repository of `format`.
    pub fn new(format: ObjectFormat, limits: &Limits, budget: &Budget) -> Self {
        Self {
            state: Ok(Stage::Refs),
            format,
            reader: Reader::new(),
            refs: Vec::new(),
            bytes: 0,
            max_refs: limits.max_refs,
            max_bytes: limits.max_ref_bytes,
            held: budget.empty(),
        }
    }

    /// Takes more of the answer.
    ///
    /// # Errors
    /// When the answer is damaged, speaks of another hash, or is over a limit; every
    /// later call gives the same error.
    pub fn push(&mut self, input: &[u8]) -> Result<(), ProtocolError> {
        let stage = self.state.clone()?;
        self.state = self.read(stage, input);
        self.state.clone().map(drop)
    }

    /// Whether the end of the answer has come.
    pub fn is_complete(&self) -> bool {
        self.state == Ok(Stage::Ended)
    }

    /// The refs, once the answer is whole, in the order they came.
    ///
    /// # Errors
    /// When it is not.
    pub fn finish(self) -> Result<Vec<Ref>, ProtocolError> {
        self.finish_reserved().map(|(refs, _)| refs)
    }

    /// The refs, and the part of the budget they occupy while they are held.
    ///
    /// # Errors
    /// When the answer is not whole.
    pub fn finish_reserved(self) -> Result<(Vec<Ref>, Reservation), ProtocolError> {
        match self.state? {
            Stage::Ended if self.reader.is_between_packets() => Ok((self.refs, self.held)),
            Stage::Ended => Err(ProtocolError::TrailingBytes { place: PLACE }),
            Stage::Refs => Err(ProtocolError::Truncated { place: PLACE }),
        }
    }

    /// The refs that came so far, of an answer that is not read to its end.
    pub fn into_so_far(self) -> Vec<Ref> {
        self.refs
    }

    fn read(&mut self, mut stage: Stage, mut input: &[u8]) -> Result<Stage, ProtocolError> {
        while let Some(token) = self.reader.next(&mut input, Carriage::Lines)? {
            stage = match (stage, token) {
                (Stage::Refs, Token::Line) => {
                    self.take_line()?;
                    Stage::Refs
                }
                (Stage::Refs, Token::Flush) => Stage::Ended,
                (Stage::Refs, token) => return Err(unexpected(token, PLACE)),
                (Stage::Ended, Token::ResponseEnd) => Stage::Ended,
                (Stage::Ended, _) => return Err(ProtocolError::TrailingBytes { place: PLACE }),
            };
        }
        Ok(stage)
    }

    fn take_line(&mut self) -> Result<(), ProtocolError> {
        let line = self.reader.line();
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        check(Which::RefBytes, self.max_bytes, self.bytes)?;
        check(Which::Refs, self.max_refs, self.refs.len() as u64 + 1)?;
        // The names are part of the line, so it bounds what they occupy.
        self.held.grow(line.len() as u64)?;
        let item = parse_ref(line, self.format)?;
        self.make_room()?;
        self.refs.push(item);
        Ok(())
    }

    /// Spends what the list occupies before it grows; while it moves, there are two.
    fn make_room(&mut self) -> Result<(), ProtocolError> {
        let held = self.refs.capacity();
        if self.refs.len() < held {
            return Ok(());
        }
        let more = held.max(FIRST_REFS);
        let bytes_of = |refs: usize| (refs as u64).saturating_mul(size_of::<Ref>() as u64);
        let settled = self.held.bytes().saturating_add(bytes_of(more));
        self.held.grow(bytes_of(held).saturating_add(bytes_of(more)))?;
        self.refs.reserve_exact(more);
        self.held.resize(settled)?;
        Ok(())
    }
}

/// `<id> <name>` or `unborn <name>`, then attributes, of which unknown ones are skipped.
fn parse_ref(line: &[u8], format: ObjectFormat) -> Result<Ref, ProtocolError> {
    let bad = || ProtocolError::bad_line(PLACE, line);
    let mut words = line.split(|&byte| byte == b' ');
    let target = match words.next() {
        Some(b"unborn") => None,
        Some(hex) => Some(parse_id(hex, format, PLACE, line)?),
        None => return Err(bad()),
    };
    let name = words.next().filter(|name| is_sound(name)).ok_or_else(bad)?;
    let mut item = Ref { name: name.into(), target, peeled: None, symref_target: None };
    for attribute in words {
        if let Some(name) = attribute.strip_prefix(b"symref-target:") {
            item.symref_target = Some(is_sound(name).then(|| name.into()).ok_or_else(bad)?);
        } else if let Some(hex) = attribute.strip_prefix(b"peeled:") {
            item.peeled = Some(parse_id(hex, format, PLACE, line)?);
        }
    }
    Ok(item)
}

/// No name git accepts is empty or holds a control character.
pub(super) fn is_sound(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(u8::is_ascii_control)
}

#[cfg(test)]
mod tests;
