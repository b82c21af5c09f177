//! What a memory store holds behind its lock: tables, packed streams and raw copies, and in
//! which order they go when memory is short.
//!
//! Raw copies of blobs go first, for they cost an inflate to have again. Packed blobs cost a
//! request, and go only where someone can [send them again](Inner::can_fetch_again). Raw
//! copies of commits and trees go last. Packed commits and trees stay.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashSet;

use super::entries::{Entries, Entry, Form};
use super::file_table::{CachedLayout, FileTable, Layout, Located};
use super::packed::{Handle, PackedSegments};
use super::raw_cache::{Owner, RawCache};
use super::room;
use super::unpack::{Chain, Link};
use crate::limits::{Budget, LimitExceeded, Limits, Which, check};
use crate::oid::{ObjectFormat, ObjectId};

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) entries: Entries,
    pub(super) packed: PackedSegments,
    pub(super) raw: RawCache,
    /// What was inserted raw.
    pub(super) pinned: Vec<Bytes>,
    pub(super) pinned_bytes: u64,
    pub(super) stagings: u32,
    /// Whether blobs can be had again by their ids.
    pub(super) can_fetch_again: bool,
    /// How many write down what is held: nothing packed goes meanwhile.
    pub(super) savings: u32,
    pub(super) counters: Counters,
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) raw_hits: u64,
    pub(super) inflates: u64,
    pub(super) evicted_objects: u64,
    pub(super) evicted_bytes: u64,
    pub(super) returned_objects: u64,
    pub(super) returned_bytes: u64,
}

/// What is kept while it is collected.
#[derive(Debug, Default)]
pub(super) struct KeptEntries {
    entries: HashSet<u32>,
    slots: HashSet<u32>,
    pub(super) handles: Vec<Handle>,
}

impl Inner {
    pub(super) fn new(format: ObjectFormat) -> Self {
        Self {
            entries: Entries::new(format),
            packed: PackedSegments::default(),
            raw: RawCache::new(),
            pinned: Vec::new(),
            pinned_bytes: 0,
            stagings: 0,
            can_fetch_again: false,
            savings: 0,
            counters: Counters::default(),
        }
    }

    /// Pays for table room for `more` entries, if need be by evicting.
    pub(super) fn make_room(&mut self, budget: &Budget, more: usize) -> Result<(), LimitExceeded> {
        if let Some(growth) = self.entries.growth(more)? {
            let paid = room::reserve(budget, growth.bytes, &mut |bytes| self.evict(bytes))?;
            self.entries.grow(growth, paid);
        }
        Ok(())
    }

    /// Lets go of about `bytes`; whether anything went. What can be made again from memory
    /// goes before what would have to be fetched again, and what every question reads last.
    pub(super) fn evict(&mut self, bytes: u64) -> bool {
        self.raw.evict_blobs(bytes) || self.evict_packed(bytes) || self.raw.evict_others(bytes)
    }

    fn evict_packed(&mut self, bytes: u64) -> bool {
        if !self.can_fetch_again || self.savings > 0 {
            return false;
        }
        let mut freed = 0;
        while freed < bytes.max(1) {
            let Some((segment, mut losing)) = self.packed.pick() else { break };
            // Who is gone, or came again elsewhere, is not in this segment any more.
            losing.retain(|&entry| self.segment_of(entry) == Some(segment));
            while let Some(entry) = losing.pop() {
                freed += self.lose(entry, &mut losing);
            }
        }
        freed > 0
    }

    fn segment_of(&self, entry: u32) -> Option<u32> {
        match self.entries.entry(entry)?.form {
            Form::Packed { place, .. } => Some(place.segment),
            Form::Pinned(_) | Form::Gone => None,
        }
    }

    /// Lets go of an entry, and adds its deltas to those that are `losing`; what it freed.
    fn lose(&mut self, entry: u32, losing: &mut Vec<u32>) -> u64 {
        let Some(lost) = self.entries.lose(entry, losing) else { return 0 };
        self.raw.remove(lost.kind, lost.raw, Owner::entry(entry));
        let Form::Packed { place, .. } = lost.form else { return 0 };
        self.counters.evicted_objects += 1;
        self.counters.evicted_bytes += u64::from(place.len);
        self.packed.let_go(&place)
    }

