//! Commits: a tree, parents, headers and a message.
//!
//! Follows git's `parse_commit_buffer`: the tree and the parents must be right and come
//! first, everything after them is kept as it is and read when asked for. Signatures are
//! not verified and messages are not decoded ([`CommitRef::encoding`] says from what).

use bstr::{BStr, BString, ByteSlice as _};

use super::header::{Cursor, HeaderRef, Headers};
use super::{IdentRef, ObjectError};
use crate::oid::{ObjectFormat, ObjectId};

/// A commit's content, borrowed.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::object::CommitRef;
///
/// let bytes = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\
///     author A <a@example.com> 1 +0000\n\
///     committer C <c@example.com> 2 +0000\n\nsubject\n";
/// let commit = CommitRef::parse(bytes, ObjectFormat::Sha1)?;
/// assert_eq!(commit.tree(), ObjectFormat::Sha1.empty_tree());
/// assert_eq!(commit.parents().count(), 0);
/// assert_eq!(commit.author().map(|author| author.name), Some("A".into()));
/// assert_eq!(commit.message(), "subject\n");
/// # Ok::<(), gitsip::object::ObjectError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRef<'a> {
    tree: ObjectId,
    parents: &'a [u8],
    headers: &'a [u8],
    message: Option<&'a [u8]>,
}

impl<'a> CommitRef<'a> {
    /// Reads the tree and the parents and finds the message; time is linear in the
    /// number of headers.
    ///
    /// # Errors
    /// When the commit does not begin with its tree, or the tree or a parent is no id
    /// of `format`.
    pub fn parse(bytes: &'a [u8], format: ObjectFormat) -> Result<Self, ObjectError> {
        let mut cursor = Cursor::new(bytes, format);
        let tree = cursor.required_id("tree")?;
        let before = cursor.rest;
        while cursor.optional_id("parent")?.is_some() {}
        let parents = before.get(..before.len() - cursor.rest.len()).unwrap_or_default();
        let (headers, message) = cursor.split_message();
        Ok(Self { tree, parents, headers, message })
    }

    /// The snapshot.
    pub fn tree(&self) -> ObjectId {
        self.tree
    }

    /// The commits this one comes after, in order.
    pub fn parents(&self) -> Parents<'a> {
        Parents { lines: self.parents }
    }

    /// The headers after the parents, in order, repeats included.
    pub fn headers(&self) -> Headers<'a> {
        Headers::new(self.headers)
    }

    /// The first header called `name`, as `gpgsig` or `mergetag`.
    pub fn header(&self, name: &[u8]) -> Option<HeaderRef<'a>> {
        self.headers().find(name)
    }

    /// Who wrote the change: the first `author` line, if there is one.
    pub fn author(&self) -> Option<IdentRef<'a>> {
        self.header(b"author").map(|header| IdentRef::parse(header.folded))
    }

    /// Who made the commit: the first `committer` line, if there is one.
    pub fn committer(&self) -> Option<IdentRef<'a>> {
        self.header(b"committer").map(|header| IdentRef::parse(header.folded))
    }

    /// What the message is encoded in, when it is not UTF-8.
    pub fn encoding(&self) -> Option<&'a BStr> {
        self.header(b"encoding").map(|header| header.folded)
    }

    /// Everything after the first empty line; empty when there is none.
    pub fn message(&self) -> &'a BStr {
        self.message.unwrap_or_default().as_bstr()
    }

    /// A copy that owns its bytes and [encodes](Commit::encode) to the same ones.
    pub fn to_owned(&self) -> Commit {
        Commit {
            tree: self.tree,
            parents: self.parents().collect(),
            headers: self.headers.into(),
            message: self.message.map(BString::from),
        }
    }
}

/// The parents of a commit, in order.
#[derive(Clone, Debug)]
pub struct Parents<'a> {
    /// Whole `parent <id>` lines, checked by [`CommitRef::parse`].
    lines: &'a [u8],
}

impl Iterator for Parents<'_> {
    type Item = ObjectId;

    fn next(&mut self) -> Option<ObjectId> {
        let line_end = memchr::memchr(b'\n', self.lines)?;
        let id = ObjectId::from_hex(self.lines.get("parent ".len()..line_end)?).ok();
        self.lines = self.lines.get(line_end + 1..)?;
        id
    }
}

/// A commit to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The snapshot.
    pub tree: ObjectId,
    /// The commits it comes after.
    pub parents: Vec<ObjectId>,
    /// The headers after the parents as they are stored, each with its line end;
    /// [`push_header`](Self::push_header) adds one.
    pub headers: BString,
    /// What follows the empty line. `None` writes no empty line either, as some
    /// programs did.
    pub message: Option<BString>,
}

impl Commit {
    /// A commit of `tree` with neither parents nor headers and an empty message.
    pub fn new(tree: ObjectId) -> Self {
        Self {
            tree,
            parents: Vec::new(),
            headers: BString::default(),
            message: Some(BString::default()),
        }
    }

    /// Adds a header; a value of several lines is folded.
    pub fn push_header(&mut self, name: &[u8], value: &[u8]) {
        push_header(&mut self.headers, name, value);
    }

