//! Refs as files: loose ones, `packed-refs`, and what a linked work tree has of its own.
//!
//! Follows `gitrepository-layout` and `git-pack-refs`. As in git, a ref under `refs/`
//! that is broken (dangling, looping, not an id, with a name that is none) is left out
//! of a listing of many; asked for by its own name it is an error, and `HEAD` always is.
//! A broken `packed-refs` is an error: nothing in it can be trusted then. Symbolic links
//! are read as symbolic refs only where they name a ref; folders are never followed
//! through them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice as _};

use super::discover::Layout;
use super::files::{io_error, is_absent, list, malformed, read_small};
use super::packed_refs::{PackedRef, PackedRefs};
use super::ref_name::is_ref_name;
use crate::limits::{Budget, Limits, Which, check};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::StoreError;

/// The refs of one repository.
#[derive(Debug)]
pub(super) struct RefFiles {
    layout: Layout,
    format: ObjectFormat,
    limits: Limits,
    budget: Budget,
}

/// A ref followed to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resolved {
    /// What it comes to; `None` for a symbolic ref to what does not exist.
    pub(super) target: Option<ObjectId>,
    /// What it names first, when it is symbolic.
    pub(super) symref_target: Option<BString>,
    /// What `packed-refs` says of the tag.
    pub(super) peeled: Peeled,
}

/// What is known about a ref's object without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peeled {
    /// It is a tag that comes to this.
    To(ObjectId),
    /// It is no tag.
    Itself,
    Unknown,
}

/// What the file of a ref holds.
enum Loose {
    Id(ObjectId),
    Symbolic(BString),
}

impl RefFiles {
    pub(super) fn new(
        layout: Layout,
        format: ObjectFormat,
        limits: &Limits,
        budget: &Budget,
    ) -> Self {
        Self { layout, format, limits: limits.clone(), budget: budget.clone() }
    }

