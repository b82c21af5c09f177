//! The cursor over a tree of which all folders are held: it goes through a table of files,
//! and the blobs that are in the text arena are searched in one pass.
//!
//! What is not in the arena (binary, over budget, not here) is read and searched one by
//! one, and displaces nothing of it.

use std::sync::Arc;

use bytes::Bytes;

use super::cursor::{Batch, Search, is_file, read_blob};
use super::scan::{Depth, Scan};
use super::searcher::{FilePlace, Output};
use super::sink::{FileRef, Sink};
use crate::error::Error;
use crate::limits::{Interrupt, Limits, NeverInterrupt, SharedWorkers, Which};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::{FileTable, MissingSet, Objects, StoreError, TextArena};
use crate::view::glob::PathFilter;
use crate::view::walk::{Place, Walk, WalkOptions};
use crate::view::{Step, ViewError};

/// A search under way over all files of a table.
#[derive(Debug)]
pub(super) struct Whole {
    table: Arc<FileTable>,
    /// Of each file whether it is asked for; `None` when all are.
    selected: Option<Vec<bool>>,
    /// The file that comes next.
    at: usize,
    /// What was asked for last, and the file behind it.
    asked: MissingSet,
    asked_to: usize,
    /// The file that the sink refused to go on behind, if it was the last.
    stopped_in: Option<usize>,
    places: Places,
    scan: Option<Scan>,
    workers: SharedWorkers,
}

impl Whole {
    /// A search of the files of `root` that pass `filter`: `None` where the store has no
    /// arena or lacks a folder, or where walking is cheaper.
    pub(super) fn new(
        root: &ObjectId,
        filter: &PathFilter,
        objects: &impl Objects,
        limits: &Limits,
        workers: &SharedWorkers,
        interrupt: &dyn Interrupt,
    ) -> Result<Option<Self>, Error> {
        let Some(arena) = objects.text_arena() else { return Ok(None) };
        let table = match arena.table(root) {
            Some(table) => table,
            None if filter.narrows_folders() => return Ok(None),
            None => match table_of(root, objects, arena, limits, interrupt)? {
                Some(table) => {
                    let table = Arc::new(table);
                    arena.keep_table(&table);
                    table
                }
                None => return Ok(None),
            },
        };
        let selected = (!filter.is_unrestricted())
            .then(|| (0..table.len()).map(|file| filter.matches(table.path(file))).collect());
        let walk = Walk::new(*root, WalkOptions::default(), limits);
        let places = Places { walk, passed: 0, place: Place::default() };
        let workers = workers.clone();
        Ok(Some(Self {
            table,
            selected,
            at: 0,
            asked: MissingSet::default(),
            asked_to: 0,
            stopped_in: None,
            places,
            scan: None,
            workers,
        }))
    }

    /// See [`Grep::place`](super::Grep::place).
    pub(super) fn place(&self) -> Place {
        self.places.place.clone()
    }

