//! A picture of a folder, for people. What faces hand out page by page are
//! [`TreeNode`]s alone.

use bstr::BString;

use super::{Below, EntryType, TreeNode};
use crate::oid::ObjectId;
use crate::view::count::Counts;
use crate::view::picture::{Picture, PictureItem};

/// A folder, what is shown of it, and how much there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreePicture {
    /// The commit it was read from.
    pub commit: ObjectId,
    /// Where the folder was found after symbolic links were followed; empty for the root.
    pub path: BString,
    /// What is in it, at any depth.
    pub below: Below,
    /// Entries of the folder itself that are not among the items.
    pub left_out: u64,
    /// What is shown, each folder before what is in it.
    pub items: Vec<TreeItem>,
}

/// One entry of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeItem {
    /// What it is, and how much is below it.
    pub node: TreeNode,
    /// Of a folder: entries of it that are not shown for want of room.
    pub left_out: u64,
}

impl TreePicture {
    pub(in crate::agent) fn of(commit: ObjectId, picture: Picture) -> Self {
        let Picture { path, counts, left_out, items } = picture;
        let items = items.into_iter().map(TreeItem::from).collect();
        Self { commit, path, below: below(counts), left_out, items }
    }
}

impl From<PictureItem> for TreeItem {
    fn from(item: PictureItem) -> Self {
        let PictureItem { path, depth, mode, id, counts, left_out } = item;
        let entry_type = EntryType::of(mode);
        let is_folder = entry_type == EntryType::Folder;
        let below = is_folder.then(|| below(counts));
        let is_closed = is_folder && left_out.is_none();
        let node = TreeNode { path, depth, entry_type, id, below, is_closed };
        Self { node, left_out: left_out.unwrap_or_default() }
    }
}

fn below(counts: Counts) -> Below {
    Below { files: counts.files, folders: counts.folders }
}
