//! From a path to an object: normalising, following links inside the tree, peeling tags,
//! and the nearest names when there is no such path.
//!
//! A path here is a sequence of names in trees and is never joined to a path of the
//! host. Names that no path can spell (an empty one, `..`, one with a slash in it) are
//! seen by [`ls`](super::read::ls) and [`Walk`](super::walk::Walk), and their objects
//! are read by id.

use bstr::{BStr, BString, ByteSlice as _, ByteVec as _};

use super::nearest::nearest;
use super::trees::Trees;
use super::{Shown, ViewError};
use crate::limits::{Limits, Which, check};
use crate::object::{CommitRef, EntryKind, Kind, Mode, TagRef, TreeEntryRef, TreeRef};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};

/// `path` as trees spell it: no leading, trailing or doubled slash, no `.`; the root is
/// the empty path.
///
/// `..` is refused rather than resolved: whether `a/../b` is `b` depends on whether `a`
/// is a link, and a path that leaves the tree would have to be refused anyway.
///
/// ```
/// use gitsip::Limits;
/// use gitsip::view::path::normalise;
///
/// assert_eq!(normalise(b"/src//./main.rs/", &Limits::default())?, "src/main.rs");
/// assert!(normalise(b"src/../Cargo.toml", &Limits::default()).is_err());
/// # Ok::<(), gitsip::view::ViewError>(())
/// ```
pub fn normalise(path: &[u8], limits: &Limits) -> Result<BString, ViewError> {
    check_path_bytes(limits, path.len())?;
    let bad = |what| ViewError::BadPath { path: path.into(), what };
    if path.contains(&0) {
        return Err(bad("no name in a repository contains a zero byte"));
    }
    let mut clean = BString::default();
    for name in names(path) {
        if name == ".." {
            return Err(bad("write the path from the root, without '..'"));
        }
        push_name(&mut clean, name);
    }
    Ok(clean)
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The path after links were followed; empty for the root.
    pub path: BString,
    /// The mode of what is there.
    pub mode: Mode,
    /// Its object: a tree, a blob, or the commit of a submodule.
    pub id: ObjectId,
}

/// Follows `path` from the tree `root`.
///
/// Links on the way are followed inside the tree, at most
/// [`max_symlink_hops`](Limits::max_symlink_hops) of them; a link in the last place only
/// when `follow` is set, else the answer is the link. Absolute and escaping links are
/// errors that say where they point. The order of a tree's entries does not matter; where
/// a damaged tree holds one name twice, a folder is preferred when the path goes on.
pub fn resolve(
    objects: &impl Objects,
    root: &ObjectId,
    path: &[u8],
    follow: bool,
    limits: &Limits,
) -> Result<Lookup<Resolved>, ViewError> {
    Resolver::new(limits).resolve(objects, root, path, follow)
}

/// Resolves any number of paths, reading each tree once.
#[derive(Debug)]
pub(super) struct Resolver<'l> {
    limits: &'l Limits,
    trees: Trees,
}

