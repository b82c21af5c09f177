//! A store and the refs that name what is in it: together a repository, which can be served.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use bstr::BString;

use super::{
    CommitFacts, Header, Object, Objects, PackView, PackedEntry, Ref, Refs, StoreError, TextArena,
    through_tags,
};
use crate::oid::{ObjectFormat, ObjectId};

/// Objects of `S`, and refs in memory.
///
/// ```
/// use gitsip::object::Kind;
/// use gitsip::store::{MemoryStore, Objects as _, Refs as _, WithRefs};
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let budget = Budget::new(1 << 20);
/// let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &Limits::default());
/// let blob = store.insert(Kind::Blob, b"hello\n")?;
/// let repository = WithRefs::new(store);
/// repository.point("refs/tags/greeting", blob)?;
/// assert_eq!(repository.list(&[])?[0].target, Some(blob));
/// # Ok::<(), gitsip::store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct WithRefs<S> {
    objects: S,
    refs: RwLock<BTreeMap<BString, Place>>,
}

/// Where a ref leads.
#[derive(Debug)]
enum Place {
    Object { id: ObjectId, peeled: Option<ObjectId> },
    Ref(BString),
}

impl<S: Objects> WithRefs<S> {
    /// `objects` without a ref.
    pub fn new(objects: S) -> Self {
        Self { objects, refs: RwLock::default() }
    }

    /// What the refs are about.
    pub fn objects(&self) -> &S {
        &self.objects
    }

    /// Makes `name`, `HEAD` or `refs/...`, point to `id`, wherever it pointed before. Names are
    /// taken as they are.
    ///
    /// # Errors
    /// `Missing` when `id` is not held, and `Corrupt` for a tag that cannot be read.
    pub fn point(&self, name: impl Into<BString>, id: ObjectId) -> Result<(), StoreError> {
        if !self.objects.contains(&id)? {
            return Err(StoreError::Missing { id });
        }
        let last = through_tags(&self.objects, id).last().transpose()?;
        let peeled = last.map(|(last, _)| last).filter(|last| *last != id);
        self.set(name.into(), Some(Place::Object { id, peeled }));
        Ok(())
    }

    /// Makes `name` stand for the ref `other`, which need not exist.
    pub fn point_to_ref(&self, name: impl Into<BString>, other: impl Into<BString>) {
        self.set(name.into(), Some(Place::Ref(other.into())));
    }

    /// Forgets `name`.
    pub fn remove(&self, name: impl Into<BString>) {
        self.set(name.into(), None);
    }

    fn set(&self, name: BString, place: Option<Place>) {
        let mut refs = self.refs.write().unwrap_or_else(PoisonError::into_inner);
        match place {
            Some(place) => drop(refs.insert(name, place)),
            None => drop(refs.remove(&name)),
        }
    }
}

impl<S: Objects> Refs for WithRefs<S> {
    /// A ref that stands for one that stands for another is one without a target: git, too,
    /// writes none of them.
    fn list(&self, prefixes: &[BString]) -> Result<Vec<Ref>, StoreError> {
        let refs = self.refs.read().unwrap_or_else(PoisonError::into_inner);
        let is_asked = |name: &BString| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        // `HEAD` comes before `refs/` as it is.
        let asked = refs.iter().filter(|(name, _)| is_asked(name));
        let listed = asked.map(|(name, place)| {
            let (symref_target, object) = match place {
                Place::Object { .. } => (None, Some(place)),
                Place::Ref(other) => (Some(other.clone()), refs.get(other)),
            };
            let (target, peeled) = match object {
                Some(Place::Object { id, peeled }) => (Some(*id), *peeled),
                Some(Place::Ref(_)) | None => (None, None),
            };
            Ref { name: name.clone(), target, peeled, symref_target }
        });
        Ok(listed.collect())
    }
}

impl<S: Objects> Objects for WithRefs<S> {
    fn format(&self) -> ObjectFormat {
        self.objects.format()
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        self.objects.header(id)
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.objects.read(id)
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        self.objects.packed(id)
    }

    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        self.objects.contains(id)
    }

    fn known_commit(&self, id: &ObjectId) -> Result<Option<CommitFacts>, StoreError> {
        self.objects.known_commit(id)
    }

    fn packs(&self) -> Vec<Arc<dyn PackView>> {
        self.objects.packs()
    }

    fn text_arena(&self) -> Option<&dyn TextArena> {
        self.objects.text_arena()
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        self.objects.ids_with_prefix(prefix, limit)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::MemoryStore;
    use super::*;
    use crate::limits::{Budget, Limits};
    use crate::object::Kind;

    #[test]
    fn refs_are_listed_as_a_repository_lists_them() {
        let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(1 << 20), &Limits::default());
        let blob = store.insert(Kind::Blob, b"x").unwrap();
        let tag = format!("object {blob}\ntype blob\ntag v1\n\nwords\n");
        let tag = store.insert(Kind::Tag, tag.as_bytes()).unwrap();
        let repository = WithRefs::new(store);
        repository.point("refs/tags/v1", tag).unwrap();
        repository.point("refs/heads/main", blob).unwrap();
        repository.point_to_ref("HEAD", "refs/heads/main");
        repository.point_to_ref("refs/x/around", "HEAD");
        repository.point("refs/heads/gone", blob).unwrap();
        repository.remove("refs/heads/gone");
        let item = |name: &str, target, peeled, symref: Option<&str>| Ref {
            name: name.into(),
            target,
            peeled,
            symref_target: symref.map(BString::from),
        };
        let main = item("refs/heads/main", Some(blob), None, None);
        let all = [
            item("HEAD", Some(blob), None, Some("refs/heads/main")),
            main.clone(),
            item("refs/tags/v1", Some(tag), Some(blob), None),
            item("refs/x/around", None, None, Some("HEAD")),
        ];
        assert_eq!(repository.list(&[]).unwrap(), all);
        assert_eq!(repository.list(&["refs/heads/".into()]).unwrap(), [main]);
        let absent = ObjectId::from_hex("1".repeat(40).as_bytes()).unwrap();
        let refused = repository.point("refs/heads/main", absent).unwrap_err();
        assert!(matches!(refused, StoreError::Missing { id } if id == absent));
    }
}
