//! A cursor over all paths of a snapshot, in git's order.
//!
//! [`Walk`] owns ids, offsets and the trees it is in; it borrows nothing between calls
//! and reads no blobs. It has no recursion: its depth is a `Vec`, bounded by
//! [`max_tree_depth`](Limits::max_tree_depth).
//!
//! At a tree that the store lacks it looks ahead: all that is still to come and held is
//! searched for further trees that are missing, level by level, so that one request
//! brings what would otherwise take one for each folder.

mod ahead;

use std::collections::VecDeque;

use bstr::{BStr, ByteSlice as _};
use bytes::Bytes;

use self::ahead::{Ahead, is_behind};
use super::glob::{PathFilter, Position};
use super::path::check_path_bytes;
use super::trees::Trees;
use super::{Step, ViewError};
use crate::limits::{Interrupt, Limits, Which, check};
use crate::object::{EntryKind, Kind, Mode, TreeIter};
use crate::oid::ObjectId;
use crate::store::{MissingSet, Objects};

/// What a walk hands out; the default is every file, link and submodule.
#[derive(Clone, Debug, Default)]
pub struct WalkOptions {
    /// The paths asked for. Trees that cannot hold any of them are never read.
    pub filter: PathFilter,
    /// Levels below the filter's prefix, or below the root: 1 is what `ls` shows.
    pub max_depth: Option<u32>,
    /// Whether folders are handed out too, each before what is in it.
    pub trees: bool,
}

/// One path of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkEntry<'w> {
    /// The path from the root.
    pub path: &'w BStr,
    /// Its mode as written.
    pub mode: Mode,
    /// Its object: a blob, a tree, or the commit of a submodule.
    pub id: ObjectId,
    /// Levels below the filter's prefix or the root; 0 is the prefix itself.
    pub depth: u32,
}

/// Where a walk stands, so that another walk of the same tree with the same options can go
/// on there: for each folder on the way the number of the entry that comes next in it.
///
/// It counts entries and does not compare names, so it is exact in trees that are out of
/// order or have a name twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<u32>);

impl Place {
    /// The place with these numbers, the root's first; none of them is its beginning.
    pub fn new(levels: Vec<u32>) -> Self {
        Self(levels)
    }

    /// The place behind the entry that is here, if that is no folder.
    #[must_use]
    pub fn behind(mut self) -> Self {
        if let Some(number) = self.0.last_mut() {
            *number = number.saturating_add(1);
        }
        self
    }

    /// Its numbers.
    pub fn levels(&self) -> &[u32] {
        &self.0
    }
}

/// A walk under way. See the [module](self).
///
/// After [`ViewError::Interrupted`] the next call goes on where it was, after
/// [`Which::WalkEntries`] it fails again; after any other error, which is about one
/// folder, it goes on behind that folder.
#[derive(Debug)]
pub struct Walk {
    options: WalkOptions,
    limits: Limits,
    trees: Trees,
    frames: Vec<Frame>,
    /// The path of the entry met last; the folders' paths are its beginnings.
    path: Vec<u8>,
    /// The folder at `path`, to be entered by the next call.
    open: Option<Folder>,
    /// What is left of the way to where the walk begins.
    start: VecDeque<u32>,
    ahead: Ahead,
    visited: u64,
}

/// A folder that the cursor is in.
#[derive(Debug)]
struct Frame {
    folder: Folder,
    tree: Bytes,
    /// Where in `tree` the next entry begins, and its number.
    offset: usize,
    number: u32,
    /// Bytes of the folder's path with its slash.
    path_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Folder {
    id: ObjectId,
    level: Level,
}

/// How deep a path is.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Below the root.
    depth: u32,
    /// Below the prefix; `None` for a folder that only leads to one.
    below_prefix: Option<u32>,
}

impl Walk {
    /// A walk of the tree `root`, which is not read yet.
    pub fn new(root: ObjectId, options: WalkOptions, limits: &Limits) -> Self {
        let level = Level { depth: 0, below_prefix: options.filter.is_inside(b"").then_some(0) };
        Self {
            options,
            limits: limits.clone(),
            trees: Trees::new(limits),
            frames: Vec::new(),
            path: Vec::new(),
            open: Some(Folder { id: root, level }),
            start: VecDeque::new(),
            ahead: Ahead::default(),
            visited: 0,
        }
    }

