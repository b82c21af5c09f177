//! The cursor that searches the files of a tree, in path order, as far as they are there.
//!
//! It takes one of two ways: through a table of all files and in one pass over a store's
//! text arena (`whole.rs`), or from file to file as a walk meets them (`walking.rs`).

use super::matcher::Matcher;
use super::scan::Known;
use super::searcher::{FilePlace, SearchOptions, Searched, Searcher};
use super::sink::{FileRef, Sink};
use super::tell::Tell;
use super::walking::Walking;
use super::whole::Whole;
use crate::error::Error;
use crate::limits::{Interrupt, Limits, SharedWorkers};
use crate::object::{EntryKind, Kind};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};
use crate::view::ViewError;
use crate::view::glob::PathFilter;
use crate::view::likely::Turn;
use crate::view::walk::{Place, Walk, WalkEntry, WalkOptions};

/// Which files are searched, and what of them is reported.
#[derive(Clone, Debug, Default)]
pub struct GrepOptions {
    /// The paths searched: globs, and prefixes that are a file or a folder.
    pub filter: PathFilter,
    /// What is reported.
    pub search: SearchOptions,
}

/// How much was searched so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrepStats {
    /// Files searched, binary ones not included unless asked for.
    pub files_searched: u64,
    /// Files in which something was found.
    pub files_matched: u64,
    /// Files left out because they are binary.
    pub files_binary: u64,
    /// Lines found; files for [`Output::Files`](super::Output::Files).
    pub lines_found: u64,
    /// Bytes of the files searched.
    pub bytes_searched: u64,
    /// The sink or the total maximum ended the search: there may be more to find.
    pub stopped: bool,
}

/// A search under way, over all files of one tree. Links and submodules are not files.
///
/// Files are searched in the order of their paths. At a file that the store lacks the
/// cursor looks ahead and asks for a batch. After a fetch it goes on where it was. A blob
/// that is in several places has its hits shown in each.
///
/// Over a store with a [text arena](crate::store::TextArena) that holds all folders, the
/// search is one pass over the arena, on as many threads as there are
/// [workers](Self::with_workers).
///
/// ```
/// use gitsip::limits::NeverInterrupt;
/// use gitsip::object::Kind;
/// use gitsip::store::{Lookup, MemoryStore};
/// use gitsip::view::grep::{Grep, GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
/// use gitsip::{Budget, Error, Limits, ObjectFormat};
///
/// struct Print;
///
/// impl Sink for Print {
///     fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
///         println!("{}:{}", hit.file.path, hit.line_number);
///         Ok(true)
///     }
/// }
///
/// let limits = Limits::default();
/// let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(limits.max_memory), &limits);
/// let blob = store.insert(Kind::Blob, b"fn main() {}\n")?;
/// let tree = store.insert(Kind::Tree, &[b"100644 main.rs\0", blob.as_bytes()].concat())?;
///
/// let matcher = Matcher::new(&[PatternSpec::regex("fn +main")], &MatchOptions::default())?;
/// let mut grep = Grep::new(tree, matcher, GrepOptions::default(), &limits);
/// match grep.run(&store, &mut Print, &NeverInterrupt)? {
///     Lookup::Ready(stats) => assert_eq!(stats.lines_found, 1),
///     Lookup::Missing(set) => println!("fetch {} objects, then run again", set.len()),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Grep {
    root: ObjectId,
    filter: PathFilter,
    limits: Limits,
    workers: SharedWorkers,
    way: Way,
    /// Where to begin, and where in the first file.
    start: (Place, Option<FilePlace>),
    /// The files that are searched now; `None` for all of them in one turn.
    turn: Option<Turn>,
    search: Search,
    batch: Batch,
    ended: bool,
}

/// How the cursor gets from file to file.
#[derive(Debug)]
enum Way {
    /// Not decided: nothing was searched yet.
    Open,
    Walking(Box<Walking>),
    Whole(Box<Whole>),
}

/// The part of the cursor that knows one file at a time.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) searcher: Searcher,
    pub(super) stats: GrepStats,
    tell: Option<Tell>,
}

