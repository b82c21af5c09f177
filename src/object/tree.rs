//! Trees: a folder's entries as git wrote them.
//!
//! Follows git's `tree-walk.c`: an entry is an octal mode, a space, a name, a NUL and a
//! raw id. Reading borrows and allocates nothing. Odd modes and dangerous names stay
//! readable ([`Mode::kind`], [`suspicious_name`](super::suspicious_name)); whether a name
//! may be joined to a path is not decided here. Nothing is sorted or repaired.

mod news;

use std::cmp::Ordering;

use bstr::{BStr, BString, ByteSlice as _};

use super::{EntryKind, Mode, ObjectError};
use crate::oid::{ObjectFormat, ObjectId};

pub use news::SeenTree;

/// A tree's content, borrowed.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::object::TreeRef;
///
/// let bytes = b"100644 a\0aaaaaaaaaaaaaaaaaaaa40000 b\0bbbbbbbbbbbbbbbbbbbb";
/// let tree = TreeRef::new(bytes, ObjectFormat::Sha1);
/// let names = tree.iter().map(|entry| entry.map(|e| e.name)).collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(names, ["a", "b"]);
/// assert!(tree.find(b"c")?.is_none());
/// # Ok::<(), gitsip::object::ObjectError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRef<'a> {
    bytes: &'a [u8],
    format: ObjectFormat,
}

impl<'a> TreeRef<'a> {
    /// The tree whose content is `bytes`. Nothing is checked yet.
    pub const fn new(bytes: &'a [u8], format: ObjectFormat) -> Self {
        Self { bytes, format }
    }

    /// The entries in stored order.
    pub fn iter(&self) -> TreeIter<'a> {
        TreeIter::new(self.bytes, self.format)
    }

    /// The first entry called `name`.
    ///
    /// Looks at every entry until it is found: a folder sorts as if its name ended in
    /// `/`, a damaged tree may have any order, and neither may hide an entry.
    pub fn find(&self, name: &[u8]) -> Result<Option<TreeEntryRef<'a>>, ObjectError> {
        self.first(|_, found| found == name)
    }

    /// The first *folder* called `name`, for a path that goes on after it. A damaged
    /// tree can hold a file of the same name before it.
    pub fn find_tree(&self, name: &[u8]) -> Result<Option<TreeEntryRef<'a>>, ObjectError> {
        self.first(|mode, found| mode.kind() == EntryKind::Tree && found == name)
    }

    fn first(
        &self,
        wanted: impl Fn(Mode, &[u8]) -> bool,
    ) -> Result<Option<TreeEntryRef<'a>>, ObjectError> {
        let mut entries = self.iter();
        while let Some(entry) = entries.next_raw()? {
            if wanted(entry.mode, entry.name) {
                return entry.with_id().map(Some);
            }
        }
        Ok(None)
    }
}

impl<'a> IntoIterator for TreeRef<'a> {
    type Item = Result<TreeEntryRef<'a>, ObjectError>;
    type IntoIter = TreeIter<'a>;

    fn into_iter(self) -> TreeIter<'a> {
        self.iter()
    }
}

/// One entry of a tree, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEntryRef<'a> {
    /// The mode as it was written.
    pub mode: Mode,
    /// The name: any bytes but NUL, perhaps a [suspicious](super::suspicious_name) one.
    pub name: &'a BStr,
    /// The object it names.
    pub id: ObjectId,
}

impl TreeEntryRef<'_> {
    /// What the mode says it is.
    pub const fn kind(&self) -> EntryKind {
        self.mode.kind()
    }

    /// A copy that owns its name.
    pub fn to_owned(&self) -> TreeEntry {
        TreeEntry { mode: self.mode, name: self.name.into(), id: self.id }
    }
}

/// The entries of a tree in stored order; ends after the first error.
#[derive(Clone, Debug)]
pub struct TreeIter<'a> {
    rest: &'a [u8],
    size: usize,
    raw_len: usize,
}

impl<'a> TreeIter<'a> {
    /// The entries of the tree whose content is `bytes`.
    pub const fn new(bytes: &'a [u8], format: ObjectFormat) -> Self {
        Self { rest: bytes, size: bytes.len(), raw_len: format.raw_len() }
    }

