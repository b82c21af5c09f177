//! How entries of folders are listed.

use crate::agent::{Entry, EntryType, Snapshot, Source};
use crate::cli::output::{Buffer, Names, Output, push_fmt};
use crate::error::Error;
use crate::store::Objects as _;
use crate::view::glob::PathFilter;
use crate::view::walk::WalkOptions;

/// Prints the files, links and submodules that `filter` lets through as they are met;
/// whether there is one.
pub(super) async fn print_files<S: Source>(
    snapshot: &Snapshot<S>,
    filter: PathFilter,
    lines: EntryLines,
    out: &Output,
) -> Result<bool, Error> {
    let store = snapshot.repo().source().store();
    let (mut found, mut failed) = (false, None);
    let walked = snapshot
        .walk(WalkOptions { filter, ..WalkOptions::default() }, |met| {
            let mut entry = Entry::from(*met);
            if lines.long && entry.entry_type != EntryType::Submodule {
                // A size that cannot be told is no reason not to list.
                entry.size = store.header(&entry.id).ok().flatten().map(|header| header.size);
            }
            found = true;
            lines.print(&entry, &mut out.lock()).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
        })
        .await;
    failed.map_or(walked, Err)?;
    Ok(found)
}

/// How entries are listed.
#[derive(Clone, Copy)]
pub(super) struct EntryLines {
    pub(super) long: bool,
    pub(super) names: Names,
}

impl EntryLines {
    /// Whether anybody still reads.
    pub(super) fn print(self, entry: &Entry, out: &mut Buffer) -> Result<bool, Error> {
        let bytes = out.bytes();
        if self.long {
            let kind = match entry.entry_type {
                EntryType::File | EntryType::Symlink => "blob",
                EntryType::Folder => "tree",
                EntryType::Submodule => "commit",
            };
            push_fmt(bytes, format_args!("{:06o} {kind} {} ", entry.mode, entry.id));
            match entry.size {
                Some(size) => push_fmt(bytes, format_args!("{size:>7}\t")),
                None => push_fmt(bytes, format_args!("{:>7}\t", "-")),
            }
            self.names.push(bytes, &entry.path);
        } else if entry.entry_type == EntryType::Folder {
            let mut path = entry.path.clone();
            path.push(b'/');
            self.names.push(bytes, &path);
        } else {
            self.names.push(bytes, &entry.path);
        }
        bytes.push(self.names.end());
        out.settle()
    }
}
