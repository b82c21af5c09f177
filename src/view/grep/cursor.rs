//! The cursor that searches the files of a tree, in path order, as far as they are there.

use std::collections::VecDeque;

use bstr::BString;

use super::matcher::Matcher;
use super::searcher::{FilePlace, SearchOptions, Searcher};
use super::sink::{FileRef, Sink};
use crate::error::Error;
use crate::limits::{Interrupt, Limits};
use crate::object::{EntryKind, Kind};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};
use crate::view::glob::PathFilter;
use crate::view::walk::{Place, Walk, WalkEntry, WalkOptions};
use crate::view::{Step, ViewError};

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
/// cursor looks ahead and asks for a batch; what it passed on the way waits in a queue,
/// so no tree is read twice. After a fetch it goes on where it was. A blob that is in
/// several places is searched in each, because each has its own results.
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
    walk: Walk,
    search: Search,
    /// Files that were walked to and not searched yet.
    waiting: VecDeque<Waiting>,
    /// Bytes of the paths and places in `waiting`.
    path_bytes: usize,
    /// What the walk met behind the files that wait.
    deferred: Option<ViewError>,
    /// Where the file is that is being searched, or was last; `None` for the walk's own
    /// place.
    at: Option<Place>,
    /// Where to begin in the first file.
    within: Option<FilePlace>,
    /// Blobs asked for at once.
    batch_len: usize,
    /// How many batches were asked for.
    batches: u64,
    ended: bool,
}

#[derive(Debug)]
struct Waiting {
    path: BString,
    id: ObjectId,
    place: Place,
    /// The batch it was asked for in last, from 1; 0 for none.
    batch: u64,
}

/// The part of the cursor that needs no walk.
#[derive(Debug)]
struct Search {
    searcher: Searcher,
    stats: GrepStats,
}

impl Grep {
    /// A search of the tree `root`, which is not read yet.
    pub fn new(root: ObjectId, matcher: Matcher, options: GrepOptions, limits: &Limits) -> Self {
        let walk = WalkOptions { filter: options.filter, ..WalkOptions::default() };
        Self {
            walk: Walk::new(root, walk, limits),
            search: Search {
                searcher: Searcher::new(matcher, options.search),
                stats: GrepStats::default(),
            },
            waiting: VecDeque::new(),
            path_bytes: 0,
            deferred: None,
            at: None,
            within: None,
            batch_len: MissingSet::MAX_BLOBS,
            batches: 0,
            ended: false,
        }
    }

    /// The same search from `place` on, which is that of an earlier one; `within` is where
    /// to begin in the file that is there. What is before is neither read nor asked for.
    #[must_use]
    pub fn starting_at(mut self, place: &Place, within: Option<FilePlace>) -> Self {
        self.walk = self.walk.starting_at(place);
        self.within = within;
        self
    }

    /// The place of the file that something was reported of last, after a sink stopped the
    /// search; after an error, of the first file that was not searched to its end.
    pub fn place(&self) -> Place {
        match (&self.at, self.waiting.front()) {
            (Some(at), _) => at.clone(),
            (None, Some(next)) => next.place.clone(),
            (None, None) => self.walk.next_place(),
        }
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
        self.at = None;
        while !self.ended {
            if !self.waiting.is_empty() {
                if let Some(missing) = self.search_waiting(objects, sink, interrupt)? {
                    return Ok(Lookup::Missing(missing));
                }
                continue;
            }
            if let Some(error) = self.deferred.take() {
                return Err(error.into());
            }
            match self.walk.next(objects, interrupt)? {
                Step::Done => self.ended = true,
                Step::Item(entry) if !is_file(&entry) => {}
                // Nothing is copied for a file whose blob is there.
                Step::Item(entry) => match read_blob(objects, &entry.id)? {
                    Some(text) => {
                        let file = FileRef { path: entry.path, id: entry.id, text: &text };
                        let within = self.within.take().unwrap_or_default();
                        let searched = self.search.file(&file, within, sink, interrupt);
                        if !matches!(searched, Ok(false)) {
                            self.at = Some(self.walk.place());
                        }
                        self.ended = searched?;
                    }
                    None => {
                        let waiting = Waiting::at(&entry);
                        self.wait(waiting);
                    }
                },
                Step::Missing(trees) => return Ok(Lookup::Missing(trees)),
            }
        }
        Ok(Lookup::Ready(self.search.stats))
    }

    /// How much was searched so far.
    pub fn stats(&self) -> &GrepStats {
        &self.search.stats
    }