    /// Searches until everything was or the sink has enough, which is `None`, or blobs are
    /// missing. Of the arena nothing is held any longer than this call.
    pub(super) fn run(
        &mut self,
        objects: &impl Objects,
        search: &mut Search,
        batch: &mut Batch,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Option<MissingSet>, Error> {
        self.scan = objects.text_arena().and_then(|arena| self.begin_scan(arena, search));
        self.stopped_in = None;
        let came = self.search_on(objects, search, batch, sink, interrupt);
        self.scan = None;
        if search.stats.stopped || !matches!(came, Ok(None)) {
            self.places.go_to(self.stopped_in.unwrap_or(self.at), objects);
        }
        came
    }

    fn begin_scan(&self, arena: &dyn TextArena, search: &Search) -> Option<Scan> {
        let options = search.searcher.options();
        let most = options.max_per_file.unwrap_or(u64::MAX).max(1);
        let depth = match options.output {
            _ if options.invert || search.searcher.has_enough() => return None,
            Output::Files => Depth::First,
            Output::Count => Depth::Count(most),
            Output::Lines => Depth::Lines(most),
        };
        let layout = arena.layout(&self.table)?;
        let wanted = self.selected.as_ref().map(|selected| {
            let mut wanted = vec![false; layout.texts().len()];
            let files = selected.iter().enumerate().filter(|(_, selected)| **selected);
            for text in files.filter_map(|(file, _)| layout.text_of(file)) {
                if let Some(wanted) = wanted.get_mut(text) {
                    *wanted = true;
                }
            }
            wanted
        });
        let matcher = search.searcher.matcher();
        Scan::new(layout, wanted.as_deref(), matcher, depth, arena.budget()).ok()
    }

    fn search_on(
        &mut self,
        objects: &impl Objects,
        search: &mut Search,
        batch: &mut Batch,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Option<MissingSet>, Error> {
        while let Some(file) = self.next_file() {
            let text = self.scan.as_ref().and_then(|scan| scan.layout().text_of(file));
            let searched = if let Some((scan, text)) = self.scan.as_mut().zip(text) {
                scan.reach(text, &self.workers, interrupt)?;
                self.at += 1;
                self.in_arena(file, text, search, sink, interrupt)
            } else if self.is_left_out(file, search) {
                self.at += 1;
                search.stats.files_binary += 1;
                Ok(false)
            } else {
                let Some(id) = self.table.id(file) else { break };
                let read = self.read(objects, &id);
                if let Ok(None) = read {
                    let is_again = self.asked.contains(&id);
                    if is_again {
                        batch.halve();
                    }
                    batch.is_amid = !is_again && file < self.asked_to;
                    return Ok(Some(self.missing_ahead(objects, batch)?));
                }
                self.at += 1;
                let Some(text) = read? else { continue };
                self.outside(file, id, &text, search, sink, interrupt)
            };
            if !matches!(searched, Ok(false)) {
                self.stopped_in = Some(file);
            }
            if searched? {
                break;
            }
        }
        Ok(None)
    }

    /// The next file that is asked for.
    fn next_file(&mut self) -> Option<usize> {
        if let Some(selected) = &self.selected {
            let rest = selected.get(self.at..).unwrap_or_default();
            self.at += rest.iter().position(|selected| *selected).unwrap_or(rest.len());
        }
        (self.at < self.table.len()).then_some(self.at)
    }

    /// Shows what is known of a text; whether the search ends with it.
    fn in_arena(
        &self,
        file: usize,
        text: usize,
        search: &mut Search,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Error> {
        let Some(scan) = &self.scan else { return Ok(false) };
        let (known, text) = (scan.known(text), scan.layout().text(text));
        let (Some(known), Some(id)) = (known, self.table.id(file)) else {
            search.searched(text.len());
            return Ok(false);
        };
        let file = FileRef { path: self.table.path(file), id, text };
        search.known_file(&file, known, sink, interrupt)
    }

    /// Searches a file that is not in the arena; whether the search ends with it.
    fn outside(
        &self,
        file: usize,
        id: ObjectId,
        text: &[u8],
        search: &mut Search,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Error> {
        let binary_before = search.stats.files_binary;
        let found = FileRef { path: self.table.path(file), id, text };
        let ended = search.file(&found, FilePlace::default(), sink, interrupt)?;
        if search.stats.files_binary > binary_before {
            self.table.remember_binary(file);
        }
        Ok(ended)
    }

    /// Whether a file need not be read to know that it is not searched.
    fn is_left_out(&self, file: usize, search: &Search) -> bool {
        !search.searcher.options().binary && self.table.is_known_to_be_binary(file)
    }

    /// Reads a blob. When memory is spent, what this search holds of the arena is let go, so
    /// that its memory can be had, and the search goes on without.
    fn read(&mut self, objects: &impl Objects, id: &ObjectId) -> Result<Option<Bytes>, ViewError> {
        match read_blob(objects, id) {
            Err(error) if self.scan.is_some() && is_out_of_memory(&error) => {
                self.scan = None;
                read_blob(objects, id)
            }
            read => read,
        }
    }

    /// The blobs that are missing from here on, as many as are asked for at once. What stood
    /// between the files of a batch may have gone for them: the rest of that batch is searched
    /// before another one comes.
    fn missing_ahead(
        &mut self,
        objects: &impl Objects,
        batch: &mut Batch,
    ) -> Result<MissingSet, Error> {
        let mut missing = MissingSet::default();
        let batch_len = batch.ask();
        let mut file = self.at;
        let end = if batch.is_amid { self.asked_to } else { self.table.len() };
        while missing.len() < batch_len
            && file < end
            && let Some(id) = self.table.id(file)
        {
            let is_selected = |it: &Vec<bool>| it.get(file) == Some(&true);
            if self.selected.as_ref().is_none_or(is_selected) && !objects.contains(&id)? {
                missing.insert(id, Some(Kind::Blob));
            }
            file += 1;
        }
        if batch.is_amid {
            self.asked.extend(&missing);
        } else {
            self.asked = missing.clone();
            self.asked_to = file;
        }
        Ok(missing)
    }
}

/// The places of files, as a walk has them: found by walking behind the search.
#[derive(Debug)]
struct Places {
    walk: Walk,
    /// Files that the walk handed out.
    passed: usize,
    place: Place,
}

impl Places {
    /// Walks to `file`, which is not before the one of the last call.
    fn go_to(&mut self, file: usize, objects: &impl Objects) {
        while self.passed <= file {
            match self.walk.next(objects, &NeverInterrupt) {
                Ok(Step::Item(entry)) => self.passed += usize::from(is_file(&entry)),
                // There is no such file, or the folders are gone by now.
                _ => break,
            }
        }
        self.place = if self.passed > file { self.walk.place() } else { self.walk.next_place() };
    }
}

fn is_out_of_memory(error: &ViewError) -> bool {
    let limit = match error {
        ViewError::Limit(limit) | ViewError::Store(StoreError::Limit(limit)) => limit,
        _ => return false,
    };
    limit.which == Which::Memory
}

/// The files of `root`, if all its folders are held and sound and the table is not out of
/// proportion. A folder that is damaged is for a walk to report, between its neighbours.
fn table_of(
    root: &ObjectId,
    objects: &impl Objects,
    arena: &dyn TextArena,
    limits: &Limits,
    interrupt: &dyn Interrupt,
) -> Result<Option<FileTable>, Error> {
    let most = arena.budget().limit_bytes() / 8;
    let mut table = FileTable::new(*root, arena.budget());
    let mut walk = Walk::new(*root, WalkOptions::default(), limits);
    loop {
        match walk.next(objects, interrupt) {
            Ok(Step::Item(entry)) if is_file(&entry) => {
                if table.push(entry.path, &entry.id).is_err() || table.paid_bytes() > most {
                    return Ok(None);
                }
            }
            Ok(Step::Item(_)) => {}
            Ok(Step::Done) => return Ok(Some(table)),
            Ok(Step::Missing(_)) => return Ok(None),
            Err(error @ ViewError::Interrupted(_)) => return Err(error.into()),
            Err(_) => return Ok(None),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
