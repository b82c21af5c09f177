//! The delta tree: which entry waits for which, in a few bytes an entry.
//!
//! What is still to be made hangs below its base, in linked lists of entry numbers; what
//! is made does not, so that going down never walks over it. A delta whose base is
//! known only by id waits in a group of its own until an entry turns out to have that
//! id, whether that entry comes before or after it. The tree holds no object bytes and
//! decides nothing about order of work; that is `resolve`'s.
//!
//! It has two lives, in turn. While a pack arrives one thread changes it as it likes. While
//! what waits is resolved many share it: its lists are only taken, each by one thread, and
//! each entry is written to by the one that makes it, so that there is no lock. Who reads
//! what another thread wrote got it handed over by a queue or waited for that thread, which
//! is what makes `Relaxed` enough everywhere.

mod groups;
mod left_out;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use self::groups::Groups;
use super::PackError;
use super::rules::Standing;
use super::table::{IdIndex, RawIds, Table};
use crate::limits::{Budget, LimitExceeded};
use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};

/// What an entry was made against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Nothing: it is whole.
    None,
    /// An entry of the pack.
    Entry(u32),
    /// The group of deltas that wait for one id.
    Waiting(u32),
}

/// What is known of an entry.
pub(super) struct Record {
    /// Where it begins in the pack.
    pub(super) offset: u64,
    /// Bytes its stream inflates to.
    pub(super) inflated_size: u64,
    /// Resolved bytes from the chain's root to here, once resolved.
    chain_bytes: AtomicU64,
    base: Base,
    children: List,
    /// The next one that hangs below the same base.
    next_sibling: u32,
    /// Deltas between the chain's root and here, once resolved.
    depth: AtomicU32,
    kind: AtomicKind,
    /// Resolved before, but to be gone down from: it hangs below its base or is a root.
    rebuild: AtomicBool,
}

impl Record {
    /// The object's kind, once resolved.
    pub(super) fn kind(&self) -> Option<Kind> {
        self.kind.load()
    }

    /// Deltas between the chain's root and here, once resolved.
    pub(super) fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// Where it stands in its chain, once resolved.
    pub(super) fn standing(&self) -> Standing {
        Standing { depth: self.depth(), chain_bytes: self.chain_bytes.load(Ordering::Relaxed) }
    }
}

/// The first of the entries that share a base; the others follow as its siblings. Taken
/// at most once.
struct List(AtomicU32);

impl List {
    const fn empty() -> Self {
        Self(AtomicU32::new(NO_ENTRY))
    }

    fn take(&self) -> Option<u32> {
        entry(self.0.swap(NO_ENTRY, Ordering::Relaxed))
    }
}

struct AtomicKind(AtomicU8);

impl AtomicKind {
    /// What a kind is noted as, counted from 1. A blob may also be one that is
    /// [left out](left_out).
    const KINDS: [Kind; 6] =
        [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag, Kind::Blob, Kind::Blob];

    const fn unknown() -> Self {
        Self(AtomicU8::new(0))
    }

    fn load(&self) -> Option<Kind> {
        let number = usize::from(self.0.load(Ordering::Relaxed));
        number.checked_sub(1).and_then(|at| Self::KINDS.get(at)).copied()
    }

    fn store(&self, kind: Kind) {
        let at = Self::KINDS.iter().position(|&known| known == kind);
        self.0.store(at.map_or(0, |at| at as u8 + 1), Ordering::Relaxed);
    }
}

pub(super) struct DeltaTree {
    records: Table<Record>,
    ids: RawIds,
    /// Resolved entries by id: made when the first delta names its base by id.
    by_id: Option<IdIndex>,
    groups: Groups,
    format: ObjectFormat,
    budget: Budget,
}