    /// Asks for half as many blobs at once from now on, at least one: for a caller that
    /// could not hold a whole batch. `false` if it was one already.
    pub fn halve_batch(&mut self) -> bool {
        let halved = (self.batch_len / 2).max(1);
        std::mem::replace(&mut self.batch_len, halved) != halved
    }

    /// Searches the files that wait, up to one that is missing.
    fn search_waiting(
        &mut self,
        objects: &impl Objects,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Option<MissingSet>, Error> {
        while !self.ended
            && let Some(Waiting { id, batch, .. }) = self.waiting.front()
        {
            let (id, batch) = (*id, *batch);
            let read = read_blob(objects, &id);
            if let Ok(None) = read {
                if batch > 0 && batch == self.batches {
                    self.halve_batch();
                }
                return Ok(Some(self.missing_ahead(objects, interrupt)?));
            }
            let Some(waiting) = self.waiting.pop_front() else { break };
            self.path_bytes -= waiting.held_bytes();
            if let Some(text) = read? {
                let file = FileRef { path: waiting.path.as_ref(), id, text: &text };
                let within = self.within.take().unwrap_or_default();
                let searched = self.search.file(&file, within, sink, interrupt);
                if !matches!(searched, Ok(false)) {
                    self.at = Some(waiting.place);
                }
                self.ended = searched?;
            }
        }
        Ok(None)
    }

    /// The blobs that are missing from here on, as many as are asked for at once. Walks
    /// on over trees that are there, and lets the files on the way wait.
    fn missing_ahead(
        &mut self,
        objects: &impl Objects,
        interrupt: &dyn Interrupt,
    ) -> Result<MissingSet, Error> {
        let mut missing = MissingSet::default();
        self.batches += 1;
        for file in &mut self.waiting {
            if missing.len() >= self.batch_len {
                return Ok(missing);
            }
            if !objects.contains(&file.id)? {
                missing.insert(file.id, Some(Kind::Blob));
                file.batch = self.batches;
            }
        }
        while missing.len() < self.batch_len
            && self.deferred.is_none()
            && self.waiting.len() < MAX_WAITING
            && self.path_bytes < MAX_WAITING_PATH_BYTES
        {
            let mut file = match self.walk.next(objects, interrupt) {
                Ok(Step::Item(entry)) if is_file(&entry) => Waiting::at(&entry),
                Ok(Step::Item(_)) => continue,
                // Asked for when the files before are searched.
                Ok(Step::Missing(_) | Step::Done) => break,
                Err(error @ ViewError::Interrupted(_)) => return Err(error.into()),
                Err(error) => {
                    self.deferred = Some(error);
                    break;
                }
            };
            if !objects.contains(&file.id)? {
                missing.insert(file.id, Some(Kind::Blob));
                file.batch = self.batches;
            }
            self.wait(file);
        }
        Ok(missing)
    }

    fn wait(&mut self, mut file: Waiting) {
        file.place = self.walk.place();
        self.path_bytes += file.held_bytes();
        self.waiting.push_back(file);
    }
}

impl Waiting {
    fn at(entry: &WalkEntry<'_>) -> Self {
        Self { path: entry.path.into(), id: entry.id, place: Place::default(), batch: 0 }
    }

    fn held_bytes(&self) -> usize {
        self.path.len() + size_of_val(self.place.levels())
    }
}

impl Search {
    /// Searches one file; whether the whole search ends with it.
    fn file(
        &mut self,
        file: &FileRef<'_>,
        within: FilePlace,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Error> {
        let searched = self.searcher.search_from(file, within, sink, interrupt)?;
        let stats = &mut self.stats;
        if searched.binary {
            stats.files_binary += 1;
        } else {
            stats.files_searched += 1;
            stats.bytes_searched += file.text.len() as u64;
        }
        stats.files_matched += u64::from(searched.lines > 0);
        stats.lines_found += searched.lines;
        stats.stopped |= searched.stop;
        Ok(searched.stop)
    }
}

fn is_file(entry: &WalkEntry<'_>) -> bool {
    matches!(entry.mode.kind(), EntryKind::Blob | EntryKind::Executable)
}

fn read_blob(objects: &impl Objects, id: &ObjectId) -> Result<Option<bytes::Bytes>, ViewError> {
    match objects.read(id)? {
        Some(object) if object.kind != Kind::Blob => {
            Err(ViewError::WrongKind { id: *id, wanted: Kind::Blob, actual: object.kind })
        }
        object => Ok(object.map(|object| object.bytes)),
    }
}

/// Files that may wait while the cursor looks ahead for missing ones.
const MAX_WAITING: usize = 1 << 16;
/// Bytes of their paths and places.
const MAX_WAITING_PATH_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests;
