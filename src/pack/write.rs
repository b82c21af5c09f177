//! Writing packs: header, entries, trailer.
//!
//! Follows `gitformat-pack`. The writer encodes what it is told in the order it is told
//! and hands out bytes as they accumulate; choosing deltas and order is its caller's
//! business. It does no I/O.

use super::entry::{EntryForm, EntryHeader};
use super::inflate::deflate;
use crate::object::Kind;
use crate::oid::{Collision, Hasher, ObjectFormat, ObjectId};

/// Writes one pack into memory, a piece at a time.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::object::Kind;
/// use gitsip::pack::{delta, write::PackWriter};
///
/// let mut writer = PackWriter::new(ObjectFormat::Sha1, 2);
/// let base = writer.whole(Kind::Blob, b"one\ntwo\nthree\n");
/// writer.ofs_delta(base, &delta::encode(b"one\ntwo\nthree\n", b"one\ntwo\nfour\n"));
/// let mut sent = writer.take();
/// sent.extend(writer.finish()?);
/// assert!(sent.starts_with(b"PACK"));
/// # Ok::<(), gitsip::oid::Collision>(())
/// ```
#[derive(Debug)]
pub struct PackWriter {
    out: Vec<u8>,
    /// Bytes handed out before `out`.
    taken: u64,
    hasher: Hasher,
    level: u8,
}

impl PackWriter {
    /// A pack, version 2, that announces `objects` entries. Streams are compressed at
    /// level 1 unless [`with_level`](Self::with_level) says otherwise.
    pub fn new(format: ObjectFormat, objects: u32) -> Self {
        let mut out = b"PACK\0\0\0\x02".to_vec();
        out.extend(objects.to_be_bytes());
        Self { out, taken: 0, hasher: Hasher::new(format), level: 1 }
    }

    /// Compresses at zlib's `level`, 0 to 9.
    #[must_use]
    pub fn with_level(mut self, level: u8) -> Self {
        self.level = level;
        self
    }

    /// Bytes from the start of the pack to where the next entry begins.
    pub fn offset(&self) -> u64 {
        self.taken + self.out.len() as u64
    }

    /// Writes a whole object; where its entry begins.
    pub fn whole(&mut self, kind: Kind, content: &[u8]) -> u64 {
        self.compressed(EntryForm::Whole(kind), content)
    }

    /// Writes a delta against the entry that begins at `base_offset`; where it begins
    /// itself. The base must come before it.
    pub fn ofs_delta(&mut self, base_offset: u64, delta: &[u8]) -> u64 {
        let distance = self.offset().saturating_sub(base_offset);
        self.compressed(EntryForm::OfsDelta { distance }, delta)
    }

    /// Writes a delta against the object `base`, wherever that is; where it begins.
    pub fn ref_delta(&mut self, base: ObjectId, delta: &[u8]) -> u64 {
        self.compressed(EntryForm::RefDelta { base }, delta)
    }

    /// Writes an entry whose zlib stream exists already, as when a packed entry is
    /// served as it is; where it begins.
    pub fn packed(&mut self, header: EntryHeader, stream: &[u8]) -> u64 {
        let offset = self.offset();
        header.encode(&mut self.out);
        self.out.extend_from_slice(stream);
        offset
    }

    /// Bytes that [`take`](Self::take) would give.
    pub fn pending(&self) -> usize {
        self.out.len()
    }

    /// What was written since the last call, to send on.
    pub fn take(&mut self) -> Vec<u8> {
        self.hasher.update(&self.out);
        self.taken += self.out.len() as u64;
        std::mem::take(&mut self.out)
    }

    /// What was not taken yet, and the trailer.
    ///
    /// Fails only when the pack itself carries a SHA-1 collision attack.
    pub fn finish(mut self) -> Result<Vec<u8>, Collision> {
        let mut rest = self.take();
        rest.extend_from_slice(self.hasher.finish()?.as_bytes());
        Ok(rest)
    }

    fn compressed(&mut self, form: EntryForm, content: &[u8]) -> u64 {
        let header = EntryHeader { form, inflated_size: content.len() as u64 };
        let stream = deflate(content, self.level);
        self.packed(header, &stream)
    }
}
