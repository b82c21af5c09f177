//! Where the entries of a pack wait until the pack is proven.
//!
//! A staging is private to whoever fills it; the store shows nothing of it before
//! [`commit`](Staging::commit) and is unchanged when it is dropped. The first entry
//! resolved to an id is that object; later ones, and those that the store already has,
//! are dropped with their streams. A delta's base was always resolved before it or is
//! in the store, and a winner's base is looked up by what its link was resolved to, so
//! that links point backwards in one order and no cycle can be.

mod commit;

use std::sync::Arc;

use bytes::Bytes;

use super::entries::{Entries, Entry, Form};
use super::inner::Inner;
use super::memory::MemoryStore;
use super::raw_cache::{Owner, paid_bytes, raw_copy};
use super::recent::Recent;
use super::segments::{Place, SegmentWriter};
use super::{Objects as _, room};
use crate::limits::{Budget, LimitExceeded, Reservation};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::{BaseLink, EntryStore, ResolvedEntry, Streams};

/// Entries on their way into a [`MemoryStore`].
#[derive(Debug)]
pub struct MemoryStaging {
    store: MemoryStore,
    /// Which of the store's stagings this is.
    number: u32,
    writer: SegmentWriter,
    /// Where each entry's stream is, by number in the pack. Shared with
    /// [`StagedStreams`] while those are lent.
    places: Arc<Vec<Place>>,
    /// Which of `objects` each entry turned out to be, beside `places`.
    found: Vec<Option<u32>>,
    arrived_paid: Option<Reservation>,
    /// In the order of resolution, each id once. Bases are in `bases`.
    objects: Entries,
    /// Beside `objects`; paid for with `places`, which are never fewer.
    bases: Vec<Option<Base>>,
    /// What came last and has no raw copy, while the pack arrives.
    recent: Recent,
    arriving: bool,
    /// An object whose delta base is neither here nor in the store.
    baseless: Option<ObjectId>,
    /// Some of `objects` have no stream and are not to be shown.
    has_left_out: bool,
}

/// The streams of a staging, for whoever resolves deltas.
#[derive(Debug, Default)]
pub struct StagedStreams {
    writer: SegmentWriter,
    places: Arc<Vec<Place>>,
}

impl Streams for StagedStreams {
    fn stream(&self, entry: u32, _offset: u64) -> &[u8] {
        self.places.get(entry as usize).map_or(&[], |place| self.writer.slice(place))
    }
}

#[derive(Clone, Copy, Debug)]
enum Base {
    /// One of `objects`.
    Staged(u32),
    /// An entry of the store, which may be gone by the time it counts.
    Held(u32),
}

impl MemoryStaging {
    pub(super) fn new(store: MemoryStore, number: u32) -> Self {
        let objects = Entries::new(store.format());
        Self {
            store,
            number,
            writer: SegmentWriter::default(),
            places: Arc::default(),
            found: Vec::new(),
            arrived_paid: None,
            objects,
            bases: Vec::new(),
            recent: Recent::default(),
            arriving: true,
            baseless: None,
            has_left_out: false,
        }
    }

    /// Objects resolved so far, each id once.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether nothing was resolved yet.
    pub fn is_empty(&self) -> bool {
        self.objects.len() == 0
    }

    fn resolve_base(&self, link: BaseLink) -> Option<Base> {
        match link {
            BaseLink::Entry(entry) => {
                self.found.get(entry as usize).copied().flatten().map(Base::Staged)
            }
            BaseLink::External(id) => {
                let held = self.store.lock().entries.find(&id).map(Base::Held);
                held.or_else(|| self.objects.find(&id).map(Base::Staged))
            }
        }
    }

    fn owner(&self, object: u32) -> Owner {
        Owner { staging: self.number, index: object }
    }

    /// Keeps a raw copy while memory allows: the base of deltas to come, and what makes
    /// the first search warm. What the store has a copy of needs no other.
    fn keep_copy(&mut self, object: u32, kind: Kind, content: &[u8]) {
        let (budget, owner) = (self.store.budget(), self.owner(object));
        let text = {
            let mut inner = self.store.lock();
            if inner.has_copy(&self.objects.id(object)) {
                return;
            }
            inner.raw.insert_text(kind, owner, content, budget)
        };
        let slot = text.or_else(|| {
            let mut evict = |bytes| self.store.lock().raw.make_room_for(kind, bytes);
            let paid = room::reserve_copy(budget, paid_bytes(content.len()), &mut evict)?;
            let copy = raw_copy(content, paid);
            self.store.lock().raw.insert(kind, owner, copy)
        });
        match (slot, self.objects.entry_mut(object)) {
            (Some(slot), Some(entry)) => entry.raw = slot,
            _ if self.arriving => self.recent.keep(object, content, budget),
            _ => {}
        }
    }