    /// What was not read yet: the content from the next entry on, for a reader that
    /// keeps an offset between calls; empty after an error.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn next_raw(&mut self) -> Result<Option<RawEntry<'a>>, ObjectError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let offset = self.size - self.rest.len();
        let rest = std::mem::take(&mut self.rest);
        let (mode, rest) = Mode::split(rest).ok_or(ObjectError::BadMode { offset })?;
        let truncated = ObjectError::TruncatedTree { offset };
        let nul = find_nul(rest).ok_or(truncated)?;
        let (name, rest) = rest.split_at(nul);
        let (raw_id, rest) =
            rest.get(1..).and_then(|r| r.split_at_checked(self.raw_len)).ok_or(truncated)?;
        self.rest = rest;
        Ok(Some(RawEntry { mode, name, raw_id, offset }))
    }
}

impl<'a> Iterator for TreeIter<'a> {
    type Item = Result<TreeEntryRef<'a>, ObjectError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // Written out: through combinators the entry is moved often enough to double the
        // time.
        match self.next_raw() {
            Ok(Some(entry)) => Some(entry.with_id()),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl std::iter::FusedIterator for TreeIter<'_> {}

/// The first NUL. Names are short: eight bytes at a time beat a call of `memchr`.
#[inline]
fn find_nul(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest bit set belongs to the first zero byte; borrows only reach higher.
        let zeros = word.wrapping_sub(LOW) & !word & HIGH;
        if zeros != 0 {
            return Some(8 * number + (zeros.trailing_zeros() / 8) as usize);
        }
    }
    let at = tail.iter().position(|&byte| byte == 0)?;
    Some(8 * words.len() + at)
}

/// An entry whose id was not copied out yet.
struct RawEntry<'a> {
    mode: Mode,
    name: &'a [u8],
    raw_id: &'a [u8],
    offset: usize,
}

impl<'a> RawEntry<'a> {
    #[inline]
    fn with_id(self) -> Result<TreeEntryRef<'a>, ObjectError> {
        // Cannot fail, the width is a format's; the type system does not know.
        let id = ObjectId::from_raw(self.raw_id)
            .map_err(|_| ObjectError::TruncatedTree { offset: self.offset })?;
        Ok(TreeEntryRef { mode: self.mode, name: self.name.as_bstr(), id })
    }
}

/// git's order of the entries of one tree: by bytes, a folder as if its name ended in
/// `/` (`base_name_compare`).
pub fn compare_entries(a: (&[u8], EntryKind), b: (&[u8], EntryKind)) -> Ordering {
    let ((a, a_kind), (b, b_kind)) = (a, b);
    let common = a.len().min(b.len());
    let next = |name: &[u8], kind| match name.get(common) {
        Some(&byte) => byte,
        None if kind == EntryKind::Tree => b'/',
        None => 0,
    };
    a[..common].cmp(&b[..common]).then_with(|| next(a, a_kind).cmp(&next(b, b_kind)))
}

/// A tree to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Its entries in the order they are written; [`sort`](Self::sort) makes it git's.
    pub entries: Vec<TreeEntry>,
}

/// One entry of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its mode.
    pub mode: Mode,
    /// Its name.
    pub name: BString,
    /// The object it names.
    pub id: ObjectId,
}

impl Tree {
    /// Reads every entry of `tree`.
    pub fn parse(tree: TreeRef<'_>) -> Result<Self, ObjectError> {
        let entries =
            tree.iter().map(|entry| entry.map(|e| e.to_owned())).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Puts the entries in git's order.
    pub fn sort(&mut self) {
        self.entries
            .sort_by(|a, b| compare_entries((&a.name, a.mode.kind()), (&b.name, b.mode.kind())));
    }

    /// Appends the tree's content to `out`, modes without a leading zero.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for entry in &self.entries {
            out.extend_from_slice(format!("{:o} ", entry.mode.bits()).as_bytes());
            out.extend_from_slice(&entry.name);
            out.push(0);
            out.extend_from_slice(entry.id.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests;
