//! Writing: the head, and all objects of a store as a pack.
//!
//! Packed entries are copied as they came, a delta against the offset of its base, which is
//! written before it. Nothing packed is evicted from the store meanwhile.

use std::num::NonZeroU64;

use bytes::Bytes;

use super::{
    CHECKSUM_LEN, FIXED_LEN, MAGIC, MAX_STATE_BYTES, SavedError, SavedState, VERSION, checksum,
    number_of,
};
use crate::limits::{LimitExceeded, Reservation, Which};
use crate::object::Kind;
use crate::oid::ObjectFormat;
use crate::pack::entry::{EntryForm, EntryHeader};
use crate::pack::write::PackWriter;
use crate::store::entries::{Entry, Form};
use crate::store::inner::Inner;
use crate::store::memory::MemoryStore;
use crate::store::{Objects as _, StoreError};

/// Hands out what a store holds, a chunk at a time.
///
/// Memory: eight bytes for each object, and one chunk, both paid for by the store's budget.
///
/// ```
/// use gitsip::limits::{Inline, NeverInterrupt};
/// use gitsip::object::Kind;
/// use gitsip::store::saved::{Loading, SavedState, Saving};
/// use gitsip::store::{MemoryStore, Objects};
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let limits = Limits::default();
/// let empty = || MemoryStore::new(ObjectFormat::Sha1, &Budget::new(64 << 20), &limits);
/// let store = empty();
/// let id = store.insert(Kind::Blob, b"hello\n")?;
///
/// let other = empty();
/// let mut loading = Loading::new(&other, &limits);
/// let mut saving = Saving::new(&store, &SavedState::default())?;
/// while let Some(chunk) = saving.next_chunk()? {
///     loading.push(&chunk, &NeverInterrupt)?;
/// }
/// assert_eq!(loading.finish(&Inline, &NeverInterrupt)?.objects, 1);
/// assert!(other.contains(&id)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Saving {
    store: MemoryStore,
    /// Until it was handed out.
    head: Option<Vec<u8>>,
    /// Until its trailer was handed out.
    writer: Option<PackWriter>,
    objects: u32,
    /// Where the entries begin that were written, by their numbers in the store.
    offsets: Vec<Option<NonZeroU64>>,
    /// The entry that comes next in the store's order.
    at: u32,
    _held: HeldStill,
    _offsets_paid: Reservation,
    chunk_paid: Reservation,
}

impl Saving {
    /// Saves what `store` holds now, and `state` with it. Objects that come later are not
    /// saved.
    ///
    /// # Errors
    /// [`SavedError::Limit`] when memory is spent, [`SavedError::Malformed`] for a state of
    /// more than 1 MiB without its refs.
    pub fn new(store: &MemoryStore, state: &SavedState) -> Result<Self, SavedError> {
        let head = head(store.format(), state)?;
        let held = HeldStill::new(store);
        let (len, objects) = {
            let entries = &store.lock().entries;
            (entries.len(), entries.held())
        };
        let objects = u32::try_from(objects).map_err(|_| LimitExceeded {
            which: Which::PackObjects,
            allowed: u64::from(u32::MAX),
            seen: objects as u64,
        })?;
        let offsets_paid = store.budget().reserve(len as u64 * size_of::<u64>() as u64)?;
        Ok(Self {
            store: store.clone(),
            head: Some(head),
            writer: Some(PackWriter::new(store.format(), objects)),
            objects,
            offsets: vec![None; len],
            at: 0,
            _held: held,
            _offsets_paid: offsets_paid,
            chunk_paid: store.budget().empty(),
        })
    }

