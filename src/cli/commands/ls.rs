//! `gitsip ls`: what is in a folder.

use bstr::{BStr, ByteSlice as _};

use super::entries::{EntryLines, print_files};
use crate::agent::{Snapshot, Source};
use crate::cli::args::Ls;
use crate::cli::output::{Names, Output};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::text::escape_for_people;
use crate::view::glob::PathFilter;

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
        let folder = [folder.resolved_path];
        let filter = PathFilter::new(&[] as &[&str], &folder, &Limits::default())?;
        return print_files(snapshot, filter, lines, out).await;
    }
    let mut buffer = out.lock();
    for entry in &folder.entries {
        if !lines.print(entry, &mut buffer)? {
            break;
        }
    }
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
