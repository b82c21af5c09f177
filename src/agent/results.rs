//! Plain result types: what the library's callers, the command line and later faces get.
//!
//! With the feature `serde` they serialize; nothing below them does. An id is its
//! hexadecimal digits, a mode its octal ones, and bytes are `{"text": ...}` or, where they
//! are not UTF-8, `{"bytes": base64}`, as in ripgrep. What every face hands out is an
//! [`Answer`] of the items here, or a [`Failure`].

mod answer;
mod doctor;
mod failure;
mod hit;
mod items;
mod memory;
#[cfg(feature = "serde")]
pub(super) mod text;

mod picture;
mod plan;
mod report;
mod stats;

use bstr::BString;
use bytes::Bytes;

use crate::object::{EntryKind, Mode};
use crate::oid::ObjectId;
use crate::view::grep::GrepStats;
use crate::view::lines::{LineRange, slice_lines};
use crate::view::list::{Listing, Stat};
use crate::view::read::{self, Read};
use crate::view::walk::WalkEntry;

pub use answer::{Answer, AnswerStats, Envelope, SearchStats, Truncated, Unsearched};
pub use doctor::{AuthDiagnosis, Diagnosis, DoctorFinding, Hop, Http, Offer};
pub use failure::Failure;
pub use hit::{ByteRange, Cut, FileMatches, GrepItem, Hit, NearLine};
pub use items::{Below, FilePart, ReadError, ReadItem, RefItem, RepoInfo, StatItem, TreeNode};
pub use memory::MemoryReport;
pub use picture::{TreeItem, TreePicture};
pub use plan::{EstimatedFrom, Plan};
pub use report::ProgressReport;
pub use stats::{Exchange, LoadStats, Stats};

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EntryType {
    /// A file, executable or not.
    File,
    /// A folder.
    Folder,
    /// A commit of another repository.
    Submodule,
    /// A symbolic link.
    Symlink,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Its path from the root.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub path: BString,
    /// What it is.
    #[cfg_attr(feature = "serde", serde(rename = "type"))]
    pub entry_type: EntryType,
    /// Its mode in the tree: `0o100644`, `0o100755`, `0o120000`, `0o040000`, `0o160000`,
    /// or what an odd git wrote; in JSON its octal digits, six of them.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_octal"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub mode: u32,
    /// The id of its blob, tree or commit.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: ObjectId,
    /// Bytes of a file that is held already; listing never fetches for a size.
    pub size: Option<u64>,
}

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Folder {
    /// The commit it was read from.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: ObjectId,
    /// The path asked for, normalised; empty for the root.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub path: BString,
    /// Where it was found after symbolic links were followed.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub resolved_path: BString,
    /// Its entries in the order of its tree; of a path that is no folder, that path.
    pub entries: Vec<Entry>,
    /// Whether the folder is damaged behind the last entry.
    pub is_damaged: bool,
}

/// What a Git LFS pointer points to; the content itself is never fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lfs {
    /// The SHA-256 of the content, in hexadecimal digits.
    pub oid: String,
    /// Bytes of the content.
    pub size: u64,
}

/// A file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct File {
    /// The commit it was read from.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: ObjectId,
    /// The path asked for, normalised.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub path: BString,
    /// Where it was found after symbolic links were followed.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub resolved_path: BString,
    /// Its mode in the tree.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_octal"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub mode: u32,
    /// The id of its blob.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: ObjectId,
    /// The content; of a symbolic link that was not followed, its target.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub bytes: Bytes,
    /// What it points to, when the content is a Git LFS pointer.
    pub lfs: Option<Lfs>,
}

/// A submodule: a commit of another repository, which is never fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Submodule {
    /// The commit it was read from.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: ObjectId,
    /// Where it is mounted.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "text::Text"))]
    pub path: BString,
    /// The commit of the other repository.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: ObjectId,
    /// The address that `.gitmodules` names, as written there.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_optional_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "Option<text::Text>"))]
    pub url: Option<BString>,
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lines {
    /// The file, with the lines asked for as its content.
    pub file: File,
    /// The number of the first line, from 1; 0 when there is none in the range.
    pub first_line: u64,
    /// How many lines the whole file has.
    pub total_lines: u64,
}

