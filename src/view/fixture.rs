//! Snapshots for the tests of this module: a store that can hide what it holds and
//! counts what is read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use bstr::ByteSlice as _;

use crate::limits::{Budget, Limits};
use crate::object::{Kind, Mode, Tree, TreeEntry};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::{Header, MemoryStore, MissingSet, Object, Objects, PackedEntry, StoreError};

pub(super) struct Fixture {
    store: MemoryStore,
    hidden: Mutex<HashSet<ObjectId>>,
    reads: Mutex<HashMap<ObjectId, u32>>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let limits = Limits::default();
        let budget = Budget::new(limits.max_memory);
        Self {
            store: MemoryStore::new(ObjectFormat::Sha1, &budget, &limits),
            hidden: Mutex::default(),
            reads: Mutex::default(),
        }
    }

    pub(super) fn insert(&self, kind: Kind, content: impl AsRef<[u8]>) -> ObjectId {
        self.store.insert(kind, content.as_ref()).unwrap()
    }

    pub(super) fn blob(&self, content: impl AsRef<[u8]>) -> ObjectId {
        self.insert(Kind::Blob, content)
    }

    /// A tree of these entries in this order, sound or not.
    pub(super) fn tree(&self, entries: &[(Mode, &[u8], ObjectId)]) -> ObjectId {
        let entry =
            |&(mode, name, id): &(Mode, &[u8], ObjectId)| TreeEntry { mode, name: name.into(), id };
        self.insert_tree(Tree { entries: entries.iter().map(entry).collect() })
    }

    fn insert_tree(&self, tree: Tree) -> ObjectId {
        let mut bytes = Vec::new();
        tree.encode(&mut bytes);
        self.insert(Kind::Tree, bytes)
    }

    /// The root of a snapshot of these paths; each file's content is its path. A path
    /// that ends in `@` is a link to what follows an `=` in it: `link@=target`.
    pub(super) fn snapshot(&self, paths: &[impl AsRef<[u8]>]) -> ObjectId {
        let mut root = Folder::default();
        for path in paths {
            let path = path.as_ref();
            match path.split_once_str("@=") {
                Some((link, target)) => root.insert(link, (Mode::SYMLINK, self.blob(target))),
                None => root.insert(path, (Mode::BLOB, self.blob(path))),
            }
        }
        self.insert_folder(root)
    }

    fn insert_folder(&self, folder: Folder) -> ObjectId {
        let mut tree = Tree::default();
        for (name, child) in folder.0 {
            let (mode, id) = match child {
                Child::Folder(folder) => (Mode::TREE, self.insert_folder(folder)),
                Child::File(mode, id) => (mode, id),
            };
            tree.entries.push(TreeEntry { mode, name: name.into(), id });
        }
        tree.sort();
        self.insert_tree(tree)
    }

    pub(super) fn hide(&self, id: ObjectId) {
        self.hidden.lock().unwrap().insert(id);
    }

    /// Hides everything of `kind`.
    pub(super) fn hide_all(&self, kind: Kind, ids: impl IntoIterator<Item = ObjectId>) {
        for id in ids {
            if self.store.header(&id).unwrap().is_some_and(|header| header.kind == kind) {
                self.hide(id);
            }
        }
    }

    /// Shows what a question asked for, as if it had been fetched.
    pub(super) fn fetch(&self, missing: &MissingSet) {
        assert!(!missing.is_empty());
        for item in missing.iter() {
            assert!(self.hidden.lock().unwrap().remove(&item.id), "{} was there", item.id);
            let kind = self.store.header(&item.id).unwrap().unwrap().kind;
            assert_eq!(item.kind.unwrap_or(kind), kind);
        }
    }

    /// How often `id` was read and found.
    pub(super) fn reads(&self, id: &ObjectId) -> u32 {
        self.reads.lock().unwrap().get(id).copied().unwrap_or(0)
    }

    /// The most that anything was read.
    pub(super) fn most_reads(&self) -> u32 {
        self.reads.lock().unwrap().values().copied().max().unwrap_or(0)
    }

    fn is_hidden(&self, id: &ObjectId) -> bool {
        self.hidden.lock().unwrap().contains(id)
    }
}

impl Objects for Fixture {
    fn format(&self) -> ObjectFormat {
        self.store.format()
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        if self.is_hidden(id) { Ok(None) } else { self.store.header(id) }
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        if self.is_hidden(id) {
            return Ok(None);
        }
        let object = self.store.read(id)?;
        if object.is_some() {
            *self.reads.lock().unwrap().entry(*id).or_default() += 1;
        }
        Ok(object)
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.store.packed(id)
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        self.store.ids_with_prefix(prefix, limit)
    }
}

#[derive(Default)]
struct Folder(BTreeMap<Vec<u8>, Child>);

enum Child {
    File(Mode, ObjectId),
    Folder(Folder),
}

impl Folder {
    /// What cannot be, because a file has the name of a folder or the reverse, is left
    /// out: the first one stays.
    fn insert(&mut self, path: &[u8], (mode, id): (Mode, ObjectId)) {
        match path.split_once_str("/") {
            None => {
                self.0.entry(path.into()).or_insert(Child::File(mode, id));
            }
            Some((folder, rest)) => {
                let child = self.0.entry(folder.into()).or_insert(Child::Folder(Self::default()));
                if let Child::Folder(folder) = child {
                    folder.insert(rest, (mode, id));
                }
            }
        }
    }
}
