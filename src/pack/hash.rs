//! Names of objects: the one place where the engine hashes.
//!
//! The interface takes several objects at once, for a hasher that can work on independent
//! messages side by side. The present one takes them one after another.

use crate::object::{Kind, hash_object};
use crate::oid::{Collision, ObjectFormat, ObjectId};

/// Hashes objects of one format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Namer {
    format: ObjectFormat,
}

impl Namer {
    pub(super) fn new(format: ObjectFormat) -> Self {
        Self { format }
    }

    pub(super) fn format(&self) -> ObjectFormat {
        self.format
    }

    /// The ids of `objects`, in their order.
    pub(super) fn name<const N: usize>(
        &self,
        objects: [(Kind, &[u8]); N],
    ) -> [Result<ObjectId, Collision>; N] {
        objects.map(|(kind, content)| hash_object(self.format, kind, content))
    }

    /// The id of one object.
    pub(super) fn name_one(&self, kind: Kind, content: &[u8]) -> Result<ObjectId, Collision> {
        let [id] = self.name([(kind, content)]);
        id
    }
}
