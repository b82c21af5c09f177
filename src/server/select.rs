//! Which objects a client gets: what it wants and what that reaches, without what it has.
//!
//! One walk over the commits, newest first, and one over the trees of those that are sent;
//! each tree is decoded at most once, unless a filter by depth asks for it again higher up.
//! What the client has is told by its commits: of those next to what is sent, every file
//! counts as had.

use bytes::Bytes;

use super::filter_rule::FilterRule;
use crate::error::{Error, ErrorKind};
use crate::graph::{Cuts, Marks, commit_facts, range};
use crate::limits::{Budget, Interrupt, Limits, Which, check};
use crate::object::{EntryKind, Kind, NewEntries, TagRef, TreeRef};
use crate::oid::ObjectId;
use crate::store::{Object, Objects};

/// What is to be sent, as [`select`] is asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Objects of any kind, sent whatever the filter.
    pub(super) wants: Vec<ObjectId>,
    /// What the client has, all of it held here.
    pub(super) haves: Vec<ObjectId>,
    /// Commits without parents, for both sides.
    pub(super) cuts: Cuts,
    /// What is left out of what the wants reach.
    pub(super) filter: FilterRule,
    /// Annotated tags that are sent when what they finally name is: the tag and that.
    pub(super) tags: Vec<(ObjectId, ObjectId)>,
}

/// The objects to be sent, and those the client is known to have.
#[derive(Debug)]
pub(super) struct Selection {
    marks: Marks,
}

impl Selection {
    /// What is sent, in the order it was found.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.marks.with(SENT).map(|row| self.marks.id(row))
    }

    /// Whether the client is known to have an object.
    pub(super) fn is_had(&self, id: &ObjectId) -> bool {
        self.marks.has(id, HAD)
    }
}

/// Chooses what `wanted` asks for.
///
/// # Errors
/// When something that is to be sent is missing or damaged, memory is spent, or
/// `interrupt` says so.
pub(super) fn select<S: Objects + ?Sized>(
    store: &S,
    wanted: &Wanted,
    limits: &Limits,
    budget: &Budget,
    interrupt: &dyn Interrupt,
) -> Result<Selection, Error> {
    let mut walk = Walk {
        store,
        filter: wanted.filter,
        limits,
        interrupt,
        chosen: Selection { marks: Marks::new(store.format(), budget) },
        depths: Vec::new(),
        waiting: Vec::new(),
        last: Vec::new(),
        entries: 0,
    };
    let mut tips = Vec::new();
    let mut folders = Vec::new();
    for id in &wanted.wants {
        walk.want(id, &mut tips, &mut folders)?;
    }
    let mut had = Vec::new();
    for id in &wanted.haves {
        had.extend(walk.had_commit(id)?);
    }
    let commits = range(store, &wanted.cuts, &tips, &had, None, budget, interrupt)?;
    let any = !commits.commits.is_empty() || !folders.is_empty();
    for edge in commits.edges.iter().chain(had.iter().take(MAX_HAD_TREES)).filter(|_| any) {
        if let Some(facts) = commit_facts(store, edge)? {
            walk.mark_had(facts.tree)?;
        }
    }
    for (id, tree) in &commits.commits {
        if walk.filter.takes(Kind::Commit) || wanted.wants.contains(id) {
            walk.send(id)?;
        }
        walk.tree(*tree, 0)?;
    }
    for id in folders {
        walk.send(&id)?;
        walk.below(id, None)?;
        walk.drain()?;
    }
    for (tag, target) in &wanted.tags {
        if walk.chosen.marks.has(target, SENT) {
            walk.tag_chain(tag)?;
        }
    }
    Ok(walk.chosen)
}

struct Walk<'a, S: ?Sized> {
    store: &'a S,
    filter: FilterRule,
    limits: &'a Limits,
    interrupt: &'a dyn Interrupt,
    chosen: Selection,
    /// Of each row, how deep its tree was met, plus one; kept where a filter asks.
    depths: Vec<u32>,
    /// Trees to be read, and how deep what is in them lies.
    waiting: Vec<(ObjectId, u32)>,
    /// The tree that was read last at each depth: at most as many as folders may be deep.
    last: Vec<Bytes>,
    entries: u64,
}

