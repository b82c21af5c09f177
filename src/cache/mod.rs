//! What repositories hold, kept in a folder between processes, for all faces.
//!
//! A repository is one file of [`store::saved`](crate::store::saved), called by the SHA-256
//! of its address without credentials, readable by its owner only. It is loaded after its
//! host has answered this caller's credentials, so that a cache gives nobody what the host
//! would not let him open; which of its objects the host would show him is not asked for
//! again. Files appear whole, by a rename, under a lock that the system gives back when its
//! holder dies. Above the size cap those go that were used least recently.
//!
//! A cache that fails costs a warning, never an answer. Nothing here prints.

mod folder;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use self::folder::{Capped, Folder, Slot};
use crate::agent::{Remote, Repo, Source as _, Stop};
use crate::client::transport::Transport;
use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupt, NeverInterrupt};
use crate::text::escape_for_people;

/// Bytes that a cache may take, unless something else is said.
pub(crate) const DEFAULT_CACHE_BYTES: u64 = 1 << 30;

/// A folder to keep repositories in. A clone is the same one; the default keeps nothing.
#[derive(Clone, Default)]
pub(crate) struct Cache(Option<Arc<Inner>>);

struct Inner {
    folder: Folder,
    warn: Box<dyn Fn(&str) + Send + Sync>,
}

impl Cache {
    /// Keeps at most `max_bytes` in `path`, which is made when it is not there. Whoever
    /// cannot use it is told by `warn`, in one line for each time.
    pub(crate) fn new(
        path: PathBuf,
        max_bytes: u64,
        warn: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let folder = Folder::new(path, max_bytes);
        Self(Some(Arc::new(Inner { folder, warn: Box::new(warn) })))
    }

    /// Gives `repo`, which was just opened, what is kept of it.
    pub(crate) fn load<T: Transport>(&self, repo: &Repo<Remote<T>>, stop: &Stop) {
        let Some(inner) = self.0.as_deref() else { return };
        let address = repo.source().address().to_string();
        if let Err(error) = inner.load(repo, &address, stop) {
            (inner.warn)(&format!("the cache of {address} is not used: {error}"));
        }
    }

    /// Does [`save`](Self::save) if much of what `repo` holds is new: all is written each time.
    pub(crate) fn save_much<T: Transport>(&self, repo: &Repo<Remote<T>>) {
        if self.0.is_some() && repo.unsaved_objects() > repo.stats().objects / 4 {
            self.save(repo);
        }
    }

    /// Keeps what `repo` holds, if there is something new.
    pub(crate) fn save<T: Transport>(&self, repo: &Repo<Remote<T>>) {
        let Some(inner) = self.0.as_deref() else { return };
        if repo.unsaved_objects() == 0 {
            return;
        }
        let address = repo.source().address().to_string();
        if let Err(error) = repo.source().compute(|| inner.save(repo, &address)) {
            (inner.warn)(&format!("{address} is not cached: {error}"));
        }
    }
}

impl Inner {
    fn load<T: Transport>(
        &self,
        repo: &Repo<Remote<T>>,
        address: &str,
        stop: &(dyn Interrupt + Sync),
    ) -> Result<(), Error> {
        let slot = self.folder.slot(address).map_err(|error| self.failed(error))?;
        let Some(file) = slot.open().map_err(|error| self.failed(error))? else { return Ok(()) };
        // Loading it leaves room to work, or is not worth it.
        let len = file.metadata().map_err(|error| self.failed(error))?.len();
        let half = repo.source().budget().limit_bytes() / 2;
        if len > half {
            let why = format!("its {len} bytes are more than half of --max-memory");
            return Err(Error::new(ErrorKind::Limit, why));
        }
        match repo.load(&mut BufReader::new(&file), stop) {
            Ok(_) => {
                // Without it, it is the first to go; that is no reason to complain.
                drop(slot.note_use(&file));
                Ok(())
            }
            Err(error) if is_bad(&error) => {
                let set_aside = match slot.set_aside() {
                    Ok(()) => "it is set aside, and what it had is fetched anew",
                    Err(_) => "what it had is fetched anew",
                };
                let why = format!("{}; {set_aside}", error.context());
                Err(Error::new(error.kind(), why).with_source(error))
            }
            Err(error) => Err(error),
        }
    }

    fn save<T: Transport>(&self, repo: &Repo<Remote<T>>, address: &str) -> Result<(), Error> {
        let slot = self.folder.slot(address).map_err(|error| self.failed(error))?;
        // Whoever has it is writing the same repository.
        let Some(_lock) = slot.lock().map_err(|error| self.failed(error))? else { return Ok(()) };
        self.take_in_what_others_kept(repo, &slot);
        let file = slot.begin().map_err(|error| self.failed(error))?;
        let max_bytes = self.folder.max_bytes();
        let mut out = BufWriter::new(Capped::new(file, max_bytes));
        let saved = repo.save(&mut out).and_then(|_| out.flush().map_err(|e| self.failed(e)));
        drop(out);
        if let Err(error) = saved {
            // What is left of it is written over by the next one.
            drop(slot.give_up());
            return Err(error);
        }
        slot.commit().map_err(|error| self.failed(error))?;
        self.folder.make_room(&slot).map_err(|error| self.failed(error))
    }

    /// Another process may have kept more of the repository since this one opened it.
    fn take_in_what_others_kept<T: Transport>(&self, repo: &Repo<Remote<T>>, slot: &Slot) {
        let loaded = repo.stats().loaded.map(|loaded| loaded.bytes);
        let room = repo.source().budget().limit_bytes() / 2;
        if let Ok(Some(file)) = slot.open()
            && let Ok(len) = file.metadata().map(|metadata| metadata.len())
            && loaded != Some(len)
            && len <= room
        {
            // What cannot be read is written over.
            drop(repo.load(&mut BufReader::new(&file), &NeverInterrupt));
        }
    }

    fn failed(&self, error: io::Error) -> Error {
        let path = escape_for_people(self.folder.path().as_os_str().as_encoded_bytes());
        Error::new(ErrorKind::Io, format!("'{path}': {error}")).with_source(error)
    }
}

/// Whether a file is of no use to anybody.
fn is_bad(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Corrupt | ErrorKind::Malformed | ErrorKind::Unsupported | ErrorKind::Usage
    )
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cache").field(&self.0.as_ref().map(|inner| inner.folder.path())).finish()
    }
}