/// How many blobs are asked for at once.
#[derive(Debug)]
pub(super) struct Batch {
    /// As many as memory allows.
    fitting: usize,
    /// As many as the caller wants.
    wanted: usize,
    /// As many as were asked for last.
    asked: usize,
    /// Whether some of those before are still to be searched.
    pub(super) is_amid: bool,
}

impl Default for Batch {
    fn default() -> Self {
        let most = MissingSet::MAX_BLOBS;
        Self { fitting: most, wanted: most, asked: most, is_amid: false }
    }
}

impl Grep {
    /// A search of the tree `root`, which is not read yet.
    pub fn new(root: ObjectId, matcher: Matcher, options: GrepOptions, limits: &Limits) -> Self {
        Self {
            root,
            filter: options.filter,
            limits: limits.clone(),
            workers: SharedWorkers::default(),
            way: Way::Open,
            start: (Place::default(), None),
            turn: None,
            search: Search {
                searcher: Searcher::new(matcher, options.search),
                stats: GrepStats::default(),
                tell: None,
            },
            batch: Batch::default(),
            ended: false,
        }
    }

    /// The same search from `place` on, which is that of an earlier one; `within` is where
    /// to begin in the file that is there. What is before is neither read nor asked for.
    #[must_use]
    pub fn starting_at(mut self, place: &Place, within: Option<FilePlace>) -> Self {
        self.start = (place.clone(), within);
        self
    }

    /// The same search in two turns, beginning with `turn`: files whose names are not those
    /// of text come behind all others. Its places are those of files of one turn.
    #[must_use]
    pub fn in_turns(self, turn: Turn) -> Self {
        Self { turn: Some(turn), ..self }
    }

    /// The turn of [`place`](Self::place), of a search in turns.
    pub fn turn(&self) -> Option<Turn> {
        self.turn
    }

    /// The place of the file that something was reported of last, after a sink stopped the
    /// search; after an error, of the first file that was not searched to its end.
    pub fn place(&self) -> Place {
        match &self.way {
            Way::Open => self.start.0.clone(),
            Way::Walking(walking) => walking.place(),
            Way::Whole(whole) => whole.place(),
        }
    }

    /// The same, searching on `workers` what can be searched at once. Results come in the
    /// same order, on the caller's thread.
    pub fn with_workers(self, workers: SharedWorkers) -> Self {
        Self { workers, ..self }
    }

    /// The same, telling how far it has come.
    pub fn telling(mut self, tell: Tell) -> Self {
        self.search.tell = Some(tell);
        self
    }

