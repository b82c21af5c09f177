//! What a walk remembers of the folders ahead of its cursor.

use std::collections::VecDeque;

use bstr::BString;
use hashbrown::HashSet;

use super::super::path::check_path_bytes;
use super::{Folder, WalkOptions};
use crate::limits::Limits;
use crate::object::{EntryKind, TreeIter};
use crate::oid::ObjectId;

/// Folders to come, found before the cursor got there.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// To be looked into.
    pub(super) queue: VecDeque<(Folder, BString)>,
    /// Not held when they were looked for.
    pub(super) waiting: VecDeque<(Folder, BString)>,
    /// Bytes that both take.
    pub(super) held_bytes: usize,
    /// Trees whose folders were queued, and need not be again wherever they stand.
    pub(super) seen: HashSet<ObjectId>,
}

impl Ahead {
    /// Queues a folder to look into, if there is room to remember it. The cursor finds
    /// what is left out.
    pub(super) fn push(&mut self, folder: Folder, path: BString) {
        let held_bytes = self.held_bytes + held_bytes(&path);
        if held_bytes <= MAX_BYTES_AHEAD {
            self.held_bytes = held_bytes;
            self.queue.push_back((folder, path));
        }
    }

    pub(super) fn wait(&mut self, folder: Folder, path: BString) {
        self.held_bytes += held_bytes(&path);
        self.waiting.push_back((folder, path));
    }

    pub(super) fn pop(&mut self) -> Option<(Folder, BString)> {
        let (folder, path) = self.queue.pop_front()?;
        self.held_bytes -= held_bytes(&path);
        Some((folder, path))
    }

    /// Queues the folders among the entries `rest` of `parent`, whose path with its slash
    /// is `parent_path`; how many entries there were.
    pub(super) fn push_folders(
        &mut self,
        rest: &[u8],
        parent: Folder,
        parent_path: &[u8],
        options: &WalkOptions,
        limits: &Limits,
    ) -> u64 {
        let mut entries = 0;
        for entry in TreeIter::new(rest, parent.id.format()).map_while(Result::ok) {
            entries += 1;
            let path_bytes = parent_path.len().saturating_add(entry.name.len());
            if entry.kind() != EntryKind::Tree || check_path_bytes(limits, path_bytes).is_err() {
                continue;
            }
            let path = [parent_path, entry.name].concat();
            let Some(level) = parent.level.child(&options.filter, &path) else { continue };
            if level.depth <= limits.max_tree_depth && options.enters(level, &path) {
                self.push(Folder { id: entry.id, level }, path.into());
            }
        }
        entries
    }
}

fn held_bytes(path: &BString) -> usize {
    path.len() + size_of::<(Folder, BString)>()
}

/// Whether a walk that stands before the folder `at` has left the folder `path`.
pub(super) fn is_behind(path: &[u8], at: &[u8]) -> bool {
    let slash = || [b'/'].iter();
    let contains_at = path.is_empty() || at.strip_prefix(path).is_some_and(|r| r.starts_with(b"/"));
    !contains_at && path.iter().chain(slash()).lt(at.iter().chain(slash()))
}

/// Bytes remembered of what is ahead of the cursor: some 30,000 folders.
pub(super) const MAX_BYTES_AHEAD: usize = 4 << 20;
