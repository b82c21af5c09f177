//! Memory maps of files that git writes once: packs, their indexes, loose objects.
//!
//! The one file with `unsafe`. Mapped bytes are the system's page cache, not memory of
//! this process, and are not spent from the budget.
#![allow(unsafe_code)]

use std::fs::File;
use std::path::Path;

use bytes::Bytes;
use memmap2::Mmap;

use super::files::io_error;
use crate::store::StoreError;

/// The bytes of the file at `path`; `None` when there is none.
///
/// The file must be one that is replaced and never changed in place. Should someone cut
/// it short all the same, reading the lost part ends the process with `SIGBUS`, as it
/// does in git.
pub(super) fn map(path: &Path) -> Result<Option<Bytes>, StoreError> {
    let failed = |error| io_error(path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // An empty range cannot be mapped; on 32 bits neither can a file of 4 GiB, which
    // `memmap2` answers with an error.
    if file.metadata().map_err(failed)?.len() == 0 {
        return Ok(Some(Bytes::new()));
    }
    // SAFETY: the map is read-only and lives as long as the `Bytes`. git writes these
    // files under another name and never changes them after the rename, so the bytes
    // behind the shared slice do not change while it is read.
    let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
    Ok(Some(Bytes::from_owner(map)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_and_none_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        assert_eq!(map(&path).unwrap(), None);
        std::fs::write(&path, b"").unwrap();
        assert_eq!(map(&path).unwrap(), Some(Bytes::new()));
        std::fs::write(&path, b"bytes").unwrap();
        let mapped = map(&path).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(&mapped[..], b"bytes");
        assert!(map(dir.path()).is_err());
    }
}
