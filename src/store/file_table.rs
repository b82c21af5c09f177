//! The files of one tree as a search goes through them: [`FileTable`], all paths with their
//! blobs in path order, and [`Layout`], where those blobs stand in the text arena now.
//!
//! A table is made once, by whoever walks the tree, and is true for as long as anyone wants
//! it: a tree does not change. A layout holds what it points to in memory, so it is held
//! for one search at most, and only while nothing is fetched. Both are paid for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::{BStr, ByteSlice as _};
use bytes::Bytes;

use crate::limits::{Budget, LimitExceeded, Reservation, Which};
use crate::oid::ObjectId;

/// Every file of a tree, in the order of their paths.
#[derive(Debug)]
pub struct FileTable {
    tree: ObjectId,
    paths: Vec<u8>,
    /// Of each file where its path ends in `paths`; it begins where the one before ends.
    ends: Vec<u32>,
    /// Raw ids, side by side.
    ids: Vec<u8>,
    binary: Vec<AtomicBool>,
    paid: Reservation,
}

impl FileTable {
    /// A table for `tree` without files, paid from `budget`.
    pub fn new(tree: ObjectId, budget: &Budget) -> Self {
        Self {
            tree,
            paths: Vec::new(),
            ends: Vec::new(),
            ids: Vec::new(),
            binary: Vec::new(),
            paid: budget.empty(),
        }
    }

    /// Adds the file that comes next in the order of paths.
    ///
    /// # Errors
    /// When no memory is free, or the table is as long as it may be.
    pub fn push(&mut self, path: &BStr, id: &ObjectId) -> Result<(), LimitExceeded> {
        let end = self.paths.len().saturating_add(path.len());
        let allowed = u64::from(u32::MAX);
        let end = u32::try_from(end).map_err(|_| LimitExceeded {
            which: Which::Memory,
            allowed,
            seen: end as u64,
        })?;
        if self.ends.len() == self.ends.capacity() {
            let more = self.ends.len().max(MIN_FILES);
            let each = size_of::<u32>() + size_of::<AtomicBool>() + id.as_bytes().len();
            self.paid.grow_free((more * each) as u64)?;
            self.ends.reserve_exact(more);
            self.binary.reserve_exact(more);
            self.ids.reserve_exact(more * id.as_bytes().len());
        }
        if self.paths.capacity() - self.paths.len() < path.len() {
            let more = self.paths.len().max(path.len()).max(MIN_FILES * 32);
            self.paid.grow_free(more as u64)?;
            self.paths.reserve_exact(more);
        }
        self.paths.extend_from_slice(path);
        self.ends.push(end);
        self.ids.extend_from_slice(id.as_bytes());
        self.binary.push(AtomicBool::new(false));
        Ok(())
    }

    /// The tree whose files these are.
    pub fn tree(&self) -> &ObjectId {
        &self.tree
    }

    /// What it takes of its budget.
    pub fn paid_bytes(&self) -> u64 {
        self.paid.bytes()
    }

    /// How many files.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the tree has no file.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The path of a file; empty past the last.
    pub fn path(&self, file: usize) -> &BStr {
        let end = self.ends.get(file).copied().unwrap_or(0) as usize;
        let start = file.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = start.copied().unwrap_or(0) as usize;
        self.paths.get(start..end).unwrap_or_default().as_bstr()
    }

    /// The blob of a file; `None` past the last.
    pub fn id(&self, file: usize) -> Option<ObjectId> {
        let len = self.tree.as_bytes().len();
        let start = file.checked_mul(len)?;
        ObjectId::from_raw(self.ids.get(start..start.checked_add(len)?)?).ok()
    }

    /// Whether a file was found to be binary before.
    pub fn is_known_to_be_binary(&self, file: usize) -> bool {
        self.binary.get(file).is_some_and(|known| known.load(Ordering::Relaxed))
    }

