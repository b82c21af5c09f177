//! What a repository holds, kept for another process: written to and read from whatever the
//! caller has, as one file in the format of [`store::saved`](crate::store::saved).

use std::io::{Read, Write};

use hashbrown::HashSet;

use crate::client::transport::Transport;
use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupt, LimitExceeded, Reservation};
use crate::object::{CommitRef, EntryKind, Kind, TreeRef};
use crate::oid::ObjectId;
use crate::store::saved::{Loaded, Loading, SavedCommit, SavedState, Saving};
use crate::store::{MemoryStore, Objects as _, Ref, StoreError};

use super::remote::Remote;
use super::repo::Repo;
use super::results::LoadStats;
use super::source::Source as _;

/// What was written by [`Repo::save`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Objects in the file.
    pub objects: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

impl<T: Transport> Repo<Remote<T>> {
    /// Writes what is held: every object, which commits are there with all their trees, what
    /// was left out of them, and the refs that were listed last of what is held. No
    /// credential is among it. Memory: eight bytes for each object and a chunk of 64 KiB.
    ///
    /// # Errors
    /// `Io` when `out` fails, `Limit` when memory is spent.
    pub fn save(&self, out: &mut dyn Write) -> Result<Saved, Error> {
        let shared = &self.source.shared;
        let mut saving = Saving::new(&shared.store, &shared.to_save())?;
        let objects = u64::from(saving.objects());
        let mut bytes = 0;
        while let Some(chunk) = saving.next_chunk()? {
            out.write_all(&chunk).map_err(|error| {
                Error::new(ErrorKind::Io, format!("saving {}: {error}", self.source.name()))
                    .with_source(error)
            })?;
            bytes += chunk.len() as u64;
        }
        shared.state().objects_saved = objects;
        Ok(Saved { objects, bytes })
    }

    /// Takes in what [`save`](Self::save) wrote, which is trusted no more than what a host
    /// sends. Nothing is sent; whether the host would let this caller have it was asked when
    /// the repository was opened. On an error nothing of it is held.
    ///
    /// # Errors
    /// `Corrupt` and `Malformed` for a file that was cut short or changed, `Unsupported` for
    /// one of a later version, `Usage` for one of the other hash, `Limit` when it does not
    /// fit into memory, `Io` when `from` fails, `Cancelled` by `stop`.
    pub fn load(
        &self,
        from: &mut dyn Read,
        stop: &(dyn Interrupt + Sync),
    ) -> Result<Loaded, Error> {
        self.source.compute(|| self.load_here(from, stop))
    }

    /// How many objects are held that were neither loaded nor saved yet.
    pub fn unsaved_objects(&self) -> u64 {
        let shared = &self.source.shared;
        shared.store.stats().objects.saturating_sub(shared.state().objects_saved)
    }

    fn load_here(
        &self,
        from: &mut dyn Read,
        stop: &(dyn Interrupt + Sync),
    ) -> Result<Loaded, Error> {
        let shared = &self.source.shared;
        let begun = shared.transport.now();
        let before = shared.store.stats().objects;
        let mut loading = Loading::new(&shared.store, &shared.limits);
        let _paid = shared.budget.reserve(READ_BYTES as u64)?;
        let mut chunk = vec![0; READ_BYTES];
        loop {
            let len = from.read(&mut chunk).map_err(|error| {
                let why = format!("loading {}: {error}", self.source.name());
                Error::new(ErrorKind::Io, why).with_source(error)
            })?;
            match chunk.get(..len) {
                None | Some([]) => break,
                Some(came) => loading.push(came, stop)?,
            }
        }
        drop(chunk);
        let mut loaded = loading.finish(&shared.workers, stop)?;
        let mut trees = HeldTrees::new(&shared.store);
        let mut commits = Vec::new();
        for commit in std::mem::take(&mut loaded.state.commits) {
            if trees.are_of(commit.id)? {
                commits.push(commit);
            }
        }
        loaded.state.commits = commits;
        let is_held = |id| loaded.state.commits.iter().any(|commit| commit.id == id);
        loaded.state.left_out = loaded.state.left_out.filter(|&(commit, _)| is_held(commit));
        shared.adopt(&loaded.state)?;
        let took = shared.transport.now().saturating_sub(begun);
        let mut state = shared.state();
        // What was fetched before is not in the file.
        if before == 0 {
            state.objects_saved = shared.store.stats().objects;
        }
        state.loaded = Some(LoadStats {
            objects: loaded.objects,
            bytes: loaded.bytes,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        drop(state);
        Ok(loaded)
    }
}

impl<T: Transport> super::shared::Shared<T> {
    fn to_save(&self) -> SavedState {
        let is_all_here = !self.has_evicted();
        let state = self.state();
        let whole = |id: &ObjectId| is_all_here && state.whole.contains(id);
        let commits = state.held.iter().map(|&id| SavedCommit { id, is_whole: whole(&id) });
        let is_held = |named: &&Ref| {
            let id = named.peeled.or(named.target);
            id.is_some_and(|id| matches!(self.store.contains(&id), Ok(true)))
        };
        SavedState {
            address: self.repo.to_string().into(),
            commits: commits.collect(),
            left_out: state.fetched_whole.filter(|_| is_all_here),
            refs: state.listed.iter().filter(is_held).cloned().collect(),
        }
    }

    fn adopt(&self, loaded: &SavedState) -> Result<(), Error> {
        for commit in &loaded.commits {
            self.remember(&[commit.id])?;
            if commit.is_whole {
                self.state().whole.push(commit.id);
            }
        }
        let mut state = self.state();
        state.fetched_whole = state.fetched_whole.or(loaded.left_out);
        state.note_refs(&loaded.refs);
        Ok(())
    }
}

/// Looks whether all trees of commits are held, at each tree once.
struct HeldTrees<'a> {
    store: &'a MemoryStore,
    seen: HashSet<ObjectId>,
    paid: Reservation,
}

impl<'a> HeldTrees<'a> {
    fn new(store: &'a MemoryStore) -> Self {
        Self { store, seen: HashSet::new(), paid: store.budget().empty() }
    }

    fn are_of(&mut self, commit: ObjectId) -> Result<bool, StoreError> {
        let format = self.store.format();
        let Some(object) = self.store.read(&commit)? else { return Ok(false) };
        let Ok(commit) = CommitRef::parse(&object.bytes, format) else { return Ok(false) };
        let mut waiting = Vec::new();
        self.note(commit.tree(), &mut waiting)?;
        let mut noted = Vec::new();
        while let Some(tree) = waiting.pop() {
            noted.push(tree);
            let tree = match self.store.read(&tree)? {
                Some(object) if object.kind == Kind::Tree => object.bytes,
                _ => {
                    // Other commits that have them are not complete either.
                    for tree in noted.iter().chain(&waiting) {
                        self.seen.remove(tree);
                    }
                    return Ok(false);
                }
            };
            for entry in TreeRef::new(&tree, format) {
                match entry {
                    Ok(entry) if entry.mode.kind() == EntryKind::Tree => {
                        self.note(entry.id, &mut waiting)?;
                    }
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        }
        Ok(true)
    }

    fn note(&mut self, tree: ObjectId, waiting: &mut Vec<ObjectId>) -> Result<(), LimitExceeded> {
        if !self.seen.contains(&tree) {
            self.paid.grow(BYTES_PER_TREE)?;
            self.seen.insert(tree);
            waiting.push(tree);
        }
        Ok(())
    }
}

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;
/// What an id takes in the set of those seen and the two lists.
const BYTES_PER_TREE: u64 = 6 * size_of::<ObjectId>() as u64;
