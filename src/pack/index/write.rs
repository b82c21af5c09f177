//! Writing pack indexes (`.idx`, version 2) and reverse indexes (`.rev`).
//!
//! Follows `gitformat-pack`, "Version 2 pack-*.idx files" and "pack-*.rev files", byte for
//! byte as git writes them. Bytes go to a sink in pieces; there is no I/O here. Nothing is
//! checked but what would make the formats lie: rows come from a pack that was resolved.

use super::{LARGE, MAGIC};
use crate::limits::{Budget, LimitExceeded};
use crate::oid::{Hasher, ObjectFormat, ObjectId};
use crate::pack::table::Table;

/// The entries of a pack, numbered from 0 in the order of their offsets.
pub trait Rows {
    /// How many there are.
    fn len(&self) -> u32;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object's id.
    fn id(&self, entry: u32) -> ObjectId;

    /// Where the entry begins in the pack.
    fn offset(&self, entry: u32) -> u64;

    /// The CRC-32 of the entry's bytes, header and stream.
    fn crc32(&self, entry: u32) -> u32;
}

/// Writes the index and the reverse index of one pack.
pub struct IndexWriter<'a> {
    rows: &'a dyn Rows,
    format: ObjectFormat,
    pack_checksum: ObjectId,
    /// The first bytes of an id, and its entry, in the order of ids; the same object twice
    /// in the order of the pack.
    order: Table<(u64, u32)>,
    large_above: u64,
}

impl<'a> IndexWriter<'a> {
    /// A writer for the pack of `rows` whose trailer is `pack_checksum`. What it sorts in
    /// is spent from `budget`.
    pub fn new(
        rows: &'a dyn Rows,
        pack_checksum: ObjectId,
        budget: &Budget,
    ) -> Result<Self, LimitExceeded> {
        let mut order = Table::new(budget);
        for entry in 0..rows.len() {
            order.push((leading(&rows.id(entry)), entry))?;
        }
        order.sort_unstable_by(|&(first, a), &(second, b)| {
            first.cmp(&second).then_with(|| rows.id(a).cmp(&rows.id(b))).then(a.cmp(&b))
        });
        let format = pack_checksum.format();
        Ok(Self { rows, format, pack_checksum, order, large_above: LARGEST_SMALL })
    }

    /// Puts offsets above `offset` into the table of 64-bit offsets, as git does with
    /// `--index-version=2,OFFSET`: for tests of what else would take a pack of 2 GiB.
    #[must_use]
    pub fn with_large_offsets_above(self, offset: u64) -> Self {
        Self { large_above: offset.min(LARGEST_SMALL), ..self }
    }

    /// The entries in the order of the index.
    pub fn entries(&self) -> impl Iterator<Item = u32> {
        self.order.iter().map(|&(_, entry)| entry)
    }

    /// Gives the index to `sink`, in pieces.
    ///
    /// # Errors
    ///
    /// Those of the sink, which end it.
    pub fn index<E>(&self, sink: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut out = Out::new(self.format, sink);
        out.put(&MAGIC)?;
        out.put(&2_u32.to_be_bytes())?;
        let mut at = 0;
        for byte in 0..=255_u64 {
            at += self.order[at..].partition_point(|&(leading, _)| leading >> 56 <= byte);
            out.put(&(at as u32).to_be_bytes())?;
        }
        for entry in self.entries() {
            out.put(self.rows.id(entry).as_bytes())?;
        }
        for entry in self.entries() {
            out.put(&self.rows.crc32(entry).to_be_bytes())?;
        }
        let is_large = |&offset: &u64| offset > self.large_above;
        let offsets = || self.entries().map(|entry| self.rows.offset(entry));
        let mut large = 0_u32;
        for offset in offsets() {
            let word = if is_large(&offset) {
                large += 1;
                LARGE | (large - 1)
            } else {
                offset as u32
            };
            out.put(&word.to_be_bytes())?;
        }
        for offset in offsets().filter(is_large) {
            out.put(&offset.to_be_bytes())?;
        }
        out.finish(&self.pack_checksum)
    }

    /// Gives the reverse index to `sink`, in pieces: from an entry to its place in the
    /// order of ids. Memory for that order is spent from `budget`.
    ///
    /// # Errors
    ///
    /// A limit, or those of the sink.
    pub fn reverse_index<E: From<LimitExceeded>>(
        &self,
        budget: &Budget,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut places = Table::new(budget);
        for _ in self.order.iter() {
            places.push(0_u32)?;
        }
        for (place, &(_, entry)) in (0..).zip(self.order.iter()) {
            places[entry as usize] = place;
        }
        let mut out = Out::new(self.format, sink);
        out.put(b"RIDX")?;
        out.put(&1_u32.to_be_bytes())?;
        let hash: u32 = match self.format {
            ObjectFormat::Sha1 => 1,
            ObjectFormat::Sha256 => 2,
        };
        out.put(&hash.to_be_bytes())?;
        for place in places.iter() {
            out.put(&place.to_be_bytes())?;
        }
        out.finish(&self.pack_checksum)
    }
}

impl std::fmt::Debug for IndexWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexWriter")
            .field("objects", &self.order.len())
            .field("pack_checksum", &self.pack_checksum)
            .finish_non_exhaustive()
    }
}

/// Gathers small writes, and hashes them.
struct Out<'s, E> {
    piece: Vec<u8>,
    hasher: Hasher,
    sink: &'s mut dyn FnMut(&[u8]) -> Result<(), E>,
}

impl<'s, E> Out<'s, E> {
    fn new(format: ObjectFormat, sink: &'s mut dyn FnMut(&[u8]) -> Result<(), E>) -> Self {
        Self { piece: Vec::with_capacity(PIECE_BYTES), hasher: Hasher::new(format), sink }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), E> {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.flush()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), E> {
        self.hasher.update(&self.piece);
        (self.sink)(&self.piece)?;
        self.piece.clear();
        Ok(())
    }

    /// Adds the pack's checksum and the file's own.
    fn finish(mut self, pack_checksum: &ObjectId) -> Result<(), E> {
        self.put(pack_checksum.as_bytes())?;
        self.flush()?;
        // git, too, writes what an attack would have to be aimed at here.
        let own = self.hasher.finish().unwrap_or_else(|collision| collision.id);
        (self.sink)(own.as_bytes())
    }
}

fn leading(id: &ObjectId) -> u64 {
    id.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// An offset in the table of 32-bit offsets has 31 bits.
const LARGEST_SMALL: u64 = (1 << 31) - 1;
const PIECE_BYTES: usize = 64 << 10;