    /// The same walk from `place` on, which is that of an earlier walk: folders before it
    /// are neither read nor asked for.
    #[must_use]
    pub fn starting_at(mut self, place: &Place) -> Self {
        self.start = place.0.iter().copied().collect();
        self
    }

    /// The place of the entry that [`next`](Self::next) has just handed out: a walk that
    /// starts there hands it out first.
    pub fn place(&self) -> Place {
        Place(self.frames.iter().map(|frame| frame.number.saturating_sub(1)).collect())
    }

    /// The place behind everything handed out so far, as long as there is more to come.
    pub fn next_place(&self) -> Place {
        if !self.start.is_empty() || self.frames.is_empty() {
            let way = self.frames.iter().map(|frame| frame.number.saturating_sub(1));
            return Place(way.chain(self.start.iter().copied()).collect());
        }
        let mut place = self.place();
        if self.open.is_none() {
            return place.behind();
        }
        place.0.push(0);
        place
    }

    /// The next entry, or what is missing to find it, or the end.
    ///
    /// # Errors
    /// See [`Walk`]; what was handed out before an error is true, and partial.
    pub fn next(
        &mut self,
        objects: &impl Objects,
        interrupt: &dyn Interrupt,
    ) -> Result<Step<WalkEntry<'_>>, ViewError> {
        loop {
            if let Some(folder) = self.open {
                let tree =
                    self.trees.read(objects, &folder.id).inspect_err(|_| self.open = None)?;
                let Some(tree) = tree else {
                    return Ok(Step::Missing(self.look_ahead(objects, folder, interrupt)?));
                };
                self.enter(folder, tree);
                self.seek().inspect_err(|_| self.frames.clear())?;
                continue;
            }
            let Some(frame) = self.frames.last_mut() else { return Ok(Step::Done) };
            if self.visited.is_multiple_of(ENTRIES_PER_CHECK) {
                interrupt.check()?;
            }
            let rest = frame.tree.get(frame.offset..).unwrap_or_default();
            let mut entries = TreeIter::new(rest, frame.folder.id.format());
            let entry = match entries.next() {
                Some(Ok(entry)) => entry,
                Some(Err(error)) => {
                    let path = self.path.get(..frame.path_bytes.saturating_sub(1));
                    let (path, id) = (path.unwrap_or_default().into(), frame.folder.id);
                    self.frames.pop();
                    return Err(ViewError::Tree { path, id, error });
                }
                None => {
                    self.frames.pop();
                    continue;
                }
            };
            check(Which::WalkEntries, self.limits.max_walk_entries, self.visited + 1)?;
            self.visited += 1;
            frame.offset = frame.tree.len() - entries.rest().len();
            frame.number = frame.number.saturating_add(1);
            // Before it is copied: a name may be as long as an object.
            check_path_bytes(&self.limits, frame.path_bytes.saturating_add(entry.name.len()))?;
            self.path.truncate(frame.path_bytes);
            self.path.extend_from_slice(entry.name);

            let (mode, id) = (entry.mode, entry.id);
            let filter = &self.options.filter;
            let Some(level) = frame.folder.level.child(filter, &self.path) else { continue };
            let handed_out = if mode.kind() == EntryKind::Tree {
                if self.options.enters(level, &self.path) {
                    check(Which::TreeDepth, self.limits.max_tree_depth.into(), level.depth.into())?;
                    self.open = Some(Folder { id, level });
                }
                self.options.trees
                    && level.below_prefix != Some(0)
                    && filter.keeps_folder(&self.path)
            } else {
                filter.keeps(&self.path)
            };
            if handed_out && let Some(depth) = level.below_prefix {
                return Ok(Step::Item(WalkEntry { path: self.path.as_bstr(), mode, id, depth }));
            }
        }
    }

    fn enter(&mut self, folder: Folder, tree: Bytes) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.open = None;
        let path_bytes = self.path.len();
        self.frames.push(Frame { folder, tree, offset: 0, number: 0, path_bytes });
    }

    /// Leaves out what is before the start in the folder just entered.
    fn seek(&mut self) -> Result<(), ViewError> {
        let (Some(skipped), Some(frame)) = (self.start.pop_front(), self.frames.last_mut()) else {
            return Ok(());
        };
        let mut entries = TreeIter::new(&frame.tree, frame.folder.id.format());
        for _ in 0..skipped {
            entries.next().and_then(Result::ok).ok_or(ViewError::NoSuchPlace)?;
        }
        let way = match self.start.is_empty() {
            true => None,
            false => Some(entries.next().and_then(Result::ok).ok_or(ViewError::NoSuchPlace)?),
        };
        frame.offset = frame.tree.len() - entries.rest().len();
        frame.number = skipped.saturating_add(u32::from(way.is_some()));
        let Some(way) = way else { return Ok(()) };
        check_path_bytes(&self.limits, frame.path_bytes.saturating_add(way.name.len()))?;
        self.path.truncate(frame.path_bytes);
        self.path.extend_from_slice(way.name);
        let level = frame.folder.level.child(&self.options.filter, &self.path);
        let level = level.filter(|level| {
            way.kind() == EntryKind::Tree
                && level.depth <= self.limits.max_tree_depth
                && self.options.enters(*level, &self.path)
        });
        let level = level.ok_or(ViewError::NoSuchPlace)?;
        self.open = Some(Folder { id: way.id, level });
        Ok(())
    }

    /// All trees that are missing ahead of the cursor, which stands before `open`.
    ///
    /// What was found ahead is remembered: the next call goes on with the trees that
    /// this one asks for and looks into no tree again.
    fn look_ahead(
        &mut self,
        objects: &impl Objects,
        open: Folder,
        interrupt: &dyn Interrupt,
    ) -> Result<MissingSet, ViewError> {
        let mut missing = MissingSet::of(open.id, Some(Kind::Tree));
        let ahead = &mut self.ahead;
        if ahead.queue.is_empty() && ahead.waiting.is_empty() {
            ahead.push(open, self.path.as_slice().into());
            for frame in self.frames.iter().rev() {
                let rest = frame.tree.get(frame.offset..).unwrap_or_default();
                let path = self.path.get(..frame.path_bytes).unwrap_or_default();
                ahead.push_folders(rest, frame.folder, path, &self.options, &self.limits);
            }
        }
        ahead.waiting.append(&mut ahead.queue);
        std::mem::swap(&mut ahead.waiting, &mut ahead.queue);
        let (mut entries, mut trees) = (0, 0u64);
        while missing.len() < MAX_MISSING_TREES && entries < MAX_ENTRIES_AHEAD {
            if trees.is_multiple_of(ENTRIES_PER_CHECK) {
                interrupt.check()?;
            }
            trees += 1;
            let Some((folder, mut path)) = ahead.pop() else { break };
            if is_behind(&path, &self.path) {
                continue;
            }
            match self.trees.read(objects, &folder.id) {
                Ok(Some(tree)) => {
                    if self.options.depends_on_tree_alone(folder.level)
                        && !ahead.seen.insert(folder.id)
                    {
                        continue;
                    }
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    entries +=
                        ahead.push_folders(&tree, folder, &path, &self.options, &self.limits);
                }
                Ok(None) => {
                    missing.insert(folder.id, Some(Kind::Tree));
                    ahead.wait(folder, path);
                }
                // The cursor reports it when it gets there.
                Err(_) => {}
            }
        }
        Ok(missing)
    }
}

