//! Requests as a server reads them: a command, what it says of itself, its arguments.
//!
//! Follows git's `protocol-v2` ("Command Request"). One decoder reads one connection's
//! requests one after the other. What is asked for twice is kept once; whether it may
//! be asked for is not decided here.

use bstr::BString;
use hashbrown::HashSet;

use super::{FetchRequest, LsRefsRequest, ObjectInfoRequest, ProtocolError, quoted, unexpected};
use crate::limits::{Budget, Limits, Reservation, Which, check};
use crate::oid::ObjectFormat;
use crate::pktline::{Carriage, Reader, Token};

const PLACE: &str = "a request";

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// The client is done with the connection.
    End,
    /// Objects, please.
    Fetch(FetchRequest),
    /// Refs, please.
    LsRefs(LsRefsRequest),
    /// What objects are like, please.
    ObjectInfo(ObjectInfoRequest),
}

/// Reads requests as they arrive.
///
/// Arguments are bounded by [`Limits::max_refs`] lines and [`Limits::max_ref_bytes`]
/// bytes, as the refs they speak of are, and spent from the budget until the request is
/// handed out.
///
/// ```
/// use gitsip::protocol::{LsRefsRequest, Request, RequestDecoder};
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let asked = LsRefsRequest { peel: true, ..Default::default() };
/// let mut body = Vec::new();
/// asked.encode("git/gitsip-0.1.0", ObjectFormat::Sha256, &mut body)?;
///
/// let mut requests =
///     RequestDecoder::new(ObjectFormat::Sha256, &Limits::default(), &Budget::new(1 << 20));
/// let mut input = body.as_slice();
/// assert_eq!(requests.push(&mut input)?, Some(Request::LsRefs(asked)));
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct RequestDecoder {
    state: Result<Stage, ProtocolError>,
    format: ObjectFormat,
    reader: Reader,
    /// What was asked so far.
    request: Option<Request>,
    /// Whether the client named its format.
    said_format: bool,
    /// Lines that may come often and mean the same each time.
    seen: HashSet<BString>,
    lines: u64,
    bytes: u64,
    max_lines: u64,
    max_bytes: u64,
    budget: Budget,
    held: Reservation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The command and what the client says of itself.
    Command,
    /// After the delimiter.
    Arguments,
}

impl RequestDecoder {
    /// Expects requests to a repository of `format`.
    pub fn new(format: ObjectFormat, limits: &Limits, budget: &Budget) -> Self {
        Self {
            state: Ok(Stage::Command),
            format,
            reader: Reader::new(),
            request: None,
            said_format: false,
            seen: HashSet::new(),
            lines: 0,
            bytes: 0,
            max_lines: limits.max_refs,
            max_bytes: limits.max_ref_bytes,
            budget: budget.clone(),
            held: budget.empty(),
        }
    }

    /// Takes input up to the end of a request; `None` when all of it was used.
    ///
    /// # Errors
    /// When the request is damaged, speaks of another hash, or is over a limit; every
    /// later call gives the same error.
    pub fn push(&mut self, input: &mut &[u8]) -> Result<Option<Request>, ProtocolError> {
        let stage = self.state.clone()?;
        let result = self.read(stage, input);
        if let Err(error) = &result {
            self.state = Err(error.clone());
        }
        result
    }

    /// Says that no input follows.
    ///
    /// # Errors
    /// When a request is cut off.
    pub fn finish(self) -> Result<(), ProtocolError> {
        self.state?;
        if self.request.is_some() || self.lines > 0 || !self.reader.is_between_packets() {
            return Err(ProtocolError::Truncated { place: PLACE });
        }
        Ok(())
    }

    fn read(
        &mut self,
        mut stage: Stage,
        input: &mut &[u8],
    ) -> Result<Option<Request>, ProtocolError> {
        while let Some(token) = self.reader.next(input, Carriage::Lines)? {
            match (stage, token) {
                (_, Token::Line) => self.take_line(stage)?,
                (Stage::Command, Token::Delimiter) => {
                    self.check_command()?;
                    stage = Stage::Arguments;
                    self.state = Ok(stage);
                }
                (Stage::Command, Token::Flush) if self.lines == 0 => {
                    return Ok(Some(Request::End));
                }
                (_, Token::Flush) => {
                    self.check_command()?;
                    return Ok(self.end());
                }
                (_, token) => return Err(unexpected(token, PLACE)),
            }
        }
        Ok(None)
    }

    fn take_line(&mut self, stage: Stage) -> Result<(), ProtocolError> {
        let line = self.reader.line();
        self.lines += 1;
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        check(Which::Refs, self.max_lines, self.lines)?;
        check(Which::RefBytes, self.max_bytes, self.bytes)?;
        if stage == Stage::Command {
            return self.take_of_client();
        }
        if self.seen.contains(line) {
            return Ok(());
        }
        // Once in the set, once in the request, and each where tables double.
        self.held.grow(2 * (3 * size_of::<BString>() + line.len()) as u64)?;
        self.seen.insert(line.into());
        match &mut self.request {
            Some(Request::LsRefs(request)) => request.take(line),
            Some(Request::Fetch(request)) => request.take(line, self.format),
            Some(Request::ObjectInfo(request)) => request.take(line, self.format),
            Some(Request::End) | None => Err(ProtocolError::bad_line(PLACE, line)),
        }
    }

    /// The command, the object format, or something the client says for our logs.
    fn take_of_client(&mut self) -> Result<(), ProtocolError> {
        let line = self.reader.line();
        if let Some(name) = line.strip_prefix(b"command=") {
            self.request = Some(match name {
                _ if self.request.is_some() => return Err(ProtocolError::bad_line(PLACE, line)),
                b"fetch" => Request::Fetch(FetchRequest::default()),
                b"ls-refs" => Request::LsRefs(LsRefsRequest::default()),
                b"object-info" => Request::ObjectInfo(ObjectInfoRequest::default()),
                _ => return Err(ProtocolError::UnknownCommand { name: quoted(name) }),
            });
        } else if let Some(name) = line.strip_prefix(b"object-format=") {
            let found = ObjectFormat::from_name(name)
                .ok_or_else(|| ProtocolError::UnknownFormat { name: quoted(name) })?;
            self.check_format(found)?;
            self.said_format = true;
        }
        Ok(())
    }

    /// There must be a command, in the repository's format, which is SHA-1 unless said.
    fn check_command(&self) -> Result<(), ProtocolError> {
        if self.request.is_none() {
            return Err(ProtocolError::UnknownCommand { name: BString::default() });
        }
        if !self.said_format {
            self.check_format(ObjectFormat::Sha1)?;
        }
        Ok(())
    }

    fn check_format(&self, found: ObjectFormat) -> Result<(), ProtocolError> {
        let expected = self.format;
        if found != expected {
            return Err(ProtocolError::WrongFormat { expected, found });
        }
        Ok(())
    }

    /// Gives the request out and is ready for the next one.
    fn end(&mut self) -> Option<Request> {
        self.state = Ok(Stage::Command);
        self.said_format = false;
        // What the set and the request held is given back: from here on it is the
        // caller's to account for.
        self.seen = HashSet::new();
        self.held = self.budget.empty();
        (self.lines, self.bytes) = (0, 0);
        let mut request = self.request.take()?;
        if let Request::LsRefs(refs) = &mut request
            && refs.prefixes.len() > LsRefsRequest::MAX_PREFIXES
        {
            refs.prefixes.clear();
        }
        Some(request)
    }
}

#[cfg(test)]
mod tests;