    /// Pays for one more entry in `places`, `found` and `bases`.
    fn reserve_arrival(&mut self) -> Result<(), LimitExceeded> {
        if self.found.len() < self.found.capacity() {
            return Ok(());
        }
        let capacity = self.found.len().saturating_mul(2).max(MIN_ARRIVALS);
        let per_entry = size_of::<Place>() + size_of::<Option<u32>>() + size_of::<Option<Base>>();
        let paid = self.store.budget().reserve((capacity * per_entry) as u64)?;
        self.found.reserve_exact(capacity - self.found.len());
        Arc::make_mut(&mut self.places).reserve_exact(capacity - self.found.len());
        self.bases.reserve_exact(capacity - self.bases.len());
        self.arrived_paid = Some(paid);
        Ok(())
    }
}

impl EntryStore for MemoryStaging {
    type Streams = StagedStreams;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.reserve_arrival()?;
        self.writer.begin();
        Ok(())
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.writer.append(stream, self.store.budget())
    }

    fn abandon(&mut self) {
        self.writer.abandon();
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        self.reserve_arrival()?;
        Arc::make_mut(&mut self.places).push(self.writer.end());
        self.found.push(None);
        Ok(())
    }

    fn lend_streams(&mut self) -> StagedStreams {
        self.arriving = false;
        let writer = std::mem::take(&mut self.writer);
        StagedStreams { writer, places: Arc::clone(&self.places) }
    }

    fn take_streams_back(&mut self, streams: StagedStreams) {
        self.arriving = true;
        self.writer = streams.writer;
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        let number = entry.entry as usize;
        let (Some(&place), Some(None)) = (self.places.get(number), self.found.get(number)) else {
            return Ok(());
        };
        let object = match self.objects.find(&entry.id) {
            Some(first) => first,
            None => {
                let base = entry.base.map(|link| self.resolve_base(link));
                if base.is_some_and(|base| base.is_none()) {
                    self.baseless.get_or_insert(entry.id);
                }
                if let Some(growth) = self.objects.growth(1)? {
                    let paid = self.store.budget().reserve(growth.bytes)?;
                    self.objects.grow(growth, paid);
                }
                let ResolvedEntry { kind, inflated_size, .. } = entry;
                self.has_left_out |= is_left_out(&place);
                let form = Form::Packed { place, inflated_size, base: None };
                let size = entry.content.len() as u64;
                let object = self
                    .objects
                    .push(&entry.id, Entry { kind, form, size, raw: Default::default() });
                self.bases.push(base.flatten());
                self.keep_copy(object, kind, entry.content);
                object
            }
        };
        if let Some(found) = self.found.get_mut(number) {
            *found = Some(object);
        }
        Ok(())
    }

    fn content(&self, entry: u32) -> Option<Bytes> {
        let object = self.found.get(entry as usize).copied()??;
        let Entry { kind, raw, .. } = *self.objects.entry(object)?;
        let (inner, budget) = (self.store.lock(), self.store.budget());
        let own = inner.raw.peek(kind, raw, self.owner(object), budget);
        own.or_else(|| self.recent.content(object))
            .or_else(|| inner.peek(&self.objects.id(object), budget))
    }

    fn external(&self, id: &ObjectId) -> Option<(Kind, Bytes)> {
        let object = self.store.read(id).ok()??;
        Some((object.kind, object.bytes))
    }
}

impl Drop for MemoryStaging {
    /// Lets go of the raw copies that the store did not adopt.
    fn drop(&mut self) {
        let mut inner = self.store.lock();
        for index in 0..self.objects.len() as u32 {
            if let Some(staged) = self.objects.entry(index) {
                inner.raw.remove(staged.kind, staged.raw, self.owner(index));
            }
        }
        inner.raw.arena.freeze(self.number);
    }
}

impl Inner {
    /// Whether the store has the raw bytes of an object.
    fn has_copy(&self, id: &ObjectId) -> bool {
        let held = self.entries.find(id).and_then(|at| Some((at, self.entries.entry(at)?)));
        held.is_some_and(|(at, entry)| {
            matches!(entry.form, Form::Pinned(_))
                || self.raw.has(entry.kind, entry.raw, Owner::entry(at))
        })
    }

    /// The copy that the store has of an object, for a look that is no read.
    fn peek(&self, id: &ObjectId, budget: &Budget) -> Option<Bytes> {
        let at = self.entries.find(id)?;
        let entry = self.entries.entry(at)?;
        self.raw.peek(entry.kind, entry.raw, Owner::entry(at), budget)
    }
}

/// Whether this is the place of an object that is not kept: no stream is so short.
fn is_left_out(place: &Place) -> bool {
    place.len == 0
}

const MIN_ARRIVALS: usize = 16;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
