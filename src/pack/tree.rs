//! The delta tree: which entry waits for which, in a few bytes an entry.
//!
//! What is still to be made hangs below its base, in linked lists of entry numbers; what
//! is made does not, so that going down never walks over it. A delta whose base is
//! known only by id waits in a group of its own until an entry turns out to have that
//! id, whether that entry comes before or after it. The tree holds no object bytes and
//! decides nothing about order of work; that is `resolve`'s.

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

/// A list of entries that share a base, chained through their records.
#[derive(Clone, Copy, Debug)]
struct Children {
    first: u32,
    last: u32,
}

impl Children {
    const NONE: Self = Self { first: NO_ENTRY, last: NO_ENTRY };

    fn first(self) -> Option<u32> {
        Some(self.first).filter(|&first| first != NO_ENTRY)
    }
}

/// What is known of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Where it begins in the pack.
    pub(super) offset: u64,
    /// Bytes its stream inflates to.
    pub(super) inflated_size: u64,
    /// Resolved bytes from the chain's root to here, once resolved.
    pub(super) chain_bytes: u64,
    pub(super) base: Base,
    children: Children,
    next_sibling: u32,
    /// Deltas between the chain's root and here, once resolved.
    pub(super) depth: u32,
    /// The object's kind, once resolved.
    pub(super) kind: Option<Kind>,
    /// Resolved before, but to be gone down from: it hangs below its base or is a root.
    rebuild: bool,
}

struct Group {
    children: Children,
    /// An entry with the id was found, or an object outside the pack.
    found: bool,
}

pub(super) struct DeltaTree {
    records: Table<Record>,
    ids: RawIds,
    /// Resolved entries by id: made when the first delta names its base by id.
    by_id: Option<IdIndex>,
    groups: Table<Group>,
    group_ids: RawIds,
    groups_by_id: IdIndex,
    format: ObjectFormat,
    budget: Budget,
}

