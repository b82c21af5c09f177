//! A server's first answer in version 0 and 1: its refs, and what it can do beside the
//! first of them.
//!
//! Follows git's `protocol-pack` ("Reference Discovery"). A tag's line is followed by one
//! for what it peels to, and a shallow repository adds where its history is cut. Which
//! refs were meant is not decided here: the whole list always comes.

use bstr::BString;
use hashbrown::HashMap;

use super::Features;
use crate::limits::{Limits, Reservation, Which, check};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline;
use crate::protocol::ls_refs::is_sound;
use crate::protocol::{Capabilities, FetchCapability, ProtocolError, encode_line, parse_id};
use crate::store::Ref;

const PLACE: &str = "the ref advertisement";
/// Stands for a ref where there is none that could carry capabilities.
const NO_REF: &[u8] = b"capabilities^{}";
const PEELED: &[u8] = b"^{}";
/// Room for so many refs is made at first; it doubles from there.
const FIRST_REFS: usize = 16;

/// What a server of version 0 or 1 says first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// 0 or 1.
    pub version: u8,
    /// What it can do, in the words of version 2.
    pub capabilities: Capabilities,
    /// What it can do, in its own.
    pub features: Features,
    /// All its refs, in the order they came.
    pub refs: Vec<Ref>,
    /// Where its own history is cut.
    pub shallow: Vec<ObjectId>,
}

impl Listing {
    /// Appends the advertisement, without
    /// [`SERVICE_HEADER`](crate::protocol::SERVICE_HEADER). A ref without a target is
    /// told by what it points to only.
    ///
    /// # Errors
    /// When the capabilities or a name are too long for a packet.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        if self.version == 1 {
            encode_line(out, &[b"version 1"])?;
        }
        let mut words = self.encode_capabilities();
        for item in &self.refs {
            let Some(target) = item.target else { continue };
            let words = std::mem::take(&mut words);
            encode_line(out, &[target.to_string().as_bytes(), b" ", &item.name, &words])?;
            if let Some(peeled) = item.peeled {
                encode_line(out, &[peeled.to_string().as_bytes(), b" ", &item.name, PEELED])?;
            }
        }
        if !words.is_empty() {
            let null = ObjectId::null(self.capabilities.object_format).to_string();
            encode_line(out, &[null.as_bytes(), b" ", NO_REF, &words])?;
        }
        for id in &self.shallow {
            encode_line(out, &[b"shallow ", id.to_string().as_bytes()])?;
        }
        out.extend_from_slice(pktline::FLUSH);
        Ok(())
    }

    /// The capabilities in git's order, after the zero byte that divides them from a ref.
    fn encode_capabilities(&self) -> Vec<u8> {
        let mut words = Vec::new();
        Features { filter: false, ..self.features }.encode(&mut words);
        let mut add = |name: &str, value: &[u8]| {
            words.push(b' ');
            words.extend_from_slice(name.as_bytes());
            words.extend_from_slice(value);
        };
        for item in &self.refs {
            if let Some(target) = &item.symref_target {
                add("symref=", &[item.name.as_slice(), b":", target].concat());
            }
        }
        if self.features.filter {
            add("filter", b"");
        }
        if let Some(session) = &self.capabilities.session_id {
            add("session-id=", session);
        }
        if self.features.object_format {
            add("object-format=", self.capabilities.object_format.name().as_bytes());
        }
        if let Some(agent) = &self.capabilities.agent {
            add("agent=", agent);
        }
        for word in &self.capabilities.unknown {
            add("", word);
        }
        match words.first_mut() {
            Some(space) => *space = 0,
            None => words.push(0),
        }
        words
    }
}

/// Takes the lines of an advertisement. What is kept is spent from a reservation of the
/// caller's.
#[derive(Debug, Default)]
pub(in crate::protocol) struct ListingReader {
    listing: Listing,
    has_first: bool,
    symrefs: HashMap<BString, BString>,
    bytes: u64,
    lines: u64,
}

impl ListingReader {
    pub(in crate::protocol) fn new(version: u8) -> Self {
        let listing = Listing { version, ..Listing::default() };
        Self { listing, ..Self::default() }
    }

