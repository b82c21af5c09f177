//! Objects as bytes: kinds, and parsers that borrow from what they parse.
//!
//! Parsing is lazy and tolerant where git is: odd bytes stay readable and are flagged,
//! ids always come from the original bytes.

mod commit;
mod header;
mod ident;
mod mode;
mod name;
mod tag;
mod tree;

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::oid::{Collision, Hasher, ObjectFormat, ObjectId};

pub use commit::{Commit, CommitRef, Parents};
pub use header::{HeaderRef, Headers};
pub use ident::{IdentRef, Time};
pub use mode::{EntryKind, Mode};
pub use name::{Suspicion, suspicious_name};
pub use tag::{Tag, TagRef};
pub use tree::{SeenTree, Tree, TreeEntry, TreeEntryRef, TreeIter, TreeRef, compare_entries};

/// The four kinds of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A snapshot with its parents and message.
    Commit,
    /// A folder.
    Tree,
    /// A file's bytes.
    Blob,
    /// An annotated tag.
    Tag,
}

impl Kind {
    /// git's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// The kind called `name`.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"commit" => Some(Self::Commit),
            b"tree" => Some(Self::Tree),
            b"blob" => Some(Self::Blob),
            b"tag" => Some(Self::Tag),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an object's bytes were refused. `offset` counts from the start of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// A header that must be there is not, or is not where git puts it.
    #[error("the '{header}' line is missing at byte {offset}")]
    MissingHeader {
        /// The header's name.
        header: &'static str,
        /// Where it was expected.
        offset: usize,
    },
    /// A header whose value is no id of the repository's format.
    #[error("the '{header}' line at byte {offset} holds no object id of this repository's format")]
    BadId {
        /// The header's name.
        header: &'static str,
        /// Where its line begins.
        offset: usize,
    },
    /// A tag of something that is no kind of object.
    #[error("the 'type' line at byte {offset} names no kind of object")]
    BadKind {
        /// Where its line begins.
        offset: usize,
    },
    /// A tree entry that does not begin with an octal mode and a space.
    #[error("the tree entry at byte {offset} has no readable mode")]
    BadMode {
        /// Where the entry begins.
        offset: usize,
    },
    /// A tree that ends inside an entry.
    #[error("the tree ends inside the entry at byte {offset}")]
    TruncatedTree {
        /// Where the entry begins.
        offset: usize,
    },
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        Self::new(ErrorKind::Malformed, error.to_string()).with_source(error)
    }
}

/// The id of an object of `kind` whose content is `content`.
///
/// ```
/// use gitsip::object::{Kind, hash_object};
/// use gitsip::ObjectFormat;
///
/// let id = hash_object(ObjectFormat::Sha1, Kind::Blob, b"hello\n")?;
/// assert_eq!(id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
/// # Ok::<(), gitsip::oid::Collision>(())
/// ```
pub fn hash_object(
    format: ObjectFormat,
    kind: Kind,
    content: &[u8],
) -> Result<ObjectId, Collision> {
    let mut hasher = Hasher::new(format);
    // "commit 18446744073709551615\0" is 28 bytes.
    let mut header = [0; 28];
    let len = header_into(&mut header, kind, content.len() as u64);
    hasher.update(&header[..len]);
    hasher.update(content);
    hasher.finish()
}

fn header_into(header: &mut [u8; 28], kind: Kind, size: u64) -> usize {
    let name = kind.name().as_bytes();
    header[..name.len()].copy_from_slice(name);
    header[name.len()] = b' ';
    let mut digits = [0; 20];
    let mut first = digits.len();
    let mut rest = size;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let at = name.len() + 1;
    let end = at + digits.len() - first;
    header[at..end].copy_from_slice(&digits[first..]);
    header[end] = 0;
    end + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_gits() {
        for (kind, size, want) in [
            (Kind::Blob, 0, "blob 0\0"),
            (Kind::Tree, 10, "tree 10\0"),
            (Kind::Commit, u64::MAX, "commit 18446744073709551615\0"),
        ] {
            let mut header = [0; 28];
            let len = header_into(&mut header, kind, size);
            assert_eq!(&header[..len], want.as_bytes());
        }
    }
}
