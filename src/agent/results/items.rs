//! The items of answers that are no searches: refs, parts of files, pictures of folders.

use bstr::BString;
use bytes::Bytes;

use crate::oid::ObjectId;
use crate::store::Ref;

use super::{Cut, Entry, EntryType, Failure, Lfs, Submodule};

/// A branch, tag or other ref.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefItem {
    /// Its full name, `HEAD` or `refs/...`.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub name: BString,
    /// What it points to; `null` for a branch that has no commit yet.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_optional_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub id: Option<ObjectId>,
    /// What an annotated tag finally points to; `null` for what is none.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_optional_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub peeled: Option<ObjectId>,
    /// The ref that it stands for; `null` for one that stands for itself.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_optional_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::text::Text>"))]
    pub symref: Option<BString>,
}

impl From<Ref> for RefItem {
    fn from(named: Ref) -> Self {
        let Ref { name, target, peeled, symref_target } = named;
        Self { name, id: target, peeled, symref: symref_target }
    }
}

/// What a path to be read came to. What is wrong with one does not keep the others from
/// being read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(tag = "type", rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ReadItem {
    /// It cannot be read.
    Error(ReadError),
    /// A file or a link, or a part of one.
    File(FilePart),
    /// A submodule.
    Submodule(Submodule),
}

/// What a path turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StatItem {
    /// It is this.
    Entry(Entry),
    /// It is nothing, or cannot be found out.
    Error(ReadError),
}

/// A path that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadError {
    /// The path as asked for.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub path: BString,
    /// Why.
    pub error: Failure,
}

/// Some lines of a file, perhaps all.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilePart {
    /// The path asked for, normalised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub path: BString,
    /// Where it was found after symbolic links were followed.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub resolved_path: BString,
    /// Its mode in the tree, six octal digits.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_octal"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub mode: u32,
    /// Its blob.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub blob: ObjectId,
    /// Bytes of the whole file.
    pub size: u64,
    /// The lines with their line ends; of a link that was not followed, its target.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub text: Bytes,
    /// The number of the first line here, from 1; 0 when there is none.
    pub first_line: u64,
    /// The number of the last line here; 0 when there is none.
    pub last_line: u64,
    /// How many lines the whole file has.
    pub total_lines: u64,
    /// Set when the first or the last line is longer than a page: what of them is not here.
    pub cut: Option<Cut>,
    /// What it points to, when the file is a Git LFS pointer.
    pub lfs: Option<Lfs>,
}

/// A line of the picture of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TreeNode {
    /// Its path from the root.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub path: BString,
    /// Levels below the folder that the picture is of; 1 is what is in it.
    pub depth: u32,
    /// What it is.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub entry_type: EntryType,
    /// The id of its blob, tree or commit.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: ObjectId,
    /// What is in it at any depth, for a folder.
    pub below: Option<Below>,
    /// Whether it is a folder whose entries are too deep for the picture.
    pub is_closed: bool,
}

/// How much is in a folder, at any depth. A folder that is in it twice counts twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Below {
    /// Files, links and submodules.
    pub files: u64,
    /// Folders.
    pub folders: u64,
}

/// A repository and what it holds in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepoInfo {
    /// Its address or path.
    pub name: String,
    /// `sha1` or `sha256`.
    pub object_format: String,
    /// Objects held.
    pub objects: u64,
    /// Bytes of memory reserved for it.
    pub memory_bytes: u64,
    /// HTTP requests sent so far.
    pub requests: u64,
    /// Bytes of response bodies received so far.
    pub bytes_received: u64,
    /// What its host lacks, in words.
    pub fallbacks: Vec<String>,
}
