//! A repository that counts what is read of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bstr::BString;
use gitsip::disk::Repository;
use gitsip::store::{
    CommitFacts, Header, Object, Objects, PackView, PackedEntry, Ref, Refs, StoreError,
};
use gitsip::{ObjectFormat, ObjectId};

/// A clone is the same one.
#[derive(Clone)]
pub(crate) struct Counted {
    repository: Repository,
    reads: Arc<AtomicU64>,
}

impl Counted {
    pub(crate) fn new(repository: Repository) -> Self {
        Self { repository, reads: Arc::default() }
    }

    /// How many objects were read whole.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }
}

impl Objects for Counted {
    fn format(&self) -> ObjectFormat {
        self.repository.format()
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        self.repository.header(id)
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.repository.read(id)
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.repository.packed(id)
    }

    fn known_commit(&self, id: &ObjectId) -> Result<Option<CommitFacts>, StoreError> {
        self.repository.known_commit(id)
    }

    fn packs(&self) -> Vec<Arc<dyn PackView>> {
        self.repository.packs()
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        self.repository.ids_with_prefix(prefix, limit)
    }
}

impl Refs for Counted {
    fn list(&self, prefixes: &[BString]) -> Result<Vec<Ref>, StoreError> {
        self.repository.list(prefixes)
    }
}
