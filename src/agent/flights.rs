//! Which objects are being fetched, so that calls share what is under way.
//!
//! An object that nobody holds is claimed by one call at a time; the others wait until
//! the claim has ended, in whichever way, and then look again. A call that waits has no
//! claim, so two calls never wait for each other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use event_listener::{Event, EventListener};
use hashbrown::HashSet;

use crate::error::Error;
use crate::oid::ObjectId;
use crate::store::{MissingSet, Objects};

/// The objects that are being fetched for some call.
#[derive(Debug, Default)]
pub(super) struct Flights {
    under_way: Mutex<HashSet<ObjectId>>,
    landed: Event,
}

impl Flights {
    /// Resolves when a claim ends that is held now or later. Taken *before* a
    /// [`claim`](Self::claim), so that no end is missed in between.
    pub(super) fn next_landing(&self) -> EventListener {
        self.landed.listen()
    }

    /// Takes what is neither in `store` nor claimed by others.
    pub(super) fn claim(
        &self,
        wanted: &MissingSet,
        store: &impl Objects,
    ) -> Result<Claim<'_>, Error> {
        let (mut mine, mut others) = (MissingSet::default(), MissingSet::default());
        // The store is asked under the lock: a claim ends after its objects are in the
        // store, so that what is neither claimed nor held was never fetched.
        let mut under_way = self.lock();
        for item in wanted.iter() {
            if under_way.contains(&item.id) {
                others.insert(item.id, item.kind);
            } else if !store.contains(&item.id)? {
                mine.insert(item.id, item.kind);
            }
        }
        under_way.extend(mine.iter().map(|item| item.id));
        drop(under_way);
        Ok(Claim { flights: self, mine, others })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<ObjectId>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Objects that one call fetches; dropping it lets others try.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    flights: &'a Flights,
    mine: MissingSet,
    others: MissingSet,
}

impl Claim<'_> {
    /// What this call is to fetch.
    pub(super) fn mine(&self) -> &MissingSet {
        &self.mine
    }

    /// What other calls are fetching.
    pub(super) fn others(&self) -> &MissingSet {
        &self.others
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if self.mine.is_empty() {
            return;
        }
        let mut under_way = self.flights.lock();
        for item in self.mine.iter() {
            under_way.remove(&item.id);
        }
        drop(under_way);
        self.flights.landed.notify(usize::MAX);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::{Budget, Limits};
    use crate::object::Kind;
    use crate::oid::ObjectFormat;
    use crate::store::MemoryStore;

    fn store() -> MemoryStore {
        let limits = Limits::default();
        MemoryStore::new(ObjectFormat::Sha1, &Budget::new(1 << 20), &limits)
    }

    fn set(numbers: &[u8]) -> MissingSet {
        let mut set = MissingSet::default();
        for number in numbers {
            let id = ObjectId::from_hex(format!("{number:040x}").as_bytes()).unwrap();
            set.insert(id, Some(Kind::Blob));
        }
        set
    }

    #[test]
    fn an_object_is_claimed_once_and_again_after_the_claim_ended() {
        let (store, flights) = (store(), Flights::default());
        let first = flights.claim(&set(&[1, 2]), &store).unwrap();
        let second = flights.claim(&set(&[2, 3]), &store).unwrap();
        assert_eq!((first.mine().len(), first.others().len()), (2, 0));
        assert_eq!((second.mine().len(), second.others().len()), (1, 1));
        drop(first);
        let third = flights.claim(&set(&[1, 2, 3]), &store).unwrap();
        assert_eq!((third.mine().len(), third.others().len()), (2, 1));
    }

    #[test]
    fn what_is_held_is_nobodys_to_fetch() {
        let (store, flights) = (store(), Flights::default());
        let held = store.insert(Kind::Blob, b"here").unwrap();
        let claim = flights.claim(&MissingSet::of(held, None), &store).unwrap();
        assert!(claim.mine().is_empty() && claim.others().is_empty());
    }

    #[test]
    fn the_end_of_a_claim_wakes_who_listened_before_and_an_empty_one_nobody() {
        let (store, flights) = (store(), Flights::default());
        let claim = flights.claim(&set(&[1]), &store).unwrap();
        let mut landing = std::pin::pin!(flights.next_landing());
        drop(flights.claim(&set(&[1]), &store).unwrap());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(landing.as_mut().poll(&mut context).is_pending());
        drop(claim);
        assert!(landing.as_mut().poll(&mut context).is_ready());
    }
}
