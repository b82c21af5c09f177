//! The folders of a history by path, each with the tree that was looked at last there.
//!
//! From commit to commit a path has nearly the same tree, so that there is little to look at
//! in each. Paths are numbered by the number of the folder above and the name in it, and are
//! forgotten, all at once, when what is known of them takes too much memory.

use bstr::BString;
use hashbrown::{Equivalent, HashMap};

use crate::limits::{Budget, LimitExceeded, Reservation};
use crate::object::SeenTree;

/// A path. Numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Folder(u64);

impl Folder {
    /// What the roots of all commits are in, without a name.
    pub(super) const HISTORY: Self = Self(0);
    /// A tree that was wanted itself.
    pub(super) const WANTED: Self = Self(1);
}

/// What is known of paths.
#[derive(Debug)]
pub(super) struct Folders {
    numbers: HashMap<Key, Folder>,
    seen: HashMap<Folder, SeenTree>,
    next: u64,
    held: Reservation,
    max_bytes: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key(Folder, BString);

#[derive(Hash)]
struct KeyRef<'a>(Folder, &'a [u8]);

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0 == key.0 && self.1 == key.1
    }
}

impl Folders {
    /// No paths yet; what is known of them is paid from `budget`, and takes a share of it.
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            numbers: HashMap::new(),
            seen: HashMap::new(),
            next: Folder::WANTED.0 + 1,
            held: budget.empty(),
            max_bytes: (budget.limit_bytes() / 16).min(MAX_BYTES),
        }
    }

    /// The folder called `name` in another one.
    pub(super) fn inside(&mut self, folder: Folder, name: &[u8]) -> Result<Folder, LimitExceeded> {
        if let Some(found) = self.numbers.get(&KeyRef(folder, name)) {
            return Ok(*found);
        }
        self.pay((name.len() + FOLDER_BYTES) as u64)?;
        let inside = Folder(self.next);
        self.next += 1;
        self.numbers.insert(Key(folder, name.into()), inside);
        Ok(inside)
    }

    /// Takes out what was seen at a path last, to be [put](Self::put) back.
    pub(super) fn take(&mut self, folder: Folder) -> Result<SeenTree, LimitExceeded> {
        let seen = self.seen.remove(&folder).unwrap_or_default();
        self.held.resize(self.held.bytes().saturating_sub(seen.bytes() as u64))?;
        Ok(seen)
    }

    pub(super) fn put(&mut self, folder: Folder, seen: SeenTree) -> Result<(), LimitExceeded> {
        self.pay(seen.bytes() as u64)?;
        self.seen.insert(folder, seen);
        Ok(())
    }

    /// Pays for more, after forgetting everything if that were too much.
    fn pay(&mut self, bytes: u64) -> Result<(), LimitExceeded> {
        if self.held.bytes().saturating_add(bytes) > self.max_bytes {
            self.numbers = HashMap::new();
            self.seen = HashMap::new();
            self.held.resize(0)?;
        }
        self.held.grow(bytes)
    }
}

/// Trees of a path are compared as long as all paths take no more.
const MAX_BYTES: u64 = 32 << 20;
/// What a path takes in both tables, which are at least 7/16 full, beside its name.
const FOLDER_BYTES: usize = 4 * (size_of::<(Key, Folder)>() + size_of::<(Folder, SeenTree)>());

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::error::Error;
    use crate::oid::ObjectFormat;

    #[test]
    fn paths_have_numbers_and_are_forgotten_before_they_take_too_much() {
        let budget = Budget::new(1 << 20);
        let mut folders = Folders::new(&budget);
        let src = folders.inside(Folder::HISTORY, b"src").unwrap();
        let inner = folders.inside(src, b"src").unwrap();
        assert_ne!(src, inner);
        assert_eq!(folders.inside(Folder::HISTORY, b"src").unwrap(), src);
        let tree = Bytes::from([&b"100644 name\0"[..], &[7; 20]].concat());
        for _ in 0..2 {
            let mut seen = folders.take(src).unwrap();
            let mut count = 0;
            let count_it = |_: crate::object::TreeEntryRef<'_>| {
                count += 1;
                Ok::<_, Error>(())
            };
            seen.look_at(tree.clone(), ObjectFormat::Sha1, count_it).unwrap();
            folders.put(src, seen).unwrap();
        }
        for number in 0..2_000 {
            folders.inside(inner, format!("folder {number}").as_bytes()).unwrap();
            assert!(budget.used_bytes() <= (1 << 20) / 16);
        }
        assert_ne!(folders.inside(Folder::HISTORY, b"src").unwrap(), src);
        assert_eq!(folders.take(src).unwrap().bytes(), 0);
        drop(folders);
        assert_eq!(budget.used_bytes(), 0);
    }
}
