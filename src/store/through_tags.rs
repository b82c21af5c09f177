//! From an object through annotated tags to what they finally name.

use super::{Objects, StoreError};
use crate::object::{Kind, TagRef};
use crate::oid::ObjectId;

/// Each tag on the way from `id`, then what the last one names: ids with their kinds, of which
/// only the last may be `None`, when the store does not have it. An `id` that is no tag stands
/// alone.
///
/// After an error nothing follows. Tags that are damaged, or go on without end, are
/// [`StoreError::Corrupt`].
pub(crate) fn through_tags<S: Objects + ?Sized>(store: &S, id: ObjectId) -> ThroughTags<'_, S> {
    ThroughTags { store, next: Next::Look(id), steps_left: MAX_TAG_DEPTH }
}

/// See [`through_tags`].
#[derive(Debug)]
pub(crate) struct ThroughTags<'a, S: ?Sized> {
    store: &'a S,
    next: Next,
    steps_left: u32,
}

#[derive(Debug)]
enum Next {
    /// What is this?
    Look(ObjectId),
    /// What does this tag name?
    Read(ObjectId),
    End,
}

impl<S: Objects + ?Sized> ThroughTags<'_, S> {
    fn step(&mut self, id: ObjectId) -> Result<(ObjectId, Option<Kind>), StoreError> {
        let kind = self.store.header(&id)?.map(|header| header.kind);
        if kind == Some(Kind::Tag) {
            self.next = Next::Read(id);
        }
        Ok((id, kind))
    }

    fn named_by(&mut self, tag: ObjectId) -> Result<ObjectId, StoreError> {
        let damaged = |what| StoreError::Corrupt { id: tag, what };
        let left = self.steps_left.checked_sub(1);
        self.steps_left = left.ok_or(damaged("it is at the end of too many tags of tags"))?;
        let object = self.store.read(&tag)?.ok_or(StoreError::Missing { id: tag })?;
        let parsed = TagRef::parse(&object.bytes, self.store.format());
        parsed.map(|tag| tag.object()).map_err(|_| damaged("it does not say what it tags"))
    }
}

impl<S: Objects + ?Sized> Iterator for ThroughTags<'_, S> {
    type Item = Result<(ObjectId, Option<Kind>), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let id = match std::mem::replace(&mut self.next, Next::End) {
            Next::Look(id) => Ok(id),
            Next::Read(tag) => self.named_by(tag),
            Next::End => return None,
        };
        Some(id.and_then(|id| self.step(id)))
    }
}

/// Far above any chain of tags that someone made in earnest.
const MAX_TAG_DEPTH: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Budget, Limits};
    use crate::oid::ObjectFormat;
    use crate::store::MemoryStore;

    fn tag(store: &MemoryStore, of: ObjectId, kind: Kind) -> ObjectId {
        let text = format!("object {of}\ntype {kind}\ntag x\n\n");
        store.insert(Kind::Tag, text.as_bytes()).unwrap()
    }

    fn steps(store: &MemoryStore, id: ObjectId) -> Vec<Result<(ObjectId, Option<Kind>), String>> {
        through_tags(store, id).map(|step| step.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn tags_are_followed_to_what_is_none_or_not_there() {
        let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(1 << 20), &Limits::default());
        let blob = store.insert(Kind::Blob, b"x").unwrap();
        assert_eq!(steps(&store, blob), [Ok((blob, Some(Kind::Blob)))]);
        let inner = tag(&store, blob, Kind::Blob);
        let outer = tag(&store, inner, Kind::Tag);
        let of_a_tag =
            [(outer, Some(Kind::Tag)), (inner, Some(Kind::Tag)), (blob, Some(Kind::Blob))];
        assert_eq!(steps(&store, outer), of_a_tag.map(Ok));
        let absent = ObjectId::null(ObjectFormat::Sha1);
        let lost = tag(&store, absent, Kind::Commit);
        assert_eq!(steps(&store, lost), [Ok((lost, Some(Kind::Tag))), Ok((absent, None))]);
    }

    #[test]
    fn damaged_and_endless_tags_are_errors() {
        let store = MemoryStore::new(ObjectFormat::Sha1, &Budget::new(1 << 22), &Limits::default());
        let damaged = store.insert(Kind::Tag, b"object of desire\n").unwrap();
        let found = steps(&store, damaged);
        assert_eq!(found[0], Ok((damaged, Some(Kind::Tag))));
        assert!(found.len() == 2 && found[1].as_ref().unwrap_err().contains("what it tags"));
        let blob = store.insert(Kind::Blob, b"x").unwrap();
        let first = tag(&store, blob, Kind::Blob);
        let chain: Vec<_> =
            std::iter::successors(Some(first), |id| Some(tag(&store, *id, Kind::Tag)))
                .take(1_001)
                .collect();
        assert_eq!(steps(&store, chain[999]).last(), Some(&Ok((blob, Some(Kind::Blob)))));
        assert!(steps(&store, chain[1_000]).last().unwrap().is_err());
    }
}