impl<'l> Resolver<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        Self { limits, trees: Trees::new(limits) }
    }

    pub(super) fn limits(&self) -> &'l Limits {
        self.limits
    }

    pub(super) fn resolve(
        &mut self,
        objects: &impl Objects,
        root: &ObjectId,
        path: &[u8],
        follow: bool,
    ) -> Result<Lookup<Resolved>, ViewError> {
        let asked = normalise(path, self.limits)?;
        let mut hops = 0;
        let mut link = None;
        let mut folders = vec![*root];
        let mut at = BString::default();
        let mut rest = asked.clone();
        loop {
            let (name, after) = match split_first(rest.as_bstr()) {
                Some((name, after)) => (BString::from(name), BString::from(after)),
                None => {
                    let id = *folders.last().unwrap_or(root);
                    return Ok(Lookup::Ready(Resolved { path: at, mode: Mode::TREE, id }));
                }
            };
            if name == ".." {
                // Only links spell this.
                if folders.len() < 2 {
                    let (path, target) = link.unwrap_or_default();
                    return Err(ViewError::LinkEscapes { path, target });
                }
                folders.pop();
                pop_name(&mut at);
                rest = after;
                continue;
            }
            let folder = *folders.last().unwrap_or(root);
            let Some(tree) = self.trees.read(objects, &folder)? else {
                return Ok(Lookup::Missing(MissingSet::of(folder, Some(Kind::Tree))));
            };
            let tree = TreeRef::new(&tree, folder.format());
            let last = names(&after).next().is_none();
            let Some(entry) = find(tree, &folder, &at, &name, !last)? else {
                return Err(not_found(asked, &at, name.as_bstr(), tree));
            };
            match entry.mode.kind() {
                EntryKind::Tree => {
                    push_name(&mut at, name.as_bstr());
                    check_path_bytes(self.limits, at.len())?;
                    let depth = folders.len() as u64;
                    check(Which::TreeDepth, self.limits.max_tree_depth.into(), depth)?;
                    folders.push(entry.id);
                    rest = after;
                }
                EntryKind::Symlink if !last || follow => {
                    hops += 1;
                    if hops > self.limits.max_symlink_hops {
                        let allowed = self.limits.max_symlink_hops;
                        return Err(ViewError::LinkLoop { path: asked, allowed });
                    }
                    let Some(target) = read_link(objects, &entry.id, self.limits)? else {
                        let missing = MissingSet::of(entry.id, Some(Kind::Blob));
                        return Ok(Lookup::Missing(missing));
                    };
                    let mut path = at.clone();
                    push_name(&mut path, name.as_bstr());
                    if target.starts_with(b"/") {
                        return Err(ViewError::LinkAbsolute { path, target });
                    }
                    rest = target.clone();
                    rest.push_byte(b'/');
                    rest.extend_from_slice(&after);
                    check_path_bytes(self.limits, rest.len())?;
                    link = Some((path, target));
                }
                _ if last => {
                    push_name(&mut at, name.as_bstr());
                    return Ok(Lookup::Ready(Resolved {
                        path: at,
                        mode: entry.mode,
                        id: entry.id,
                    }));
                }
                EntryKind::Gitlink => {
                    push_name(&mut at, name.as_bstr());
                    let (submodule, commit) = (at, entry.id);
                    return Err(ViewError::InSubmodule { path: asked, submodule, commit });
                }
                _ => {
                    push_name(&mut at, name.as_bstr());
                    return Err(ViewError::NotADirectory { path: asked, file: at });
                }
            }
        }
    }
}

fn read_link(
    objects: &impl Objects,
    id: &ObjectId,
    limits: &Limits,
) -> Result<Option<BString>, ViewError> {
    let Some(header) = objects.header(id)? else { return Ok(None) };
    expect_kind(id, Kind::Blob, header.kind)?;
    check(Which::PathBytes, limits.max_path_bytes.into(), header.size)?;
    Ok(objects.read(id)?.map(|object| BString::from(object.bytes.as_ref())))
}

pub(super) fn expect_kind(id: &ObjectId, wanted: Kind, actual: Kind) -> Result<(), ViewError> {
    if wanted == actual { Ok(()) } else { Err(ViewError::WrongKind { id: *id, wanted, actual }) }
}

pub(super) fn check_path_bytes(limits: &Limits, bytes: usize) -> Result<(), ViewError> {
    Ok(check(Which::PathBytes, limits.max_path_bytes.into(), bytes as u64)?)
}

fn find<'t>(
    tree: TreeRef<'t>,
    id: &ObjectId,
    folder: &BString,
    name: &[u8],
    goes_on: bool,
) -> Result<Option<TreeEntryRef<'t>>, ViewError> {
    let damaged = |error| ViewError::Tree { path: folder.clone(), id: *id, error };
    if goes_on && let Some(entry) = tree.find_tree(name).map_err(damaged)? {
        return Ok(Some(entry));
    }
    tree.find(name).map_err(damaged)
}

