//! How entries of folders are listed.

use crate::agent::{Entry, EntryType};
use crate::cli::output::{Buffer, Names, Output, push_fmt};
use crate::error::Error;

pub(super) fn print_entries(
    entries: &[Entry],
    lines: EntryLines,
    out: &Output,
) -> Result<(), Error> {
    let mut out = out.lock();
    for entry in entries {
        if !lines.print(entry, &mut out)? {
            break;
        }
    }
    Ok(())
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