    /// Keeps an object and what it is a delta of: their segments, each once.
    pub(super) fn keep(&mut self, id: &ObjectId, kept: &mut KeptEntries) {
        let mut next = self.entries.find(id);
        while let Some(entry) = next.take() {
            if kept.entries.insert(entry)
                && let Some(&Entry { form: Form::Packed { place, base, .. }, .. }) =
                    self.entries.entry(entry)
            {
                if kept.slots.insert(place.segment) {
                    kept.handles.extend(self.packed.keep(&place));
                }
                next = base;
            }
        }
    }

    /// The raw bytes of an entry, if there is a copy.
    pub(super) fn warm(&mut self, index: u32, entry: &Entry, budget: &Budget) -> Option<Bytes> {
        match entry.form {
            Form::Pinned(at) => self.pinned.get(at as usize).cloned(),
            Form::Packed { .. } => self.raw.hit(entry.kind, entry.raw, Owner::entry(index), budget),
            Form::Gone => None,
        }
    }

    /// The streams from an entry down to the first that is whole or has a raw copy, and
    /// whose they are.
    pub(super) fn chain(
        &mut self,
        index: u32,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<(Vec<u32>, Chain), LimitExceeded> {
        let (mut entries, mut chain) = (Vec::new(), Chain::default());
        let mut next = Some(index);
        while let Some(index) = next.take() {
            let Some(&entry) = self.entries.entry(index) else { break };
            if let Some(bytes) = self.warm(index, &entry, budget) {
                chain.base = Some(bytes);
            } else if let Form::Packed { place, inflated_size, base } = entry.form {
                let stream = self.packed.stream(&place);
                self.packed.touch(&place);
                entries.push(index);
                chain.links.push(Link { stream, inflated_size, size: Some(entry.size) });
                let depth = chain.links.len() as u64 - 1;
                check(Which::DeltaDepth, u64::from(limits.max_delta_depth), depth)?;
                next = base;
            }
        }
        Ok((entries, chain))
    }

    /// Keeps `bytes`, which are paid for already, as the raw copy of an entry: text in the
    /// arena if memory is free, anything else and the rest as they are.
    pub(super) fn keep_copy(&mut self, budget: &Budget, index: u32, bytes: &Bytes) {
        let Self { entries, raw, .. } = self;
        let Some(entry) = entries.entry_mut(index) else { return };
        let (kind, owner) = (entry.kind, Owner::entry(index));
        if raw.has(kind, entry.raw, owner) {
            return;
        }
        if let Some(slot) = raw.insert_text(kind, owner, bytes, budget) {
            entry.raw = slot;
            return;
        }
        if !room::fits_as_copy(budget, bytes.len() as u64) {
            return;
        }
        if let Some(slot) = raw.insert(kind, owner, bytes.clone()) {
            entry.raw = slot;
        }
        while room::over_share(budget, 0) && raw.make_room_for(kind, 1) {}
    }

    /// Where the blobs of `table` stand now; `None` when memory is short.
    pub(super) fn layout(&mut self, table: &FileTable, budget: &Budget) -> Option<Arc<Layout>> {
        let Self { entries, raw, .. } = self;
        raw.arena.freeze(Owner::STORE);
        raw.arena.begin_search();
        let changes = raw.arena.changes();
        if let Some(cached) = raw.tables.layout(table)?
            && cached.changes == changes
        {
            raw.arena.touch(&cached.numbers);
            return Some(Arc::clone(&cached.layout));
        }
        let (mut numbers, mut segments) = (Vec::new(), Vec::new());
        let mut place_of = |file| {
            let entry = entries.find(&table.id(file)?)?;
            let mut place = raw.place(entries.entry(entry)?.raw, Owner::entry(entry))?;
            let known = numbers.iter().rposition(|&number| number == place.segment);
            let segment = match known {
                Some(known) => known,
                None => {
                    segments.push(raw.arena.share(place.segment)?);
                    numbers.push(place.segment);
                    numbers.len() - 1
                }
            };
            place.segment = u32::try_from(segment).ok()?;
            Some(Located { segment: place.segment, start: place.start, len: place.len })
        };
        let places: Vec<Option<Located>> = (0..table.len()).map(&mut place_of).collect();
        let layout = Arc::new(Layout::new(&places, segments, budget).ok()?);
        let cached = CachedLayout { layout: Arc::clone(&layout), changes, numbers };
        *raw.tables.layout(table)? = Some(cached);
        Some(layout)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