    /// Takes one line.
    pub(in crate::protocol) fn take(
        &mut self,
        line: &[u8],
        limits: &Limits,
        held: &mut Reservation,
    ) -> Result<(), ProtocolError> {
        self.bytes = self.bytes.saturating_add(line.len() as u64);
        check(Which::RefBytes, limits.max_ref_bytes, self.bytes)?;
        self.lines += 1;
        check(Which::Refs, limits.max_refs, self.lines)?;
        // The names are part of the line, so it bounds what they occupy.
        held.grow(line.len() as u64)?;
        if !std::mem::replace(&mut self.has_first, true) {
            return self.take_first(line, held);
        }
        match line.strip_prefix(b"shallow ") {
            Some(hex) => {
                held.grow(2 * size_of::<ObjectId>() as u64)?;
                let id = parse_id(hex, self.format(), PLACE, line)?;
                self.listing.shallow.push(id);
                Ok(())
            }
            None => self.take_ref(line, held),
        }
    }

    /// What all lines said.
    pub(in crate::protocol) fn finish(mut self) -> Listing {
        let features = &self.listing.features;
        self.listing.capabilities.fetch = Some(FetchCapability {
            filter: features.filter,
            shallow: features.shallow,
            ..FetchCapability::default()
        });
        for item in &mut self.listing.refs {
            item.symref_target = self.symrefs.remove(&item.name);
        }
        // A HEAD that no line told of points to a branch without a commit.
        if let Some(target) = self.symrefs.remove(b"HEAD".as_slice()) {
            let name = BString::from("HEAD");
            let unborn = Ref { name, target: None, peeled: None, symref_target: Some(target) };
            self.listing.refs.insert(0, unborn);
        }
        self.listing
    }

    fn format(&self) -> ObjectFormat {
        self.listing.capabilities.object_format
    }

    /// The first line, which carries the capabilities, or not.
    fn take_first(&mut self, line: &[u8], held: &mut Reservation) -> Result<(), ProtocolError> {
        let nul = memchr::memchr(0, line).unwrap_or(line.len());
        let (first, words) = line.split_at(nul);
        let words = words.split(|&byte| byte == b' ' || byte == 0);
        for word in words.filter(|word| !word.is_empty()) {
            held.grow(2 * size_of::<BString>() as u64)?;
            self.take_capability(word)?;
        }
        let (id, name) = split_ref(first, self.format())?;
        if name == NO_REF && id.is_null() {
            return Ok(());
        }
        self.take_ref(first, held)
    }

    fn take_capability(&mut self, word: &[u8]) -> Result<(), ProtocolError> {
        if self.listing.features.take(word) {
            return Ok(());
        }
        if let Some(symref) = word.strip_prefix(b"symref=") {
            let colon = memchr::memchr(b':', symref).unwrap_or(symref.len());
            let (name, target) = symref.split_at(colon);
            if let Some(target) = target.get(1..).filter(|target| is_sound(target)) {
                self.symrefs.insert(name.into(), target.into());
            }
            return Ok(());
        }
        // The words with a value are those of version 2; its commands are not spoken of.
        let is_known = [&b"agent="[..], b"object-format=", b"session-id="];
        if is_known.iter().any(|name| word.starts_with(name)) {
            self.listing.capabilities.take(word)?;
        } else {
            self.listing.capabilities.unknown.push(word.into());
        }
        Ok(())
    }

    fn take_ref(&mut self, line: &[u8], held: &mut Reservation) -> Result<(), ProtocolError> {
        let (id, name) = split_ref(line, self.format())?;
        if let Some(name) = name.strip_suffix(PEELED) {
            let tag = self.listing.refs.last_mut().filter(|tag| tag.name == name);
            tag.ok_or_else(|| ProtocolError::bad_line(PLACE, line))?.peeled = Some(id);
            return Ok(());
        }
        let name = name.into();
        let item = Ref { name, target: Some(id), peeled: None, symref_target: None };
        let refs = &mut self.listing.refs;
        if refs.len() == refs.capacity() {
            let more = refs.capacity().max(FIRST_REFS);
            // While the list moves there are two; the old one is given back after.
            let bytes_of = |refs: usize| (refs as u64).saturating_mul(size_of::<Ref>() as u64);
            let settled = held.bytes().saturating_add(bytes_of(more));
            held.grow(bytes_of(refs.capacity()).saturating_add(bytes_of(more)))?;
            refs.reserve_exact(more);
            held.resize(settled)?;
        }
        refs.push(item);
        Ok(())
    }
}

/// `<id> <name>`.
fn split_ref(line: &[u8], format: ObjectFormat) -> Result<(ObjectId, &[u8]), ProtocolError> {
    let bad = || ProtocolError::bad_line(PLACE, line);
    let space = memchr::memchr(b' ', line).ok_or_else(bad)?;
    let (hex, name) = line.split_at(space);
    let id = parse_id(hex, format, PLACE, line)?;
    let name = name.get(1..).filter(|name| is_sound(name) && !name.contains(&b' '));
    Ok((id, name.ok_or_else(bad)?))
}

#[cfg(test)]
mod tests;
