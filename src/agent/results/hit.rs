//! What a search finds: lines, or files.

use std::ops::Range;

use bstr::BString;

use crate::oid::ObjectId;
use crate::view::excerpt::excerpt;
use crate::view::grep::{self, ContextLine, FileRef};

/// One thing that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(untagged))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum GrepItem {
    /// A line, when lines are asked for.
    Hit(Hit),
    /// A file, when files or counts are asked for.
    File(FileMatches),
}

/// A line that was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hit {
    /// The file, from the root.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub path: BString,
    /// The line's number, from 1.
    pub line: u64,
    /// Where the first match begins in the whole line, in bytes from 1; `null` where
    /// nothing matches or the match is empty.
    pub column: Option<u64>,
    /// The line without its line feed; the part of it that `cut` leaves.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub text: BString,
    /// Set when `text` is a part of the line only.
    pub cut: Option<Cut>,
    /// What matches, without overlap, as bytes of `text` as it is here.
    pub ranges: Vec<ByteRange>,
    /// The file's blob.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub blob: ObjectId,
    /// Lines before it that no hit before was given with.
    pub before: Vec<NearLine>,
    /// Lines after it, up to the next hit.
    pub after: Vec<NearLine>,
}

/// A line near a hit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NearLine {
    /// Its number, from 1.
    pub line: u64,
    /// The line without its line feed; the part of it that `cut` leaves.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub text: BString,
    /// Set when `text` is a part of the line only.
    pub cut: Option<Cut>,
}

/// Bytes of a line that were left out, never parts of a UTF-8 character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cut {
    /// Before what is here.
    pub before_bytes: u64,
    /// Behind it.
    pub after_bytes: u64,
}

/// A part of a text, in bytes from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ByteRange {
    /// Its first byte.
    pub start: u64,
    /// The byte behind its last one.
    pub end: u64,
}

/// A file in which something was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMatches {
    /// The file, from the root.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_text"))]
    #[cfg_attr(feature = "schema", schemars(with = "super::text::Text"))]
    pub path: BString,
    /// Its blob.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub blob: ObjectId,
    /// Lines found, when they were counted.
    pub count: Option<u64>,
}

impl Hit {
    /// `hit` with at most `max_bytes` of its line.
    pub(in crate::agent) fn of(hit: &grep::Hit<'_>, max_bytes: usize) -> Self {
        let first = hit.ranges().next();
        let focus = first.map_or(0..0, |range| range.start..range.end);
        let part = excerpt(hit.line, focus, max_bytes);
        let ranges = hit
            .distinct_ranges()
            .take_while(|range| range.start < part.end)
            .map(|range| range.start.max(part.start)..range.end.min(part.end))
            .filter(|range| range.start < range.end)
            .map(|range| ByteRange {
                start: (range.start - part.start) as u64,
                end: (range.end - part.start) as u64,
            })
            .collect();
        Self {
            path: hit.file.path.into(),
            line: hit.line_number,
            column: first.map(|range| range.start as u64 + 1),
            cut: Cut::of(hit.line, &part),
            text: hit.line.get(part).unwrap_or_default().into(),
            ranges,
            blob: hit.file.id,
            before: Vec::new(),
            after: Vec::new(),
        }
    }
}

impl NearLine {
    /// `line` with at most `max_bytes` of it.
    pub(in crate::agent) fn of(line: &ContextLine<'_>, max_bytes: usize) -> Self {
        let part = excerpt(line.line, 0..0, max_bytes);
        Self {
            line: line.line_number,
            cut: Cut::of(line.line, &part),
            text: line.line.get(part).unwrap_or_default().into(),
        }
    }
}

impl Cut {
    /// What `part` leaves of `line`; `None` when that is nothing.
    pub(in crate::agent) fn of(line: &[u8], part: &Range<usize>) -> Option<Self> {
        let cut = Self {
            before_bytes: part.start as u64,
            after_bytes: line.len().saturating_sub(part.end) as u64,
        };
        (cut.before_bytes + cut.after_bytes > 0).then_some(cut)
    }
}

impl FileMatches {
    pub(in crate::agent) fn of(file: &FileRef<'_>, count: Option<u64>) -> Self {
        Self { path: file.path.into(), blob: file.id, count }
    }
}