impl<S: Objects + ?Sized> Walk<'_, S> {
    /// Takes what the client names: tags are followed, and what is no commit is sent.
    fn want(
        &mut self,
        id: &ObjectId,
        tips: &mut Vec<ObjectId>,
        folders: &mut Vec<ObjectId>,
    ) -> Result<(), Error> {
        let mut at = *id;
        for _ in 0..MAX_TAG_DEPTH {
            let header = self.store.header(&at)?.ok_or_else(|| missing(&at))?;
            match header.kind {
                Kind::Commit => tips.push(at),
                Kind::Tree => folders.push(at),
                Kind::Blob => self.send(&at)?,
                Kind::Tag => {
                    self.send(&at)?;
                    at = self.tag_target(&at)?;
                    continue;
                }
            }
            return Ok(());
        }
        Err(Error::new(ErrorKind::Corrupt, format!("tag {id} names tags without end")))
    }

    /// The commit that the client has by having `id`, if it is one or a tag of one.
    fn had_commit(&mut self, id: &ObjectId) -> Result<Option<ObjectId>, Error> {
        let mut at = *id;
        for _ in 0..MAX_TAG_DEPTH {
            let row = self.chosen.marks.row(&at)?;
            self.chosen.marks.add(row, HAD);
            match self.store.header(&at)?.map(|header| header.kind) {
                Some(Kind::Commit) => return Ok(Some(at)),
                Some(Kind::Tag) => at = self.tag_target(&at)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn tag_target(&self, id: &ObjectId) -> Result<ObjectId, Error> {
        let tag = self.read(id)?;
        let parsed = TagRef::parse(&tag.bytes, self.store.format());
        parsed.map(|tag| tag.object()).map_err(|error| damaged(error.into(), id))
    }

    /// Sends a tag and the tags it names.
    fn tag_chain(&mut self, id: &ObjectId) -> Result<(), Error> {
        let mut at = *id;
        for _ in 0..MAX_TAG_DEPTH {
            match self.store.header(&at)?.map(|header| header.kind) {
                Some(Kind::Tag) => self.send(&at)?,
                _ => return Ok(()),
            }
            at = self.tag_target(&at)?;
        }
        Ok(())
    }

    /// A tree `depth` steps below a root, and what is below it.
    fn tree(&mut self, id: ObjectId, depth: u32) -> Result<(), Error> {
        self.meet_tree(id, depth)?;
        self.drain()
    }

    fn drain(&mut self) -> Result<(), Error> {
        while let Some((id, depth)) = self.waiting.pop() {
            self.below(id, Some(depth))?;
        }
        Ok(())
    }

    /// Sends a tree if the filter lets it, and has it read if it was not, or only deeper.
    fn meet_tree(&mut self, id: ObjectId, depth: u32) -> Result<(), Error> {
        let marks = &mut self.chosen.marks;
        let row = marks.row(&id)?;
        let is_had = marks.any(row, HAD);
        let was_read = marks.add(row, READ);
        if is_had || was_read && !(self.filter.asks_depth() && self.is_higher(row, depth)) {
            return Ok(());
        }
        if self.filter.asks_depth() {
            self.note_depth(row, depth);
        }
        check(Which::TreeDepth, u64::from(self.limits.max_tree_depth), u64::from(depth))?;
        if self.filter.takes(Kind::Tree) && self.filter.takes_depth(depth) {
            self.send_row(row);
        }
        if self.filter.looks_below(depth) {
            self.waiting.push((id, depth));
        }
        Ok(())
    }

    fn is_higher(&self, row: u32, depth: u32) -> bool {
        self.depths.get(row as usize).is_none_or(|&met| met == 0 || depth + 1 < met)
    }

    fn note_depth(&mut self, row: u32, depth: u32) {
        let at = row as usize;
        if self.depths.len() <= at {
            self.depths.resize(at + 1, 0);
        }
        self.depths[at] = depth + 1;
    }

    /// What is in a tree; `depth` is its own, and a tree that was wanted itself has none.
    fn below(&mut self, id: ObjectId, depth: Option<u32>) -> Result<(), Error> {
        let tree = self.read(&id)?;
        let depth = depth.map_or(0, |depth| depth + 1);
        let takes_blobs = self.filter.takes(Kind::Blob) && self.filter.takes_depth(depth);
        let first = self.waiting.len();
        // What the last tree of this depth had too was met there.
        let before = self.last_at(depth, &tree.bytes);
        for entry in NewEntries::new(&before, &tree.bytes, self.store.format()) {
            let entry = entry.map_err(|error| damaged(error.into(), &id))?;
            match entry.kind() {
                EntryKind::Tree => self.meet_tree(entry.id, depth)?,
                EntryKind::Gitlink => {}
                _ if takes_blobs => self.meet_blob(&entry.id)?,
                _ => {}
            }
            self.count_entry()?;
        }
        // Taken from the end: the first folder of a tree comes first.
        if let Some(new) = self.waiting.get_mut(first..) {
            new.reverse();
        }
        Ok(())
    }

    /// The tree that was read last at a depth, in whose place `tree` comes.
    fn last_at(&mut self, depth: u32, tree: &Bytes) -> Bytes {
        let at = depth as usize;
        if self.last.len() <= at {
            self.last.resize(at + 1, Bytes::new());
        }
        self.last.get_mut(at).map(|last| std::mem::replace(last, tree.clone())).unwrap_or_default()
    }

    fn meet_blob(&mut self, id: &ObjectId) -> Result<(), Error> {
        let marks = &mut self.chosen.marks;
        let row = marks.row(id)?;
        if marks.any(row, HAD) || marks.add(row, READ) {
            return Ok(());
        }
        if let Some(limit) = self.filter.blob_limit() {
            let size = self.store.header(id)?.ok_or_else(|| missing(id))?.size;
            if size >= limit {
                return Ok(());
            }
        }
        self.send_row(row);
        Ok(())
    }

    /// Marks a tree of the client's and everything below it as had.
    fn mark_had(&mut self, tree: ObjectId) -> Result<(), Error> {
        let mut waiting = vec![tree];
        while let Some(id) = waiting.pop() {
            let marks = &mut self.chosen.marks;
            let row = marks.row(&id)?;
            if marks.add(row, HAD) {
                continue;
            }
            // A client's commit may be held here without its files.
            let Some(tree) = self.store.read(&id)?.filter(|object| object.kind == Kind::Tree)
            else {
                continue;
            };
            for entry in TreeRef::new(&tree.bytes, self.store.format()) {
                let entry = entry.map_err(|error| damaged(error.into(), &id))?;
                match entry.kind() {
                    EntryKind::Tree => waiting.push(entry.id),
                    EntryKind::Gitlink => {}
                    _ => {
                        let row = self.chosen.marks.row(&entry.id)?;
                        self.chosen.marks.add(row, HAD);
                    }
                }
                self.count_entry()?;
            }
        }
        Ok(())
    }

    fn send(&mut self, id: &ObjectId) -> Result<(), Error> {
        let row = self.chosen.marks.row(id)?;
        self.send_row(row);
        Ok(())
    }

    fn send_row(&mut self, row: u32) {
        self.chosen.marks.add(row, SENT);
    }

    fn count_entry(&mut self) -> Result<(), Error> {
        self.entries += 1;
        if self.entries.is_multiple_of(4_096) {
            self.interrupt.check()?;
        }
        Ok(())
    }

    fn read(&self, id: &ObjectId) -> Result<Object, Error> {
        self.store.read(id)?.ok_or_else(|| missing(id))
    }
}

fn missing(id: &ObjectId) -> Error {
    Error::new(ErrorKind::Corrupt, format!("object {id} is missing")).with_code("object_missing")
}

fn damaged(error: Error, id: &ObjectId) -> Error {
    error.while_doing(format_args!("reading object {id}"))
}

/// It goes into the pack.
const SENT: u8 = 1;
/// The client has it.
const HAD: u8 = 2;
/// It was met on the way down, and what is below it is cared for.
const READ: u8 = 4;
/// Far above any chain of tags that someone made in earnest.
const MAX_TAG_DEPTH: usize = 1_000;
/// Of so many of the client's own commits the files are looked at; the commits next to what
/// is sent come on top.
const MAX_HAD_TREES: usize = 64;
