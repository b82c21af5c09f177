//! A set of objects by where they lie: one bit for each entry of a pack, and ids for what is
//! in no pack.
//!
//! A repository of half a million objects takes 60 KB this way, so that such sets can be
//! kept, and the entries of a pack come in the order they lie in without looking any up.

use std::sync::Arc;

use crate::graph::Marks;
use crate::limits::{Budget, LimitExceeded, PaidVec};
use crate::oid::{ObjectFormat, ObjectId};
use crate::store::{PackView, StoreError};

/// Objects to be sent, by place.
#[derive(Debug)]
pub(super) struct Placed {
    packs: Vec<InPack>,
    /// What is in no pack, in the order it was found.
    others: Marks,
}

/// The part of a set that lies in one pack.
#[derive(Debug)]
pub(super) struct InPack {
    pub(super) pack: Arc<dyn PackView>,
    words: PaidVec<u64>,
}

impl Placed {
    /// Places `ids` of `format` in `packs`: in the first one that has it. Of one of the packs
    /// a part may be `known` to be in the set; it is then the first.
    pub(super) fn new(
        known: Option<InPack>,
        packs: Vec<Arc<dyn PackView>>,
        format: ObjectFormat,
        ids: impl Iterator<Item = ObjectId>,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        let mut placed = Self::empty(packs, format, budget)?;
        if let Some(known) = known {
            placed.packs.retain(|part| !Arc::ptr_eq(&part.pack, &known.pack));
            placed.packs.insert(0, known);
        }
        for id in ids {
            placed.place(id)?;
        }
        Ok(placed.without_empty_parts())
    }

    /// The same objects in other packs.
    pub(super) fn moved_to(
        &self,
        packs: Vec<Arc<dyn PackView>>,
        format: ObjectFormat,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        let mut placed = Self::empty(packs, format, budget)?;
        for part in &self.packs {
            let mut next = part.next(0);
            while let Some(at) = next {
                placed.place(part.pack.id_at(at)?)?;
                next = part.next(at + 1);
            }
        }
        for id in self.others.ids() {
            placed.place(id)?;
        }
        Ok(placed.without_empty_parts())
    }

    fn empty(
        packs: Vec<Arc<dyn PackView>>,
        format: ObjectFormat,
        budget: &Budget,
    ) -> Result<Self, StoreError> {
        let parts = packs.iter().map(|pack| InPack::none_of(pack, budget));
        let packs = parts.collect::<Result<_, _>>()?;
        Ok(Self { packs, others: Marks::new(format, budget) })
    }

    fn without_empty_parts(mut self) -> Self {
        self.packs.retain(|part| part.words.iter().any(|&word| word != 0));
        self
    }

    /// What the set occupies, which the budget paid.
    pub(super) fn bytes(&self) -> u64 {
        let parts = self.packs.iter().map(|part| part.words.paid_bytes());
        parts.sum::<u64>() + self.others.bytes()
    }

    /// How many objects.
    pub(super) fn len(&self) -> u64 {
        let words = self.packs.iter().flat_map(|part| &part.words);
        words.map(|word| u64::from(word.count_ones())).sum::<u64>() + self.others.len() as u64
    }

    /// The parts in packs.
    pub(super) fn packs(&self) -> &[InPack] {
        &self.packs
    }

    /// What is in no pack, by rows.
    pub(super) fn others(&self) -> &Marks {
        &self.others
    }

    /// Whether the set has `id`.
    pub(super) fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        for part in &self.packs {
            if part.has_id(id)? {
                return Ok(true);
            }
        }
        Ok(self.others.find(id).is_some())
    }

    fn place(&mut self, id: ObjectId) -> Result<(), StoreError> {
        for part in &mut self.packs {
            if let Some(at) = part.pack.position(&id)? {
                part.add(at);
                return Ok(());
            }
        }
        self.others.row(&id)?;
        Ok(())
    }
}

