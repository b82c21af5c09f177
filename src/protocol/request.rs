//! Requests as a server reads them: a command, what it says of itself, its arguments.
//!
//! Follows git's `protocol-v2` ("Command Request"). One decoder reads one connection's
//! requests one after the other. What is asked for twice is kept once; whether it may
//! be asked for is not decided here.

use bstr::BString;
use hashbrown::HashSet;

use super::capabilities::unexpected;
use super::{FetchRequest, LsRefsRequest, ProtocolError, quoted};
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oid::ObjectId;
    use crate::protocol::{Deepen, Filter, encode_line};

    fn read(format: ObjectFormat, pieces: &[&[u8]]) -> Result<Vec<Request>, ProtocolError> {
        let limits = Limits { max_refs: 1_000, ..Default::default() };
        let mut decoder = RequestDecoder::new(format, &limits, &Budget::new(1 << 20));
        let mut requests = Vec::new();
        for &piece in pieces {
            let mut input = piece;
            while let Some(request) = decoder.push(&mut input)? {
                requests.push(request);
            }
        }
        decoder.finish()?;
        Ok(requests)
    }

    fn read_split(format: ObjectFormat, input: &[u8]) -> Result<Vec<Request>, ProtocolError> {
        let whole = read(format, &[input]);
        assert_eq!(read(format, &input.chunks(1).collect::<Vec<_>>()), whole);
        whole
    }

    fn packets(lines: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for &line in lines {
            match line {
                "0000" | "0001" | "0002" => out.extend_from_slice(line.as_bytes()),
                _ => encode_line(&mut out, &[line.as_bytes()]).unwrap(),
            }
        }
        out
    }

    #[test]
    fn requests_of_one_connection_are_read_one_after_the_other() {
        let refs =
            LsRefsRequest { prefixes: vec!["HEAD".into()], symrefs: true, ..Default::default() };
        let wants = vec![ObjectFormat::Sha1.empty_tree()];
        let fetch = FetchRequest { wants, done: true, ..Default::default() };
        let mut input = Vec::new();
        refs.encode("a", ObjectFormat::Sha1, &mut input).unwrap();
        fetch.encode("a", ObjectFormat::Sha1, &mut input).unwrap();
        input.extend_from_slice(b"0000");
        let want = [Request::LsRefs(refs), Request::Fetch(fetch), Request::End];
        assert_eq!(read_split(ObjectFormat::Sha1, &input).unwrap(), want);
        let bare = packets(&["command=ls-refs", "0000"]);
        let want = [Request::LsRefs(LsRefsRequest::default())];
        assert_eq!(read_split(ObjectFormat::Sha1, &bare).unwrap(), want);
    }

    #[test]
    fn what_is_repeated_is_kept_once_and_counted() {
        let want = format!("want {}", ObjectFormat::Sha1.empty_tree());
        let mut lines = vec!["command=fetch", "0001"];
        lines.extend([want.as_str(); 900]);
        lines.push("0000");
        match read(ObjectFormat::Sha1, &[&packets(&lines)]).unwrap().as_slice() {
            [Request::Fetch(request)] => assert_eq!(request.wants.len(), 1),
            other => panic!("{other:?}"),
        }
        lines.extend(["command=fetch", "0001"]);
        lines.extend([want.as_str(); 1_000]);
        let error = read(ObjectFormat::Sha1, &[&packets(&lines)]).unwrap_err();
        assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Refs));
    }

    #[test]
    fn what_a_request_occupies_is_spent_until_it_is_handed_out() {
        let budget = Budget::new(1_000);
        let mut decoder = RequestDecoder::new(ObjectFormat::Sha1, &Limits::default(), &budget);
        let prefixes: Vec<_> = (0..5).map(|number| format!("ref-prefix {number}")).collect();
        let mut lines = vec!["command=ls-refs", "0001"];
        lines.extend(prefixes.iter().map(String::as_str));
        for _ in 0..9 {
            assert_eq!(decoder.push(&mut packets(&lines).as_slice()), Ok(None));
            assert!(budget.used_bytes() > 0);
            assert!(decoder.push(&mut &b"0000"[..]).unwrap().is_some());
            assert_eq!(budget.used_bytes(), 0);
        }
        let more: Vec<_> = (0..50).map(|number| format!("ref-prefix {number}")).collect();
        lines.extend(more.iter().map(String::as_str));
        let error = decoder.push(&mut packets(&lines).as_slice()).unwrap_err();
        assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Memory));
    }

    #[test]
    fn damaged_requests_are_typed_errors() {
        let wrong = |expected, found| ProtocolError::WrongFormat { expected, found };
        let (sha1, sha256) = (ObjectFormat::Sha1, ObjectFormat::Sha256);
        let unknown = |name: &str| ProtocolError::UnknownCommand { name: name.into() };
        for (format, lines, error) in [
            (sha1, &["command=rm"][..], unknown("rm")),
            (sha1, &["agent=x", "0001"], unknown("")),
            (sha1, &["command=fetch", "object-format=sha256"], wrong(sha1, sha256)),
            (sha256, &["command=fetch", "0001"], wrong(sha256, sha1)),
            (
                sha1,
                &["command=fetch", "object-format=md5"],
                ProtocolError::UnknownFormat { name: "md5".into() },
            ),
            (
                sha1,
                &["command=fetch", "command=ls-refs"],
                ProtocolError::bad_line(PLACE, b"command=ls-refs"),
            ),
            (sha1, &["command=fetch", "0001"], ProtocolError::Truncated { place: PLACE }),
            (sha1, &["command=fetch"], ProtocolError::Truncated { place: PLACE }),
            (sha1, &["0001"], unknown("")),
            (
                sha1,
                &["0002"],
                ProtocolError::UnexpectedPacket { packet: "response-end", place: PLACE },
            ),
        ] {
            assert_eq!(read_split(format, &packets(lines)), Err(error), "{lines:?}");
        }
    }

    fn fetches() -> impl Strategy<Value = FetchRequest> {
        let ids = prop::collection::hash_set(any::<[u8; 32]>(), 0..4).prop_map(|raws| {
            raws.iter().map(|raw| ObjectId::from_raw(raw).unwrap()).collect::<Vec<_>>()
        });
        let names = prop::collection::hash_set("[a-z/]{1,9}", 0..3)
            .prop_map(|names| names.into_iter().map(BString::from).collect::<Vec<_>>());
        let deepen = prop_oneof![
            Just(Deepen::None),
            (1u32..).prop_map(Deepen::Depth),
            (any::<u64>(), names.clone())
                .prop_map(|(since, not)| Deepen::Bounded { since: Some(since), not }),
        ];
        let filter = prop::option::of(prop_oneof![
            Just(Filter::BlobNone),
            any::<u64>().prop_map(Filter::BlobLimit),
        ]);
        (any::<[bool; 8]>(), ids.clone(), ids.clone(), ids, names, deepen, filter).prop_map(
            |(flags, wants, haves, shallow, want_refs, deepen, filter)| {
                let [thin_pack, no_progress, include_tag, ofs_delta, sideband_all, ..] = flags;
                let [.., wait_for_done, deepen_relative, done] = flags;
                FetchRequest {
                    deepen,
                    deepen_relative,
                    done,
                    filter,
                    haves,
                    include_tag,
                    no_progress,
                    ofs_delta,
                    shallow,
                    sideband_all,
                    thin_pack,
                    want_refs,
                    wants,
                    wait_for_done,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_damage_never_panics(
            fetch in fetches(), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut input = Vec::new();
            fetch.encode("git/x", ObjectFormat::Sha256, &mut input).unwrap();
            let read_back = read_split(ObjectFormat::Sha256, &input).unwrap();
            prop_assert_eq!(read_back, [Request::Fetch(fetch)]);
            let at = at.index(input.len());
            input[at] ^= 1 << bit;
            let whole = read_split(ObjectFormat::Sha256, &input);
            let (a, b) = input.split_at(at);
            prop_assert_eq!(read(ObjectFormat::Sha256, &[a, b]), whole);
        }
    }
}
