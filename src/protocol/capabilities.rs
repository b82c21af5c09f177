//! What a server can do: its first answer, in version 2.
//!
//! Follows git's `protocol-v2` ("Capability Advertisement") and `http-protocol` ("Smart
//! Server Response"). Answers that are something else (version 0 and 1, dumb HTTP, a web
//! page) are recognised by their first bytes and named; they are not decoded here.

use bstr::BString;

use super::{ProtocolError, encode_line, encode_short, quoted};
use crate::limits::{Budget, Reservation, Which, check};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline::{self, Carriage, Reader, Token};

/// What precedes the advertisement over HTTP: the service's name and a flush.
pub const SERVICE_HEADER: &[u8] = b"001e# service=git-upload-pack\n0000";

const PLACE: &str = "the capability advertisement";
/// A server has some ten capabilities; 2,000 odd ones take less than 100 KiB.
const MAX_BYTES: u64 = 1 << 20;
/// Unknown capabilities kept by name. Nobody asks for them but people.
const MAX_UNKNOWN: usize = 4_096;
/// After so many bytes that could be both, they are packets: a version 0 answer without
/// a service header begins with 4 + 64 hexadecimal digits.
const MAX_SNIFFED_BYTES: usize = 69;

/// What a server says it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The server's program and version.
    pub agent: Option<BString>,
    /// How its `fetch` can be asked, if it has the command.
    pub fetch: Option<FetchCapability>,
    /// How its `ls-refs` can be asked, if it has the command.
    pub ls_refs: Option<LsRefsCapability>,
    /// The hash that names its objects; SHA-1 unless it says otherwise.
    pub object_format: ObjectFormat,
    /// Whether it has the command `object-info`.
    pub object_info: bool,
    /// Whether it takes `server-option` lines.
    pub server_option: bool,
    /// What it calls this session in its logs.
    pub session_id: Option<BString>,
    /// Everything else it said, whole lines, at most 4,096 of them.
    pub unknown: Vec<BString>,
}

/// Features of the command `fetch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchCapability {
    /// `filter`: objects can be left out by kind and size.
    pub filter: bool,
    /// `packfile-uris`: parts of a pack may be named by address.
    pub packfile_uris: bool,
    /// `ref-in-want`: refs can be wanted by name.
    pub ref_in_want: bool,
    /// `shallow`: history can be cut.
    pub shallow: bool,
    /// `sideband-all`: every section can be carried on the sideband.
    pub sideband_all: bool,
    /// `wait-for-done`: the server can be told to only negotiate.
    pub wait_for_done: bool,
}

/// Features of the command `ls-refs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsRefsCapability {
    /// `unborn`: a HEAD without a commit is told too.
    pub unborn: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            agent: None,
            fetch: None,
            ls_refs: None,
            object_format: ObjectFormat::Sha1,
            object_info: false,
            server_option: false,
            session_id: None,
            unknown: Vec::new(),
        }
    }
}

impl Capabilities {
    /// Appends the advertisement without [`SERVICE_HEADER`].
    ///
    /// # Errors
    /// When a value is too long for a packet.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        encode_short(out, "version 2");
        if let Some(agent) = &self.agent {
            encode_line(out, &[b"agent=", agent])?;
        }
        if let Some(ls_refs) = &self.ls_refs {
            let features: &[u8] = if ls_refs.unborn { b"=unborn" } else { b"" };
            encode_line(out, &[b"ls-refs", features])?;
        }
        if let Some(mut fetch) = self.fetch {
            let features: Vec<_> =
                fetch.features().into_iter().filter(|(_, on)| **on).map(|(name, _)| name).collect();
            let equals: &[u8] = if features.is_empty() { b"" } else { b"=" };
            encode_line(out, &[b"fetch", equals, features.join(&b' ').as_slice()])?;
        }
        if self.server_option {
            encode_short(out, "server-option");
        }
        encode_short(out, &format!("object-format={}", self.object_format));
        if self.object_info {
            encode_short(out, "object-info");
        }
        if let Some(session) = &self.session_id {
            encode_line(out, &[b"session-id=", session])?;
        }
        for line in &self.unknown {
            encode_line(out, &[line])?;
        }
        out.extend_from_slice(pktline::FLUSH);
        Ok(())
    }

    /// Takes one line; gives back what is not known.
    fn take<'l>(&mut self, line: &'l [u8]) -> Result<Option<&'l [u8]>, ProtocolError> {
        let (name, value) = match memchr::memchr(b'=', line) {
            Some(at) => (&line[..at], line.get(at + 1..)),
            None => (line, None),
        };
        let features = || value.unwrap_or_default().split(|&byte| byte == b' ');
        match name {
            b"agent" => self.agent = value.map(BString::from),
            b"fetch" => {
                let fetch = self.fetch.insert(FetchCapability::default());
                for feature in features() {
                    for (name, on) in fetch.features() {
                        *on |= name == feature;
                    }
                }
            }
            b"ls-refs" => {
                let unborn = features().any(|feature| feature == b"unborn");
                self.ls_refs = Some(LsRefsCapability { unborn });
            }
            b"object-format" => {
                let name = value.unwrap_or_default();
                self.object_format = ObjectFormat::from_name(name)
                    .ok_or_else(|| ProtocolError::UnknownFormat { name: quoted(name) })?;
            }
            b"object-info" => self.object_info = true,
            b"server-option" => self.server_option = true,
            b"session-id" => self.session_id = value.map(BString::from),
            _ => return Ok(Some(line)),
        }
        Ok(None)
    }
}