impl InPack {
    /// No entry of `pack` yet.
    pub(super) fn none_of(
        pack: &Arc<dyn PackView>,
        budget: &Budget,
    ) -> Result<Self, LimitExceeded> {
        let mut words = PaidVec::new(budget);
        words.lengthen((pack.count() as usize).div_ceil(64), 0)?;
        Ok(Self { pack: Arc::clone(pack), words })
    }

    /// Whether the set has the object `id`.
    pub(super) fn has_id(&self, id: &ObjectId) -> Result<bool, StoreError> {
        Ok(self.pack.position(id)?.is_some_and(|at| self.has(at)))
    }

    /// Takes the object `id` out.
    pub(super) fn remove_id(&mut self, id: &ObjectId) -> Result<(), StoreError> {
        if let Some(at) = self.pack.position(id)?
            && let Some(word) = self.words.get_mut(at as usize / 64)
        {
            *word &= !(1 << (at % 64));
        }
        Ok(())
    }

    /// Takes everything out that is in another set of the same pack.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= !other;
        }
    }

    /// A bit for each entry: `at % 64` of word `at / 64`.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Whether the set has the entry `at`.
    pub(super) fn has(&self, at: u32) -> bool {
        self.words.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The first entry of the set from `at` on.
    pub(super) fn next(&self, at: u32) -> Option<u32> {
        let mut index = at as usize / 64;
        let mut word = self.words.get(index)? & (u64::MAX << (at % 64));
        while word == 0 {
            index += 1;
            word = *self.words.get(index)?;
        }
        u32::try_from(index * 64 + word.trailing_zeros() as usize).ok()
    }

    fn add(&mut self, at: u32) {
        if let Some(word) = self.words.get_mut(at as usize / 64) {
            *word |= 1 << (at % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::ListedPack;
    use super::*;

    fn id(number: u32) -> ObjectId {
        let mut raw = [0; 20];
        raw[..4].copy_from_slice(&number.to_be_bytes());
        ObjectId::from_raw(&raw).unwrap()
    }

    #[test]
    fn each_object_is_in_the_first_pack_that_has_it_or_by_itself() {
        let budget = Budget::new(1 << 20);
        let packs = |counts: &[u32]| {
            let view = |&count| -> Arc<dyn PackView> {
                Arc::new(ListedPack((0..count).map(id).collect()))
            };
            counts.iter().map(view).collect::<Vec<_>>()
        };
        let wanted = [0, 63, 64, 65, 129, 199, 200, 299, 1_000];
        let ids = wanted.map(id).into_iter();
        let set =
            Placed::new(None, packs(&[200, 300, 50]), ObjectFormat::Sha1, ids, &budget).unwrap();
        assert_eq!((set.len(), set.packs().len(), set.others().len()), (9, 2, 1));
        assert_eq!(set.others().id(0), id(1_000));
        let found = |part: &InPack| {
            let step = |at: &u32| part.next(at + 1);
            std::iter::successors(part.next(0), step).collect::<Vec<_>>()
        };
        assert_eq!(found(&set.packs()[0]), [0, 63, 64, 65, 129, 199]);
        assert_eq!(found(&set.packs()[1]), [200, 299]);
        assert!(wanted.iter().all(|&number| set.contains(&id(number)).unwrap()));
        assert!([1, 62, 201, 1_001].iter().all(|&number| !set.contains(&id(number)).unwrap()));
        let moved = set.moved_to(packs(&[70, 2_000]), ObjectFormat::Sha1, &budget).unwrap();
        assert_eq!((moved.len(), moved.others().len()), (9, 0));
        assert_eq!(found(&moved.packs()[0]), [0, 63, 64, 65]);
        assert_eq!(found(&moved.packs()[1]), [129, 199, 200, 299, 1_000]);
        drop((set, moved));
        assert_eq!(budget.used_bytes(), 0);
    }
}
