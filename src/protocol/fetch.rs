//! The command `fetch`: what a client wants, what it has, and how the pack is to be made.
//!
//! Follows git's `protocol-v2` ("fetch"). A request is a value; which features a server
//! offers is the client's to know ([`super::FetchCapability`]), and nothing is left out
//! here because of it.

use bstr::BString;

use super::filter::parse_number;
use super::{Filter, ProtocolError, encode_command, encode_line, encode_short, parse_id};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline;

const PLACE: &str = "a fetch request";

/// A request for objects.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::{Deepen, FetchRequest, Filter};
///
/// let request = FetchRequest {
///     wants: vec![ObjectFormat::Sha1.empty_tree()],
///     deepen: Deepen::Depth(1),
///     filter: Some(Filter::BlobNone),
///     done: true,
///     ..Default::default()
/// };
/// let mut body = Vec::new();
/// request.encode("git/gitsip-0.1.0", ObjectFormat::Sha1, &mut body)?;
/// assert!(body.ends_with(b"0009done\n0000"));
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchRequest {
    /// Where history is cut.
    pub deepen: Deepen,
    /// Count [`Deepen::Depth`] from where history is cut now, not from the wants.
    pub deepen_relative: bool,
    /// Nothing more to negotiate: send the pack.
    pub done: bool,
    /// What is left out.
    pub filter: Option<Filter>,
    /// What the client has.
    pub haves: Vec<ObjectId>,
    /// Send annotated tags of what is sent.
    pub include_tag: bool,
    /// Send no progress.
    pub no_progress: bool,
    /// The client understands deltas that name their base by distance.
    pub ofs_delta: bool,
    /// Where the client's history is cut now.
    pub shallow: Vec<ObjectId>,
    /// Carry every section on the sideband.
    pub sideband_all: bool,
    /// The client completes deltas whose base it has.
    pub thin_pack: bool,
    /// Refs wanted by name.
    pub want_refs: Vec<BString>,
    /// What the client wants.
    pub wants: Vec<ObjectId>,
    /// Send no pack before `done`, however ready.
    pub wait_for_done: bool,
}

/// Where history is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Deepen {
    /// Nowhere new.
    #[default]
    None,
    /// After so many commits, at least one.
    Depth(u32),
    /// Before a time, at what refs reach, or both.
    Bounded {
        /// Commits older than this are left out, in seconds since 1970.
        since: Option<u64>,
        /// Commits these refs reach are left out.
        not: Vec<BString>,
    },
}

impl FetchRequest {
    /// Appends the request, sent as `agent` to a repository of `format`.
    ///
    /// # Errors
    /// When a ref's name or a filter is too long for a packet.
    pub fn encode(
        &self,
        agent: &str,
        format: ObjectFormat,
        out: &mut Vec<u8>,
    ) -> Result<(), ProtocolError> {
        encode_command(out, "fetch", agent, format)?;
        for (line, on) in [
            ("thin-pack", self.thin_pack),
            ("no-progress", self.no_progress),
            ("include-tag", self.include_tag),
            ("ofs-delta", self.ofs_delta),
            ("sideband-all", self.sideband_all),
            ("wait-for-done", self.wait_for_done),
        ] {
            if on {
                encode_short(out, line);
            }
        }
        encode_ids(out, "shallow", &self.shallow);
        self.encode_deepen_bounds(out)?;
        if self.deepen_relative {
            encode_short(out, "deepen-relative");
        }
        if let Some(filter) = &self.filter {
            encode_line(out, &[b"filter ", filter.to_string().as_bytes()])?;
        }
        for name in &self.want_refs {
            encode_line(out, &[b"want-ref ", name])?;
        }
        encode_ids(out, "want", &self.wants);
        encode_ids(out, "have", &self.haves);
        if self.done {
            encode_short(out, "done");
        }
        out.extend_from_slice(pktline::FLUSH);
        Ok(())
    }

    /// Appends the lines that say where history is cut.
    pub(super) fn encode_deepen_bounds(&self, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match &self.deepen {
            Deepen::None => {}
            Deepen::Depth(depth) => encode_short(out, &format!("deepen {depth}")),
            Deepen::Bounded { since, not } => {
                if let Some(since) = since {
                    encode_short(out, &format!("deepen-since {since}"));
                }
                for name in not {
                    encode_line(out, &[b"deepen-not ", name])?;
                }
            }
        }
        Ok(())
    }

