//! From a staging into the store, in one step under the store's lock.

use bytes::Bytes;

use super::super::inner::Inner;
use super::super::kept::Kept;
use super::super::packed::Handle;
use super::super::raw_cache::Owner;
use super::super::segments::Place;
use super::super::{Committed, Staging, StoreError};
use super::{Base, Entry, Form, MemoryStaging, is_left_out};
use crate::limits::{LimitExceeded, Which};
use crate::object::Kind;
use crate::oid::ObjectId;

impl Staging for MemoryStaging {
    fn commit(mut self) -> Result<Committed, StoreError> {
        if let Some(id) = self.baseless {
            return Err(StoreError::Corrupt { id, what: "its delta base is missing" });
        }
        let count = self.objects.len();
        let _scratch_paid = self.store.budget().reserve((count * SCRATCH_BYTES) as u64)?;
        let live = self.drop_duplicates();
        let ids_paid = self.store.budget().reserve((count * size_of::<ObjectId>()) as u64)?;
        let mut ids: Vec<ObjectId> =
            (0..count as u32).map(|index| self.objects.id(index)).collect();
        let writer = std::mem::take(&mut self.writer);
        let segments: Vec<Bytes> =
            if live.is_empty() { Vec::new() } else { writer.freeze().collect() };

        let mut guard = self.store.lock();
        let inner = &mut *guard;
        if !inner.packed.has_room_for(segments.len()) {
            let (allowed, seen) = (u64::from(u32::MAX), u64::from(u32::MAX) + 1);
            return Err(LimitExceeded { which: Which::PackObjects, allowed, seen }.into());
        }
        inner.make_room(self.store.budget(), live.len())?;
        // From here on nothing fails.
        inner.raw.arena.freeze(self.number);
        let segments = inner.packed.adopt(segments.into_iter());
        let (new_objects, bytes) = self.show(inner, &ids, &live, &segments);
        ids.retain(|id| !self.has_left_out || inner.entries.find(id).is_some());
        drop(guard);
        let kept = Kept::new(&self.store, segments.into_iter().flatten().collect());
        Ok(Committed { ids, new_objects, bytes, kept, _paid: ids_paid })
    }
}

impl MemoryStaging {
    /// Makes objects entries of the store, those that are `live` new ones or such as come
    /// again; how many these are, and their packed bytes.
    ///
    /// What the store had when duplicates were dropped may be evicted by now. Neither it nor
    /// what is a delta of it is shown then: it is as if it had gone a moment later.
    fn show(
        &self,
        inner: &mut Inner,
        ids: &[ObjectId],
        live: &[u32],
        segments: &[Option<Handle>],
    ) -> (u64, u64) {
        let (mut new_objects, mut bytes) = (0, 0);
        // Where each object is in the store.
        let mut handles: Vec<Option<u32>> = Vec::with_capacity(ids.len());
        let mut live = live.iter().copied().peekable();
        for (index, id) in (0_u32..).zip(ids) {
            let is_live = live.next_if_eq(&index).is_some();
            let Some(&staged) = self.objects.entry(index) else { break };
            let known = inner.entries.find_known(id);
            let handle = match known.filter(|&entry| inner.entries.is_held(entry)) {
                Some(held) => Some(held),
                None if !is_live => None,
                None => self.base_in(inner, index, &handles).and_then(|base| {
                    let moved = staged.moved(segments, base)?;
                    new_objects += 1;
                    bytes += moved.stream_bytes();
                    Some(inner.take_in(id, known, moved))
                }),
            };
            handles.push(handle);
            if let Some(handle) = handle {
                inner.adopt_copy(handle, &staged, self.owner(index));
            }
        }
        (new_objects, bytes)
    }

    /// Lets go of the streams of objects that the store already has; which are left, without
    /// those that were left out.
    fn drop_duplicates(&mut self) -> Vec<u32> {
        let mut live: Vec<(u32, Place)> = Vec::with_capacity(self.objects.len());
        let inner = self.store.lock();
        for index in 0..self.objects.len() as u32 {
            if let Some(&Entry { form: Form::Packed { place, .. }, .. }) = self.objects.entry(index)
                && !is_left_out(&place)
                && inner.entries.find(&self.objects.id(index)).is_none()
            {
                live.push((index, place));
            }
        }
        drop(inner);
        let mut places: Vec<Place> = live.iter().map(|&(_, place)| place).collect();
        self.writer.compact(&mut places, self.store.budget());
        for (&(index, _), &moved) in live.iter().zip(&places) {
            if let Some(Entry { form: Form::Packed { place, .. }, .. }) =
                self.objects.entry_mut(index)
            {
                *place = moved;
            }
        }
        live.into_iter().map(|(index, _)| index).collect()
    }

    /// The base that an object has once it is in the store: `None` when it has none there
    /// any more, `Some(None)` when it never had.
    fn base_in(&self, inner: &Inner, object: u32, handles: &[Option<u32>]) -> Option<Option<u32>> {
        match self.bases.get(object as usize).copied().flatten() {
            None => Some(None),
            Some(Base::Staged(base)) => handles.get(base as usize).copied().flatten().map(Some),
            Some(Base::Held(base)) => inner.entries.is_held(base).then_some(Some(base)),
        }
    }
}

impl Inner {
    /// Makes `entry` one of the store's, in place of `gone` if it was one before.
    fn take_in(&mut self, id: &ObjectId, gone: Option<u32>, entry: Entry) -> u32 {
        let index = match gone {
            Some(index) => {
                self.counters.returned_objects += 1;
                self.counters.returned_bytes += entry.stream_bytes();
                self.entries.restore(index, entry.form);
                index
            }
            None => self.entries.push(id, entry),
        };
        if let Form::Packed { place, .. } = entry.form {
            self.packed.add(index, &place, entry.kind == Kind::Blob);
        }
        index
    }

    /// Makes a staged object's raw copy that of the entry it became, which may have one.
    fn adopt_copy(&mut self, handle: u32, staged: &Entry, from: Owner) {
        let Self { entries, raw, .. } = self;
        let Some(entry) = entries.entry_mut(handle) else { return };
        let to = Owner::entry(handle);
        let packed = matches!(entry.form, Form::Packed { .. });
        let lacks_one = packed && !raw.has(entry.kind, entry.raw, to);
        if lacks_one && raw.hand_over(staged.kind, staged.raw, from, to) {
            entry.raw = staged.raw;
        }
    }
}

impl Entry {
    fn stream_bytes(&self) -> u64 {
        match self.form {
            Form::Packed { place, .. } => u64::from(place.len),
            Form::Pinned(_) | Form::Gone => 0,
        }
    }

    /// The same where its segment went, with the store's number of its base.
    fn moved(mut self, segments: &[Option<Handle>], new_base: Option<u32>) -> Option<Self> {
        self.raw = Default::default();
        if let Form::Packed { place, base, .. } = &mut self.form {
            place.segment = segments.get(place.segment as usize).copied().flatten()?.slot();
            *base = new_base;
        }
        Some(self)
    }
}

/// What a commit needs for each object while it runs: its handle, and twice its place.
const SCRATCH_BYTES: usize =
    size_of::<u32>() + size_of::<Option<u32>>() + size_of::<(u32, Place)>() + size_of::<Place>();
