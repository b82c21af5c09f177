//! What one tree has and another has not.
//!
//! From one commit to the next a folder changes in an entry or two. Whoever has seen the one
//! need look at nothing else of the other, and comparing bytes is far cheaper than asking a
//! table of half a million ids about each entry.

use super::{ObjectError, TreeEntryRef, TreeIter};
use crate::oid::ObjectFormat;

/// The entries of a tree in stored order, without those that another tree was found to have,
/// byte for byte. Some that both have are given too where names are not in the order of their
/// bytes: around a folder that was there before, or in a damaged tree.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::object::NewEntries;
///
/// let old = b"100644 a\0aaaaaaaaaaaaaaaaaaaa100644 c\0cccccccccccccccccccc";
/// let new = b"100644 a\0aaaaaaaaaaaaaaaaaaaa100644 b\0bbbbbbbbbbbbbbbbbbbb\
///     100644 c\0cccccccccccccccccccc";
/// let names = NewEntries::new(old, new, ObjectFormat::Sha1)
///     .map(|entry| entry.map(|entry| entry.name))
///     .collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(names, ["b"]);
/// # Ok::<(), gitsip::object::ObjectError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NewEntries<'a> {
    old: TreeIter<'a>,
    new: TreeIter<'a>,
}

impl<'a> NewEntries<'a> {
    /// Of the tree whose content is `new`, what the one whose content is `old` has not.
    pub const fn new(old: &'a [u8], new: &'a [u8], format: ObjectFormat) -> Self {
        Self { old: TreeIter::new(old, format), new: TreeIter::new(new, format) }
    }

    /// Takes from both trees what they have in common here; whether that was anything.
    fn skip_common(&mut self) -> bool {
        let before = self.new.rest.len();
        loop {
            let mut ahead = self.new.clone();
            if !matches!(ahead.next_raw(), Ok(Some(_))) {
                break;
            }
            let len = self.new.rest.len() - ahead.rest.len();
            // Both stand before an entry, and what is equal is read alike.
            match self.old.rest.split_at_checked(len) {
                Some((entry, rest)) if self.new.rest.starts_with(entry) => self.old.rest = rest,
                _ => break,
            }
            self.new = ahead;
        }
        self.new.rest.len() < before
    }

    /// Takes from the old tree the entries whose names come before the new tree's next.
    fn catch_up(&mut self) {
        let Ok(Some(next)) = self.new.clone().next_raw() else { return };
        loop {
            let mut ahead = self.old.clone();
            match ahead.next_raw() {
                Ok(Some(entry)) if entry.name < next.name => self.old = ahead,
                _ => return,
            }
        }
    }
}

impl<'a> Iterator for NewEntries<'a> {
    type Item = Result<TreeEntryRef<'a>, ObjectError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.catch_up();
            if !self.skip_common() {
                return self.new.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn tree(entries: &[(bool, String, u8)], sorted: bool) -> Vec<u8> {
        let mut entries = entries.to_vec();
        if sorted {
            entries.sort_by(|a, b| a.1.cmp(&b.1));
            entries.dedup_by(|a, b| a.1 == b.1);
        }
        let mut bytes = Vec::new();
        for (is_folder, name, id) in entries {
            bytes.extend_from_slice(if is_folder { b"40000 " } else { b"100644 " });
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&[id; 20]);
        }
        bytes
    }

    fn entries(bytes: &[u8]) -> Vec<String> {
        let all = TreeIter::new(bytes, ObjectFormat::Sha1);
        all.map(|entry| format!("{:?}", entry.unwrap())).collect()
    }

    proptest! {
        #[test]
        fn nothing_new_is_passed_over_and_in_order_nothing_old_is_given(
            old in prop::collection::vec((any::<bool>(), "[a-c]{1,2}", 0u8..2), 0..12),
            new in prop::collection::vec((any::<bool>(), "[a-c]{1,2}", 0u8..2), 0..12),
            sorted: bool,
        ) {
            let (old, new) = (tree(&old, sorted), tree(&new, sorted));
            let found: Vec<String> = NewEntries::new(&old, &new, ObjectFormat::Sha1)
                .map(|entry| format!("{:?}", entry.unwrap()))
                .collect();
            let known: BTreeSet<String> = entries(&old).into_iter().collect();
            let expected: Vec<String> =
                entries(&new).into_iter().filter(|entry| !known.contains(entry)).collect();
            if sorted {
                prop_assert_eq!(found, expected);
            } else {
                prop_assert!(expected.iter().all(|entry| found.contains(entry)));
            }
        }

        #[test]
        fn damage_is_reported_as_without_the_other_tree(
            old in prop::collection::vec(any::<u8>(), 0..60),
            entries in prop::collection::vec((any::<bool>(), "[a-c]{1,2}", 0u8..2), 1..5),
            cut in 1usize..20,
        ) {
            let mut new = tree(&entries, true);
            new.truncate(new.len() - cut);
            let error = |result: Result<TreeEntryRef<'_>, ObjectError>| result.err();
            let alone = TreeIter::new(&new, ObjectFormat::Sha1).find_map(error);
            for old in [&old, &new] {
                let found = NewEntries::new(old, &new, ObjectFormat::Sha1).find_map(error);
                prop_assert_eq!(found, alone);
            }
        }
    }
}
