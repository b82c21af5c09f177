//! The files of a cache: names, locks, renames, and who goes first.
//!
//! Of each repository there are at most four: `KEY.gitsip`, what is kept; `KEY.new`, what is
//! being written; `KEY.bad`, what was refused; and `KEY.lock`, empty, which stays because a
//! lock on a file that was removed locks nothing.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::oid::{Hasher, ObjectFormat};

/// A folder of cached repositories.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    max_bytes: u64,
}

/// The files of one repository.
#[derive(Debug)]
pub(super) struct Slot {
    folder: PathBuf,
    key: String,
}

/// A lock that is given back when it is dropped, or its process dies.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not read")] File);

/// A file that may not grow over a size.
#[derive(Debug)]
pub(super) struct Capped {
    file: File,
    left: u64,
}

impl Folder {
    pub(super) fn new(path: PathBuf, max_bytes: u64) -> Self {
        Self { path, max_bytes }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// The files of the repository at `address`, which has no credentials in it. Makes the
    /// folder.
    pub(super) fn slot(&self, address: &str) -> io::Result<Slot> {
        private::make_folder(&self.path)?;
        let mut hasher = Hasher::new(ObjectFormat::Sha256);
        hasher.update(address.as_bytes());
        let key = hasher.finish().map_err(io::Error::other)?.to_string();
        Ok(Slot { folder: self.path.clone(), key })
    }

    /// Removes those that were used least recently until the rest fits; never `newest`.
    pub(super) fn make_room(&self, newest: &Slot) -> io::Result<()> {
        let mut kept = Vec::new();
        let mut total = 0_u64;
        for file in fs::read_dir(&self.path)? {
            let path = file?.path();
            let Some(key) = key_of(&path) else { continue };
            // Another process may have removed it.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            total = total.saturating_add(metadata.len());
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            kept.push((used, path.clone(), key.to_owned(), metadata.len()));
        }
        kept.sort_unstable();
        for (_, path, key, len) in kept {
            if total <= self.max_bytes {
                break;
            }
            let slot = Slot { folder: self.path.clone(), key };
            let is_newest = slot.key == newest.key && path == newest.file(KEPT);
            // What somebody is writing now stays.
            if is_newest || (slot.key != newest.key && slot.lock()?.is_none()) {
                continue;
            }
            if fs::remove_file(&path).is_ok() {
                total = total.saturating_sub(len);
            }
        }
        Ok(())
    }
}

/// The key of a file that takes room in a cache; others in the folder are nobody's business.
fn key_of(path: &Path) -> Option<&str> {
    let key = path.file_stem()?.to_str()?;
    let is_key = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let extension = path.extension()?.to_str()?;
    (is_key && [KEPT, NEW, BAD].contains(&extension)).then_some(key)
}

impl Slot {
    /// What is kept, if it is.
    pub(super) fn open(&self) -> io::Result<Option<File>> {
        match File::open(self.file(KEPT)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The right to write, unless another process has it.
    pub(super) fn lock(&self) -> io::Result<Option<Lock>> {
        let file = private::options().create(true).truncate(false).open(self.file("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// A new file, invisible until [`commit`](Self::commit). Only for who has the lock.
    pub(super) fn begin(&self) -> io::Result<File> {
        // One that was killed left it.
        drop(fs::remove_file(self.file(NEW)));
        private::options().create_new(true).open(self.file(NEW))
    }

    /// Puts the new file in the place of what is kept.
    pub(super) fn commit(&self) -> io::Result<()> {
        fs::rename(self.file(NEW), self.file(KEPT))
    }

    pub(super) fn give_up(&self) -> io::Result<()> {
        fs::remove_file(self.file(NEW))
    }

    /// Takes what is kept out of the way.
    pub(super) fn set_aside(&self) -> io::Result<()> {
        fs::rename(self.file(KEPT), self.file(BAD))
    }

    /// Notes that `file`, which is what is kept, was used now.
    pub(super) fn note_use(&self, file: &File) -> io::Result<()> {
        file.set_modified(SystemTime::now())
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.key))
    }
}

impl Capped {
    pub(super) fn new(file: File, max_bytes: u64) -> Self {
        Self { file, left: max_bytes }
    }
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            return Err(io::Error::other("it takes more than --cache-size"));
        }
        let written = self.file.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Files and folders for nobody but their owner.
#[cfg(unix)]
mod private {
    use std::fs::{DirBuilder, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
    use std::path::Path;

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        if std::fs::metadata(path)?.permissions().mode() & 0o022 != 0 {
            let why = "others may write there; choose another folder, or chmod go-w";
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    pub(super) fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true).mode(0o600);
        options
    }
}

/// Where folders of a user are his own anyway.
#[cfg(not(unix))]
mod private {
    use std::fs::{self, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    pub(super) fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        options.write(true);
        options
    }
}

const KEPT: &str = "gitsip";
const NEW: &str = "new";
const BAD: &str = "bad";
