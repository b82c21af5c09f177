//! What is in a folder, and what a path is, without reading any file.
//!
//! Sizes are told when the store knows them already and are never a reason to fetch.

use bstr::{BStr, BString, ByteSlice as _};

use super::ViewError;
use super::path::{normalise, resolve};
use super::trees::Trees;
use crate::limits::{Interrupt, Limits, Which, check};
use crate::object::{EntryKind, Kind, Mode, ObjectError, Suspicion, TreeIter, suspicious_name};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};

/// What `path` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The path as asked, normalised.
    pub path: BString,
    /// The path after links were followed.
    pub resolved_path: BString,
    /// Its mode as written.
    pub mode: Mode,
    /// Its object: a tree, a blob, or the commit of a submodule.
    pub id: ObjectId,
    /// Bytes of a file or link, when the store holds it.
    pub size: Option<u64>,
}

/// Finds out what `path` is; see [`resolve`] for links and errors.
pub fn stat(
    objects: &impl Objects,
    root: &ObjectId,
    path: &[u8],
    follow: bool,
    limits: &Limits,
) -> Result<Lookup<Stat>, ViewError> {
    let found = match resolve(objects, root, path, follow, limits)? {
        Lookup::Ready(found) => found,
        Lookup::Missing(missing) => return Ok(Lookup::Missing(missing)),
    };
    Ok(Lookup::Ready(Stat {
        path: normalise(path, limits)?,
        size: size_if_held(objects, found.mode, &found.id)?,
        resolved_path: found.path,
        mode: found.mode,
        id: found.id,
    }))
}

/// A folder's entries, in the tree's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The path as asked, normalised.
    pub path: BString,
    /// The path after links were followed.
    pub resolved_path: BString,
    /// The folder's tree, or the object of what is listed alone.
    pub id: ObjectId,
    /// What is in it; of a path that is no folder, that path.
    pub entries: Vec<ListEntry>,
    /// Set when the tree's bytes are damaged: the entries are those before the damage.
    pub damage: Option<ObjectError>,
}

/// One entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry {
    /// Its name.
    pub name: BString,
    /// Its mode as written.
    pub mode: Mode,
    /// Its object: a tree, a blob, or the commit of a submodule.
    pub id: ObjectId,
    /// Bytes of a file or link, when sizes were asked for and the store holds it.
    pub size: Option<u64>,
    /// Why its name must not be joined to a path of the host, if so.
    pub suspicion: Option<Suspicion>,
}

/// Lists the folder `path`, or shows the one thing that is there. A link in the last
/// place is followed.
pub fn ls(
    objects: &impl Objects,
    root: &ObjectId,
    path: &[u8],
    sizes: bool,
    limits: &Limits,
    interrupt: &dyn Interrupt,
) -> Result<Lookup<Listing>, ViewError> {
    let found = match resolve(objects, root, path, true, limits)? {
        Lookup::Ready(found) => found,
        Lookup::Missing(missing) => return Ok(Lookup::Missing(missing)),
    };
    let mut listing = Listing {
        path: normalise(path, limits)?,
        resolved_path: found.path.clone(),
        id: found.id,
        entries: Vec::new(),
        damage: None,
    };
    let size = |mode, id: &ObjectId| if sizes { size_if_held(objects, mode, id) } else { Ok(None) };
    if found.mode.kind() != EntryKind::Tree {
        let name = found.path.rsplit_str("/").next().unwrap_or_default();
        listing.entries.push(entry(
            BStr::new(name),
            found.mode,
            found.id,
            size(found.mode, &found.id)?,
        ));
        return Ok(Lookup::Ready(listing));
    }
    let Some(tree) = Trees::new(limits).read(objects, &found.id)? else {
        return Ok(Lookup::Missing(MissingSet::of(found.id, Some(Kind::Tree))));
    };
    for found in TreeIter::new(&tree, found.id.format()) {
        let count = listing.entries.len() as u64;
        if count.is_multiple_of(ENTRIES_PER_CHECK) {
            interrupt.check()?;
        }
        check(Which::WalkEntries, limits.max_walk_entries, count + 1)?;
        match found {
            Ok(found) => {
                let size = size(found.mode, &found.id)?;
                listing.entries.push(entry(found.name, found.mode, found.id, size));
            }
            Err(damage) => listing.damage = Some(damage),
        }
    }
    Ok(Lookup::Ready(listing))
}

/// Entries between two questions to the interrupt.
const ENTRIES_PER_CHECK: u64 = 256;

fn entry(name: &BStr, mode: Mode, id: ObjectId, size: Option<u64>) -> ListEntry {
    ListEntry { name: name.into(), mode, id, size, suspicion: suspicious_name(name) }
}

fn size_if_held(
    objects: &impl Objects,
    mode: Mode,
    id: &ObjectId,
) -> Result<Option<u64>, ViewError> {
    if !mode.kind().is_blob() {
        return Ok(None);
    }
    Ok(objects.header(id)?.map(|header| header.size))
}
