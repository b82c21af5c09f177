//! Which objects a client gets: what it wants and what that reaches, without what it has.
//!
//! One walk over the commits, newest first, and one over the trees of those that are sent;
//! each tree is decoded at most once, unless a filter by depth asks for it again higher up.
//! What the client has is told by its commits: of those next to what is sent, every file
//! counts as had.

mod covered;
mod folders;
mod lines;
mod selection;

use self::covered::Covered;
use self::folders::{Folder, Folders};
use self::lines::Lines;
pub(super) use self::selection::Selection;
use super::filter_rule::FilterRule;
use crate::error::Error;
use crate::graph::{Cuts, InRange, Marks, Range, commit_facts, range};
use crate::limits::{Budget, Interrupt, LimitExceeded, Limits, PaidVec, Which, check};
use crate::object::{EntryKind, Kind, TreeRef};
use crate::oid::ObjectId;
use crate::store::{Object, Objects, StoreError, through_tags};

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
        chosen: Selection { marks: Marks::new(store.format(), budget), sent: None, had: None },
        covered: None,
        depths: PaidVec::new(budget),
        waiting: PaidVec::new(budget),
        had: PaidVec::new(budget),
        folders: Folders::new(budget),
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
    let Range { commits, edges } = walk.history(wanted, &tips, &had, budget)?;
    let any = !commits.is_empty() || !folders.is_empty();
    for edge in edges.iter().chain(had.iter().take(MAX_HAD_TREES)).filter(|_| any) {
        // What is next to something is an edge wherever bits of either side begin.
        if !walk.is_covered(edge)?
            && let Some(facts) = commit_facts(store, edge)?
        {
            walk.mark_had(facts.tree)?;
        }
    }
    for commit in Lines::new(&commits, budget)? {
        walk.commit(commit)?;
    }
    for id in folders {
        walk.send(&id)?;
        walk.below(id, 0, Folder::WANTED)?;
        walk.drain()?;
    }
    walk.settle(budget)?;
    for (tag, target) in &wanted.tags {
        if walk.chosen.is_sent(target)? {
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
    /// What bitmaps say, where they are asked.
    covered: Option<Covered>,
    /// Of each row, how deep its tree was met, plus one; kept where a filter asks.
    depths: PaidVec<u32>,
    /// Trees to be read, how deep what is in them lies, and at which path.
    waiting: PaidVec<(ObjectId, u32, Folder)>,
    /// Trees of the client's to be read.
    had: PaidVec<ObjectId>,
    folders: Folders,
    entries: u64,
}

impl<S: Objects + ?Sized> Walk<'_, S> {
    /// The commits to be looked into, and those of the client's next to them: all that `tips`
    /// reach and `had` do not, or what is left of them where bitmaps can be asked.
    fn history(
        &mut self,
        wanted: &Wanted,
        tips: &[ObjectId],
        had: &[ObjectId],
        budget: &Budget,
    ) -> Result<Range, Error> {
        let Self { store, interrupt, filter, .. } = *self;
        // Bits say nothing of depths and sizes, know of no cut, and not which commits are sent
        // whatever the filter.
        let is_asked = wanted.cuts.is_empty()
            && !filter.asks_depth()
            && filter.blob_limit().is_none()
            && filter.takes(Kind::Commit);
        let covered = is_asked.then(|| Covered::of(store, tips, had, budget, interrupt));
        let Some((covered, rest)) = covered.transpose()?.flatten() else {
            return range(store, &wanted.cuts, tips, had, None, budget, interrupt);
        };
        for InRange { id, tree, .. } in &covered.their_rest {
            let row = self.chosen.marks.row(id)?;
            self.chosen.marks.add(row, HAD);
            if covered.wanted.has_id(id)? {
                self.mark_had(*tree)?;
            }
        }
        self.covered = Some(covered);
        Ok(rest)
    }

    /// Takes what bitmaps say into the selection, when all else is known.
    fn settle(&mut self, budget: &Budget) -> Result<(), Error> {
        let Some(mut covered) = self.covered.take() else { return Ok(()) };
        covered.narrow(self.filter, budget)?;
        for row in self.chosen.marks.with(HAD) {
            covered.wanted.remove_id(&self.chosen.marks.id(row))?;
        }
        self.chosen.sent = Some(covered.wanted);
        self.chosen.had = Some(covered.had);
        Ok(())
    }

    /// Sends a commit, and what is in it.
    fn commit(&mut self, commit: &InRange) -> Result<(), Error> {
        if self.filter.takes(Kind::Commit) || self.chosen.marks.has(&commit.id, WANTED) {
            self.send(&commit.id)?;
        }
        self.meet_tree(commit.tree, 0, Folder::HISTORY, b"")?;
        self.drain()
    }

    /// Takes what the client names: tags are followed, and what is no commit is sent.
    fn want(
        &mut self,
        wanted: &ObjectId,
        tips: &mut Vec<ObjectId>,
        folders: &mut Vec<ObjectId>,
    ) -> Result<(), Error> {
        for step in through_tags(self.store, *wanted) {
            let (id, kind) = step?;
            match kind.ok_or(StoreError::Missing { id })? {
                Kind::Commit => {
                    if id == *wanted {
                        let row = self.chosen.marks.row(&id)?;
                        self.chosen.marks.add(row, WANTED);
                    }
                    tips.push(id);
                }
                Kind::Tree => folders.push(id),
                Kind::Blob | Kind::Tag => self.send(&id)?,
            }
        }
        Ok(())
    }

    /// The commit that the client has by having `id`, if it is one or a tag of one.
    fn had_commit(&mut self, id: &ObjectId) -> Result<Option<ObjectId>, Error> {
        for step in through_tags(self.store, *id) {
            let (id, kind) = step?;
            let row = self.chosen.marks.row(&id)?;
            self.chosen.marks.add(row, HAD);
            if kind == Some(Kind::Commit) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Sends a tag and the tags it names.
    fn tag_chain(&mut self, id: &ObjectId) -> Result<(), Error> {
        for step in through_tags(self.store, *id) {
            if let (id, Some(Kind::Tag)) = step? {
                self.send(&id)?;
            }
        }
        Ok(())
    }

    /// Reads the trees that wait, and those in them.
    fn drain(&mut self) -> Result<(), Error> {
        while let Some((id, depth, folder)) = self.waiting.pop() {
            self.below(id, depth, folder)?;
        }
        Ok(())
    }

    /// Sends a tree `depth` steps below a root if the filter lets it, and has it read if it was
    /// not, or only deeper. It is called `name` in `folder`.
    fn meet_tree(
        &mut self,
        id: ObjectId,
        depth: u32,
        folder: Folder,
        name: &[u8],
    ) -> Result<(), Error> {
        let marks = &mut self.chosen.marks;
        let row = marks.row(&id)?;
        let is_had = marks.any(row, HAD);
        let was_read = marks.add(row, READ);
        if is_had || was_read && !(self.filter.asks_depth() && self.is_higher(row, depth)) {
            return Ok(());
        }
        if self.is_covered(&id)? {
            return Ok(());
        }
        if self.filter.asks_depth() {
            self.note_depth(row, depth)?;
        }
        check(Which::TreeDepth, u64::from(self.limits.max_tree_depth), u64::from(depth))?;
        if self.filter.takes(Kind::Tree) && self.filter.takes_depth(depth) {
            self.send_row(row);
        }
        if self.filter.looks_below(depth) {
            let path = self.folders.inside(folder, name)?;
            self.waiting.push((id, depth + 1, path))?;
        }
        Ok(())
    }

    /// Whether bitmaps say all there is to say of an object.
    fn is_covered(&self, id: &ObjectId) -> Result<bool, StoreError> {
        self.covered.as_ref().map_or(Ok(false), |covered| covered.knows(id))
    }

    fn is_higher(&self, row: u32, depth: u32) -> bool {
        self.depths.get(row as usize).is_none_or(|&met| met == 0 || depth + 1 < met)
    }

    fn note_depth(&mut self, row: u32, depth: u32) -> Result<(), LimitExceeded> {
        self.depths.lengthen(row as usize + 1, 0)?;
        if let Some(met) = self.depths.get_mut(row as usize) {
            *met = depth + 1;
        }
        Ok(())
    }

    /// Looks at what is in a tree, `depth` steps below a root.
    fn below(&mut self, id: ObjectId, depth: u32, folder: Folder) -> Result<(), Error> {
        let tree = self.read(&id)?;
        let takes_blobs = self.filter.takes(Kind::Blob) && self.filter.takes_depth(depth);
        let first = self.waiting.len();
        // What the last tree of this path had too was met there, equally deep.
        let mut seen = self.folders.take(folder)?;
        seen.look_at(tree.bytes, self.store.format(), |entry| {
            self.count_entry()?;
            match entry.kind() {
                EntryKind::Tree => self.meet_tree(entry.id, depth, folder, entry.name),
                EntryKind::Gitlink => Ok(()),
                _ if takes_blobs => self.meet_blob(&entry.id),
                _ => Ok(()),
            }
        })
        .map_err(|error| damaged(error, &id))?;
        self.folders.put(folder, seen)?;
        // Taken from the end: the first folder of a tree comes first.
        if let Some(new) = self.waiting.get_mut(first..) {
            new.reverse();
        }
        Ok(())
    }

    fn meet_blob(&mut self, id: &ObjectId) -> Result<(), Error> {
        let marks = &mut self.chosen.marks;
        let row = marks.row(id)?;
        if marks.any(row, HAD) || marks.add(row, READ) || self.is_covered(id)? {
            return Ok(());
        }
        if let Some(limit) = self.filter.blob_limit() {
            let size = self.store.header(id)?.ok_or(StoreError::Missing { id: *id })?.size;
            if size >= limit {
                return Ok(());
            }
        }
        self.send_row(row);
        Ok(())
    }

    /// Marks a tree of the client's and everything below it as had.
    fn mark_had(&mut self, tree: ObjectId) -> Result<(), Error> {
        self.had.push(tree)?;
        while let Some(id) = self.had.pop() {
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
                    EntryKind::Tree => self.had.push(entry.id)?,
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
        Ok(self.store.read(id)?.ok_or(StoreError::Missing { id: *id })?)
    }
}

fn damaged(error: Error, id: &ObjectId) -> Error {
    error.while_doing(format_args!("reading object {id}"))
}

/// It goes into the pack.
const SENT: u8 = 1;
/// The client has it.
const HAD: u8 = 2;
/// A commit that is sent whatever the filter.
const WANTED: u8 = 8;
/// It was met on the way down, and what is below it is cared for.
const READ: u8 = 4;
/// Of so many of the client's own commits the files are looked at; the commits next to what
/// is sent come on top.
const MAX_HAD_TREES: usize = 64;