    /// Remembers that a file is binary, so that it need not be read to be left out.
    pub fn remember_binary(&self, file: usize) {
        if let Some(known) = self.binary.get(file) {
            known.store(true, Ordering::Relaxed);
        }
    }
}

/// Where a text stands in a [`Layout`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Located {
    /// Which of its segments.
    pub segment: u32,
    /// Where it begins there.
    pub start: u32,
    /// Its bytes; a line feed follows them.
    pub len: u32,
}

impl Located {
    /// Where its bytes end, and its line feed stands.
    pub fn end(&self) -> u32 {
        self.start.saturating_add(self.len)
    }
}

/// Where the blobs of a table stand, those that are in the arena.
#[derive(Debug)]
pub struct Layout {
    /// In the order in which they stand, each once.
    texts: Vec<Located>,
    /// Of each file which of `texts` it is, or [`OUTSIDE`].
    of_file: Vec<u32>,
    segments: Vec<Bytes>,
    _paid: Reservation,
}

impl Layout {
    /// The layout of files that stand at `places`, which name segments by their place in
    /// `segments`.
    pub(super) fn new(
        places: &[Option<Located>],
        segments: Vec<Bytes>,
        budget: &Budget,
    ) -> Result<Self, LimitExceeded> {
        let each = size_of::<Located>() + size_of::<u32>();
        let paid = budget.reserve_free((places.len() * each) as u64)?;
        let mut texts: Vec<Located> = places.iter().flatten().copied().collect();
        texts.sort_unstable();
        texts.dedup();
        let text_of = |place: &Option<Located>| {
            let at = place.as_ref().and_then(|place| texts.binary_search(place).ok());
            at.and_then(|at| u32::try_from(at).ok()).unwrap_or(OUTSIDE)
        };
        let of_file = places.iter().map(text_of).collect();
        Ok(Self { texts, of_file, segments, _paid: paid })
    }

    /// The texts in the order in which they stand.
    pub fn texts(&self) -> &[Located] {
        &self.texts
    }

    /// Which of the texts a file is; `None` for one that is not in the arena.
    pub fn text_of(&self, file: usize) -> Option<usize> {
        self.of_file.get(file).filter(|&&text| text != OUTSIDE).map(|&text| text as usize)
    }

    /// The bytes of a segment.
    pub fn segment(&self, number: u32) -> &[u8] {
        self.segments.get(number as usize).map(Bytes::as_ref).unwrap_or_default()
    }

    /// The bytes of a text.
    pub fn text(&self, text: usize) -> &[u8] {
        let Some(located) = self.texts.get(text) else { return &[] };
        let range = located.start as usize..located.end() as usize;
        self.segment(located.segment).get(range).unwrap_or_default()
    }
}

/// The tables that a store keeps for searches to come, the last few.
#[derive(Debug, Default)]
pub(super) struct Tables(Vec<Cached>);

#[derive(Debug)]
struct Cached {
    table: Arc<FileTable>,
    layout: Option<CachedLayout>,
}

#[derive(Debug)]
pub(super) struct CachedLayout {
    pub(super) layout: Arc<Layout>,
    /// The arena's count of changes when it was made.
    pub(super) changes: u64,
    /// What its segments are called there.
    pub(super) numbers: Vec<u32>,
}

impl Tables {
    pub(super) fn find(&mut self, tree: &ObjectId) -> Option<Arc<FileTable>> {
        let at = self.0.iter().position(|cached| cached.table.tree == *tree)?;
        // The one that was asked for last is at the end.
        self.0[at..].rotate_left(1);
        self.0.last().map(|cached| Arc::clone(&cached.table))
    }

    pub(super) fn keep(&mut self, table: &Arc<FileTable>) {
        if self.find(&table.tree).is_none() {
            self.0.push(Cached { table: Arc::clone(table), layout: None });
            let over = self.0.len().saturating_sub(MAX_TABLES);
            self.0.drain(..over);
        }
    }

