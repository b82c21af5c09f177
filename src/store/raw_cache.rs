//! Raw copies of objects: what makes a second read, and the first search, cheap.
//!
//! Eviction is random with a second chance: a copy that was read since it was last
//! picked is spared once. A repeated scan a little over the budget then keeps most of
//! what it has (its newcomers, not yet read again, go first), where least-recently-used
//! would lose every copy just before its turn; and what is no longer read goes within
//! two picks. Commits, trees and tags are read again by every question and are evicted
//! only when no blob is left. All copies here can be made again from packed bytes.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;

use super::arena::{Arena, TextPlace, is_binary};
use super::file_table::Tables;
use super::held::held;
use crate::limits::{Budget, Reservation};
use crate::object::Kind;

/// Where a copy was put. It may have been evicted since: [`RawCache::hit`] knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Slot {
    /// Nowhere.
    #[default]
    None,
    /// Alone.
    Copy(u32),
    /// In the arena.
    Text(u32),
}

/// Whose copy it is: an entry of the store, or an object of one of its stagings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// 0 for the store itself.
    pub(super) staging: u32,
    pub(super) index: u32,
}

impl Owner {
    /// The store itself among those that stage.
    pub(super) const STORE: u32 = 0;

    pub(super) fn entry(index: u32) -> Self {
        Self { staging: Self::STORE, index }
    }
}

/// The copies of one store and of its stagings.
#[derive(Debug)]
pub(super) struct RawCache {
    blobs: Pool,
    others: Pool,
    pub(super) arena: Arena,
    pub(super) tables: Tables,
    random: Random,
    pub(super) evictions: u64,
}

impl RawCache {
    pub(super) fn new() -> Self {
        Self {
            blobs: Pool::default(),
            others: Pool::default(),
            arena: Arena::default(),
            tables: Tables::default(),
            random: Random::default(),
            evictions: 0,
        }
    }

    /// Bytes of content here, without bookkeeping.
    pub(super) fn bytes(&self) -> u64 {
        self.blobs.bytes + self.others.bytes + self.arena.bytes()
    }

    /// The copy that `owner` has in `slot`, marked as read.
    pub(super) fn hit(
        &mut self,
        kind: Kind,
        slot: Slot,
        owner: Owner,
        budget: &Budget,
    ) -> Option<Bytes> {
        if let Slot::Copy(_) = slot {
            self.pool_mut(kind).copy_mut(slot, owner)?.read = true;
        }
        self.peek(kind, slot, owner, budget)
    }

    /// The copy that `owner` has in `slot`, for a look that is no read.
    pub(super) fn peek(
        &self,
        kind: Kind,
        slot: Slot,
        owner: Owner,
        budget: &Budget,
    ) -> Option<Bytes> {
        match slot {
            Slot::Text(text) => self.arena.read(text, owner, budget),
            slot => self.pool(kind).copy(slot, owner).map(|copy| copy.bytes.clone()),
        }
    }

    /// Whether `owner` has a copy in `slot`.
    pub(super) fn has(&self, kind: Kind, slot: Slot, owner: Owner) -> bool {
        match slot {
            Slot::Text(text) => self.arena.has(text, owner),
            slot => self.pool(kind).copy(slot, owner).is_some(),
        }
    }

    /// Where `owner`'s text in `slot` is, if it is in the arena.
    pub(super) fn place(&self, slot: Slot, owner: Owner) -> Option<TextPlace> {
        match slot {
            Slot::Text(text) => self.arena.place(text, owner),
            Slot::None | Slot::Copy(_) => None,
        }
    }

    /// Keeps a text blob in the arena for `owner`, if memory is free; where it went.
    pub(super) fn insert_text(
        &mut self,
        kind: Kind,
        owner: Owner,
        content: &[u8],
        budget: &Budget,
    ) -> Option<Slot> {
        if kind != Kind::Blob || is_binary(content) {
            return None;
        }
        self.arena.append(owner, content, budget).map(Slot::Text)
    }

    /// Keeps a copy for `owner`; where it went.
    pub(super) fn insert(&mut self, kind: Kind, owner: Owner, bytes: Bytes) -> Option<Slot> {
        self.pool_mut(kind).insert(owner, bytes)
    }

    /// Gives the copy that `from` has in `slot` to `to`; whether there is one.
    pub(super) fn hand_over(&mut self, kind: Kind, slot: Slot, from: Owner, to: Owner) -> bool {
        if let Slot::Text(text) = slot {
            return self.arena.hand_over(text, from, to);
        }
        match self.pool_mut(kind).copy_mut(slot, from) {
            Some(copy) => {
                copy.owner = to;
                true
            }
            None => false,
        }
    }

    /// Lets go of the copy that `owner` has in `slot`.
    pub(super) fn remove(&mut self, kind: Kind, slot: Slot, owner: Owner) {
        match slot {
            Slot::Text(text) => self.arena.remove(text, owner),
            slot => self.pool_mut(kind).remove(slot, owner),
        }
    }

    /// Lets go of copies of blobs, of at least `bytes` together if there are as many; whether
    /// anything went. Bytes that a reader still holds are free when he lets go.
    pub(super) fn evict_blobs(&mut self, bytes: u64) -> bool {
        self.evict_in_turn(bytes, |cache| {
            let Self { blobs, tables, arena, random, .. } = cache;
            blobs.evict_one(random).or_else(|| tables.evict_one()).or_else(|| arena.evict_one())
        })
    }

