//! The multi-pack index of an object folder, when it fits the packs that are there.

use std::path::Path;

use bytes::Bytes;
use hashbrown::HashMap;

use super::helpers;
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::midx::MultiPackIndex;

#[derive(Debug)]
pub(super) struct MultiPack {
    index: MultiPackIndex<Bytes>,
    /// Of each pack by its number in the index, its place in the list of all packs.
    places: Vec<usize>,
    /// Of the folder's packs, whether the index names them; the first is at `first`.
    covered: Vec<bool>,
    first: usize,
}

impl MultiPack {
    /// That of `folder`, whose packs are at `paths` and stand in a list from place `first` on.
    /// It is of no use when a pack it names is not there.
    pub(super) fn open<'a>(
        folder: &Path,
        format: ObjectFormat,
        first: usize,
        paths: impl Iterator<Item = &'a Path>,
    ) -> Option<Self> {
        let path = folder.join("multi-pack-index");
        let index = helpers::open(&path, |bytes| MultiPackIndex::parse(bytes, format))?;
        let stems = paths.filter_map(|path| Some(path.file_stem()?.as_encoded_bytes()));
        let by_stem: HashMap<&[u8], usize> = stems.zip(first..).collect();
        let place = |name: &[u8]| by_stem.get(name.strip_suffix(b".idx")?).copied();
        let places: Option<Vec<usize>> = index.names().map(place).collect();
        let Some(places) = places else {
            helpers::ignore(&path, "it names a pack that cannot be used");
            return None;
        };
        let mut covered = vec![false; by_stem.len()];
        for place in &places {
            if let Some(is_covered) = covered.get_mut(place - first) {
                *is_covered = true;
            }
        }
        Some(Self { index, places, covered, first })
    }

    /// The place of the pack that has `id`.
    pub(super) fn pack_of(&self, id: &ObjectId) -> Option<usize> {
        self.places.get(self.index.pack_of(id)? as usize).copied()
    }

    /// Whether the pack at `place` needs not be asked itself.
    pub(super) fn covers(&self, place: usize) -> bool {
        place.checked_sub(self.first).and_then(|at| self.covered.get(at)) == Some(&true)
    }
}
