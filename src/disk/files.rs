//! Small files of a repository, read whole and never above a cap, and the errors that
//! name them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// Bytes of a config, an alternates file, a `.git` file: far above any real one.
pub(super) const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;

/// The file's bytes; `None` when there is no file.
pub(super) fn read_small(path: &Path, max_bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(io_error(path, error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| io_error(path, error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(malformed(path, format!("it is larger than {max_bytes} bytes")));
    }
    Ok(Some(bytes))
}

/// The entries of a folder by name, sorted; none when there is no folder.
pub(super) fn list(path: &Path) -> Result<Vec<std::fs::DirEntry>, StoreError> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        Err(error) => return Err(io_error(path, error)),
    };
    let entries: io::Result<Vec<_>> = entries.collect();
    let mut entries = entries.map_err(|error| io_error(path, error))?;
    entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
    Ok(entries)
}

/// The path that a repository file names, relative to `base` unless absolute.
pub(super) fn path_from(base: &Path, bytes: &[u8]) -> Option<PathBuf> {
    use bstr::ByteSlice as _;
    (!bytes.is_empty() && !bytes.contains(&0)).then_some(())?;
    Some(base.join(bytes.to_path().ok()?))
}

/// Whether a file is not there: its folder may be missing, or be a file.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn io_error(path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { path: path.display().to_string(), source }
}

pub(super) fn malformed(path: &Path, what: impl Into<String>) -> StoreError {
    StoreError::Malformed { path: path.display().to_string(), what: what.into() }
}