    /// Takes one argument of a request that arrives.
    pub(super) fn take(&mut self, line: &[u8], format: ObjectFormat) -> Result<(), ProtocolError> {
        let bad = || ProtocolError::bad_line(PLACE, line);
        let (name, value) = match memchr::memchr(b' ', line) {
            Some(at) => (&line[..at], line.get(at + 1..)),
            None => (line, None),
        };
        let id = |hex| parse_id(hex, format, PLACE, line);
        match (name, value) {
            (b"deepen", Some(depth)) => self.take_depth(depth).ok_or_else(bad)?,
            (b"deepen-not", Some(name)) => self.bounds().ok_or_else(bad)?.1.push(name.into()),
            (b"deepen-relative", None) => self.deepen_relative = true,
            (b"deepen-since", Some(time)) => {
                let time = parse_number(time).ok_or_else(bad)?;
                *self.bounds().ok_or_else(bad)?.0 = Some(time);
            }
            (b"done", None) => self.done = true,
            (b"filter", Some(spec)) => self.filter = Some(Filter::parse(spec)?),
            (b"have", Some(hex)) => self.haves.push(id(hex)?),
            (b"include-tag", None) => self.include_tag = true,
            (b"no-progress", None) => self.no_progress = true,
            (b"ofs-delta", None) => self.ofs_delta = true,
            (b"shallow", Some(hex)) => self.shallow.push(id(hex)?),
            (b"sideband-all", None) => self.sideband_all = true,
            (b"thin-pack", None) => self.thin_pack = true,
            (b"wait-for-done", None) => self.wait_for_done = true,
            (b"want", Some(hex)) => self.wants.push(id(hex)?),
            (b"want-ref", Some(name)) if !name.is_empty() => self.want_refs.push(name.into()),
            _ => return Err(bad()),
        }
        Ok(())
    }

    /// A depth of at least one, unless history is bounded in another way.
    fn take_depth(&mut self, digits: &[u8]) -> Option<()> {
        let depth = parse_number(digits).and_then(|depth| u32::try_from(depth).ok())?;
        if depth == 0 || matches!(self.deepen, Deepen::Bounded { .. }) {
            return None;
        }
        self.deepen = Deepen::Depth(depth);
        Some(())
    }

    /// The bounds to add to, unless a depth was given.
    fn bounds(&mut self) -> Option<(&mut Option<u64>, &mut Vec<BString>)> {
        if self.deepen == Deepen::None {
            self.deepen = Deepen::Bounded { since: None, not: Vec::new() };
        }
        match &mut self.deepen {
            Deepen::Bounded { since, not } => Some((since, not)),
            Deepen::None | Deepen::Depth(_) => None,
        }
    }
}

fn encode_ids(out: &mut Vec<u8>, name: &str, ids: &[ObjectId]) {
    for id in ids {
        encode_short(out, &format!("{name} {id}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(lines: &[&str]) -> Result<FetchRequest, ProtocolError> {
        let mut request = FetchRequest::default();
        for line in lines {
            request.take(line.as_bytes(), ObjectFormat::Sha1)?;
        }
        Ok(request)
    }

    #[test]
    fn contradictions_and_nonsense_are_refused() {
        for lines in [
            &["deepen 0"][..],
            &["deepen -1"],
            &["deepen 4294967296"],
            &["deepen 1", "deepen-since 5"],
            &["deepen-not x", "deepen 1"],
            &["deepen-since yesterday"],
            &["want"],
            &["want 1234"],
            &["want-ref "],
            &["done now"],
            &[""],
            &["frobnicate"],
        ] {
            let last = lines.last().unwrap().as_bytes();
            assert_eq!(take(lines), Err(ProtocolError::bad_line(PLACE, last)), "{lines:?}");
        }
        let wrong = ProtocolError::WrongFormat {
            expected: ObjectFormat::Sha1,
            found: ObjectFormat::Sha256,
        };
        assert_eq!(take(&[&format!("have {}", "a".repeat(64))]), Err(wrong));
        let spec = BString::from("sparse:oid=x");
        assert_eq!(take(&["filter sparse:oid=x"]), Err(ProtocolError::UnknownFilter { spec }));
    }

    #[test]
    fn a_time_and_refs_bound_history_together() {
        let request = take(&["deepen-not a", "deepen-since 5", "deepen-not b"]).unwrap();
        let not = vec!["a".into(), "b".into()];
        assert_eq!(request.deepen, Deepen::Bounded { since: Some(5), not });
    }
}
