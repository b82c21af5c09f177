//! About how many bytes of JSON an item takes: never less than what its texts do, so that
//! a page stays within what it may.

use super::super::results::{
    Entry, FileMatches, FilePart, GrepItem, Hit, NearLine, Plan, Prefetched, ReadError, ReadItem,
    RefItem, StatItem, Submodule, TreeNode,
};

/// Something that is written as JSON.
pub(super) trait Weigh {
    /// About how many bytes.
    fn json_bytes(&self) -> u64;
}

/// Names of fields, an id and numbers.
const FIXED: u64 = 160;
/// The same for a line near a hit.
const FIXED_LINE: u64 = 80;

/// Bytes of `text` as JSON has it, or of its base64.
pub(super) fn text_bytes(text: &[u8]) -> u64 {
    if std::str::from_utf8(text).is_err() {
        return text.len() as u64 / 3 * 4 + 4;
    }
    text.iter().map(|&byte| char_bytes(byte)).sum()
}

/// What a byte of UTF-8 becomes.
pub(super) fn char_bytes(byte: u8) -> u64 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

impl Weigh for RefItem {
    fn json_bytes(&self) -> u64 {
        let symref = self.symref.as_ref().map_or(0, |name| text_bytes(name));
        FIXED + text_bytes(&self.name) + symref
    }
}

impl Weigh for Entry {
    fn json_bytes(&self) -> u64 {
        FIXED + text_bytes(&self.path)
    }
}

impl Weigh for TreeNode {
    fn json_bytes(&self) -> u64 {
        FIXED + text_bytes(&self.path)
    }
}

impl Weigh for Prefetched {
    fn json_bytes(&self) -> u64 {
        FIXED
    }
}

impl Weigh for Plan {
    fn json_bytes(&self) -> u64 {
        2 * FIXED
    }
}

impl Weigh for StatItem {
    fn json_bytes(&self) -> u64 {
        match self {
            Self::Entry(entry) => entry.json_bytes(),
            Self::Error(error) => error.json_bytes(),
        }
    }
}

impl Weigh for ReadError {
    fn json_bytes(&self) -> u64 {
        2 * FIXED + text_bytes(&self.path) + text_bytes(self.error.message.as_bytes())
    }
}

impl Weigh for ReadItem {
    fn json_bytes(&self) -> u64 {
        match self {
            Self::Error(error) => error.json_bytes(),
            Self::File(file) => file.json_bytes(),
            Self::Submodule(submodule) => submodule.json_bytes(),
        }
    }
}

impl Weigh for FilePart {
    fn json_bytes(&self) -> u64 {
        let paths = text_bytes(&self.path) + text_bytes(&self.resolved_path);
        2 * FIXED + paths + text_bytes(&self.text)
    }
}

impl Weigh for Submodule {
    fn json_bytes(&self) -> u64 {
        let url = self.url.as_ref().map_or(0, |url| text_bytes(url));
        FIXED + text_bytes(&self.path) + url
    }
}

impl Weigh for GrepItem {
    fn json_bytes(&self) -> u64 {
        match self {
            Self::Hit(hit) => hit.json_bytes(),
            Self::File(file) => file.json_bytes(),
        }
    }
}

impl Weigh for FileMatches {
    fn json_bytes(&self) -> u64 {
        FIXED + text_bytes(&self.path)
    }
}

impl Weigh for Hit {
    fn json_bytes(&self) -> u64 {
        let near: u64 = self.before.iter().chain(&self.after).map(NearLine::json_bytes).sum();
        let ranges = 48 * self.ranges.len() as u64;
        FIXED + FIXED_LINE + text_bytes(&self.path) + text_bytes(&self.text) + ranges + near
    }
}

impl Weigh for NearLine {
    fn json_bytes(&self) -> u64 {
        FIXED_LINE + text_bytes(&self.text)
    }
}