impl FetchCapability {
    /// The features by name, in git's order.
    fn features(&mut self) -> [(&'static [u8], &mut bool); 6] {
        [
            (b"shallow", &mut self.shallow),
            (b"wait-for-done", &mut self.wait_for_done),
            (b"filter", &mut self.filter),
            (b"ref-in-want", &mut self.ref_in_want),
            (b"sideband-all", &mut self.sideband_all),
            (b"packfile-uris", &mut self.packfile_uris),
        ]
    }
}

/// Reads a server's first answer as it arrives.
///
/// ```
/// use gitsip::Budget;
/// use gitsip::protocol::Advertisement;
///
/// let mut answer = Advertisement::new(&Budget::new(1 << 20));
/// answer.push(b"001e# service=git-upload-pack\n0000")?;
/// answer.push(b"000eversion 2\n0018fetch=filter shallow0000")?;
/// let capabilities = answer.finish()?;
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
    bytes: u64,
    held: Reservation,
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
            bytes: 0,
            held: budget.empty(),
        }
    }

    /// Takes more of the answer.
    ///
    /// # Errors
    /// When the answer is not an advertisement of version 2; every later call gives the
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

    /// The capabilities, once the answer is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn finish(mut self) -> Result<Capabilities, ProtocolError> {
        let mut stage = self.state.clone()?;
        if stage == Stage::Sniffing {
            let start = std::mem::take(&mut self.sniffed);
            stage = match look(&start) {
                Look::NotGit => return Err(ProtocolError::NotGit { start: start.into() }),
                _ => self.read(Stage::Start, &start)?,
            };
        }
        match stage {
            Stage::Ended if self.reader.is_between_packets() => Ok(self.capabilities),
            Stage::Ended => Err(ProtocolError::TrailingBytes { place: PLACE }),
            _ => Err(ProtocolError::Truncated { place: PLACE }),
        }
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
                (Stage::Start | Stage::Version, Token::Line) => {
                    read_version(self.reader.line())?;
                    Stage::Capabilities
                }
                // Version 0 of an empty repository, by servers that say nothing then.
                (Stage::Version, Token::Flush) => return Err(ProtocolError::OldVersion(0)),
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

    fn take_line(&mut self) -> Result<(), ProtocolError> {
        let line = self.reader.line();
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        check(Which::RefBytes, MAX_BYTES, self.bytes)?;
        self.held.grow((size_of::<BString>() + line.len()) as u64)?;
        if let Some(line) = self.capabilities.take(line)?
            && self.capabilities.unknown.len() < MAX_UNKNOWN
        {
            self.capabilities.unknown.push(line.into());
        }
        Ok(())
    }
}

/// The error for a packet without content where it has no place.
pub(super) fn unexpected(token: Token<'_>, place: &'static str) -> ProtocolError {
    let packet = match token {
        Token::Delimiter => "delimiter",
        Token::Flush => "flush",
        Token::ResponseEnd => "response-end",
        Token::Data(_) | Token::Line | Token::Progress(_) => "data",
    };
    ProtocolError::UnexpectedPacket { packet, place }
}