impl Level {
    /// The level of `path`, which is in a folder of this level; `None` when the filter's
    /// prefixes exclude it.
    fn child(self, filter: &PathFilter, path: &[u8]) -> Option<Self> {
        let below_prefix = match self.below_prefix {
            Some(levels) => Some(levels.saturating_add(1)),
            None => match filter.position(path) {
                Position::Above => None,
                Position::At | Position::Below => Some(0),
                Position::Outside => return None,
            },
        };
        Some(Self { depth: self.depth.saturating_add(1), below_prefix })
    }
}

impl WalkOptions {
    /// Whether what is in the folder `path` may be asked for.
    fn enters(&self, level: Level, path: &[u8]) -> bool {
        let deeper = match (level.below_prefix, self.max_depth) {
            (Some(depth), Some(max)) => depth < max,
            _ => true,
        };
        deeper && self.filter.may_enter(path)
    }

    /// Whether a folder contributes the same wherever it stands.
    fn depends_on_tree_alone(&self, level: Level) -> bool {
        level.below_prefix.is_some() && self.max_depth.is_none() && !self.filter.has_globs()
    }
}

/// Trees asked for at once.
const MAX_MISSING_TREES: usize = 2_048;
/// Entries looked at ahead of the cursor for one missing set.
const MAX_ENTRIES_AHEAD: u64 = 1 << 18;
/// Entries, or trees looked at ahead, between two questions to the interrupt.
const ENTRIES_PER_CHECK: u64 = 256;

#[cfg(test)]
mod tests;
