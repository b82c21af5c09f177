//! What is not evicted, for as long as somebody needs it.

use super::memory::MemoryStore;
use super::packed::Handle;

/// Objects of a [`MemoryStore`] that stay while this lives: what was fetched for a question,
/// until the question has read it.
///
/// ```
/// use gitsip::object::Kind;
/// use gitsip::store::{MemoryStore, Objects as _};
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let limits = Limits::default();
/// let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(limits.max_memory), &limits);
/// let id = store.insert(Kind::Blob, b"hello\n")?;
/// let kept = store.keep([&id]);
/// // Whatever is fetched meanwhile.
/// assert!(store.contains(&id)?);
/// drop(kept);
/// # Ok::<(), gitsip::store::StoreError>(())
/// ```
#[derive(Debug, Default)]
#[must_use = "dropping it lets the objects be evicted"]
pub struct Kept {
    store: Option<MemoryStore>,
    segments: Vec<Handle>,
}

impl Kept {
    pub(super) fn new(store: &MemoryStore, segments: Vec<Handle>) -> Self {
        Self { store: Some(store.clone()), segments }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(store) = &self.store {
            let mut inner = store.lock();
            self.segments.drain(..).for_each(|segment| inner.packed.unkeep(segment));
        }
    }
}
