//! `gitsip tree`: a picture of folders with how much is in them.

use bstr::{BStr, ByteSlice as _};

use crate::agent::{EntryType, Snapshot, Source, TreeItem, TreeNode, TreePicture};
use crate::cli::args::{DEFAULT_MAX_ENTRIES, Tree};
use crate::cli::output::{Output, push_fmt};
use crate::cli::quote::push_quoted;
use crate::error::Error;
use crate::text::amounts::Count;
use crate::view::picture::PictureOptions;

/// `path` is that of the address, and is drawn when the command line has none.
pub(super) async fn tree<S: Source>(
    snapshot: &Snapshot<S>,
    args: &Tree,
    path: &BStr,
    out: &Output,
) -> Result<bool, Error> {
    let path = if args.path.is_empty() { path } else { args.path.as_encoded_bytes().as_bstr() };
    let options = PictureOptions {
        max_depth: args.depth,
        max_entries: args.max_entries.unwrap_or(DEFAULT_MAX_ENTRIES),
        only_folders: args.folders,
    };
    let picture = snapshot.tree_picture(path, &options).await?;
    let mut out = out.lock();
    push_picture(out.bytes(), &picture);
    out.settle()?;
    Ok(picture.below.files > 0 || picture.below.folders > 0)
}

fn push_picture(bytes: &mut Vec<u8>, picture: &TreePicture) {
    let shown = if picture.path.is_empty() { b"." } else { picture.path.as_slice() };
    push_quoted(bytes, shown);
    bytes.push(b'\n');
    let rows = rows(picture);
    let is_last = last_ones(&rows);
    // For each level above, what leads past it.
    let mut stems: Vec<&str> = Vec::new();
    for (row, is_last) in rows.iter().zip(is_last) {
        stems.truncate(row.depth.saturating_sub(1));
        stems.iter().for_each(|stem| bytes.extend_from_slice(stem.as_bytes()));
        bytes.extend_from_slice(if is_last { "└─ " } else { "├─ " }.as_bytes());
        stems.push(if is_last { "   " } else { "│  " });
        match row.what {
            What::Item(item) => push_node(bytes, &item.node),
            What::LeftOut(entries) => push_fmt(bytes, format_args!("... {entries} more")),
        }
        bytes.push(b'\n');
    }
    push_total(bytes, picture);
}

struct Row<'p> {
    depth: usize,
    what: What<'p>,
}

enum What<'p> {
    Item(&'p TreeItem),
    /// So many entries that are not shown.
    LeftOut(u64),
}

/// The entries, and behind those of each folder how many more there are.
fn rows(picture: &TreePicture) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    // Folders under way: the depth of what is in them, and what is not shown of them.
    let mut open = vec![(1, picture.left_out)];
    for item in &picture.items {
        let depth = usize::try_from(item.node.depth).unwrap_or(usize::MAX);
        while let Some((depth, entries)) = open.pop_if(|(inner, _)| *inner > depth) {
            rows.push(Row { depth, what: What::LeftOut(entries) });
        }
        rows.push(Row { depth, what: What::Item(item) });
        if item.left_out > 0 {
            open.push((depth + 1, item.left_out));
        }
    }
    open.retain(|(_, entries)| *entries > 0);
    rows.extend(
        open.into_iter().rev().map(|(depth, entries)| Row { depth, what: What::LeftOut(entries) }),
    );
    rows
}

/// For each row whether none of its folder follows.
fn last_ones(rows: &[Row<'_>]) -> Vec<bool> {
    // For each depth whether a row of the same folder was met, from behind.
    let mut met: Vec<bool> = Vec::new();
    let mut is_last: Vec<bool> = rows
        .iter()
        .rev()
        .map(|row| {
            met.resize(row.depth + 1, false);
            met.last_mut().is_none_or(|met| !std::mem::replace(met, true))
        })
        .collect();
    is_last.reverse();
    is_last
}

fn push_node(bytes: &mut Vec<u8>, node: &TreeNode) {
    let name = node.path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let mark = match node.entry_type {
        EntryType::Folder => "/",
        EntryType::Symlink => "@",
        EntryType::File | EntryType::Submodule => "",
    };
    push_quoted(bytes, &[name, mark.as_bytes()].concat());
    if let Some(below) = node.below {
        push_fmt(bytes, format_args!(" ({})", below.files));
    } else if node.entry_type == EntryType::Submodule {
        bytes.extend_from_slice(b" (submodule)");
    }
}

fn push_total(bytes: &mut Vec<u8>, picture: &TreePicture) {
    let below = picture.below;
    let (folders, files) = (Count(below.folders, "folder"), Count(below.files, "file"));
    push_fmt(bytes, format_args!("\n{folders}, {files}"));
    let left_out = picture.items.iter().map(|item| item.left_out);
    let left_out = left_out.fold(picture.left_out, u64::saturating_add);
    if left_out > 0 {
        let entries = if left_out == 1 { "entry" } else { "entries" };
        push_fmt(bytes, format_args!("; {left_out} {entries} left out, see --max-entries"));
    }
    bytes.push(b'\n');
}
