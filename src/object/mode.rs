//! The modes of tree entries: the number that was written, and what git takes it for.
//!
//! Follows `canon_mode` of git's `cache.h`. Nothing is refused here that is a number.

use std::fmt;

/// The mode of a tree entry: the number that was written, and what it means.
///
/// Old and foreign programs wrote `040000`, `100664` or `120664`; the id of a tree
/// depends on the original bytes, so the number is kept and only its meaning is git's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mode(u32);

impl Mode {
    /// A file: `100644`.
    pub const BLOB: Self = Self(0o100644);
    /// An executable file: `100755`.
    pub const EXECUTABLE: Self = Self(0o100755);
    /// A submodule's commit: `160000`.
    pub const GITLINK: Self = Self(0o160000);
    /// A symbolic link: `120000`.
    pub const SYMLINK: Self = Self(0o120000);
    /// A folder: `40000`.
    pub const TREE: Self = Self(0o040000);

    /// The mode written as this number.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The number that was written.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// What git takes it for (`canon_mode`). What is no folder, file or link is a
    /// gitlink, which nothing ever reads.
    pub const fn kind(self) -> EntryKind {
        match self.0 & 0o170000 {
            0o040000 => EntryKind::Tree,
            0o100000 if self.0 & 0o100 != 0 => EntryKind::Executable,
            0o100000 => EntryKind::Blob,
            0o120000 => EntryKind::Symlink,
            _ => EntryKind::Gitlink,
        }
    }

    /// The mode git shows for it and writes today.
    pub const fn canonical(self) -> Self {
        match self.kind() {
            EntryKind::Tree => Self::TREE,
            EntryKind::Blob => Self::BLOB,
            EntryKind::Executable => Self::EXECUTABLE,
            EntryKind::Symlink => Self::SYMLINK,
            EntryKind::Gitlink => Self::GITLINK,
        }
    }

    /// The mode before the first space, and what follows that space.
    #[inline]
    pub(super) fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
        // Nearly every entry, and a comparison is cheaper than a loop.
        if let Some(rest) = bytes.strip_prefix(b"100644 ") {
            return Some((Self::BLOB, rest));
        }
        if let Some(rest) = bytes.strip_prefix(b"40000 ") {
            return Some((Self::TREE, rest));
        }
        let mut bits = 0u32;
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'0'..=b'7' if bits < 1 << 29 => bits = bits << 3 | u32::from(byte - b'0'),
                b' ' if at > 0 => return Some((Self(bits), bytes.get(at + 1..)?)),
                _ => return None,
            }
        }
        None
    }
}

/// Six octal digits, as `git ls-tree` prints them.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

/// What a tree entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntryKind {
    /// A file.
    Blob,
    /// A file that may be run.
    Executable,
    /// The commit of a submodule, which lives in another repository.
    Gitlink,
    /// A symbolic link; its target is the blob's content.
    Symlink,
    /// A folder.
    Tree,
}

impl EntryKind {
    /// Whether the entry's object is a blob of this repository.
    pub const fn is_blob(self) -> bool {
        matches!(self, Self::Blob | Self::Executable | Self::Symlink)
    }
}
