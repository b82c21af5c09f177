//! The command `ls-refs`: which refs a repository has.
//!
//! Follows git's `protocol-v2` ("ls-refs"). Names are kept as bytes; whether a name is
//! one git would accept, and what a symbolic ref finally means, is not decided here.

use bstr::BString;

use super::capabilities::unexpected;
use super::{ProtocolError, encode_command, encode_line, encode_short, parse_id};
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
fn is_sound(name: &[u8]) -> bool {
    !name.is_empty() && !name.iter().any(u8::is_ascii_control)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oid::ObjectId;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    fn read(pieces: &[&[u8]]) -> Result<Vec<Ref>, ProtocolError> {
        let limits = Limits { max_refs: 100, max_ref_bytes: 10_000, ..Default::default() };
        let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &limits, &Budget::new(100_000));
        for piece in pieces {
            answer.push(piece)?;
        }
        answer.finish()
    }

    fn read_split(input: &[u8]) -> Result<Vec<Ref>, ProtocolError> {
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

    fn id(hex: &str) -> ObjectId {
        hex.parse().unwrap()
    }

    fn item(name: &str, target: Option<&str>) -> Ref {
        Ref { name: name.into(), target: target.map(id), peeled: None, symref_target: None }
    }

    #[test]
    fn every_form_of_a_ref_is_read() {
        let lines = [
            "unborn HEAD symref-target:refs/heads/weird".to_owned(),
            format!("{A} HEAD"),
            format!("{A} HEAD symref-target:refs/heads/main"),
            format!("{A} refs/tags/v1 peeled:{B} future:attribute"),
            format!("{A} refs/heads/x-\u{e9}"),
        ];
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let symref = |name: &str| Some(name.into());
        let want = [
            Ref { symref_target: symref("refs/heads/weird"), ..item("HEAD", None) },
            item("HEAD", Some(A)),
            Ref { symref_target: symref("refs/heads/main"), ..item("HEAD", Some(A)) },
            Ref { peeled: Some(id(B)), ..item("refs/tags/v1", Some(A)) },
            item("refs/heads/x-\u{e9}", Some(A)),
        ];
        assert_eq!(read_split(&packets(&lines)).unwrap(), want);
        assert_eq!(read_split(b"0000").unwrap(), []);
    }

    #[test]
    fn damaged_answers_are_typed_errors() {
        let sha256 = "a".repeat(64);
        let bad = |line: &str| ProtocolError::bad_line(PLACE, line.as_bytes());
        let wrong = ProtocolError::WrongFormat {
            expected: ObjectFormat::Sha1,
            found: ObjectFormat::Sha256,
        };
        for (line, error) in [
            (format!("{sha256} HEAD"), wrong.clone()),
            (format!("{A} refs/tags/x peeled:{sha256}"), wrong),
            ("../../../../etc/passwd HEAD".into(), bad("../../../../etc/passwd HEAD")),
            (A.into(), bad(A)),
            (format!("{A}  HEAD"), bad(&format!("{A}  HEAD"))),
            (format!("{A} HE\x1bAD"), bad(&format!("{A} HE\x1bAD"))),
            (format!("{A} HEAD symref-target:"), bad(&format!("{A} HEAD symref-target:"))),
        ] {
            assert_eq!(read_split(&packets(&[&line])), Err(error), "{line}");
        }
        let cut = packets(&[&format!("{A} HEAD")]);
        let truncated = Err(ProtocolError::Truncated { place: PLACE });
        for len in 0..cut.len() {
            assert_eq!(read_split(&cut[..len]), truncated);
        }
        for tail in [&b"x"[..], b"0000", b"0005x"] {
            let trailing = Err(ProtocolError::TrailingBytes { place: PLACE });
            assert_eq!(read_split(&[&cut, tail].concat()), trailing);
        }
        assert_eq!(
            read_split(b"0001"),
            Err(ProtocolError::UnexpectedPacket { packet: "delimiter", place: PLACE })
        );
    }

    #[test]
    fn refs_and_their_bytes_are_limited_and_spent() {
        let line = format!("{A} HEAD");
        assert_eq!(read(&[&packets(&[line.as_str(); 100])]).unwrap().len(), 100);
        let limit = |input: &[u8]| match read(&[input]) {
            Err(ProtocolError::Limit(limit)) => limit.which,
            other => panic!("{other:?}"),
        };
        assert_eq!(limit(&packets(&[line.as_str(); 101])), Which::Refs);
        let long = format!("{A} {}", "x".repeat(9_960));
        assert_eq!(limit(&packets(&[&long])), Which::RefBytes);

        let budget = Budget::new(20_000);
        let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &budget);
        answer.push(&packets(&[&line])).unwrap();
        let (refs, held) = answer.finish_reserved().unwrap();
        assert_eq!((refs.len(), budget.used_bytes()), (1, held.bytes()));
        assert!(held.bytes() >= (refs.capacity() * size_of::<Ref>() + "HEAD".len()) as u64);
        drop(held);
        let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &budget);
        let error = answer.push(&packets(&[line.as_str(); 1_000])).unwrap_err();
        assert!(matches!(error, ProtocolError::Limit(limit) if limit.which == Which::Memory));
        drop(answer);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn whichever_spend_fails_the_answer_fails_with_it() {
        let input = packets(&[format!("{A} HEAD").as_str(); 40]);
        let mut spends = 0;
        loop {
            let budget = Budget::failing_after(1 << 20, spends);
            let mut answer = LsRefsResponse::new(ObjectFormat::Sha1, &Limits::default(), &budget);
            match answer.push(&input) {
                Ok(()) => break assert_eq!(answer.finish().unwrap().len(), 40),
                Err(error) => assert!(matches!(error, ProtocolError::Limit(_))),
            }
            spends += 1;
        }
        assert_eq!(spends, 43, "one for each line, one whenever the list grows");
    }

    fn refs() -> impl Strategy<Value = Vec<Ref>> {
        let name = "[a-z/.-]{1,12}";
        let oid = any::<[u8; 20]>().prop_map(|raw| ObjectId::from_raw(&raw).unwrap());
        let item =
            (name, prop::option::of(oid.clone()), prop::option::of(oid), prop::option::of(name))
                .prop_map(|(name, target, peeled, symref)| Ref {
                    name: name.into(),
                    target,
                    peeled,
                    symref_target: symref.map(BString::from),
                });
        prop::collection::vec(item, 0..10)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(refs in refs()) {
            let mut out = Vec::new();
            encode_ls_refs(&refs, &mut out).unwrap();
            prop_assert_eq!(read_split(&out), Ok(refs));
        }

        #[test]
        fn damage_never_panics_and_reads_the_same_in_any_split(
            refs in refs(), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let mut out = Vec::new();
            encode_ls_refs(&refs, &mut out).unwrap();
            let at = at.index(out.len());
            out[at] ^= 1 << bit;
            let whole = read_split(&out);
            let (a, b) = out.split_at(at);
            prop_assert_eq!(read(&[a, b]), whole);
        }
    }
}