    /// The refs whose names begin with one of `prefixes`, or all, `HEAD` first.
    pub(super) fn list(
        &self,
        prefixes: &[BString],
    ) -> Result<Vec<(BString, Resolved)>, StoreError> {
        let wanted = |name: &[u8]| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        // Loose ones first: git packs a ref before it takes its file away.
        let mut loose = BTreeSet::new();
        self.loose_names(&wanted, &mut loose)?;
        let packed = self.packed_refs()?;
        let names: BTreeSet<&BString> =
            packed.iter().map(|one| &one.name).filter(|name| wanted(name)).chain(&loose).collect();
        let mut found = Vec::new();
        if wanted(HEAD) {
            found.push((BString::from(HEAD), self.resolve(BStr::new(HEAD), &packed)?));
        }
        for name in names {
            // Without a file there is none to look for, of a million names perhaps.
            let resolved = match packed.find(name.as_bstr()) {
                Some(one) if !loose.contains(name) => Ok(one.into()),
                _ => self.resolve(name.as_bstr(), &packed),
            };
            match resolved {
                Ok(Resolved { target: None, .. }) => {}
                Ok(resolved) => found.push((name.clone(), resolved)),
                Err(error) if prefixes.contains(name) => return Err(error),
                Err(StoreError::Malformed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Follows a ref to its end: at most five steps, as in git.
    fn resolve(&self, name: &BStr, packed: &PackedRefs) -> Result<Resolved, StoreError> {
        let mut symref_target = None;
        let mut at = name.to_owned();
        for _ in 0..=MAX_SYMREF_DEPTH {
            let target = match self.read_loose(at.as_bstr())? {
                Some(Loose::Symbolic(next)) => {
                    symref_target.get_or_insert(next.clone());
                    at = next;
                    continue;
                }
                Some(Loose::Id(id)) => Some((id, Peeled::Unknown)),
                None => packed.find(at.as_bstr()).map(|found| (found.id, found.peeled)),
            };
            let (target, peeled) = match target {
                Some((id, peeled)) => (Some(id), peeled),
                None => (None, Peeled::Unknown),
            };
            return Ok(Resolved { target, symref_target, peeled });
        }
        Err(malformed(
            &self.path_of(name),
            format!("symbolic refs from here go on for more than {MAX_SYMREF_DEPTH} steps"),
        ))
    }

    /// What the ref's own file says; `None` when it has none.
    fn read_loose(&self, name: &BStr) -> Result<Option<Loose>, StoreError> {
        let path = self.path_of(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::read_link(&path).map_err(|error| io_error(&path, error))?;
                let target = <[u8]>::from_path(&target).unwrap_or_default();
                return if is_ref_name(target) {
                    Ok(Some(Loose::Symbolic(target.into())))
                } else {
                    Err(malformed(&path, "it is a link to something that is no ref"))
                };
            }
            Ok(metadata) if metadata.is_dir() => return Ok(None),
            Ok(_) => {}
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(io_error(&path, error)),
        }
        // Gone since: packed meanwhile, or deleted.
        let Some(bytes) = read_small(&path, MAX_REF_FILE_BYTES)? else { return Ok(None) };
        match parse_loose(&bytes, self.format) {
            Some(loose) => Ok(Some(loose)),
            None => Err(malformed(&path, "it holds neither an id nor a ref's name")),
        }
    }

    /// Adds the names of loose refs.
    fn loose_names(
        &self,
        wanted: &dyn Fn(&[u8]) -> bool,
        names: &mut BTreeSet<BString>,
    ) -> Result<(), StoreError> {
        let Layout { git_dir, common_dir } = &self.layout;
        let linked = git_dir != common_dir;
        let mut folders: Vec<(PathBuf, BString)> = vec![(common_dir.join("refs"), "refs".into())];
        if linked {
            folders.extend(PER_WORKTREE.iter().map(|&name| (git_dir.join(name), name.into())));
        }
        let mut seen = 0_u64;
        while let Some((folder, prefix)) = folders.pop() {
            for entry in list(&folder)? {
                seen += 1;
                check(Which::Refs, self.limits.max_refs, seen.max(names.len() as u64))?;
                let file_name = entry.file_name();
                let Some(file_name) = <[u8]>::from_os_str(&file_name) else { continue };
                let name = BString::from([&prefix[..], file_name].join(&b'/'));
                let kind = entry.file_type().map_err(|error| io_error(&entry.path(), error))?;
                if kind.is_dir() {
                    let theirs = linked && folder.starts_with(common_dir) && is_per_worktree(&name);
                    if !theirs {
                        folders.push((entry.path(), name));
                    }
                } else if is_ref_name(&name) && wanted(&name) {
                    names.insert(name);
                }
            }
        }
        Ok(())
    }

    fn packed_refs(&self) -> Result<PackedRefs, StoreError> {
        let path = self.layout.common_dir.join("packed-refs");
        PackedRefs::read(&path, self.format, &self.limits, &self.budget)
    }

    fn path_of(&self, name: &BStr) -> PathBuf {
        let own = !name.starts_with(b"refs/") || is_per_worktree(name);
        let base = if own { &self.layout.git_dir } else { &self.layout.common_dir };
        // Names come from here, from `HEAD`, or were checked: none leads elsewhere.
        match name.to_path() {
            Ok(path) => base.join(path),
            Err(_) => base.join(name.to_path_lossy()),
        }
    }
}

impl From<&PackedRef> for Resolved {
    fn from(one: &PackedRef) -> Self {
        Self { target: Some(one.id), symref_target: None, peeled: one.peeled }
    }
}

/// Whether the file at `path` is what the `HEAD` of a repository can be.
pub(super) fn is_head(path: &Path) -> bool {
    if let Ok(target) = fs::read_link(path) {
        return <[u8]>::from_path(&target).is_some_and(|target| target.starts_with(b"refs/"));
    }
    match read_small(path, MAX_REF_FILE_BYTES) {
        Ok(Some(bytes)) => {
            let names_a_ref = bytes
                .strip_prefix(b"ref:")
                .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"refs/"));
            names_a_ref || bytes.get(..40).is_some_and(|hex| ObjectId::from_hex(hex).is_ok())
        }
        _ => false,
    }
}

fn parse_loose(bytes: &[u8], format: ObjectFormat) -> Option<Loose> {
    if let Some(target) = bytes.strip_prefix(b"ref:") {
        let target = target.trim_ascii();
        return is_ref_name(target).then(|| Loose::Symbolic(target.into()));
    }
    let (hex, rest) = bytes.split_at_checked(format.hex_len())?;
    let ends = rest.first().is_none_or(u8::is_ascii_whitespace);
    ObjectId::from_hex(hex).ok().filter(|_| ends).map(Loose::Id)
}

fn is_per_worktree(name: &[u8]) -> bool {
    PER_WORKTREE.iter().any(|own| {
        name.strip_prefix(own.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
    })
}

const HEAD: &[u8] = b"HEAD";
const PER_WORKTREE: &[&str] = &["refs/bisect", "refs/rewritten", "refs/worktree"];
const MAX_SYMREF_DEPTH: usize = 5;
/// A ref's name is at most a path long; `ref: ` and a line end come on top.
const MAX_REF_FILE_BYTES: u64 = 8 << 10;
