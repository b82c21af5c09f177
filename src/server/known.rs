//! What all refs of a repository reach: computed when first needed, and kept until a ref
//! changes.

use std::sync::{Arc, Mutex, PoisonError};

use super::placed::Placed;
use crate::oid::ObjectId;

/// The last such set.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<Arc<KnownSet>>>);

/// Everything that some tips reach.
#[derive(Debug)]
pub(super) struct KnownSet {
    /// Sorted, each once.
    pub(super) tips: Vec<ObjectId>,
    pub(super) objects: Arc<Placed>,
}

impl Known {
    /// The set of exactly `tips`, sorted, if it is the one that is kept.
    pub(super) fn of(&self, tips: &[ObjectId]) -> Option<Arc<KnownSet>> {
        self.lock().as_ref().filter(|set| set.tips == tips).cloned()
    }

    pub(super) fn keep(&self, set: KnownSet) -> Arc<KnownSet> {
        let set = Arc::new(set);
        *self.lock() = Some(Arc::clone(&set));
        set
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<KnownSet>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