/// The names in a path; empty ones and `.` are none.
pub(super) fn names(path: &[u8]) -> impl Iterator<Item = &BStr> {
    path.split(|&byte| byte == b'/').map(BStr::new).filter(|name| !is_nothing(name))
}

fn is_nothing(name: &BStr) -> bool {
    name.is_empty() || name == "."
}

fn split_first(path: &BStr) -> Option<(&BStr, &BStr)> {
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = match rest.split_once_str("/") {
            Some((name, after)) => (name.as_bstr(), after.as_bstr()),
            None => (rest, BStr::new("")),
        };
        if !is_nothing(name) {
            return Some((name, after));
        }
        rest = after;
    }
    None
}

pub(super) fn push_name(path: &mut BString, name: &BStr) {
    if !path.is_empty() {
        path.push_byte(b'/');
    }
    path.push_str(name);
}

fn pop_name(path: &mut BString) {
    let keep = path.rfind_byte(b'/').unwrap_or(0);
    path.truncate(keep);
}

/// What an id finally names, once tags are peeled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peeled {
    /// The commit, unless the id named a tree.
    pub commit: Option<ObjectId>,
    /// The root tree of the snapshot.
    pub tree: ObjectId,
}

/// Tags followed for one id. git knows no limit; the longest chain in use anywhere is
/// two or three.
const MAX_TAGS: u32 = 40;

/// Follows tags to a commit and the commit to its tree.
pub fn peel(objects: &impl Objects, id: &ObjectId) -> Result<Lookup<Peeled>, ViewError> {
    let mut at = *id;
    let mut expected = None;
    for _ in 0..=MAX_TAGS {
        if at == at.format().empty_tree() {
            return Ok(Lookup::Ready(Peeled { commit: None, tree: at }));
        }
        let Some(object) = objects.read(&at)? else {
            return Ok(Lookup::Missing(MissingSet::of(at, expected)));
        };
        if let Some(wanted) = expected {
            expect_kind(&at, wanted, object.kind)?;
        }
        let damaged = |error| ViewError::Object { id: at, kind: object.kind, error };
        match object.kind {
            Kind::Tree => return Ok(Lookup::Ready(Peeled { commit: None, tree: at })),
            Kind::Blob => expect_kind(&at, Kind::Commit, Kind::Blob)?,
            Kind::Commit => {
                let commit = CommitRef::parse(&object.bytes, at.format()).map_err(damaged)?;
                return Ok(Lookup::Ready(Peeled { commit: Some(at), tree: commit.tree() }));
            }
            Kind::Tag => {
                let tag = TagRef::parse(&object.bytes, at.format()).map_err(damaged)?;
                (at, expected) = (tag.object(), Some(tag.kind()));
            }
        }
    }
    Err(ViewError::TagChain { id: *id, allowed: MAX_TAGS })
}

fn not_found(asked: BString, folder: &BString, name: &BStr, tree: TreeRef<'_>) -> ViewError {
    let within = |name: &BStr| {
        let mut path = folder.clone();
        push_name(&mut path, name);
        path
    };
    let names = tree.iter().map_while(Result::ok).map(|entry| entry.name);
    let similar = nearest(names, name).into_iter().map(within).collect();
    ViewError::NotFound { path: asked, missing: within(name), similar }
}

pub(super) fn describe_not_found(path: &BString, missing: &BString, similar: &[BString]) -> String {
    let mut line = match path.strip_prefix(missing.as_slice()) {
        Some(b"") => format!("'{}' does not exist", Shown(path)),
        Some([b'/', ..]) => {
            format!("'{}' does not exist: there is no '{}'", Shown(path), Shown(missing))
        }
        _ => format!("'{}' leads to '{}', which does not exist", Shown(path), Shown(missing)),
    };
    for (i, name) in similar.iter().enumerate() {
        line.push_str(match i {
            0 => "; did you mean '",
            _ if i + 1 == similar.len() => "' or '",
            _ => "', '",
        });
        line.push_str(&Shown(name).to_string());
    }
    if !similar.is_empty() {
        line.push_str("'?");
    }
    line
}

#[cfg(test)]
mod tests;