    /// Searches until everything was, or the sink has enough, or objects are missing.
    ///
    /// A set holds trees, or else blobs of which there are at most
    /// [`MissingSet::MAX_BLOBS`]; half as many each time that blobs of the last set were
    /// gone again before they could be searched.
    ///
    /// # Errors
    /// Those of the sink, of the store, and of [`Walk`]. What was handed out before is
    /// true, and partial. The next call goes on behind the folder or in the file after
    /// the one that the error was about, so that it never reports anything twice.
    pub fn run(
        &mut self,
        objects: &impl Objects,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Lookup<GrepStats>, Error> {
        if self.ended {
            return Ok(Lookup::Ready(self.search.stats));
        }
        loop {
            if let Way::Open = self.way {
                self.way = self.choose(objects, interrupt)?;
            }
            let Self { search, batch, .. } = self;
            let missing = match &mut self.way {
                Way::Whole(whole) => whole.run(objects, search, batch, sink, interrupt)?,
                Way::Walking(walking) => walking.run(objects, search, batch, sink, interrupt)?,
                Way::Open => None,
            };
            if let Some(missing) = missing {
                return Ok(Lookup::Missing(missing));
            }
            if self.turn != Some(Turn::First) || self.search.stats.stopped {
                self.ended = true;
                return Ok(Lookup::Ready(self.search.stats));
            }
            self.turn = Some(Turn::Later);
            (self.way, self.start) = (Way::Open, (Place::default(), None));
        }
    }

    /// Whether anybody was [told](Self::telling) how far it has come.
    pub fn has_told(&self) -> bool {
        self.search.tell.as_ref().is_some_and(Tell::has_told)
    }

    /// Whether blobs of the set before the last one are still to be searched: one between
    /// them was gone.
    pub fn is_amid_batch(&self) -> bool {
        self.batch.is_amid
    }

    /// Asks for so many blobs at once at most from now on, at least one: for a caller that
    /// does not want to pay for a whole batch.
    pub fn ask_for_at_most(&mut self, blobs: usize) {
        self.batch.wanted = blobs.max(1);
    }

    /// How much was searched so far.
    pub fn stats(&self) -> &GrepStats {
        &self.search.stats
    }

    /// A search that goes on somewhere walks, because a place is that of a walk.
    fn choose(&self, objects: &impl Objects, interrupt: &dyn Interrupt) -> Result<Way, Error> {
        let Self { root, limits, workers, start: (place, within), .. } = self;
        let filter = self.filter.clone();
        let filter = match self.turn {
            Some(turn) => filter.in_turn(turn),
            None => filter,
        };
        if place.levels().is_empty()
            && within.is_none()
            && let Some(whole) = Whole::new(root, &filter, objects, limits, workers, interrupt)?
        {
            return Ok(Way::Whole(Box::new(whole)));
        }
        let options = WalkOptions { filter, ..WalkOptions::default() };
        let walk = Walk::new(*root, options, limits).starting_at(place);
        Ok(Way::Walking(Box::new(Walking::new(walk, *within))))
    }
}

impl Batch {
    /// How many are asked for now.
    pub(super) fn ask(&mut self) -> usize {
        self.asked = self.fitting.min(self.wanted);
        self.asked
    }

    /// Half as many from now on, at least one; `false` if it was one already.
    pub(super) fn halve(&mut self) -> bool {
        self.asked = (self.asked / 2).max(1);
        std::mem::replace(&mut self.fitting, self.asked) != self.asked
    }
}

impl Search {
    /// Searches one file; whether the whole search ends with it.
    pub(super) fn file(
        &mut self,
        file: &FileRef<'_>,
        within: FilePlace,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Error> {
        let searched = self.searcher.search_from(file, within, sink, interrupt)?;
        if searched.binary {
            self.stats.files_binary += 1;
        } else {
            self.searched(file.text.len());
        }
        Ok(self.found(&searched))
    }

    /// Shows what is known of one file; whether the whole search ends with it.
    pub(super) fn known_file(
        &mut self,
        file: &FileRef<'_>,
        known: Known<'_>,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Error> {
        let within = FilePlace::default();
        let searched = self.searcher.search_known(file, within, known, sink, interrupt)?;
        self.searched(file.text.len());
        Ok(self.found(&searched))
    }

    /// A file of so many bytes was searched.
    pub(super) fn searched(&mut self, bytes: usize) {
        self.stats.files_searched += 1;
        self.stats.bytes_searched += bytes as u64;
        if let Some(tell) = &mut self.tell {
            tell.hear(&self.stats);
        }
    }

    fn found(&mut self, searched: &Searched) -> bool {
        let stats = &mut self.stats;
        stats.files_matched += u64::from(searched.lines > 0);
        stats.lines_found += searched.lines;
        stats.stopped |= searched.stop;
        searched.stop
    }
}

pub(super) fn is_file(entry: &WalkEntry<'_>) -> bool {
    matches!(entry.mode.kind(), EntryKind::Blob | EntryKind::Executable)
}

pub(super) fn read_blob(
    objects: &impl Objects,
    id: &ObjectId,
) -> Result<Option<bytes::Bytes>, ViewError> {
    match objects.read(id)? {
        Some(object) if object.kind != Kind::Blob => {
            Err(ViewError::WrongKind { id: *id, wanted: Kind::Blob, actual: object.kind })
        }
        object => Ok(object.map(|object| object.bytes)),
    }
}

#[cfg(test)]
mod tests;
