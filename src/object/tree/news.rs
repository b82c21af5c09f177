//! What a tree has that an earlier one had not.
//!
//! From one commit to the next a folder changes in an entry or two. Whoever has seen the one
//! need look at nothing else of the other: what both have is passed over by comparing bytes,
//! many entries at a time, and never parsed.

use bytes::Bytes;

use super::{ObjectError, TreeEntryRef, TreeIter};
use crate::oid::ObjectFormat;

/// The last of several trees that were looked at one after the other.
///
/// ```
/// use bytes::Bytes;
/// use gitsip::ObjectFormat;
/// use gitsip::object::{ObjectError, SeenTree};
///
/// let old = Bytes::from_static(b"100644 a\0aaaaaaaaaaaaaaaaaaaa100644 c\0cccccccccccccccccccc");
/// let new = Bytes::from_static(
///     b"100644 a\0aaaaaaaaaaaaaaaaaaaa100644 b\0bbbbbbbbbbbbbbbbbbbb\
///     100644 c\0cccccccccccccccccccc",
/// );
/// let mut seen = SeenTree::default();
/// let mut names = Vec::new();
/// for tree in [old, new] {
///     seen.look_at(tree, ObjectFormat::Sha1, |entry| {
///         names.push(entry.name.to_string());
///         Ok::<_, ObjectError>(())
///     })?;
/// }
/// assert_eq!(names, ["a", "c", "b"]);
/// # Ok::<(), ObjectError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SeenTree {
    bytes: Bytes,
    /// Where its entries begin. Only there can an entry be told from the bytes of an id.
    starts: Vec<u32>,
}

impl SeenTree {
    /// Gives the entries of the tree whose content is `new`, in stored order, without those
    /// that the last tree was found to have, byte for byte; `new` is the last one then. Some
    /// that both have are given too where names are not in the order of their bytes: around a
    /// folder that was there before, or in a damaged tree.
    ///
    /// # Errors
    /// When the tree is damaged, after what comes before that, and what `each` says. Nothing
    /// counts as seen then.
    pub fn look_at<E: From<ObjectError>>(
        &mut self,
        new: Bytes,
        format: ObjectFormat,
        mut each: impl FnMut(TreeEntryRef<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let old = std::mem::take(self);
        if u32::try_from(new.len()).is_err() {
            return TreeIter::new(&new, format).try_for_each(|entry| each(entry?));
        }
        let mut look = Look {
            old: &old,
            at_old: 0,
            index_old: 0,
            new: TreeIter::new(&new, format),
            starts: Vec::with_capacity(old.starts.len() + 1),
        };
        while let Some(entry) = look.next()? {
            each(entry)?;
        }
        let starts = look.starts;
        *self = Self { bytes: new, starts };
        Ok(())
    }

    /// What it occupies: the tree, which it may share, and a table.
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.starts.capacity() * size_of::<u32>()
    }
}

/// Two trees side by side; in both the next byte begins an entry.
struct Look<'a> {
    old: &'a SeenTree,
    at_old: usize,
    /// Which of the old tree's entries begins at `at_old`.
    index_old: usize,
    new: TreeIter<'a>,
    starts: Vec<u32>,
}

impl<'a> Look<'a> {
    fn next(&mut self) -> Result<Option<TreeEntryRef<'a>>, ObjectError> {
        loop {
            self.skip_common();
            let mut ahead = self.new.clone();
            let Some(entry) = ahead.next_raw()? else { return Ok(None) };
            if self.catch_up(entry.name) {
                // Perhaps they go on alike.
                continue;
            }
            self.note_start(self.at_new());
            self.new = ahead;
            return entry.with_id().map(Some);
        }
    }

    fn at_new(&self) -> usize {
        self.new.size - self.new.rest.len()
    }

    /// Takes from both trees the entries that they have in common here.
    fn skip_common(&mut self) {
        let old = self.old.bytes.get(self.at_old..).unwrap_or_default();
        let common = self.at_old + common_prefix(old, self.new.rest);
        // As far as the last entry of the old tree that ends within it: the same bytes are the
        // same entries, since both begin at one.
        let starts = self.old.starts.get(self.index_old..).unwrap_or_default();
        let (count, end) = if common == self.old.bytes.len() {
            (starts.len(), common)
        } else {
            let begun = starts.partition_point(|&start| start as usize <= common);
            let last = begun.checked_sub(1).and_then(|last| starts.get(last));
            (begun.saturating_sub(1), last.map_or(self.at_old, |&start| start as usize))
        };
        if end == self.at_old {
            return;
        }
        let at_new = self.at_new();
        for start in starts.iter().take(count) {
            let start = *start as usize - self.at_old + at_new;
            self.starts.extend(u32::try_from(start));
        }
        self.new.rest = self.new.rest.get(end - self.at_old..).unwrap_or_default();
        (self.at_old, self.index_old) = (end, self.index_old + count);
    }

    /// Takes from the old tree the entries whose names come before `name`; whether there were
    /// any.
    fn catch_up(&mut self, name: &[u8]) -> bool {
        let before = self.index_old;
        while let Some(&start) = self.old.starts.get(self.index_old) {
            let rest = self.old.bytes.get(start as usize..).unwrap_or_default();
            let mut entries = TreeIter { rest, size: rest.len(), ..self.new };
            match entries.next_raw() {
                Ok(Some(entry)) if entry.name < name => self.index_old += 1,
                _ => break,
            }
        }
        let start = self.old.starts.get(self.index_old);
        self.at_old = start.map_or(self.old.bytes.len(), |&start| start as usize);
        self.index_old > before
    }

    fn note_start(&mut self, start: usize) {
        self.starts.extend(u32::try_from(start));
    }
}