/// What reading a path came to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ReadAnswer {
    /// A file or a link.
    File(File),
    /// A submodule.
    Submodule(Submodule),
}

/// What a search came to, beside its hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrepSummary {
    /// The commit that was searched.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: ObjectId,
    /// Files searched.
    pub files_searched: u64,
    /// Files with a hit.
    pub files_matched: u64,
    /// Binary files passed over.
    pub binary_files_skipped: u64,
    /// Bytes searched.
    pub bytes_searched: u64,
    /// Lines reported.
    pub hits: u64,
    /// Whether the sink or a maximum ended the search early.
    pub stopped_early: bool,
    /// Of what the budget had not enough for all files; `None` when it had.
    pub truncated: Option<Truncated>,
    /// What was left out then.
    pub unsearched: Option<Unsearched>,
}

/// What a prefetch brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prefetched {
    /// The commit whose files are now held.
    #[cfg_attr(feature = "serde", serde(serialize_with = "text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: ObjectId,
    /// Distinct files of the snapshot that are held.
    pub blobs_held: u64,
    /// Distinct files left out for their size or by the filter.
    pub blobs_left_out: u64,
}

impl EntryType {
    pub(super) fn of(mode: Mode) -> Self {
        match mode.kind() {
            EntryKind::Blob | EntryKind::Executable => Self::File,
            EntryKind::Gitlink => Self::Submodule,
            EntryKind::Symlink => Self::Symlink,
            EntryKind::Tree => Self::Folder,
        }
    }
}

impl Entry {
    fn new(path: BString, mode: Mode, id: ObjectId, size: Option<u64>) -> Self {
        Self { path, entry_type: EntryType::of(mode), mode: mode.bits(), id, size }
    }
}

impl From<Stat> for Entry {
    fn from(stat: Stat) -> Self {
        Self::new(stat.path, stat.mode, stat.id, stat.size)
    }
}

impl From<WalkEntry<'_>> for Entry {
    fn from(entry: WalkEntry<'_>) -> Self {
        Self::new(entry.path.into(), entry.mode, entry.id, None)
    }
}

impl Folder {
    pub(super) fn of(commit: ObjectId, listing: Listing) -> Self {
        // No tree can contain itself: the same id means the one thing that is there.
        let is_alone = listing.entries.iter().any(|entry| entry.id == listing.id);
        let within = |name: &BString| match listing.resolved_path.as_slice() {
            path if is_alone => BString::from(path),
            [] => name.clone(),
            folder => bstr::concat([folder, b"/", name]).into(),
        };
        let entries = listing
            .entries
            .iter()
            .map(|entry| Entry::new(within(&entry.name), entry.mode, entry.id, entry.size))
            .collect();
        Self {
            commit,
            is_damaged: listing.damage.is_some(),
            path: listing.path,
            resolved_path: listing.resolved_path,
            entries,
        }
    }
}

impl ReadAnswer {
    pub(super) fn of(commit: ObjectId, found: Read) -> Self {
        match found {
            Read::File(read::File { path, resolved_path, mode, id, bytes, lfs }) => {
                let lfs = lfs.map(|read::LfsPointer { oid, size }| Lfs { oid, size });
                let mode = mode.bits();
                Self::File(File { commit, path, resolved_path, mode, id, bytes, lfs })
            }
            Read::Submodule(read::Submodule { path, commit: id, url }) => {
                Self::Submodule(Submodule { commit, path, id, url })
            }
        }
    }
}

impl Lines {
    pub(super) fn of(mut file: File, range: LineRange) -> Self {
        let lines = slice_lines(&file.bytes, range);
        file.bytes = lines.bytes;
        let first_line = if lines.last < lines.first { 0 } else { lines.first };
        Self { file, first_line, total_lines: lines.total }
    }
}

impl GrepSummary {
    pub(super) fn of(commit: ObjectId, stats: &GrepStats) -> Self {
        Self {
            commit,
            files_searched: stats.files_searched,
            files_matched: stats.files_matched,
            binary_files_skipped: stats.files_binary,
            bytes_searched: stats.bytes_searched,
            hits: stats.lines_found,
            stopped_early: stats.stopped,
            truncated: None,
            unsearched: None,
        }
    }
}
