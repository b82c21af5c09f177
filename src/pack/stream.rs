//! The pack parser: bytes in, in any pieces; entries out, as they complete.
//!
//! Follows `gitformat-pack`, "pack-*.pack files have the following format". It checks
//! what one pass over the bytes can check: header, types, sizes, deflate streams and the
//! trailing checksum. It keeps one entry's content at a time and remembers nothing of
//! the others: which base a delta has, and whether there is one, is `ingest`'s business.

use super::PackError;
use super::entry::{EntryHeader, HeaderError};
use super::inflate::Inflater;
use crate::limits::{Budget, Limits, Which, check};
use crate::oid::{Hasher, ObjectFormat, ObjectId};

/// What a [`step`](PackParser::step) found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'i> {
    /// Nothing yet: the input is used up.
    NeedInput,
    /// The pack's header.
    Header {
        /// 2 or 3; they differ in nothing that is in use.
        version: u32,
        /// How many entries are announced. A claim: allocate nothing by it.
        objects: u32,
    },
    /// An entry begins.
    Entry {
        /// Where, from the start of the pack.
        offset: u64,
        /// Its header. The size is within the cap for objects, and still a claim.
        header: EntryHeader,
    },
    /// A piece of the entry's zlib stream, as it stands in the pack.
    Stream {
        /// The piece: a slice of the input, perhaps empty.
        bytes: &'i [u8],
        /// Whether the stream ends here, proven to hold what the header declared.
        /// [`inflated`](PackParser::inflated) then is the entry's content until the next
        /// step.
        complete: bool,
    },
    /// The trailer matched: the pack is complete.
    Finished {
        /// The pack's checksum.
        checksum: ObjectId,
    },
}

/// How far a [`step`](PackParser::step) went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'i> {
    /// Input bytes used: the next step wants the input after them.
    pub consumed: usize,
    /// What was found.
    pub event: Event<'i>,
}

/// A push parser for one pack.
///
/// Each [`step`](Self::step) takes what input there is, uses some of it, and says what it
/// found; after [`Event::NeedInput`] it wants more. One step inflates at most 64 KiB, so
/// the caller can look at a clock between steps. How the input is split changes only how
/// [`Event::Stream`] is split. After an error every further step returns the same error.
///
/// ```
/// use gitsip::object::Kind;
/// use gitsip::pack::stream::{Event, PackParser};
/// use gitsip::pack::write::PackWriter;
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let mut writer = PackWriter::new(ObjectFormat::Sha1, 1);
/// writer.whole(Kind::Blob, b"hello\n");
/// let pack = writer.finish()?;
///
/// let mut parser = PackParser::new(ObjectFormat::Sha1, &Limits::default(), &Budget::new(1 << 20));
/// let mut contents = Vec::new();
/// for chunk in pack.chunks(5) {
///     let mut rest = chunk;
///     loop {
///         let step = parser.step(rest)?;
///         rest = &rest[step.consumed..];
///         match step.event {
///             Event::NeedInput => break,
///             Event::Stream { complete: true, .. } => contents.push(parser.inflated().to_vec()),
///             _ => {}
///         }
///     }
/// }
/// parser.finish()?;
/// assert_eq!(contents, [b"hello\n"]);
/// # Ok::<(), gitsip::Error>(())
/// ```
pub struct PackParser {
    format: ObjectFormat,
    max_object_bytes: u64,
    max_pack_bytes: u64,
    max_pack_objects: u64,
    /// An error is kept and given again.
    state: Result<State, PackError>,
    /// Bytes used so far.
    offset: u64,
    objects: Option<u32>,
    completed: u32,
    /// Of the entry under way.
    entry_offset: u64,
    declared: u64,
    /// The beginning of a header or trailer that a piece of input cut.
    carry: [u8; EntryHeader::MAX_LEN],
    carry_len: usize,
    hasher: Option<Hasher>,
    inflater: Inflater,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    Entry,
    Stream,
    Trailer,
    Finished(ObjectId),
}

impl PackParser {
    /// A parser for a pack whose ids are of `format`. Caps come from `limits`; the buffer
    /// for contents is spent from `budget`.
    pub fn new(format: ObjectFormat, limits: &Limits, budget: &Budget) -> Self {
        Self {
            format,
            max_object_bytes: limits.max_object_bytes,
            max_pack_bytes: limits.max_pack_bytes,
            max_pack_objects: limits.max_pack_objects,
            state: Ok(State::Header),
            offset: 0,
            objects: None,
            completed: 0,
            entry_offset: 0,
            declared: 0,
            carry: [0; EntryHeader::MAX_LEN],
            carry_len: 0,
            hasher: Some(Hasher::new(format)),
            inflater: Inflater::new(budget),
        }
    }

    /// Leaves the checksum to the caller, who has the whole pack and another thread: what
    /// [`finish`](Self::finish) gives is then only what the trailer says. To be called
    /// before the first step.
    pub(super) fn leave_checksum(&mut self) {
        self.hasher = None;
    }

    /// Uses some of `input`.
    pub fn step<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, PackError> {
        let state = self.state?;
        let step = self.advance(state, input).and_then(|step| {
            check(Which::PackBytes, self.max_pack_bytes, self.offset)?;
            Ok(step)
        });
        if let Err(error) = step {
            self.state = Err(error);
        }
        step
    }

    /// Does not make the content of the entry that just began: its stream is only followed to
    /// its end, and its size checked. [`inflated`](Self::inflated) is empty then.
    pub(super) fn skip_content(&mut self) {
        self.inflater.begin_skipping(self.declared);
    }

    /// The content of the entry under way, as far as it has been inflated.
    pub fn inflated(&self) -> &[u8] {
        self.inflater.bytes()
    }