/// While the pack arrives.
impl DeltaTree {
    pub(super) fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self {
            records: Table::new(budget),
            ids: RawIds::new(format, budget),
            by_id: None,
            groups: Groups::new(format, budget),
            format,
            budget: budget.clone(),
        }
    }

    pub(super) fn len(&self) -> u32 {
        // A pack's count has 32 bits, and no entry is added beyond it.
        self.records.len() as u32
    }

    pub(super) fn record(&self, entry: u32) -> &Record {
        &self.records[entry as usize]
    }

    /// The id of an entry that is resolved.
    pub(super) fn id(&self, entry: u32) -> ObjectId {
        self.ids.at(entry)
    }

    /// Adds the next entry, which is not yet resolved.
    pub(super) fn push(&mut self, offset: u64, inflated_size: u64) -> Result<(), LimitExceeded> {
        self.ids.push(&ObjectId::null(self.format))?;
        self.records.push(Record {
            offset,
            inflated_size,
            chain_bytes: AtomicU64::new(0),
            base: Base::None,
            children: List::empty(),
            next_sibling: NO_ENTRY,
            depth: AtomicU32::new(0),
            kind: AtomicKind::unknown(),
            rebuild: AtomicBool::new(false),
        })
    }

    /// The entry that begins at `offset`.
    pub(super) fn at_offset(&self, offset: u64) -> Option<u32> {
        let at = self.records.partition_point(|record| record.offset < offset);
        (self.records.get(at)?.offset == offset).then_some(at as u32)
    }

    /// The base called `id`: a resolved entry, or the group that waits for one.
    pub(super) fn base_called(&mut self, id: &ObjectId) -> Result<Base, LimitExceeded> {
        if self.by_id.is_none() {
            let mut index = IdIndex::new(&self.budget);
            for entry in 0..self.len() {
                let record = self.record(entry);
                if record.kind().is_some() && !record.is_unnamed() {
                    index.insert(&self.ids, entry)?;
                }
            }
            self.by_id = Some(index);
        }
        if let Some(entry) = self.by_id.as_ref().and_then(|index| index.find(&self.ids, id)) {
            return Ok(Base::Entry(entry));
        }
        self.groups.called(id).map(Base::Waiting)
    }

    /// Entries were made that the index of ids does not know: it is to be made anew.
    pub(super) fn forget_index(&mut self) {
        self.by_id = None;
    }

    /// Has `entry` made when `base` is gone down from.
    pub(super) fn hang_below(&mut self, entry: u32, base: Base) {
        let list = match base {
            Base::None => return,
            Base::Entry(base) => self.records[base as usize].children.0.get_mut(),
            Base::Waiting(group) => self.groups.children_mut(group),
        };
        let next = std::mem::replace(list, entry);
        let record = &mut self.records[entry as usize];
        record.base = base;
        record.next_sibling = next;
    }

    /// Notes what `entry` turned out to be, and hangs below it the deltas that waited
    /// for its id.
    pub(super) fn resolve(
        &mut self,
        entry: u32,
        kind: Kind,
        id: &ObjectId,
        base: Base,
        standing: Standing,
    ) -> Result<(), LimitExceeded> {
        let record = &mut self.records[entry as usize];
        record.kind.store(kind);
        record.base = base;
        *record.depth.get_mut() = standing.depth;
        *record.chain_bytes.get_mut() = standing.chain_bytes;
        self.ids.set(entry, id);
        if let Some(index) = &mut self.by_id {
            index.insert(&self.ids, entry)?;
        }
        let mut waiting = self.take_waiting(id, entry);
        while let Some(child) = waiting {
            waiting = self.next_sibling(child);
            self.hang_below(child, Base::Entry(entry));
        }
        Ok(())
    }

    /// Notes that `entry`, resolved before, is to be gone down from; whether that is new.
    pub(super) fn mark_rebuild(&mut self, entry: u32) -> bool {
        !std::mem::replace(self.records[entry as usize].rebuild.get_mut(), true)
    }

    /// Puts the child with the most work below it last among its siblings, so that
    /// whoever goes down the tree holds few bases at once: a base is let go before its
    /// last child is gone down into, and every other child has at most half the work of
    /// its parent.
    ///
    /// Exact where bases precede their deltas, as git writes them; else a guess.
    pub(super) fn put_heaviest_last(&mut self) -> Result<(), LimitExceeded> {
        let mut weights = Table::new(&self.budget);
        for record in self.records.iter_mut() {
            weights.push(u32::from(record.kind().is_none() || *record.rebuild.get_mut()))?;
        }
        for entry in (0..self.records.len()).rev() {
            self.put_heaviest_child_last(entry, &weights);
            if let Base::Entry(base) = self.base(entry as u32) {
                let weight = weights[entry];
                weights[base as usize] += weight;
            }
        }
        Ok(())
    }

    fn put_heaviest_child_last(&mut self, entry: usize, weights: &[u32]) {
        let first = *self.records[entry].children.0.get_mut();
        let (mut before, mut at) = (NO_ENTRY, first);
        let (mut heaviest, mut before_heaviest) = (first, NO_ENTRY);
        while at != NO_ENTRY {
            if weights[at as usize] > weights[heaviest as usize] {
                (heaviest, before_heaviest) = (at, before);
            }
            before = at;
            at = self.records[at as usize].next_sibling;
        }
        let last = before;
        if heaviest == last {
            return;
        }
        let after = std::mem::replace(&mut self.records[heaviest as usize].next_sibling, NO_ENTRY);
        match before_heaviest {
            NO_ENTRY => *self.records[entry].children.0.get_mut() = after,
            before => self.records[before as usize].next_sibling = after,
        }
        self.records[last as usize].next_sibling = heaviest;
    }
}

