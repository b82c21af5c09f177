//! The packs of every object folder of a repository.
//!
//! Newest first, as in git, and the pack that answered last before all others. A pack
//! without an index, or with one that cannot be read, is not used; the reason is kept
//! for when an object is missed. A multi-pack index is asked first where there is one.
//! Folders are listed anew when an object is missed, and before packs are copied from if a
//! folder's time says that something came or went: a server would else hold on to what a
//! repack has deleted.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::files::{list, malformed};
use super::multi_pack::MultiPack;
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
    /// Pays for the tables of views.
    budget: Budget,
    now: Mutex<Arc<Listing>>,
    /// The number of the pack that answered last.
    last: AtomicU64,
}

/// The packs that were there at one time.
#[derive(Debug, Default)]
pub(super) struct Listing {
    packs: Vec<Listed>,
    /// Those of folders that have one.
    multi: Vec<MultiPack>,
    /// Of each folder, when it changed last; `None` where a change might have the same time.
    changed: Vec<Option<SystemTime>>,
    /// The index for which a pack is not among them, and what is wrong with it.
    trouble: Option<(PathBuf, String)>,
    numbers: u64,
}

#[derive(Clone, Debug)]
struct Listed {
    pack: Arc<Pack>,
    /// The same as whoever copies entries sees it.
    view: Arc<dyn PackView>,
}

impl Packs {
    /// The packs in `folders`, listed now; their tables are paid from `budget`.
    pub(super) fn open(
        folders: Vec<PathBuf>,
        format: ObjectFormat,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        let (now, budget) = (Mutex::new(Arc::new(Listing::default())), budget.clone());
        let packs = Self { folders, format, budget, now, last: AtomicU64::new(0) };
        packs.refresh()?;
        Ok(packs)
    }

    /// Lists the folders anew; packs that are still there stay as they are. Whether others are
    /// there than before.
    pub(super) fn refresh(&self) -> Result<bool, StoreError> {
        let before = self.listing();
        let mut after = Listing { numbers: before.numbers, ..Listing::default() };
        for folder in &self.folders {
            // Before it is listed: what comes meanwhile makes it newer.
            after.changed.push(time_to_trust(folder));
            let mut of_folder = Vec::new();
            for entry in list(folder)? {
                let path = entry.path();
                if path.extension().is_none_or(|extension| extension != "pack") {
                    continue;
                }
                let known = before.packs.iter().find(|listed| listed.pack.path() == path);
                let listed = match known {
                    Some(listed) => listed.clone(),
                    None => match after.open(&path, self.format) {
                        Some(pack) => Listed::new(pack, &self.budget),
                        None => continue,
                    },
                };
                let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
                of_folder.push((std::cmp::Reverse(age), listed));
            }
            of_folder.sort_by_key(|(age, _)| *age);
            let first = after.packs.len();
            after.packs.extend(of_folder.into_iter().map(|(_, listed)| listed));
            let of_folder = after.packs.get(first..).unwrap_or_default();
            let paths = of_folder.iter().map(|listed| listed.pack.path());
            after.multi.extend(MultiPack::open(folder, self.format, first, paths));
        }
        let are_others = !after.numbers_of_packs().eq(before.numbers_of_packs());
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(after);
        Ok(are_others)
    }

    /// Whether packs may have come or gone since they were listed.
    pub(super) fn may_have_changed(&self) -> bool {
        let now = self.folders.iter().map(|folder| time_of(folder));
        let listing = self.listing();
        !now.eq(listing.changed.iter().copied()) || listing.changed.contains(&None)
    }

    /// All packs as they are now, as whoever copies entries sees them. They are open, and so
    /// can be read whatever becomes of their files. One that cannot be opened is none of them:
    /// what is in it is missed, and looked for elsewhere.
    pub(super) fn views(&self) -> Vec<Arc<dyn PackView>> {
        if self.may_have_changed() {
            // What was listed before can still be read when listing fails.
            _ = self.refresh();
        }
        for _ in 0..MAX_VANISHING {
            let listing = self.listing();
            let has_vanished =
                |listed: &Listed| !listed.pack.opens() && !listed.pack.path().exists();
            if !listing.packs.iter().any(has_vanished) {
                break;
            }
            // Between listing and opening a repack put others in their place.
            _ = self.refresh();
        }
        let listing = self.listing();
        let open = listing.packs.iter().filter(|listed| listed.pack.opens());
        open.map(|listed| Arc::clone(&listed.view)).collect()
    }

    pub(super) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers that `pack` answered.
    pub(super) fn answered(&self, pack: &Pack) {
        self.last.store(pack.number, Ordering::Relaxed);
    }

    /// Packs of `listing` that have `id`, and where. Of those with a multi-pack index it is
    /// only the one that this names; when `all` are asked, it is not looked at.
    pub(super) fn with<'a>(
        &self,
        listing: &'a Listing,
        id: &'a ObjectId,
        all: bool,
    ) -> impl Iterator<Item = (&'a Pack, u64)> {
        let last = self.last.load(Ordering::Relaxed);
        let multi = listing.multi.iter().filter(move |_| !all);
        let named = multi.filter_map(|multi| Some(&*listing.packs.get(multi.pack_of(id)?)?.pack));
        let is_covered = move |at| !all && listing.multi.iter().any(|multi| multi.covers(at));
        let rest = listing.iter().enumerate().filter(move |(at, _)| !is_covered(*at));
        let rest = rest.map(|(_, pack)| pack);
        let first = rest.clone().filter(move |pack| pack.number == last);
        let others = rest.filter(move |pack| pack.number != last);
        named.chain(first).chain(others).filter_map(|pack| Some((pack, pack.index.find(id)?)))
    }
}

impl Listing {
    fn numbers_of_packs(&self) -> impl Iterator<Item = u64> {
        self.packs.iter().map(|listed| listed.pack.number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Pack> + Clone {
        self.packs.iter().map(|listed| &*listed.pack)
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

impl Listed {
    fn new(pack: Arc<Pack>, budget: &Budget) -> Self {
        let view = Arc::new(View::new(Arc::clone(&pack), budget));
        Self { pack, view }
    }
}

/// When something last came into a folder or went; `None` where there is none.
fn time_of(folder: &Path) -> Option<SystemTime> {
    std::fs::metadata(folder).and_then(|metadata| metadata.modified()).ok()
}

/// The same, unless that is so short ago that the next change could have the same time.
fn time_to_trust(folder: &Path) -> Option<SystemTime> {
    let until = SystemTime::now().checked_sub(COARSEST_TIME)?;
    time_of(folder).filter(|changed| *changed < until)
}

/// How often packs may vanish before they are opened. Nothing repacks that fast.
const MAX_VANISHING: usize = 4;

/// File systems that keep times in steps of two seconds are still about.
const COARSEST_TIME: Duration = Duration::from_secs(2);