    /// How many objects are saved.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// The next bytes of the file; `None` after the last. Paid for until the next call.
    ///
    /// # Errors
    /// [`SavedError::Limit`] when memory is spent; [`SavedError::Store`] for an object that
    /// cannot be read.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, SavedError> {
        self.chunk_paid = self.store.budget().empty();
        if let Some(head) = self.head.take() {
            return Ok(Some(head));
        }
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        let begin = writer.offset();
        while (self.at as usize) < self.offsets.len() {
            self.write_next(&mut writer)?;
            if writer.offset().saturating_sub(begin) >= CHUNK_BYTES {
                let chunk = writer.take();
                self.writer = Some(writer);
                return Ok(Some(chunk));
            }
        }
        Ok(Some(writer.finish().map_err(StoreError::from)?))
    }

    /// Writes the next entry, unless it was written before or is gone, and what it is a
    /// delta of before it.
    fn write_next(&mut self, writer: &mut PackWriter) -> Result<(), SavedError> {
        let mut next = Some(self.at);
        let mut unwritten = Vec::new();
        while let Some(entry) = next.filter(|&entry| self.offset(entry).is_none()) {
            // Let go of at once: who pays may have to evict.
            let Some(held) = self.store.lock().held_as(entry) else { break };
            next = held.base();
            unwritten.push(entry);
        }
        while let Some(entry) = unwritten.pop() {
            self.write(entry, writer)?;
        }
        self.at += 1;
        Ok(())
    }

    fn write(&mut self, entry: u32, writer: &mut PackWriter) -> Result<(), SavedError> {
        let held = self.store.lock().held_as(entry);
        let offset = match held.ok_or_else(gone)? {
            HeldAs::Raw { kind, bytes } => {
                self.pay(bytes.len() + bytes.len() / 8)?;
                writer.whole(kind, &bytes)
            }
            HeldAs::Packed { kind, base, inflated_size, stream } => {
                let form = match base {
                    None => EntryForm::Whole(kind),
                    Some(base) => {
                        let base = self.offset(base).ok_or_else(gone)?;
                        let distance = writer.offset().saturating_sub(base.get());
                        EntryForm::OfsDelta { distance }
                    }
                };
                self.pay(stream.len())?;
                writer.packed(EntryHeader { form, inflated_size }, &stream)
            }
        };
        if let Some(slot) = self.offsets.get_mut(entry as usize) {
            *slot = NonZeroU64::new(offset);
        }
        Ok(())
    }

    fn offset(&self, entry: u32) -> Option<NonZeroU64> {
        self.offsets.get(entry as usize).copied().flatten()
    }

    fn pay(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.chunk_paid.grow(bytes as u64 + MAX_HEADER_BYTES)
    }
}

/// An object, in the form in which a store holds it.
enum HeldAs {
    Raw { kind: Kind, bytes: Bytes },
    Packed { kind: Kind, base: Option<u32>, inflated_size: u64, stream: Bytes },
}

impl HeldAs {
    fn base(&self) -> Option<u32> {
        match self {
            Self::Raw { .. } => None,
            Self::Packed { base, .. } => *base,
        }
    }
}

impl Inner {
    /// `None` for what is gone.
    fn held_as(&self, entry: u32) -> Option<HeldAs> {
        let &Entry { kind, form, .. } = self.entries.entry(entry)?;
        match form {
            Form::Pinned(at) => {
                Some(HeldAs::Raw { kind, bytes: self.pinned.get(at as usize)?.clone() })
            }
            Form::Packed { place, inflated_size, base } => {
                let stream = self.packed.stream(&place);
                Some(HeldAs::Packed { kind, base, inflated_size, stream })
            }
            Form::Gone => None,
        }
    }
}

/// While it lives nothing packed is evicted.
#[derive(Debug)]
struct HeldStill(MemoryStore);

impl HeldStill {
    fn new(store: &MemoryStore) -> Self {
        store.lock().savings += 1;
        Self(store.clone())
    }
}

impl Drop for HeldStill {
    fn drop(&mut self) {
        self.0.lock().savings -= 1;
    }
}

/// The head of a file, up to its pack.
fn head(format: ObjectFormat, state: &SavedState) -> Result<Vec<u8>, SavedError> {
    let state = state.encode();
    if state.len() > MAX_STATE_BYTES {
        return Err(SavedError::Malformed("address and commits take more than 1 MiB"));
    }
    let mut head = Vec::with_capacity(FIXED_LEN + CHECKSUM_LEN + state.len());
    head.extend_from_slice(MAGIC);
    head.extend(VERSION.to_be_bytes());
    head.extend(number_of(format).to_be_bytes());
    head.extend((state.len() as u32).to_be_bytes());
    let sum = checksum(&head, &state)?;
    head.extend_from_slice(&sum);
    head.extend_from_slice(&state);
    Ok(head)
}

fn gone() -> SavedError {
    SavedError::Malformed("the store no longer has an object that it had")
}

/// A chunk ends with the first entry behind so many bytes.
const CHUNK_BYTES: u64 = 64 << 10;
/// More than an entry's header and the pack's header or trailer take.
const MAX_HEADER_BYTES: u64 = 64 + EntryHeader::MAX_LEN as u64;
