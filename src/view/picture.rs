//! A picture of a folder: what is in it down to some depth, with how much is below each
//! folder, in a bounded number of entries.
//!
//! Entries are shared out level by level, and within a level evenly: one huge folder does
//! not hide its neighbours. No blobs are read.

use std::ops::Range;

use bstr::BString;
use bytes::Bytes;

use super::ViewError;
use super::count::{Counter, Counts};
use super::path::{push_name, resolve};
use super::trees::Trees;
use crate::limits::{Interrupt, Limits};
use crate::object::{EntryKind, Mode, TreeEntryRef, TreeIter};
use crate::oid::ObjectId;
use crate::store::{Lookup, Objects};

/// How much is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureOptions {
    /// Levels below the folder; 1 is what `ls` shows.
    pub max_depth: u32,
    /// Entries in all.
    pub max_entries: usize,
    /// Folders only. Files are still counted.
    pub only_folders: bool,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self { max_depth: 2, max_entries: 200, only_folders: false }
    }
}

/// A folder and what is shown of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Where the folder was found after symbolic links were followed.
    pub path: BString,
    /// How much is in it.
    pub counts: Counts,
    /// Entries of the folder itself that are not shown.
    pub left_out: u64,
    /// What is shown, each folder before what is in it.
    pub items: Vec<PictureItem>,
}

/// One entry of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureItem {
    /// Its path from the root.
    pub path: BString,
    /// Levels below the folder that is shown, from 1.
    pub depth: u32,
    /// Its mode as written.
    pub mode: Mode,
    /// Its object.
    pub id: ObjectId,
    /// How much is in it, if it is a folder.
    pub counts: Counts,
    /// Entries of it that are not shown although it is not too deep, or `None` for what is.
    pub left_out: Option<u64>,
}

/// Draws the folder `path` of the tree `root`.
///
/// # Errors
/// Those of [`resolve`], [`ViewError::NotADirectory`] for a file, and those of [`Counter`].
/// Of a damaged folder what can be read is shown.
pub fn picture(
    objects: &impl Objects,
    root: &ObjectId,
    path: &[u8],
    options: &PictureOptions,
    limits: &Limits,
    interrupt: &dyn Interrupt,
) -> Result<Lookup<Picture>, ViewError> {
    let folder = match resolve(objects, root, path, true, limits)? {
        Lookup::Ready(folder) => folder,
        Lookup::Missing(missing) => return Ok(Lookup::Missing(missing)),
    };
    if folder.mode.kind() != EntryKind::Tree {
        return Err(ViewError::NotADirectory { path: path.into(), file: folder.path });
    }
    let mut counter = Counter::new(limits);
    let counts = match counter.count(objects, &folder.id, interrupt)? {
        Lookup::Ready(counts) => counts,
        Lookup::Missing(missing) => return Ok(Lookup::Missing(missing)),
    };
    let trees = Trees::new(limits);
    let drawing = Drawing { objects, interrupt, trees, counter, options, nodes: Vec::new() };
    drawing.draw(folder.path, folder.id, counts).map(Lookup::Ready)
}

/// A picture under way.
struct Drawing<'a, O> {
    objects: &'a O,
    interrupt: &'a dyn Interrupt,
    trees: Trees,
    counter: Counter,
    options: &'a PictureOptions,
    /// Each level after the one above it; the children of a folder are together.
    nodes: Vec<Node>,
}

struct Node {
    item: PictureItem,
    children: Range<usize>,
}

