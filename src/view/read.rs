//! Files by path: bytes with where they came from, and answers for what is no file.
//!
//! Nothing is decoded or converted: line ends, encodings and LFS pointers come as they
//! are stored. A submodule's repository and an LFS object are never fetched.

use bstr::BString;
use bytes::Bytes;

use super::ViewError;
use super::gitmodules;
use super::path::{Resolved, Resolver, expect_kind, normalise};
use crate::limits::{Interrupt, Limits};
use crate::object::{EntryKind, Kind, Mode};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};

/// What stands at a path that is no folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// A file, or a link that was not followed.
    File(File),
    /// A repository of its own.
    Submodule(Submodule),
}

/// A file's bytes and where they came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path as asked, normalised.
    pub path: BString,
    /// The path after links were followed.
    pub resolved_path: BString,
    /// Its mode as written.
    pub mode: Mode,
    /// Its blob.
    pub id: ObjectId,
    /// Its content; for a link its target.
    pub bytes: Bytes,
    /// Set when the content is a pointer to a file kept by Git LFS.
    pub lfs: Option<LfsPointer>,
}

/// A submodule: what is known of it here. It is never fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submodule {
    /// Where it stands, links followed.
    pub path: BString,
    /// The commit it is pinned to.
    pub commit: ObjectId,
    /// Its address as `.gitmodules` of the root gives it, perhaps relative to this
    /// repository's own; `None` when that file does not name it.
    pub url: Option<BString>,
}

/// What a pointer of Git LFS (specification v1) says about the file it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LfsPointer {
    /// The SHA-256 of the file in hexadecimal.
    pub oid: String,
    /// Its size in bytes.
    pub size: u64,
}

impl LfsPointer {
    /// The longest pointer there is, in bytes.
    pub const MAX_BYTES: usize = 1_024;

    /// The pointer that `bytes` are, if they are one.
    ///
    /// ```
    /// use gitsip::view::read::LfsPointer;
    ///
    /// let text = format!(
    ///     "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
    ///     "4d".repeat(32),
    /// );
    /// assert_eq!(LfsPointer::parse(text.as_bytes()).map(|lfs| lfs.size), Some(12345));
    /// assert_eq!(LfsPointer::parse(b"version https://git-lfs.github.com/spec/v1\n"), None);
    /// ```
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > Self::MAX_BYTES {
            return None;
        }
        let mut lines = std::str::from_utf8(bytes).ok()?.lines();
        let version = lines.next()?.strip_prefix("version ")?;
        if !["https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1"]
            .contains(&version)
        {
            return None;
        }
        let (mut oid, mut size) = (None, None);
        for line in lines {
            match line.split_once(' ')? {
                ("oid", hash) => oid = Some(hash.strip_prefix("sha256:")?),
                ("size", digits) => size = Some(digits.parse().ok()?),
                _ => {}
            }
        }
        let oid =
            oid.filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
        Some(Self { oid: oid.to_owned(), size: size? })
    }
}

/// Reads what stands at `path` in the tree `root`.
///
/// Links inside the tree are followed on the way, and in the last place when `follow` is
/// set.
///
/// # Errors
/// [`ViewError::IsDirectory`] for a folder, and those of
/// [`resolve`](super::path::resolve).
pub fn read_path(
    objects: &impl Objects,
    root: &ObjectId,
    path: &[u8],
    follow: bool,
    limits: &Limits,
) -> Result<Lookup<Read>, ViewError> {
    let mut resolver = Resolver::new(limits);
    match resolver.resolve(objects, root, path, follow)? {
        Lookup::Ready(found) => answer(objects, &mut resolver, root, path, found),
        Lookup::Missing(missing) => Ok(Lookup::Missing(missing)),
    }
}

/// Reads any number of paths: an answer or error for each, in their order.
///
/// What it takes to find the paths (trees, links) is asked for first, then all their
/// content in one set, however many blobs that is.
///
/// # Errors
/// Those of the store and of `interrupt`; what is wrong with one path is that path's
/// answer.
pub fn read_many(
    objects: &impl Objects,
    root: &ObjectId,
    paths: &[impl AsRef<[u8]>],
    follow: bool,
    limits: &Limits,
    interrupt: &dyn Interrupt,
) -> Result<Lookup<Vec<Result<Read, ViewError>>>, ViewError> {
    let mut resolver = Resolver::new(limits);
    let mut missing = MissingSet::default();
    let mut found = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        if at % PATHS_PER_CHECK == 0 {
            interrupt.check()?;
        }
        match own(resolver.resolve(objects, root, path.as_ref(), follow))? {
            Ok(Lookup::Ready(resolved)) => found.push((path.as_ref(), Ok(resolved))),
            Ok(Lookup::Missing(more)) => missing.extend(&more),
            Err(error) => found.push((path.as_ref(), Err(error))),
        }
    }
    if !missing.is_empty() {
        return Ok(Lookup::Missing(missing));
    }
    for (_, resolved) in &found {
        let Ok(resolved) = resolved else { continue };
        if resolved.mode.kind().is_blob() && !objects.contains(&resolved.id)? {
            missing.insert(resolved.id, Some(Kind::Blob));
        }
    }
    let mut answers = Vec::new();
    for (at, (path, resolved)) in found.into_iter().enumerate() {
        if at % PATHS_PER_CHECK == 0 {
            interrupt.check()?;
        }
        // Content is read once all of it is there; a submodule may need one more blob.
        let resolved = match resolved {
            Ok(resolved) if !missing.is_empty() && resolved.mode.kind().is_blob() => continue,
            Ok(resolved) => resolved,
            Err(error) => {
                answers.push(Err(error));
                continue;
            }
        };
        match own(answer(objects, &mut resolver, root, path, resolved))? {
            Ok(Lookup::Ready(read)) => answers.push(Ok(read)),
            Ok(Lookup::Missing(more)) => missing.extend(&more),
            Err(error) => answers.push(Err(error)),
        }
    }
    Ok(if missing.is_empty() { Lookup::Ready(answers) } else { Lookup::Missing(missing) })
}

/// Separates what is wrong with one path from what is wrong with the store.
fn own<T>(result: Result<T, ViewError>) -> Result<Result<T, ViewError>, ViewError> {
    match result {
        Err(error @ (ViewError::Store(_) | ViewError::Interrupted(_))) => Err(error),
        result => Ok(result),
    }
}

fn answer(
    objects: &impl Objects,
    resolver: &mut Resolver<'_>,
    root: &ObjectId,
    asked: &[u8],
    found: Resolved,
) -> Result<Lookup<Read>, ViewError> {
    let path = normalise(asked, resolver.limits())?;
    match found.mode.kind() {
        EntryKind::Tree => Err(ViewError::IsDirectory { path }),
        EntryKind::Gitlink => {
            let url = gitmodules::url_of(objects, resolver, root, &found.path)?;
            let (path, commit) = (found.path, found.id);
            Ok(url.map(|url| Read::Submodule(Submodule { path, commit, url })))
        }
        _ => {
            let Some(object) = objects.read(&found.id)? else {
                return Ok(Lookup::Missing(MissingSet::of(found.id, Some(Kind::Blob))));
            };
            expect_kind(&found.id, Kind::Blob, object.kind)?;
            Ok(Lookup::Ready(Read::File(File {
                path,
                resolved_path: found.path,
                mode: found.mode,
                id: found.id,
                lfs: LfsPointer::parse(&object.bytes),
                bytes: object.bytes,
            })))
        }
    }
}

/// Paths between two questions to the interrupt.
const PATHS_PER_CHECK: usize = 256;

#[cfg(test)]
mod tests;