/// How many bytes both begin with.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let len = one.len().min(other.len());
    let (one, other) = (&one[..len], &other[..len]);
    let (blocks, _) = one.as_chunks::<64>();
    let (other_blocks, _) = other.as_chunks::<64>();
    let same = blocks.iter().zip(other_blocks).take_while(|(one, other)| !differ(one, other));
    let at = same.count() * 64;
    let (words, tail) = one[at..].as_chunks::<8>();
    let (other_words, other_tail) = other[at..].as_chunks::<8>();
    for (number, (one, other)) in words.iter().zip(other_words).enumerate() {
        let differing = u64::from_le_bytes(*one) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return at + 8 * number + (differing.trailing_zeros() / 8) as usize;
        }
    }
    let same = tail.iter().zip(other_tail).take_while(|(one, other)| one == other);
    at + 8 * words.len() + same.count()
}

/// Whether two blocks differ, found out without a call and without a jump.
fn differ(one: &[u8; 64], other: &[u8; 64]) -> bool {
    let (one, _) = one.as_chunks::<8>();
    let (other, _) = other.as_chunks::<8>();
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let words = one.iter().zip(other).map(|(one, other)| word(one) ^ word(other));
    words.fold(0, |all, word| all | word) != 0
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn tree(entries: &[(bool, String, u8)], sorted: bool) -> Bytes {
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
        bytes.into()
    }

    fn entries(bytes: &[u8]) -> Vec<String> {
        let all = TreeIter::new(bytes, ObjectFormat::Sha1);
        all.map(|entry| format!("{:?}", entry.unwrap())).collect()
    }

    fn look(seen: &mut SeenTree, tree: &Bytes) -> (Vec<String>, Option<ObjectError>) {
        let mut found = Vec::new();
        let ended = seen.look_at(tree.clone(), ObjectFormat::Sha1, |entry| {
            found.push(format!("{entry:?}"));
            Ok(())
        });
        (found, ended.err())
    }

    /// Names and ids that look like the beginnings of entries.
    fn some_entries() -> impl Strategy<Value = Vec<(bool, String, u8)>> {
        let id = prop::sample::select(vec![0, 1, b'1', b' ', b'a']);
        prop::collection::vec((any::<bool>(), "[a-c]{1,2}", id), 0..12)
    }

    proptest! {
        #[test]
        fn nothing_new_is_passed_over_and_in_order_nothing_old_is_given(
            trees in prop::collection::vec(some_entries(), 1..5),
            sorted: bool,
        ) {
            let mut seen = SeenTree::default();
            let mut known = BTreeSet::new();
            for entries_of_tree in trees {
                let bytes = tree(&entries_of_tree, sorted);
                let all = entries(&bytes);
                let (found, error) = look(&mut seen, &bytes);
                prop_assert_eq!(error, None);
                let expected: Vec<String> =
                    all.iter().filter(|entry| !known.contains(*entry)).cloned().collect();
                if sorted {
                    prop_assert_eq!(found, expected);
                } else {
                    prop_assert!(expected.iter().all(|entry| found.contains(entry)));
                }
                prop_assert_eq!(seen.starts.len(), all.len());
                known = all.into_iter().collect();
            }
        }

        #[test]
        fn damage_is_reported_as_without_the_other_tree(
            first in some_entries(),
            entries in prop::collection::vec((any::<bool>(), "[a-c]{1,2}", 0u8..2), 1..5),
            cut in 1usize..20,
        ) {
            let whole = tree(&entries, true);
            let cut = whole.slice(..whole.len() - cut);
            let alone = TreeIter::new(&cut, ObjectFormat::Sha1).find_map(Result::err);
            for old in [&tree(&first, true), &whole] {
                let mut seen = SeenTree::default();
                look(&mut seen, old);
                prop_assert_eq!(look(&mut seen, &cut).1, alone);
                prop_assert_eq!(seen.bytes(), 0);
            }
        }

        #[test]
        fn prefixes_are_as_long_as_byte_by_byte(
            common in prop::collection::vec(any::<u8>(), 0..200),
            ends in [prop::collection::vec(0u8..2, 0..9), prop::collection::vec(0u8..2, 0..9)],
        ) {
            let [one, other] = ends.map(|end| [common.clone(), end].concat());
            let naive = (0..).take_while(|&at| one.get(at).is_some() && one.get(at) == other.get(at));
            prop_assert_eq!(common_prefix(&one, &other), naive.count());
        }
    }
}
