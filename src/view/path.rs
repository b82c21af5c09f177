//! From a path to an object: normalising, following links inside the tree, peeling tags,
//! and the nearest names when there is no such path.
//!
//! A path here is a sequence of names in trees and is never joined to a path of the
//! host. Names that no path can spell (an empty one, `..`, one with a slash in it) are
//! seen by [`ls`](super::list::ls) and [`Walk`](super::walk::Walk), and their objects
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
        let mut trail = Trail::new(root, normalise(path, self.limits)?, self.limits);
        while let Some(name) = trail.next_name() {
            if name == ".." {
                trail.leave()?;
                continue;
            }
            let folder = trail.folder();
            let Some(tree) = self.trees.read(objects, &folder)? else {
                return Ok(Lookup::Missing(MissingSet::of(folder, Some(Kind::Tree))));
            };
            trail.spend(tree.len() as u64 / MIN_ENTRY_BYTES)?;
            let tree = TreeRef::new(&tree, folder.format());
            let last = names(&trail.rest).next().is_none();
            let Some(entry) = find(tree, &folder, &trail.at, &name, !last)? else {
                return Err(not_found(trail.asked, &trail.at, name.as_bstr(), tree));
            };
            match entry.kind() {
                EntryKind::Tree => trail.enter(&name, entry.id)?,
                EntryKind::Symlink if !last || follow => {
                    trail.spend_hop()?;
                    let Some(target) = read_link(objects, &entry.id, self.limits)? else {
                        return Ok(Lookup::Missing(MissingSet::of(entry.id, Some(Kind::Blob))));
                    };
                    trail.follow(&name, target)?;
                }
                _ if last => {
                    let path = joined(&trail.at, name.as_bstr());
                    return Ok(Lookup::Ready(Resolved { path, mode: entry.mode, id: entry.id }));
                }
                kind => return Err(trail.blocked(&name, kind, entry.id)),
            }
        }
        let (id, path) = (trail.folder(), trail.at);
        Ok(Lookup::Ready(Resolved { path, mode: Mode::TREE, id }))
    }
}

/// Where a path has led so far.
struct Trail<'l> {
    limits: &'l Limits,
    asked: BString,
    /// What is still to be looked up.
    rest: BString,
    /// The folder this has led to, free of links.
    at: BString,
    root: ObjectId,
    /// The trees of the folders in `at`.
    folders: Vec<ObjectId>,
    /// The link followed last, and where it points.
    link: (BString, BString),
    hops: u32,
    /// Entries looked at, at most: a long path through large folders is long work.
    entries: u64,
}

impl<'l> Trail<'l> {
    fn new(root: &ObjectId, asked: BString, limits: &'l Limits) -> Self {
        Self {
            limits,
            rest: asked.clone(),
            asked,
            at: BString::default(),
            root: *root,
            folders: Vec::new(),
            link: Default::default(),
            hops: 0,
            entries: 0,
        }
    }

    fn folder(&self) -> ObjectId {
        self.folders.last().copied().unwrap_or(self.root)
    }

    fn next_name(&mut self) -> Option<BString> {
        let (name, after) = split_first(self.rest.as_bstr())?;
        let (name, after) = (name.to_owned(), after.to_owned());
        self.rest = after;
        Some(name)
    }

    fn spend(&mut self, entries: u64) -> Result<(), ViewError> {
        self.entries = self.entries.saturating_add(entries);
        Ok(check(Which::WalkEntries, self.limits.max_walk_entries, self.entries)?)
    }

    fn spend_hop(&mut self) -> Result<(), ViewError> {
        self.hops += 1;
        let allowed = self.limits.max_symlink_hops;
        if self.hops <= allowed {
            return Ok(());
        }
        Err(ViewError::LinkLoop { path: self.asked.clone(), allowed })
    }

    fn enter(&mut self, name: &BString, tree: ObjectId) -> Result<(), ViewError> {
        push_name(&mut self.at, name.as_bstr());
        check_path_bytes(self.limits, self.at.len())?;
        self.folders.push(tree);
        let depth = self.folders.len() as u64;
        Ok(check(Which::TreeDepth, self.limits.max_tree_depth.into(), depth)?)
    }

    /// Goes up for a `..`, which only a link spells.
    fn leave(&mut self) -> Result<(), ViewError> {
        if self.folders.pop().is_none() {
            let (path, target) = self.link.clone();
            return Err(ViewError::LinkEscapes { path, target });
        }
        let keep = self.at.rfind_byte(b'/').unwrap_or(0);
        self.at.truncate(keep);
        Ok(())
    }

    fn follow(&mut self, name: &BString, target: BString) -> Result<(), ViewError> {
        let path = joined(&self.at, name.as_bstr());
        if target.starts_with(b"/") {
            return Err(ViewError::LinkAbsolute { path, target });
        }
        self.rest = [target.as_slice(), b"/", &self.rest].concat().into();
        self.link = (path, target);
        check_path_bytes(self.limits, self.rest.len())
    }

    /// Why the path cannot go on below `name`.
    fn blocked(self, name: &BString, kind: EntryKind, id: ObjectId) -> ViewError {
        let (path, here) = (self.asked, joined(&self.at, name.as_bstr()));
        match kind {
            EntryKind::Gitlink => ViewError::InSubmodule { path, submodule: here, commit: id },
            _ => ViewError::NotADirectory { path, file: here },
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

fn joined(folder: &BString, name: &BStr) -> BString {
    let mut path = folder.clone();
    push_name(&mut path, name);
    path
}

/// What an id finally names, once tags are peeled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peeled {
    /// The commit, unless the id named a tree.
    pub commit: Option<ObjectId>,
    /// The root tree of the snapshot.
    pub tree: ObjectId,
}

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
    let within = |name: &BStr| joined(folder, name);
    let names = tree.iter().map_while(Result::ok).map(|entry| entry.name);
    let similar = nearest(names, name).into_iter().map(within).collect();
    ViewError::NotFound { path: asked, missing: within(name), similar }
}

/// Says that there is no `path`, and of which commit when that is known: `main (3f2a91c)`.
pub(crate) fn describe_not_found(
    path: &BString,
    missing: &BString,
    similar: &[BString],
    commit: Option<&str>,
) -> String {
    let (shown, place) = (Shown(path), commit.map(|commit| format!(" at {commit}")));
    let absent = place.as_deref().unwrap_or(" does not exist");
    let missing = match path.strip_prefix(missing.as_slice()) {
        Some(b"") => None,
        Some([b'/', ..]) => Some(format!("{absent}: there is no '{}'", Shown(missing))),
        _ => {
            let place = place.as_deref().unwrap_or_default();
            Some(format!("{place} leads to '{}', which does not exist", Shown(missing)))
        }
    };
    let mut line = format!("'{shown}'{}", missing.as_deref().unwrap_or(absent));
    for (i, name) in similar.iter().enumerate() {
        line.push_str(match i {
            0 => "; did you mean '",
            _ if i + 1 == similar.len() => "' or '",
            _ => "', '",
        });
        line.push_str(&Shown(name).to_string());
    }
    line.push_str(if similar.is_empty() { "; list what is there" } else { "'?" });
    line
}

/// Tags followed for one id. git knows no limit; the longest chain in use anywhere is
/// two or three.
const MAX_TAGS: u32 = 40;
/// The least that an entry takes in a tree, in bytes.
const MIN_ENTRY_BYTES: u64 = 23;

#[cfg(test)]
mod tests;