impl<O: Objects> Drawing<'_, O> {
    fn draw(mut self, path: BString, id: ObjectId, counts: Counts) -> Result<Picture, ViewError> {
        let item = PictureItem { path, depth: 0, mode: Mode::TREE, id, counts, left_out: None };
        self.nodes.push(Node { item, children: 0..0 });
        let mut level = 0..1;
        for _ in 0..self.options.max_depth {
            self.expand(level.clone())?;
            level = level.end..self.nodes.len();
            if level.is_empty() {
                break;
            }
        }
        Ok(self.in_order())
    }

    /// Shows what is in the folders among the nodes `level`, each its share of the entries
    /// that are left.
    fn expand(&mut self, level: Range<usize>) -> Result<(), ViewError> {
        let mut folders = Vec::new();
        for at in level {
            if let Some(node) = self.nodes.get(at)
                && node.item.mode.kind() == EntryKind::Tree
            {
                let id = node.item.id;
                let tree = self.tree(&id)?;
                folders.push((self.shown(&tree, &id).count(), at));
            }
        }
        // Those that need less than their share leave the rest to the others.
        folders.sort_unstable();
        let mut left = self.options.max_entries.saturating_sub(self.nodes.len() - 1);
        let mut shares = Vec::with_capacity(folders.len());
        for (i, &(wanted, at)) in folders.iter().enumerate() {
            let share = wanted.min(left / (folders.len() - i));
            left -= share;
            shares.push((at, wanted, share));
        }
        shares.sort_unstable();
        for (at, wanted, share) in shares {
            let first = self.nodes.len();
            let Some(Node { item: parent, .. }) = self.nodes.get(at) else { continue };
            let (path, depth, id) = (parent.path.clone(), parent.depth + 1, parent.id);
            let tree = self.tree(&id)?;
            for entry in self.shown(&tree, &id).take(share) {
                let mut path = path.clone();
                push_name(&mut path, entry.name);
                let counts = self.counts(&entry)?;
                let (mode, id) = (entry.mode, entry.id);
                let item = PictureItem { path, depth, mode, id, counts, left_out: None };
                self.nodes.push(Node { item, children: 0..0 });
            }
            let children = first..self.nodes.len();
            if let Some(node) = self.nodes.get_mut(at) {
                node.children = children;
                node.item.left_out = Some((wanted - share) as u64);
            }
        }
        Ok(())
    }

    /// The tree `id`, which was counted and so is there.
    fn tree(&mut self, id: &ObjectId) -> Result<Bytes, ViewError> {
        Ok(self.trees.read(self.objects, id)?.unwrap_or_default())
    }

    /// How much is below an entry. It was counted with all the rest.
    fn counts(&mut self, entry: &TreeEntryRef<'_>) -> Result<Counts, ViewError> {
        if entry.kind() != EntryKind::Tree {
            return Ok(Counts::default());
        }
        match self.counter.count(self.objects, &entry.id, self.interrupt)? {
            Lookup::Ready(counts) => Ok(counts),
            Lookup::Missing(_) => Ok(Counts::default()),
        }
    }

    /// What may be shown of a tree.
    fn shown<'t>(
        &self,
        tree: &'t [u8],
        id: &ObjectId,
    ) -> impl Iterator<Item = TreeEntryRef<'t>> + use<'t, O> {
        let only_folders = self.options.only_folders;
        TreeIter::new(tree, id.format())
            .map_while(Result::ok)
            .filter(move |entry| !only_folders || entry.kind() == EntryKind::Tree)
    }

    /// The nodes as they are read: each folder before what is in it.
    fn in_order(self) -> Picture {
        let mut nodes: Vec<Option<Node>> = self.nodes.into_iter().map(Some).collect();
        let mut items = Vec::with_capacity(nodes.len());
        let mut picture = None;
        let mut to_come = vec![0];
        while let Some(node) = to_come.pop().and_then(|at| nodes.get_mut(at)?.take()) {
            to_come.extend(node.children.rev());
            match picture {
                None => picture = Some(node.item),
                Some(_) => items.push(node.item),
            }
        }
        let (path, counts, left_out) =
            picture.map(|item| (item.path, item.counts, item.left_out)).unwrap_or_default();
        Picture { path, counts, left_out: left_out.unwrap_or_default(), items }
    }
}

#[cfg(test)]
mod tests;
