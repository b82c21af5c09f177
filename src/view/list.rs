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
///
/// # Errors
/// Those of [`resolve`], and [`ViewError::Limit`] for a folder whose listing would take
/// more than half of [`max_memory`](Limits::max_memory): walk it instead.
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
    let mut occupied = 0;
    for found in TreeIter::new(&tree, found.id.format()) {
        let count = listing.entries.len() as u64;
        if count.is_multiple_of(ENTRIES_PER_CHECK) {
            interrupt.check()?;
        }
        check(Which::WalkEntries, limits.max_walk_entries, count + 1)?;
        match found {
            Ok(found) => {
                // Twice, as vectors double.
                occupied += (2 * size_of::<ListEntry>() + found.name.len()) as u64;
                check(Which::Memory, limits.max_memory / 2, occupied)?;
                let size = size(found.mode, &found.id)?;
                listing.entries.push(entry(found.name, found.mode, found.id, size));
            }
            Err(damage) => listing.damage = Some(damage),
        }
    }
    Ok(Lookup::Ready(listing))
}

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

/// Entries between two questions to the interrupt.
const ENTRIES_PER_CHECK: u64 = 256;

#[cfg(test)]
mod tests {
    use super::super::fixture::Fixture;
    use super::*;
    use crate::limits::NeverInterrupt;

    fn listed(fixture: &Fixture, root: &ObjectId, path: &str, sizes: bool) -> Listing {
        match ls(fixture, root, path.as_bytes(), sizes, &Limits::default(), &NeverInterrupt) {
            Ok(Lookup::Ready(listing)) => listing,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn a_size_is_told_when_it_is_known_and_never_fetched_or_read_for() {
        let fixture = Fixture::new();
        let root = fixture.snapshot(&["folder/x", "held", "absent", "link@=folder"]);
        fixture.hide(fixture.blob("absent"));
        let sizes = |listing: Listing| -> Vec<_> {
            listing.entries.into_iter().map(|e| (e.name.to_string(), e.size)).collect()
        };
        let want = [("absent", None), ("folder", None), ("held", Some(4)), ("link", Some(6))];
        let want = want.map(|(name, size)| (name.to_owned(), size));
        assert_eq!(sizes(listed(&fixture, &root, "", true)), want);
        assert!(sizes(listed(&fixture, &root, "", false)).iter().all(|(_, size)| size.is_none()));
        for content in ["held", "folder"] {
            assert_eq!(fixture.reads(&fixture.blob(content)), 0);
        }
        let Lookup::Ready(stat) =
            stat(&fixture, &root, b"/absent", true, &Limits::default()).unwrap()
        else {
            panic!("a blob is not needed for it")
        };
        assert_eq!((stat.path.to_string(), stat.size), ("absent".into(), None));
    }

    #[test]
    fn a_link_to_a_folder_lists_it_and_a_file_lists_itself() {
        let fixture = Fixture::new();
        let root = fixture.snapshot(&["a/b/x", "a/b/y", "link@=a/b"]);
        let listing = listed(&fixture, &root, "link", false);
        assert_eq!(
            (listing.path.to_string(), listing.resolved_path.to_string()),
            ("link".into(), "a/b".into())
        );
        assert_eq!(listing.entries.len(), 2);
        let listing = listed(&fixture, &root, "a/b/y", true);
        let entry = &listing.entries[0];
        assert_eq!((entry.name.to_string(), entry.size), ("y".into(), Some(5)));
    }

    #[test]
    fn names_that_must_not_reach_a_file_system_are_listed_and_flagged() {
        let fixture = Fixture::new();
        let file = fixture.blob("file");
        let names: [(&[u8], Option<Suspicion>); 10] = [
            (b"", Some(Suspicion::Empty)),
            (b"..", Some(Suspicion::DotDot)),
            (b".GIT", Some(Suspicion::DotGit)),
            (b".git", Some(Suspicion::DotGit)),
            (b".git::$INDEX_ALLOCATION", Some(Suspicion::DotGit)),
            (".g\u{200c}it".as_bytes(), Some(Suspicion::DotGit)),
            (b".gitmodules", None),
            (b"a/b", Some(Suspicion::Separator)),
            (b"git~1", Some(Suspicion::DotGit)),
            (b"caf\xe9", None),
        ];
        let entries: Vec<_> = names.iter().map(|(name, _)| (Mode::BLOB, *name, file)).collect();
        let root = fixture.tree(&entries);
        let listing = listed(&fixture, &root, "", false);
        let told: Vec<_> =
            listing.entries.iter().map(|e| (e.name.as_slice(), e.suspicion)).collect();
        assert_eq!(told, names);
    }

    #[test]
    fn a_damaged_folder_is_listed_up_to_the_damage() {
        let fixture = Fixture::new();
        let cut = [b"100644 a\0".as_slice(), &[7; 20], b"100644 b\0short"].concat();
        let root = fixture.insert(Kind::Tree, cut);
        let listing = listed(&fixture, &root, "", false);
        assert_eq!(listing.entries.len(), 1);
        assert_eq!(listing.damage, Some(ObjectError::TruncatedTree { offset: 29 }));
    }

    #[test]
    fn a_folder_of_more_entries_than_allowed_is_refused() {
        let fixture = Fixture::new();
        let root = fixture.snapshot(&["a", "b", "c"]);
        let limits = Limits { max_walk_entries: 2, ..Limits::default() };
        let error = ls(&fixture, &root, b"", false, &limits, &NeverInterrupt).unwrap_err();
        assert!(matches!(error, ViewError::Limit(limit) if limit.which == Which::WalkEntries));
        let limits = Limits { max_memory: 4 << 10, ..Limits::default() };
        assert!(ls(&fixture, &root, b"", false, &limits, &NeverInterrupt).is_ok());
        let names: Vec<_> = (0..100).map(|number| format!("{number}")).collect();
        let root = fixture.snapshot(&names);
        let error = ls(&fixture, &root, b"", false, &limits, &NeverInterrupt).unwrap_err();
        assert!(matches!(error, ViewError::Limit(limit) if limit.which == Which::Memory));
    }
}
