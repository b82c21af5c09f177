//! Trees as the views read them: each at most once per cursor, held as the store's own
//! bytes.

use bytes::Bytes;
use hashbrown::HashMap;

use super::ViewError;
use crate::limits::Limits;
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::store::Objects;

/// Trees read so far, by id.
///
/// A tree that is in several places, or that was looked at ahead of the cursor, is read
/// from the store once. Over the cap nothing more is kept, and such a tree is read again.
#[derive(Debug)]
pub(super) struct Trees {
    held: HashMap<ObjectId, Bytes>,
    held_bytes: u64,
    max_bytes: u64,
}

impl Trees {
    /// A sixteenth of the memory limit: all trees of a snapshot of 300,000 files.
    pub(super) fn new(limits: &Limits) -> Self {
        Self { held: HashMap::new(), held_bytes: 0, max_bytes: limits.max_memory / 16 }
    }

    /// The tree `id`, or `None` when the store lacks it. The empty tree is always there.
    pub(super) fn read(
        &mut self,
        objects: &impl Objects,
        id: &ObjectId,
    ) -> Result<Option<Bytes>, ViewError> {
        if let Some(tree) = self.held.get(id) {
            return Ok(Some(tree.clone()));
        }
        if *id == id.format().empty_tree() {
            return Ok(Some(Bytes::new()));
        }
        let Some(object) = objects.read(id)? else { return Ok(None) };
        if object.kind != Kind::Tree {
            return Err(ViewError::WrongKind { id: *id, wanted: Kind::Tree, actual: object.kind });
        }
        let bytes = object.bytes.len() as u64 + 64;
        if self.held_bytes + bytes <= self.max_bytes {
            self.held_bytes += bytes;
            self.held.insert(*id, object.bytes.clone());
        }
        Ok(Some(object.bytes))
    }
}
