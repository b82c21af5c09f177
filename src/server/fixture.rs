//! A repository in memory that counts what it is asked, for tests.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bstr::BString;

use super::{ServeOptions, Served};
use crate::limits::{Budget, Limits};
use crate::object::{Commit, Kind};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::{
    Header, MemoryStore, Object, Objects, PackView, PackedEntry, Ref, Refs, StoreError, ViewedEntry,
};

/// A store with refs.
#[derive(Debug)]
pub(super) struct Fixture {
    store: MemoryStore,
    pub(super) refs: Mutex<Vec<Ref>>,
    pub(super) packs: Mutex<Vec<Arc<dyn PackView>>>,
    /// How often objects were read.
    pub(super) reads: AtomicU64,
    /// How often refs were listed.
    pub(super) lists: AtomicU64,
}

impl Fixture {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            store: MemoryStore::new(ObjectFormat::Sha1, budget, &Limits::default()),
            refs: Mutex::default(),
            packs: Mutex::default(),
            reads: AtomicU64::new(0),
            lists: AtomicU64::new(0),
        }
    }

    pub(super) fn served(self, budget: &Budget) -> Served<Self> {
        Served::new(self, ServeOptions::default(), &Limits::default(), budget)
    }

    /// Makes the branch `name` point to `id`.
    pub(super) fn set_ref(&self, name: &str, id: ObjectId) {
        let name: BString = format!("refs/heads/{name}").into();
        let mut refs = self.refs.lock().unwrap();
        refs.retain(|item| item.name != name);
        refs.push(Ref { name, target: Some(id), peeled: None, symref_target: None });
        refs.sort_by(|one, other| one.name.cmp(&other.name));
    }

    pub(super) fn tree(&self, entries: &[(&str, &str, ObjectId)]) -> ObjectId {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_bytes());
        }
        self.store.insert(Kind::Tree, &bytes).unwrap()
    }

    pub(super) fn blob(&self, text: &str) -> ObjectId {
        self.store.insert(Kind::Blob, text.as_bytes()).unwrap()
    }

    pub(super) fn commit(&self, tree: ObjectId, parents: &[ObjectId], seconds: u64) -> ObjectId {
        let mut commit = Commit::new(tree);
        commit.parents = parents.to_vec();
        commit.push_header(b"committer", format!("A <a@b.c> {seconds} +0000").as_bytes());
        let mut bytes = Vec::new();
        commit.encode(&mut bytes);
        self.store.insert(Kind::Commit, &bytes).unwrap()
    }

    /// A branch with `count` commits, one file changed in each; from the oldest on.
    pub(super) fn line(&self, branch: &str, count: u64) -> Vec<ObjectId> {
        let mut commits: Vec<ObjectId> = Vec::new();
        for number in 0..count {
            let file = self.blob(&format!("{branch} {number}\n"));
            let tree = self.tree(&[("100644", "file", file)]);
            commits.push(self.commit(
                tree,
                commits.last().map_or(&[], std::slice::from_ref),
                number,
            ));
        }
        self.set_ref(branch, commits[commits.len() - 1]);
        commits
    }

    pub(super) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    pub(super) fn lists(&self) -> u64 {
        self.lists.load(Ordering::Relaxed)
    }
}

impl Objects for Fixture {
    fn format(&self) -> ObjectFormat {
        self.store.format()
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        self.store.header(id)
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.store.read(id)
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.store.packed(id)
    }

    fn packs(&self) -> Vec<Arc<dyn PackView>> {
        self.packs.lock().unwrap().clone()
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        self.store.ids_with_prefix(prefix, limit)
    }
}

impl Refs for Fixture {
    fn list(&self, prefixes: &[BString]) -> Result<Vec<Ref>, StoreError> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        let refs = self.refs.lock().unwrap();
        let is_asked = |item: &&Ref| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| item.name.starts_with(prefix))
        };
        Ok(refs.iter().filter(is_asked).cloned().collect())
    }
}

/// A pack of some objects, without bytes.
#[derive(Debug)]
pub(super) struct ListedPack(pub(super) Vec<ObjectId>);

impl PackView for ListedPack {
    fn count(&self) -> u32 {
        self.0.len() as u32
    }

    fn position(&self, id: &ObjectId) -> Result<Option<u32>, StoreError> {
        Ok(self.0.iter().position(|of| of == id).map(|at| at as u32))
    }

    fn id_at(&self, at: u32) -> Result<ObjectId, StoreError> {
        Ok(self.0[at as usize])
    }

    fn entry_at(&self, _: u32) -> Result<ViewedEntry, StoreError> {
        Err(StoreError::Unsupported("there are no bytes here".to_owned()))
    }
}
