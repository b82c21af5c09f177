//! From a path that a person names to a repository's folders.
//!
//! Follows `gitrepository-layout` and the search of git itself: the folder, then its
//! parents, each as a work tree (`.git` folder or file) and as a bare repository. The
//! environment (`GIT_DIR` and the like) is not consulted. Ownership is not checked:
//! nothing of what is found is ever run.

use std::path::{Path, PathBuf};

use super::files::{MAX_SMALL_FILE_BYTES, io_error, malformed, path_from, read_small};
use super::refs::is_head;
use crate::store::StoreError;

/// Where a repository's parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// `HEAD` and what else a linked work tree has of its own.
    pub(super) git_dir: PathBuf,
    /// Objects, branches and config; the same as `git_dir` outside linked work trees.
    pub(super) common_dir: PathBuf,
}

/// The repository at `path` or around it.
pub(super) fn discover(path: &Path) -> Result<Layout, StoreError> {
    let not_found = || StoreError::NoRepository { path: path.display().to_string() };
    let start = match std::fs::canonicalize(path) {
        Ok(start) => start,
        Err(error) if super::files::is_absent(&error) => return Err(not_found()),
        Err(error) => return Err(io_error(path, error)),
    };
    if start.is_file() {
        return read_git_file(&start)?.ok_or_else(not_found);
    }
    for folder in start.ancestors() {
        let inner = folder.join(".git");
        if inner.is_file() {
            return read_git_file(&inner)?
                .ok_or_else(|| malformed(&inner, "it does not name a repository"));
        }
        if let Some(layout) = layout_of(&inner)? {
            return Ok(layout);
        }
        if let Some(layout) = layout_of(folder)? {
            return Ok(layout);
        }
    }
    Err(not_found())
}

/// The repository that a `.git` file names, if it is one.
pub(super) fn read_git_file(path: &Path) -> Result<Option<Layout>, StoreError> {
    let Some(bytes) = read_small(path, MAX_SMALL_FILE_BYTES)? else { return Ok(None) };
    let Some(target) = bytes.strip_prefix(b"gitdir: ") else { return Ok(None) };
    let base = path.parent().unwrap_or(Path::new("."));
    match path_from(base, without_line_end(target)) {
        Some(git_dir) => layout_of(&git_dir),
        None => Ok(None),
    }
}

/// The parts of the repository whose git folder is `git_dir`, if it is one.
fn layout_of(git_dir: &Path) -> Result<Option<Layout>, StoreError> {
    if !is_head(&git_dir.join("HEAD")) {
        return Ok(None);
    }
    Ok(common_dir(git_dir)?
        .filter(|common| common.join("objects").is_dir() && common.join("refs").is_dir())
        .map(|common_dir| Layout { git_dir: git_dir.to_owned(), common_dir }))
}

/// The folder that the repository whose git folder is `git_dir` shares with its work trees, if
/// its name makes sense.
pub(super) fn common_dir(git_dir: &Path) -> Result<Option<PathBuf>, StoreError> {
    Ok(match read_small(&git_dir.join("commondir"), MAX_SMALL_FILE_BYTES)? {
        Some(bytes) => path_from(git_dir, without_line_end(&bytes)),
        None => Some(git_dir.to_owned()),
    })
}

fn without_line_end(mut bytes: &[u8]) -> &[u8] {
    while let Some((b'\n' | b'\r', before)) = bytes.split_last() {
        bytes = before;
    }
    bytes
}
