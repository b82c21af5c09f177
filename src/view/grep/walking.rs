//! The cursor over a tree that walks it: files are searched as they are met, and what is
//! missing is asked for in batches.

use std::collections::VecDeque;

use bstr::BString;

use super::cursor::{Batch, Search, is_file, read_blob};
use super::searcher::FilePlace;
use super::sink::{FileRef, Sink};
use crate::error::Error;
use crate::limits::Interrupt;
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{MissingSet, Objects};
use crate::view::walk::{Place, Walk, WalkEntry};
use crate::view::{Step, ViewError};

/// A search under way over what a walk meets.
///
/// At a file that the store lacks it looks ahead and asks for a batch; what it passed on the
/// way waits in a queue, so no tree is read twice.
#[derive(Debug)]
pub(super) struct Walking {
    walk: Walk,
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
    /// How many batches were asked for.
    batches: u64,
}

#[derive(Debug)]
struct Waiting {
    path: BString,
    id: ObjectId,
    place: Place,
    /// The batch it was asked for in last, from 1; 0 for none.
    batch: u64,
}

impl Walking {
    /// A search of what `walk` hands out, beginning in the first file where `within` says.
    pub(super) fn new(walk: Walk, within: Option<FilePlace>) -> Self {
        let waiting = VecDeque::new();
        Self { walk, waiting, path_bytes: 0, deferred: None, at: None, within, batches: 0 }
    }

    /// See [`Grep::place`](super::Grep::place).
    pub(super) fn place(&self) -> Place {
        match (&self.at, self.waiting.front()) {
            (Some(at), _) => at.clone(),
            (None, Some(next)) => next.place.clone(),
            (None, None) => self.walk.next_place(),
        }
    }

    /// Searches until everything was or the sink has enough, which is `None`, or objects are
    /// missing.
    pub(super) fn run(
        &mut self,
        objects: &impl Objects,
        search: &mut Search,
        batch: &mut Batch,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Option<MissingSet>, Error> {
        self.at = None;
        let mut ended = false;
        while !ended {
            if let Some(first) = self.waiting.front() {
                let id = first.id;
                let read = read_blob(objects, &id);
                if let Ok(None) = read {
                    let is_of_last = |file: &Waiting| file.batch > 0 && file.batch == self.batches;
                    let is_again = is_of_last(first);
                    if is_again {
                        batch.halve();
                    }
                    let rest = self.waiting.iter().rposition(is_of_last).filter(|_| !is_again);
                    batch.is_amid = rest.is_some();
                    return Ok(Some(match rest {
                        Some(last) => self.missing_up_to(last, objects, batch.ask())?,
                        None => self.missing_ahead(objects, batch.ask(), interrupt)?,
                    }));
                }
                let Some(waiting) = self.waiting.pop_front() else { break };
                self.path_bytes -= waiting.held_bytes();
                let Some(text) = read? else { continue };
                let file = FileRef { path: waiting.path.as_ref(), id, text: &text };
                let within = self.within.take().unwrap_or_default();
                let searched = search.file(&file, within, sink, interrupt);
                if !matches!(searched, Ok(false)) {
                    self.at = Some(waiting.place);
                }
                ended = searched?;
                continue;
            }
            if let Some(error) = self.deferred.take() {
                return Err(error.into());
            }
            match self.walk.next(objects, interrupt)? {
                Step::Done => ended = true,
                Step::Item(entry) if !is_file(&entry) => {}
                // Nothing is copied for a file whose blob is there.
                Step::Item(entry) => match read_blob(objects, &entry.id)? {
                    Some(text) => {
                        let file = FileRef { path: entry.path, id: entry.id, text: &text };
                        let within = self.within.take().unwrap_or_default();
                        let searched = search.file(&file, within, sink, interrupt);
                        if !matches!(searched, Ok(false)) {
                            self.at = Some(self.walk.place());
                        }
                        ended = searched?;
                    }
                    None => {
                        let waiting = Waiting::at(&entry);
                        self.wait(waiting);
                    }
                },
                Step::Missing(trees) => {
                    batch.is_amid = false;
                    return Ok(Some(trees));
                }
            }
        }
        Ok(None)
    }

    /// The blobs that are missing from here on, as many as are asked for at once. Walks
    /// on over trees that are there, and lets the files on the way wait.
    fn missing_ahead(
        &mut self,
        objects: &impl Objects,
        batch_len: usize,
        interrupt: &dyn Interrupt,
    ) -> Result<MissingSet, Error> {
        self.batches += 1;
        let mut missing = self.missing_up_to(usize::MAX, objects, batch_len)?;
        while missing.len() < batch_len
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

    /// The blobs that are missing of the files that wait, up to the one at `last`. What stood
    /// between the files of a batch may have gone for them: the rest of that batch is searched
    /// before another one comes.
    fn missing_up_to(
        &mut self,
        last: usize,
        objects: &impl Objects,
        batch_len: usize,
    ) -> Result<MissingSet, Error> {
        let mut missing = MissingSet::default();
        for file in self.waiting.iter_mut().take(last.saturating_add(1)) {
            if missing.len() >= batch_len {
                break;
            }
            if !objects.contains(&file.id)? {
                missing.insert(file.id, Some(Kind::Blob));
                file.batch = self.batches;
            }
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

/// Files that may wait while the cursor looks ahead for missing ones.
const MAX_WAITING: usize = 1 << 16;
/// Bytes of their paths and places.
const MAX_WAITING_PATH_BYTES: usize = 4 << 20;
