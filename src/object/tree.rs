//! Trees: a folder's entries as git wrote them.
//!
//! Follows git's `tree-walk.c`: an entry is an octal mode, a space, a name, a NUL and a
//! raw id. Reading borrows and allocates nothing. Odd modes and dangerous names stay
//! readable ([`Mode::kind`], [`suspicious_name`](super::suspicious_name)); whether a name may be joined to a
//! path is not decided here. Nothing is sorted or repaired.

use std::cmp::Ordering;
use std::fmt;

use bstr::{BStr, BString, ByteSlice as _};

use super::ObjectError;
use crate::oid::{ObjectFormat, ObjectId};

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
    fn split(bytes: &[u8]) -> Option<(Self, &[u8])> {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &[u8] = b"\x01\x02\x03\x04\x05\0\x07\x08\x09 0123456789";

    fn raw(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (mode, name) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(ID);
        }
        bytes
    }

    #[test]
    fn odd_modes_keep_their_number_and_mean_what_git_takes_them_for() {
        for (written, bits, kind, canonical) in [
            ("40000", 0o040000, EntryKind::Tree, "040000"),
            ("040000", 0o040000, EntryKind::Tree, "040000"),
            ("40755", 0o040755, EntryKind::Tree, "040000"),
            ("100644", 0o100644, EntryKind::Blob, "100644"),
            ("100664", 0o100664, EntryKind::Blob, "100644"),
            ("100600", 0o100600, EntryKind::Blob, "100644"),
            ("100775", 0o100775, EntryKind::Executable, "100755"),
            ("120000", 0o120000, EntryKind::Symlink, "120000"),
            ("120664", 0o120664, EntryKind::Symlink, "120000"),
            ("160000", 0o160000, EntryKind::Gitlink, "160000"),
            ("0", 0, EntryKind::Gitlink, "160000"),
        ] {
            let bytes = raw(&[(written, b"x")]);
            let entry = TreeIter::new(&bytes, ObjectFormat::Sha1).next().unwrap().unwrap();
            assert_eq!((entry.mode.bits(), entry.kind()), (bits, kind), "{written}");
            assert_eq!(entry.mode.canonical().to_string(), canonical, "{written}");
            assert_eq!(entry.id.as_bytes(), ID);
        }
    }

    #[test]
    fn every_name_is_found_whatever_the_order() {
        let orders: [&[(&str, &[u8])]; 3] = [
            &[("100644", b"foo"), ("100644", b"foo.c"), ("40000", b"foo")],
            &[("100644", b"foo.c"), ("40000", b"foo")],
            &[("100644", b"z"), ("40000", b"foo"), ("100644", b"a"), ("100644", b"foo.c")],
        ];
        for order in orders {
            let bytes = raw(order);
            let tree = TreeRef::new(&bytes, ObjectFormat::Sha1);
            for (_, name) in order {
                let first = order.iter().find(|(_, other)| other == name).unwrap();
                let found = tree.find(name).unwrap().unwrap();
                assert_eq!(format!("{:o}", found.mode.bits()), first.0);
            }
            assert_eq!(tree.find_tree(b"foo").unwrap().unwrap().kind(), EntryKind::Tree);
            assert_eq!(tree.find(b"fo").unwrap(), None);
            assert_eq!(tree.find_tree(b"foo.c").unwrap(), None);
        }
    }

    #[test]
    fn damage_is_reported_where_it_is_and_what_comes_before_is_readable() {
        let sound = raw(&[("100644", b"a")]);
        let at = sound.len();
        for (tail, want) in [
            (&b"100644"[..], ObjectError::BadMode { offset: at }),
            (b" b\0", ObjectError::BadMode { offset: at }),
            (b"100648 b\0", ObjectError::BadMode { offset: at }),
            (b"77777777777777777 b\0", ObjectError::BadMode { offset: at }),
            (b"100644 b", ObjectError::TruncatedTree { offset: at }),
            (b"100644 b\0short", ObjectError::TruncatedTree { offset: at }),
        ] {
            let bytes = [&sound, tail].concat();
            let tree = TreeRef::new(&bytes, ObjectFormat::Sha1);
            let mut entries = tree.iter();
            assert_eq!(entries.next().unwrap().unwrap().name, "a");
            assert_eq!(entries.next(), Some(Err(want)));
            assert_eq!(entries.next(), None);
            assert_eq!(tree.find(b"a").unwrap().unwrap().name, "a");
            assert_eq!(tree.find(b"b"), Err(want));
        }
    }

    #[test]
    fn dangerous_names_are_readable_and_hide_nothing() {
        let names = [&b""[..], b".", b"..", b".git", b".g\xe2\x80\x8cit", b"a/b", b"caf\xe9"];
        for name in names {
            let bytes = raw(&[("100644", name), ("100644", b"after")]);
            let tree = TreeRef::new(&bytes, ObjectFormat::Sha1);
            assert_eq!(tree.find(name).unwrap().unwrap().name, name);
            assert_eq!(tree.find(b"after").unwrap().unwrap().name, "after");
        }
    }

    #[test]
    fn folders_sort_as_if_they_ended_in_a_slash() {
        let mut tree = Tree::default();
        for (mode, name) in
            [(Mode::TREE, "foo"), (Mode::BLOB, "foo.c"), (Mode::BLOB, "foo0"), (Mode::BLOB, "fo")]
        {
            let id = ObjectId::null(ObjectFormat::Sha256);
            tree.entries.push(TreeEntry { mode, name: name.into(), id });
        }
        tree.sort();
        let names: Vec<_> = tree.entries.iter().map(|e| e.name.to_string()).collect();
        assert_eq!(names, ["fo", "foo.c", "foo", "foo0"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            entries in prop::collection::vec(
                (0u32..0o200000, "[^\0]{0,12}", any::<[u8; 32]>()), 0..20
            ),
        ) {
            let tree = Tree {
                entries: entries
                    .into_iter()
                    .map(|(bits, name, raw)| TreeEntry {
                        mode: Mode::from_bits(bits),
                        name: name.into(),
                        id: ObjectId::from_raw(&raw).unwrap(),
                    })
                    .collect(),
            };
            let mut bytes = Vec::new();
            tree.encode(&mut bytes);
            prop_assert_eq!(Tree::parse(TreeRef::new(&bytes, ObjectFormat::Sha256)), Ok(tree));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
                let entries = TreeIter::new(&bytes, format).count();
                prop_assert!(entries <= bytes.len());
            }
        }
    }
}
