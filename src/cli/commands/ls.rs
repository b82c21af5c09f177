//! `gitsip ls`: what is in a folder.

use bstr::{BStr, ByteSlice as _};

use super::entries::{EntryLines, print_entries};
use crate::agent::{Entry, EntryType, Snapshot, Source};
use crate::cli::args::Ls;
use crate::cli::output::{Names, Output};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::store::Objects as _;
use crate::text::escape_for_people;
use crate::view::glob::PathFilter;
use crate::view::walk::WalkOptions;

/// `path` is that of the address, and is read when the command line has none.
pub(super) async fn ls<S: Source>(
    snapshot: &Snapshot<S>,
    args: &Ls,
    path: &BStr,
    out: &Output,
) -> Result<bool, Error> {
    let lines = EntryLines { long: args.long, names: Names::from_null_flag(args.null) };
    let path = if args.path.is_empty() { path } else { args.path.as_encoded_bytes().as_bstr() };
    let folder = snapshot.ls(path).await?;
    if args.recursive {
        return ls_recursive(snapshot, &folder.resolved_path, lines, out).await;
    }
    print_entries(&folder.entries, lines, out)?;
    if folder.is_damaged {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "the folder '{}' is damaged behind what was listed",
                escape_for_people(&folder.resolved_path)
            ),
        ));
    }
    Ok(!folder.entries.is_empty())
}

async fn ls_recursive<S: Source>(
    snapshot: &Snapshot<S>,
    folder: &[u8],
    lines: EntryLines,
    out: &Output,
) -> Result<bool, Error> {
    let filter = PathFilter::new(&[] as &[&str], &[folder], &Limits::default())?;
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
