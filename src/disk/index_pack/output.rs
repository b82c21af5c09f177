//! A file that appears under its name when it is whole, and not at all otherwise.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::disk::files::io_error;
use crate::error::Error;

/// A file under another name in the same folder; removed on drop unless it was
/// [persisted](Self::persist_as).
pub(super) struct Output {
    file: NamedTempFile,
}

impl Output {
    /// One that is to become the file at `path`.
    pub(super) fn beside(path: &Path) -> Result<Self, Error> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // As git's, which other users may read as far as the umask lets them.
        let file = tempfile::Builder::new()
            .prefix("tmp_gitsip_")
            .permissions(Permissions::from_mode(0o444))
            .tempfile_in(folder)
            .map_err(|error| io_error(folder, error))?;
        Ok(Self { file })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| io_error(self.file.path(), error).into())
    }

    /// Puts on the disk what was written.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.file.as_file().sync_all();
        flushed.map_err(|error| io_error(self.file.path(), error).into())
    }

    /// Makes it the file at `path`, in place of any other.
    pub(super) fn persist_as(self, path: &Path) -> Result<(), Error> {
        let persisted = self.file.persist(path);
        persisted.map(drop).map_err(|failed| io_error(path, failed.error).into())
    }
}