    /// Appends the commit's content to `out`. What was parsed comes out as it was, but
    /// for ids that were written in upper case.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("tree {}\n", self.tree).as_bytes());
        for parent in &self.parents {
            out.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        out.extend_from_slice(&self.headers);
        if let Some(message) = &self.message {
            out.push(b'\n');
            out.extend_from_slice(message);
        }
    }
}

/// Appends `name value` to a block of headers, folded where `value` has line ends.
pub(super) fn push_header(headers: &mut BString, name: &[u8], value: &[u8]) {
    headers.extend_from_slice(name);
    headers.push(b' ');
    headers.extend_from_slice(&value.replace(b"\n", b"\n "));
    headers.push(b'\n');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    fn parse(text: &str) -> Result<CommitRef<'_>, ObjectError> {
        CommitRef::parse(text.as_bytes(), ObjectFormat::Sha1)
    }

    fn round_trip(bytes: &[u8], format: ObjectFormat) -> Vec<u8> {
        let mut out = Vec::new();
        CommitRef::parse(bytes, format).unwrap().to_owned().encode(&mut out);
        out
    }

    #[test]
    fn odd_commits_are_read_and_come_out_as_they_went_in() {
        for (rest, parents, author, message) in [
            (format!("parent {A}\nparent {B}\nauthor X <x> 1 +0\n\nhi"), 2, Some("X"), "hi"),
            ("author X <x> 1 +0\nauthor Y <y> 2 +0\n\nhi".into(), 0, Some("X"), "hi"),
            ("\nno headers".into(), 0, None, "no headers"),
            ("".into(), 0, None, ""),
            ("author A<b <A<b@c>> 1 --700".into(), 0, Some("A"), ""),
            (format!("author X <x> 1 +0\nparent {A}\n\n\n\nlate"), 0, Some("X"), "\n\nlate"),
            ("gpgsig a\n b\n \n c\ngpgsig d\nmergetag e\n f\n\nm".into(), 0, None, "m"),
            ("encoding ISO-8859-1\n\n".into(), 0, None, ""),
        ] {
            let text = format!("tree {TREE}\n{rest}");
            let commit = parse(&text).unwrap();
            assert_eq!(commit.parents().count(), parents, "{text}");
            assert_eq!(commit.author().map(|a| a.name.to_string()).as_deref(), author, "{text}");
            assert_eq!(commit.message(), message, "{text}");
            assert_eq!(round_trip(text.as_bytes(), ObjectFormat::Sha1), text.as_bytes());
        }
    }

    #[test]
    fn what_cannot_be_followed_is_refused_with_its_place() {
        let sha256 = "1".repeat(64);
        for (text, want) in [
            (String::new(), ObjectError::MissingHeader { header: "tree", offset: 0 }),
            (format!("tree {TREE}"), ObjectError::MissingHeader { header: "tree", offset: 0 }),
            (format!(" tree {TREE}\n"), ObjectError::MissingHeader { header: "tree", offset: 0 }),
            ("tree 4b825dc\n".into(), ObjectError::BadId { header: "tree", offset: 0 }),
            (format!("tree {sha256}\n"), ObjectError::BadId { header: "tree", offset: 0 }),
            (
                format!("tree {TREE}\nparent {A}\nparent x\n"),
                ObjectError::BadId { header: "parent", offset: 94 },
            ),
        ] {
            assert_eq!(parse(&text), Err(want), "{text}");
        }
    }

    #[test]
    fn a_hundred_thousand_headers_take_linear_time() {
        let mut commit = Commit::new(ObjectFormat::Sha1.empty_tree());
        for number in 0..100_000 {
            commit.push_header(b"x-note", format!("{number}\nfolded").as_bytes());
        }
        commit.push_header(b"committer", b"C <c> 3 +0000");
        commit.parents = vec![A.parse().unwrap(); 100_000];
        let mut bytes = Vec::new();
        commit.encode(&mut bytes);
        let parsed = CommitRef::parse(&bytes, ObjectFormat::Sha1).unwrap();
        assert_eq!(parsed.headers().count(), 100_001);
        assert_eq!(parsed.parents().count(), 100_000);
        assert_eq!(parsed.headers().nth(99_999).unwrap().value().as_ref(), "99999\nfolded");
        assert_eq!(parsed.committer().unwrap().name, "C");
        assert_eq!(parsed.to_owned(), commit);
    }

    proptest! {
        #[test]
        fn any_commit_comes_out_as_it_went_in(
            parents in 0usize..3,
            rest in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), any::<u8>()], 0..200),
        ) {
            let mut bytes = format!("tree {TREE}\n").into_bytes();
            for _ in 0..parents {
                bytes.extend_from_slice(format!("parent {A}\n").as_bytes());
            }
            bytes.extend_from_slice(&rest);
            prop_assert_eq!(round_trip(&bytes, ObjectFormat::Sha1), bytes);
        }

        #[test]
        fn a_flipped_bit_never_panics(at in 0usize..150, bit in 0u8..8) {
            let mut bytes =
                format!("tree {TREE}\nparent {A}\nauthor X <x> 1 +0\nmergetag a\n b\n\nhi").into_bytes();
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
            if let Ok(commit) = CommitRef::parse(&bytes, ObjectFormat::Sha1) {
                prop_assert!(commit.parents().count() <= 1);
                prop_assert!(commit.headers().all(|header| header.value().len() < bytes.len()));
            }
        }
    }
}