    /// Bytes of the pack used so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How many entries the header announces, once it was seen.
    pub fn objects(&self) -> Option<u32> {
        self.objects
    }

    /// How many entries are complete.
    pub fn completed(&self) -> u32 {
        self.completed
    }

    /// The pack's checksum, when the pack is complete; what is missing, when not.
    pub fn finish(&self) -> Result<ObjectId, PackError> {
        match self.state? {
            State::Finished(checksum) => Ok(checksum),
            _ => Err(PackError::Truncated {
                offset: self.offset,
                missing: u64::from(self.objects.unwrap_or(0).saturating_sub(self.completed)),
            }),
        }
    }

    fn advance<'i>(&mut self, state: State, input: &'i [u8]) -> Result<Step<'i>, PackError> {
        if input.is_empty() {
            return Ok(Step { consumed: 0, event: Event::NeedInput });
        }
        match state {
            State::Header => self.header(input),
            State::Entry => self.entry(input),
            State::Stream => self.stream(input),
            State::Trailer => self.trailer(input),
            State::Finished(_) => Err(PackError::TrailingBytes { offset: self.offset }),
        }
    }

    fn header<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, PackError> {
        let consumed = self.fill_carry(input, HEADER_LEN);
        self.use_up(&input[..consumed]);
        let seen = &self.carry[..self.carry_len];
        if seen.iter().zip(b"PACK").any(|(seen, magic)| seen != magic) {
            return Err(PackError::BadMagic);
        }
        let number = |at: usize| seen.get(at..)?.first_chunk().map(|raw| u32::from_be_bytes(*raw));
        if let Some(version) = number(4)
            && !(2..=3).contains(&version)
        {
            return Err(PackError::BadVersion(version));
        }
        let (Some(version), Some(objects)) = (number(4), number(8)) else {
            return Ok(Step { consumed, event: Event::NeedInput });
        };
        check(Which::PackObjects, self.max_pack_objects, u64::from(objects))?;
        self.objects = Some(objects);
        self.carry_len = 0;
        self.next_entry();
        Ok(Step { consumed, event: Event::Header { version, objects } })
    }

    fn entry<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, PackError> {
        let offset = self.entry_offset;
        let refused = |error| match error {
            HeaderError::BadKind(kind) => PackError::BadKind { offset, kind },
            HeaderError::BadVarint => PackError::BadVarint { offset },
        };
        let carried = self.carry_len;
        let decoded = if carried == 0 {
            EntryHeader::decode(input, self.format)
        } else {
            self.fill_carry(input, EntryHeader::MAX_LEN);
            EntryHeader::decode(&self.carry[..self.carry_len], self.format)
        };
        let Some((header, len)) = decoded.map_err(refused)? else {
            // The header goes on after the input, which is shorter than one.
            if carried == 0 {
                self.fill_carry(input, EntryHeader::MAX_LEN);
            }
            self.use_up(input);
            return Ok(Step { consumed: input.len(), event: Event::NeedInput });
        };
        check(Which::ObjectBytes, self.max_object_bytes, header.inflated_size)?;
        let consumed = len - carried;
        self.use_up(&input[..consumed]);
        self.carry_len = 0;
        self.declared = header.inflated_size;
        self.inflater.begin(header.inflated_size);
        self.state = Ok(State::Stream);
        Ok(Step { consumed, event: Event::Entry { offset, header } })
    }

    fn stream<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, PackError> {
        let (offset, declared) = (self.entry_offset, self.declared);
        let step = self
            .inflater
            .push(input)
            .map_err(|error| PackError::from_inflate(error, offset, declared))?;
        let bytes = &input[..step.consumed];
        self.use_up(bytes);
        if step.done {
            self.completed += 1;
            self.next_entry();
        }
        Ok(Step { consumed: step.consumed, event: Event::Stream { bytes, complete: step.done } })
    }

    fn trailer<'i>(&mut self, input: &'i [u8]) -> Result<Step<'i>, PackError> {
        let width = self.format.raw_len();
        let start = self.offset - self.carry_len as u64;
        let consumed = self.fill_carry(input, width);
        self.offset += consumed as u64;
        if self.carry_len < width {
            return Ok(Step { consumed, event: Event::NeedInput });
        }
        let expected =
            ObjectId::from_raw(&self.carry[..width]).unwrap_or(ObjectId::null(self.format));
        let actual = match self.hasher.take() {
            Some(hasher) => hasher
                .finish()
                .map_err(|collision| PackError::Collision { offset: start, collision })?,
            None => expected,
        };
        if expected != actual {
            return Err(PackError::Trailer { expected, actual });
        }
        self.state = Ok(State::Finished(actual));
        Ok(Step { consumed, event: Event::Finished { checksum: actual } })
    }

    fn next_entry(&mut self) {
        self.entry_offset = self.offset;
        self.state = Ok(match self.objects {
            Some(objects) if self.completed < objects => State::Entry,
            _ => State::Trailer,
        });
    }

    /// Copies input behind what is carried until `len` bytes are there; how many it took.
    fn fill_carry(&mut self, input: &[u8], len: usize) -> usize {
        let taken = input.len().min(len.saturating_sub(self.carry_len));
        self.carry[self.carry_len..self.carry_len + taken].copy_from_slice(&input[..taken]);
        self.carry_len += taken;
        taken
    }

    /// Counts and hashes bytes before the trailer.
    fn use_up(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
    }
}

impl std::fmt::Debug for PackParser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackParser")
            .field("state", &self.state)
            .field("offset", &self.offset)
            .field("objects", &self.objects)
            .field("completed", &self.completed)
            .finish_non_exhaustive()
    }
}

const HEADER_LEN: usize = 12;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
