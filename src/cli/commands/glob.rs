//! `gitsip glob`: which paths match.

use bstr::{BStr, BString, ByteSlice as _};

use super::entries::{EntryLines, print_entries};
use crate::agent::{Snapshot, Source};
use crate::cli::args::Glob;
use crate::cli::output::{Names, Output};
use crate::error::Error;

/// `folder` is that of the address: what is outside of it is left out.
pub(super) async fn glob<S: Source>(
    snapshot: &Snapshot<S>,
    args: &Glob,
    folder: &BStr,
    out: &Output,
) -> Result<bool, Error> {
    let folder = match folder.is_empty() {
        true => BString::default(),
        false => snapshot.ls(folder).await?.resolved_path,
    };
    let mut found = snapshot.glob(&args.pattern).await?;
    found.retain(|entry| {
        let below = entry.path.strip_prefix(folder.as_bytes());
        folder.is_empty() || below.is_some_and(|name| matches!(name.first(), None | Some(b'/')))
    });
    print_entries(
        &found,
        EntryLines { long: false, names: Names::from_null_flag(args.null) },
        out,
    )?;
    Ok(!found.is_empty())
}
