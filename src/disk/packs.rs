//! The packs of every object folder of a repository.
//!
//! Newest first, as in git, and the pack that answered last before all others. A pack
//! without an index, or with one that cannot be read, is not used; the reason is kept
//! for when an object is missed. Multi-pack indexes are not read: each pack has its own.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::files::{list, malformed};
use super::pack::Pack;
use super::pack_view::View;
use crate::limits::Budget;
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::{PackView, StoreError};

#[derive(Debug)]
pub(super) struct Packs {
    /// The `pack` folders, the repository's own first.
    folders: Vec<PathBuf>,
    format: ObjectFormat,
    now: Mutex<Arc<Listing>>,
    /// The number of the pack that answered last.
    last: AtomicU64,
}

/// The packs that were there at one time.
#[derive(Debug, Default)]
pub(super) struct Listing {
    packs: Vec<Arc<Pack>>,
    /// The index for which a pack is not among them, and what is wrong with it.
    trouble: Option<(PathBuf, String)>,
    numbers: u64,
}

impl Packs {
    /// The packs in `folders`, listed now.
    pub(super) fn open(folders: Vec<PathBuf>, format: ObjectFormat) -> Result<Self, StoreError> {
        let now = Mutex::new(Arc::new(Listing::default()));
        let packs = Self { folders, format, now, last: AtomicU64::new(0) };
        packs.refresh()?;
        Ok(packs)
    }

    /// Lists the folders anew; packs that are still there stay as they are.
    pub(super) fn refresh(&self) -> Result<(), StoreError> {
        let before = self.listing();
        let mut after = Listing { numbers: before.numbers, ..Listing::default() };
        for folder in &self.folders {
            let mut of_folder = Vec::new();
            for entry in list(folder)? {
                let path = entry.path();
                if path.extension().is_none_or(|extension| extension != "pack") {
                    continue;
                }
                let known = before.packs.iter().find(|pack| pack.path() == path);
                let pack = match known {
                    Some(pack) => Arc::clone(pack),
                    None => match after.open(&path, self.format) {
                        Some(pack) => pack,
                        None => continue,
                    },
                };
                let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
                of_folder.push((std::cmp::Reverse(age), pack));
            }
            of_folder.sort_by_key(|(age, _)| *age);
            after.packs.extend(of_folder.into_iter().map(|(_, pack)| pack));
        }
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(())
    }

    pub(super) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers that `pack` answered.
    pub(super) fn answered(&self, pack: &Pack) {
        self.last.store(pack.number, Ordering::Relaxed);
    }

    /// Every pack of `listing` that has `id`, and where.
    pub(super) fn with<'a>(
        &self,
        listing: &'a Listing,
        id: &'a ObjectId,
    ) -> impl Iterator<Item = (&'a Pack, u64)> {
        let last = self.last.load(Ordering::Relaxed);
        let first = listing.packs.iter().filter(move |pack| pack.number == last);
        let others = listing.packs.iter().filter(move |pack| pack.number != last);
        first.chain(others).filter_map(|pack| Some((&**pack, pack.index.find(id)?)))
    }
}

impl Listing {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pack> {
        self.packs.iter().map(|pack| &**pack)
    }

    /// The packs as whoever copies entries sees them; their tables are paid from `budget`.
    pub(super) fn views(&self, budget: &Budget) -> Vec<Arc<dyn PackView>> {
        let view = |pack: &Arc<Pack>| -> Arc<dyn PackView> {
            Arc::new(View::new(Arc::clone(pack), budget))
        };
        self.packs.iter().map(view).collect()
    }

    /// What is wrong with any of the packs, as far as is known.
    pub(super) fn trouble(&self) -> Option<StoreError> {
        let of_index = self.trouble.as_ref().map(|(path, what)| malformed(path, what.clone()));
        of_index.or_else(|| self.iter().find_map(Pack::trouble))
    }

    fn open(&mut self, path: &Path, format: ObjectFormat) -> Option<Arc<Pack>> {
        match Pack::open(path, self.numbers + 1, format) {
            Ok(Some(pack)) => {
                self.numbers += 1;
                Some(Arc::new(pack))
            }
            Ok(None) => None,
            Err(error) => {
                let what = match error {
                    StoreError::Malformed { what, .. } => what,
                    other => other.to_string(),
                };
                self.trouble.get_or_insert((path.with_extension("idx"), what));
                None
            }
        }
    }
}