    pub(super) fn layout(&mut self, table: &FileTable) -> Option<&mut Option<CachedLayout>> {
        let cached = self.0.iter_mut().find(|cached| cached.table.tree == table.tree)?;
        Some(&mut cached.layout)
    }

    /// Lets go of the table that was asked for longest ago, with what its layout holds:
    /// about how many bytes, if there was one.
    pub(super) fn evict_one(&mut self) -> Option<u64> {
        if self.0.is_empty() {
            return None;
        }
        let cached = self.0.remove(0);
        Some(cached.table.paid.bytes().max(1))
    }
}

const OUTSIDE: u32 = u32::MAX;
const MIN_FILES: usize = 64;
/// A repository is asked about at one or two commits at a time.
const MAX_TABLES: usize = 4;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::oid::ObjectFormat;

    fn id(number: u8) -> ObjectId {
        ObjectId::from_raw(&[number; 20]).unwrap()
    }

    #[test]
    fn files_come_back_with_their_paths_and_blobs() {
        let budget = Budget::new(1 << 20);
        let mut table = FileTable::new(id(0), &budget);
        assert!(table.is_empty());
        for number in 0..200_u8 {
            let path = "x".repeat(usize::from(number)) + "/y";
            table.push(path.as_bytes().as_bstr(), &id(number)).unwrap();
        }
        for number in 0..200_u8 {
            let file = usize::from(number);
            assert_eq!(table.path(file).len(), file + 2);
            assert_eq!(table.id(file), Some(id(number)));
        }
        assert_eq!((table.id(200), table.path(200)), (None, BStr::new("")));
        assert!(!table.is_known_to_be_binary(7));
        table.remember_binary(7);
        assert!(table.is_known_to_be_binary(7) && !table.is_known_to_be_binary(8));
        let held = table.paths.capacity() + table.ids.capacity() + 5 * table.ends.capacity();
        assert!(budget.used_bytes() >= held as u64);
        drop(table);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn a_table_that_does_not_fit_is_a_limit() {
        let budget = Budget::new(10_000);
        let mut table = FileTable::new(ObjectId::null(ObjectFormat::Sha256), &budget);
        let wide = ObjectId::from_raw(&[1; 32]).unwrap();
        let refused = (0..10_000).find_map(|_| table.push(BStr::new("a/b"), &wide).err()).unwrap();
        assert_eq!(refused.which, Which::Memory);
    }

    #[test]
    fn texts_stand_in_order_and_once_whatever_files_share_them() {
        let budget = Budget::new(1 << 20);
        let at = |segment, start, len| Some(Located { segment, start, len });
        let segments = vec![Bytes::from_static(b"one\nthree\n"), Bytes::from_static(b"two\n")];
        let places = [at(1, 0, 3), at(0, 4, 5), None, at(0, 0, 3), at(0, 4, 5)];
        let layout = Layout::new(&places, segments, &budget).unwrap();
        assert_eq!(layout.texts().len(), 3);
        let text = |file| layout.text_of(file).map(|text| layout.text(text));
        let expected = [Some("two"), Some("three"), None, Some("one"), Some("three"), None];
        for (file, expected) in expected.into_iter().enumerate() {
            assert_eq!(text(file), expected.map(str::as_bytes), "{file}");
        }
    }

    #[test]
    fn the_tables_asked_for_last_are_kept() {
        let budget = Budget::new(1 << 20);
        let mut tables = Tables::default();
        for number in 0..4 {
            tables.keep(&Arc::new(FileTable::new(id(number), &budget)));
        }
        assert!(tables.find(&id(0)).is_some());
        tables.keep(&Arc::new(FileTable::new(id(9), &budget)));
        assert!(tables.find(&id(0)).is_some() && tables.find(&id(1)).is_none());
        assert!((0..4).all(|_| tables.evict_one().is_some()));
        assert!(tables.evict_one().is_none());
    }
}