/// The line must announce version 2.
fn read_version(line: &[u8]) -> Result<(), ProtocolError> {
    match line {
        b"version 2" => Ok(()),
        b"version 1" => Err(ProtocolError::OldVersion(1)),
        _ if line.starts_with(b"version ") => {
            Err(ProtocolError::UnknownVersion { line: quoted(line) })
        }
        _ => {
            let first = line.split(|&byte| byte == b' ').next().unwrap_or_default();
            match ObjectId::from_hex(first) {
                Ok(_) => Err(ProtocolError::OldVersion(0)),
                Err(_) => Err(ProtocolError::bad_line(PLACE, line)),
            }
        }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Capabilities, ProtocolError> {
        let mut answer = Advertisement::new(&Budget::new(10 << 20));
        for piece in pieces {
            answer.push(piece)?;
        }
        answer.finish()
    }

    /// The answer read whole and byte by byte, which must be the same.
    fn read_split(input: &[u8]) -> Result<Capabilities, ProtocolError> {
        let whole = read(&[input]);
        assert_eq!(read(&input.chunks(1).collect::<Vec<_>>()), whole);
        whole
    }

    fn packets(lines: &[&str]) -> Vec<u8> {
        let mut out = Vec::new();
        for line in lines {
            encode_line(&mut out, &[line.as_bytes()]).unwrap();
        }
        out.extend_from_slice(pktline::FLUSH);
        out
    }

    fn full() -> Capabilities {
        Capabilities {
            agent: Some("git/gitsip-0".into()),
            fetch: Some(FetchCapability { filter: true, shallow: true, ..Default::default() }),
            ls_refs: Some(LsRefsCapability { unborn: true }),
            object_format: ObjectFormat::Sha256,
            object_info: true,
            server_option: true,
            session_id: Some("x=y".into()),
            unknown: vec!["bundle-uri".into(), "promisor-remote=name=a,url=b".into()],
        }
    }

    #[test]
    fn a_service_header_may_be_there_or_not() {
        let mut plain = Vec::new();
        full().encode(&mut plain).unwrap();
        assert_eq!(read_split(&plain), Ok(full()));
        assert_eq!(read_split(&[SERVICE_HEADER, &plain].concat()), Ok(full()));
        assert_eq!(read_split(&[&plain[..], pktline::RESPONSE_END].concat()), Ok(full()));
    }

    #[test]
    fn answers_that_are_something_else_are_named() {
        let v0 = packets(&[&format!("{} HEAD\0multi_ack", "a".repeat(40))]);
        let v0_sha256 = packets(&[&format!("{} HEAD\0multi_ack", "a".repeat(64))]);
        let dumb = format!("{}\trefs/heads/main\n", "a".repeat(40)).into_bytes();
        let start = |text: &str| ProtocolError::NotGit { start: text.into() };
        let truncated = ProtocolError::Truncated { place: PLACE };
        let json = "{\"message\":\"Not Found\",\"documentation_url\":\"https://docs.example.com/rest/of\"}";
        for (input, error) in [
            (v0.clone(), ProtocolError::OldVersion(0)),
            (v0_sha256, ProtocolError::OldVersion(0)),
            ([SERVICE_HEADER, &v0].concat(), ProtocolError::OldVersion(0)),
            ([SERVICE_HEADER, b"0000"].concat(), ProtocolError::OldVersion(0)),
            (packets(&["version 1"]), ProtocolError::OldVersion(1)),
            (packets(&["version 3"]), ProtocolError::UnknownVersion { line: "version 3".into() }),
            (dumb, ProtocolError::DumbHttp),
            (b"\n<!doctype html>".to_vec(), ProtocolError::Html),
            (b"\xef\xbb\xbf<html>".to_vec(), ProtocolError::Html),
            (json.as_bytes().to_vec(), start(&json[..MAX_SNIFFED_BYTES])),
            (b"no".to_vec(), start("no")),
            (Vec::new(), truncated.clone()),
            (b"000eversion 2\n".to_vec(), truncated.clone()),
            (b"000".to_vec(), truncated),
            (b"0000".to_vec(), ProtocolError::UnexpectedPacket { packet: "flush", place: PLACE }),
            (
                packets(&["version 2", "object-format=sha512"]),
                ProtocolError::UnknownFormat { name: "sha512".into() },
            ),
            (
                packets(&["ERR no such repository"]),
                pktline::PktError::Remote { text: "no such repository\n".into() }.into(),
            ),
            (
                [&packets(&["version 2"])[..], b"x"].concat(),
                ProtocolError::TrailingBytes { place: PLACE },
            ),
            (
                [&packets(&["version 2"])[..], b"0000"].concat(),
                ProtocolError::TrailingBytes { place: PLACE },
            ),
            (
                packets(&["# service=git-receive-pack"]),
                ProtocolError::bad_line(PLACE, b"# service=git-receive-pack"),
            ),
        ] {
            assert_eq!(read_split(&input), Err(error));
        }
    }

    #[test]
    fn two_thousand_unknown_capabilities_are_kept_and_a_flood_is_refused() {
        let names: Vec<_> = (0..2_000).map(|number| format!("future-{number}=x")).collect();
        let mut lines = vec!["version 2"];
        lines.extend(names.iter().map(String::as_str));
        assert_eq!(read(&[&packets(&lines)]).unwrap().unknown, names);
        let long = "y".repeat(60_000);
        let flood = packets(&[&["version 2"][..], &[long.as_str(); 18]].concat());
        assert!(matches!(read(&[&flood]), Err(ProtocolError::Limit(_))));
    }

    #[test]
    fn what_is_kept_is_spent_from_the_budget() {
        let mut answer = Advertisement::new(&Budget::new(10));
        let error = answer.push(&packets(&["version 2", "unknown"])).unwrap_err();
        assert!(matches!(error, ProtocolError::Limit(_)));
        assert_eq!(answer.push(b"0000"), Err(error.clone()));
        assert_eq!(answer.finish(), Err(error));
    }

    proptest! {
        #[test]
        fn damage_never_panics_and_reads_the_same_in_any_split(
            at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<prop::sample::Index>(),
        ) {
            let mut input = SERVICE_HEADER.to_vec();
            full().encode(&mut input).unwrap();
            let at = at.index(input.len());
            input[at] ^= 1 << bit;
            let whole = read_split(&input);
            let (a, b) = input.split_at(cut.index(input.len()));
            prop_assert_eq!(read(&[a, b]), whole);
        }
    }
}
