//! Deltas whose bases are known only by id: a group for each id, found at most once.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::{List, NO_ENTRY, entry};
use crate::limits::{Budget, LimitExceeded};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::table::{IdIndex, RawIds, Table};

/// The groups of a pack, numbered from 0 in the order in which they were made.
pub(in crate::pack) struct Groups {
    rows: Table<Group>,
    ids: RawIds,
    by_id: IdIndex,
}

struct Group {
    children: List,
    /// An entry with the id was found, or an object outside the pack.
    found: AtomicBool,
    /// Which entry it was.
    found_in: AtomicU32,
    /// It was an object outside the pack.
    outside: AtomicBool,
}

impl Groups {
    pub(super) fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self {
            rows: Table::new(budget),
            ids: RawIds::new(format, budget),
            by_id: IdIndex::new(budget),
        }
    }

    /// The group that waits for `id`.
    pub(super) fn called(&mut self, id: &ObjectId) -> Result<u32, LimitExceeded> {
        if let Some(group) = self.by_id.find(&self.ids, id) {
            return Ok(group);
        }
        let group = self.len();
        self.rows.push(Group {
            children: List::empty(),
            found: AtomicBool::new(false),
            found_in: AtomicU32::new(NO_ENTRY),
            outside: AtomicBool::new(false),
        })?;
        self.ids.push(id)?;
        self.by_id.insert(&self.ids, group)?;
        Ok(group)
    }

    pub(super) fn children_mut(&mut self, group: u32) -> &mut u32 {
        self.rows[group as usize].children.0.get_mut()
    }

    /// How many there are.
    pub(in crate::pack) fn len(&self) -> u32 {
        self.rows.len() as u32
    }

    /// The id that a group waits or waited for.
    pub(in crate::pack) fn id(&self, group: u32) -> ObjectId {
        self.ids.at(group)
    }

    /// The same, unless it was found.
    pub(in crate::pack) fn waits_for(&self, group: u32) -> Option<ObjectId> {
        let found = self.rows[group as usize].found.load(Ordering::Relaxed);
        (!found).then(|| self.id(group))
    }

    /// The entry that was found to have a group's id.
    pub(super) fn found_in(&self, group: u32) -> Option<u32> {
        entry(self.rows[group as usize].found_in.load(Ordering::Relaxed))
    }

    /// Takes the deltas that wait for `id`, now that `made` has it, unless it was found
    /// elsewhere: the first of them.
    pub(super) fn take_found(&self, id: &ObjectId, made: u32) -> Option<u32> {
        if self.rows.is_empty() {
            return None;
        }
        let group = &self.rows[self.by_id.find(&self.ids, id)? as usize];
        if group.found.swap(true, Ordering::Relaxed) {
            return None;
        }
        group.found_in.store(made, Ordering::Relaxed);
        group.children.take()
    }

    /// Takes the deltas of a group whose base was found outside the pack, unless it was
    /// found elsewhere meanwhile.
    pub(in crate::pack) fn take_outside(&self, group: u32) -> Option<u32> {
        let group = &self.rows[group as usize];
        if group.found.swap(true, Ordering::Relaxed) {
            return None;
        }
        group.outside.store(true, Ordering::Relaxed);
        group.children.take()
    }

    /// The ids of the objects outside the pack that something was made from.
    pub(in crate::pack) fn outside(&self) -> impl Iterator<Item = ObjectId> {
        let outside = |&group: &u32| self.rows[group as usize].outside.load(Ordering::Relaxed);
        (0..self.len()).filter(outside).map(|group| self.id(group))
    }
}