    #[cfg(test)]
    pub(super) fn evict(&mut self, bytes: u64) -> bool {
        self.evict_blobs(bytes) || self.evict_others(bytes)
    }

    /// The same of commits, trees and tags.
    pub(super) fn evict_others(&mut self, bytes: u64) -> bool {
        self.evict_in_turn(bytes, |cache| cache.others.evict_one(&mut cache.random))
    }

    /// The same for a copy that is nice to have: that of a blob takes the place of other
    /// blobs, not of the arena.
    pub(super) fn make_room_for(&mut self, kind: Kind, bytes: u64) -> bool {
        match kind {
            Kind::Blob => self.evict_in_turn(bytes, |it| it.blobs.evict_one(&mut it.random)),
            _ => self.evict_blobs(bytes) || self.evict_others(bytes),
        }
    }

    fn evict_in_turn(&mut self, bytes: u64, evict_one: impl Fn(&mut Self) -> Option<u64>) -> bool {
        let mut gone = 0;
        while gone < bytes.max(1) {
            let Some(freed) = evict_one(self) else { break };
            gone += freed;
            self.evictions += 1;
        }
        gone > 0
    }

    fn pool(&self, kind: Kind) -> &Pool {
        if kind == Kind::Blob { &self.blobs } else { &self.others }
    }

    fn pool_mut(&mut self, kind: Kind) -> &mut Pool {
        if kind == Kind::Blob { &mut self.blobs } else { &mut self.others }
    }
}

/// What one copy of `len` bytes is accounted as: with its places here (twice, as vectors
/// double) and its owner.
pub(super) fn paid_bytes(len: usize) -> u64 {
    len as u64 + COPY_OVERHEAD_BYTES
}

/// A raw copy of `content`, paid for by `paid`.
pub(super) fn raw_copy(content: &[u8], paid: Reservation) -> Bytes {
    held(content.to_vec(), paid)
}

/// Copies side by side, so that any of them is found by chance, and slots that do not
/// move to find a certain one by.
#[derive(Debug, Default)]
struct Pool {
    copies: Vec<Kept>,
    /// Of each slot in use the place in `copies`.
    slots: Vec<u32>,
    free: Vec<u32>,
    bytes: u64,
}

#[derive(Debug)]
struct Kept {
    bytes: Bytes,
    owner: Owner,
    slot: u32,
    read: bool,
}

impl Pool {
    fn copy(&self, slot: Slot, owner: Owner) -> Option<&Kept> {
        self.copies.get(self.find(slot, owner)?)
    }

    fn copy_mut(&mut self, slot: Slot, owner: Owner) -> Option<&mut Kept> {
        let place = self.find(slot, owner)?;
        self.copies.get_mut(place)
    }

    /// The place of the copy that `owner` has in `slot`.
    fn find(&self, slot: Slot, owner: Owner) -> Option<usize> {
        let Slot::Copy(slot) = slot else { return None };
        let place = *self.slots.get(slot as usize)? as usize;
        // A slot that was freed, or given to another since, leads to another's copy.
        let copy = self.copies.get(place)?;
        (copy.slot == slot && copy.owner == owner).then_some(place)
    }

    fn insert(&mut self, owner: Owner, bytes: Bytes) -> Option<Slot> {
        let place = u32::try_from(self.copies.len()).ok()?;
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(place);
                u32::try_from(self.slots.len() - 1).ok()?
            }
        };
        *self.slots.get_mut(slot as usize)? = place;
        self.bytes += bytes.len() as u64;
        self.copies.push(Kept { bytes, owner, slot, read: false });
        Some(Slot::Copy(slot))
    }

    fn remove(&mut self, slot: Slot, owner: Owner) {
        if let Some(place) = self.find(slot, owner) {
            self.remove_at(place);
        }
    }

    /// Removes the copy at `place` of those there are; its length.
    fn remove_at(&mut self, place: usize) -> usize {
        let copy = self.copies.swap_remove(place);
        if let Some(moved) = self.copies.get(place)
            && let Some(slot) = self.slots.get_mut(moved.slot as usize)
        {
            *slot = place as u32;
        }
        self.free.push(copy.slot);
        self.bytes -= copy.bytes.len() as u64;
        if self.copies.is_empty() {
            // Also the tables go back, so that an emptied cache holds nothing.
            *self = Self::default();
        }
        copy.bytes.len()
    }

    /// Evicts one copy: the first of some at random that was not read since it was last
    /// picked. What it was accounted as.
    fn evict_one(&mut self, random: &mut Random) -> Option<u64> {
        // Every copy that is spared loses its mark, so this ends.
        loop {
            let place = random.below(self.copies.len())?;
            let copy = self.copies.get_mut(place)?;
            if !std::mem::take(&mut copy.read) {
                return Some(paid_bytes(self.remove_at(place)));
            }
        }
    }
}

/// xorshift64: the choice must not be foreseeable from outside, nothing more.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Default for Random {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl Random {
    /// A number below `len`; `None` when there is none.
    pub(super) fn below(&mut self, len: usize) -> Option<usize> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Some(self.0.checked_rem(len as u64)? as usize)
    }
}

const COPY_OVERHEAD_BYTES: u64 = 160;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