/// While what waits is resolved, by several threads at once.
impl DeltaTree {
    /// Notes what `entry` was made to be. Only who makes it may.
    pub(super) fn made(&self, entry: u32, kind: Kind, id: &ObjectId, standing: Standing) {
        let record = self.record(entry);
        self.ids.set(entry, id);
        record.depth.store(standing.depth, Ordering::Relaxed);
        record.chain_bytes.store(standing.chain_bytes, Ordering::Relaxed);
        record.kind.store(kind);
    }

    /// Takes the entries that hang below `entry`, which is gone down from now: the first
    /// of them.
    pub(super) fn take_children(&self, entry: u32) -> Option<u32> {
        let record = self.record(entry);
        record.rebuild.store(false, Ordering::Relaxed);
        record.children.take()
    }

    /// Takes the entries that wait for `id`, which `entry` has: the first of them.
    pub(super) fn take_waiting(&self, id: &ObjectId, entry: u32) -> Option<u32> {
        self.groups.take_found(id, entry)
    }

    /// The next entry that hangs where `entry` does.
    pub(super) fn next_sibling(&self, child: u32) -> Option<u32> {
        entry(self.record(child).next_sibling)
    }

    /// The deltas whose bases are known only by id.
    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// What `entry` was made of, or is to be.
    pub(super) fn base(&self, entry: u32) -> Base {
        match self.record(entry).base {
            // Whoever made the base did not come by here.
            base @ Base::Waiting(group) => self.groups.found_in(group).map_or(base, Base::Entry),
            base => base,
        }
    }

    /// The error about the deltas that were never resolved, when there are any.
    pub(super) fn unresolved(&self) -> Option<PackError> {
        let mut unresolved = self.records.iter().filter(|record| record.kind().is_none());
        let first = unresolved.next()?;
        let base = match first.base {
            Base::Waiting(group) => Some(self.groups.id(group)),
            Base::Entry(_) | Base::None => None,
        };
        let count = 1 + unresolved.count() as u64;
        Some(PackError::Unresolved { count, offset: first.offset, base })
    }
}

fn entry(number: u32) -> Option<u32> {
    (number != NO_ENTRY).then_some(number)
}

/// No entry has this number: it would be the last of a pack of 2^32 entries, one more
/// than its header can count.
const NO_ENTRY: u32 = u32::MAX;