impl DeltaTree {
    pub(super) fn new(format: ObjectFormat, budget: &Budget) -> Self {
        Self {
            records: Table::new(budget),
            ids: RawIds::new(format, budget),
            by_id: None,
            groups: Table::new(budget),
            group_ids: RawIds::new(format, budget),
            groups_by_id: IdIndex::new(budget),
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

    /// Adds the next entry, which is not yet resolved.
    pub(super) fn push(&mut self, offset: u64, inflated_size: u64) -> Result<(), LimitExceeded> {
        self.ids.push(&ObjectId::null(self.format))?;
        self.records.push(Record {
            offset,
            inflated_size,
            chain_bytes: 0,
            base: Base::None,
            children: Children::NONE,
            next_sibling: NO_ENTRY,
            depth: 0,
            kind: None,
            rebuild: false,
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
                if self.record(entry).kind.is_some() {
                    index.insert(&self.ids, entry)?;
                }
            }
            self.by_id = Some(index);
        }
        if let Some(entry) =
            self.by_id.as_ref().and_then(|index| index.find(&self.ids, id.as_bytes()))
        {
            return Ok(Base::Entry(entry));
        }
        if let Some(group) = self.groups_by_id.find(&self.group_ids, id.as_bytes()) {
            return Ok(Base::Waiting(group));
        }
        let group = self.groups.len() as u32;
        self.groups.push(Group { children: Children::NONE, found: false })?;
        self.group_ids.push(id)?;
        self.groups_by_id.insert(&self.group_ids, group)?;
        Ok(Base::Waiting(group))
    }

    /// Has `entry` made when `base` is gone down from.
    pub(super) fn hang_below(&mut self, entry: u32, base: Base) {
        let record = &mut self.records[entry as usize];
        record.base = base;
        record.next_sibling = NO_ENTRY;
        let mut children = match base {
            Base::None => return,
            Base::Entry(base) => self.records[base as usize].children,
            Base::Waiting(group) => self.groups[group as usize].children,
        };
        self.append(&mut children, Children { first: entry, last: entry });
        match base {
            Base::None => {}
            Base::Entry(base) => self.records[base as usize].children = children,
            Base::Waiting(group) => self.groups[group as usize].children = children,
        }
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
        record.kind = Some(kind);
        record.base = base;
        record.depth = standing.depth;
        record.chain_bytes = standing.chain_bytes;
        self.ids.set(entry, id);
        if let Some(index) = &mut self.by_id {
            index.insert(&self.ids, entry)?;
        }
        if self.groups.is_empty() {
            return Ok(());
        }
        if let Some(group) = self.groups_by_id.find(&self.group_ids, id.as_bytes()) {
            let group = &mut self.groups[group as usize];
            group.found = true;
            let waiting = std::mem::replace(&mut group.children, Children::NONE);
            self.adopt(entry, waiting);
        }
        Ok(())
    }

    /// How many groups of deltas were made that wait for an id.
    pub(super) fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The id that a group waits for, unless it was found.
    pub(super) fn group_waits_for(&self, group: u32) -> Option<ObjectId> {
        let found = self.groups[group as usize].found;
        (!found).then(|| self.group_id(group))
    }

    /// The id that a group waits or waited for.
    pub(super) fn group_id(&self, group: u32) -> ObjectId {
        ObjectId::from_raw(self.group_ids.at(group)).unwrap_or(ObjectId::null(self.format))
    }

    /// Takes the deltas of a group whose base was found outside the pack.
    pub(super) fn take_group(&mut self, group: u32) -> Option<u32> {
        let group = &mut self.groups[group as usize];
        group.found = true;
        std::mem::replace(&mut group.children, Children::NONE).first()
    }

    /// Takes the entries that hang below `entry`: the first of them.
    pub(super) fn take_children(&mut self, entry: u32) -> Option<u32> {
        let record = &mut self.records[entry as usize];
        std::mem::replace(&mut record.children, Children::NONE).first()
    }

    /// The next entry that hangs where `entry` does.
    pub(super) fn next_sibling(&self, entry: u32) -> Option<u32> {
        Some(self.record(entry).next_sibling).filter(|&sibling| sibling != NO_ENTRY)
    }

    /// Whether `entry` is to be gone down from again; asking forgets it.
    pub(super) fn take_rebuild(&mut self, entry: u32) -> bool {
        std::mem::take(&mut self.records[entry as usize].rebuild)
    }

    /// Notes that `entry`, resolved before, is to be gone down from; whether that is new.
    pub(super) fn mark_rebuild(&mut self, entry: u32) -> bool {
        !std::mem::replace(&mut self.records[entry as usize].rebuild, true)
    }

    /// The error about the deltas that were never resolved, when there are any.
    pub(super) fn unresolved(&self) -> Option<PackError> {
        let mut unresolved = self.records.iter().filter(|record| record.kind.is_none());
        let first = unresolved.next()?;
        let base = match first.base {
            Base::Waiting(group) => Some(self.group_id(group)),
            Base::Entry(_) | Base::None => None,
        };
        let count = 1 + unresolved.count() as u64;
        Some(PackError::Unresolved { count, offset: first.offset, base })
    }

    /// Puts the child with the most work below it last among its siblings, so that
    /// whoever goes down the tree holds few bases at once: a base is let go before its
    /// last child is gone down into, and every other child has at most half the work of
    /// its parent.
    ///
    /// Exact where bases precede their deltas, as git writes them; else a guess.
    pub(super) fn put_heaviest_last(&mut self) -> Result<(), LimitExceeded> {
        let mut weights = Table::new(&self.budget);
        for record in self.records.iter() {
            weights.push(u32::from(record.kind.is_none() || record.rebuild))?;
        }
        for entry in (0..self.records.len()).rev() {
            self.put_heaviest_child_last(entry, &weights);
            if let Base::Entry(base) = self.records[entry].base {
                let weight = weights[entry];
                weights[base as usize] += weight;
            }
        }
        Ok(())
    }

    fn put_heaviest_child_last(&mut self, entry: usize, weights: &[u32]) {
        let children = self.records[entry].children;
        if children.first == children.last {
            return;
        }
        let (mut before, mut at) = (NO_ENTRY, children.first);
        let (mut heaviest, mut before_heaviest) = (children.first, NO_ENTRY);
        while at != NO_ENTRY {
            if weights[at as usize] > weights[heaviest as usize] {
                (heaviest, before_heaviest) = (at, before);
            }
            before = at;
            at = self.records[at as usize].next_sibling;
        }
        if heaviest == children.last {
            return;
        }
        let after = std::mem::replace(&mut self.records[heaviest as usize].next_sibling, NO_ENTRY);
        let first = match before_heaviest {
            NO_ENTRY => after,
            before => {
                self.records[before as usize].next_sibling = after;
                children.first
            }
        };
        self.records[children.last as usize].next_sibling = heaviest;
        self.records[entry].children = Children { first, last: heaviest };
    }

    fn adopt(&mut self, entry: u32, children: Children) {
        let mut at = children.first;
        while at != NO_ENTRY {
            let record = &mut self.records[at as usize];
            record.base = Base::Entry(entry);
            at = record.next_sibling;
        }
        let mut all = self.records[entry as usize].children;
        self.append(&mut all, children);
        self.records[entry as usize].children = all;
    }

    fn append(&mut self, list: &mut Children, more: Children) {
        if more.first == NO_ENTRY {
            return;
        }
        if list.first == NO_ENTRY {
            *list = more;
        } else {
            self.records[list.last as usize].next_sibling = more.first;
            list.last = more.last;
        }
    }
}

/// No entry has this number: it would be the last of a pack of 2^32 entries, one more
/// than its header can count.
const NO_ENTRY: u32 = u32::MAX;
