//! The memory that everything a peer sends is paid from, and those who give some of it back.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{LimitExceeded, Which};

/// Memory that is spent by everything that allocates for a peer's bytes.
///
/// A clone is the same budget. Reservations give their bytes back when they are dropped.
///
/// ```
/// use gitsip::Budget;
///
/// let budget = Budget::new(100);
/// let held = budget.reserve(60)?;
/// assert!(budget.reserve(60).is_err());
/// drop(held);
/// assert_eq!(budget.used_bytes(), 0);
/// assert_eq!(budget.peak_bytes(), 60);
/// # Ok::<(), gitsip::limits::LimitExceeded>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget(Arc<Account>);

#[derive(Debug)]
struct Account {
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
    /// How many more spends succeed; `u64::MAX` means no end. Tests inject failures here.
    spends_left: AtomicU64,
    reclaimers: Mutex<Vec<Weak<dyn Reclaim>>>,
    /// The budget that this one is a part of.
    whole: Option<Budget>,
}

/// Holds memory that can be had again, and gives it back when others need it.
pub trait Reclaim: fmt::Debug + Send + Sync {
    /// Lets go of about `bytes` of a budget; whether anything went. It may take locks
    /// that are never held by who calls [`Budget::reserve`].
    fn reclaim(&self, bytes: u64) -> bool;
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: u64) -> Self {
        Self::failing_after(limit, u64::MAX)
    }

    /// A budget whose every spend after the first `spends` fails, so that a test can
    /// fail each allocation of an operation in turn.
    pub fn failing_after(limit: u64, spends: u64) -> Self {
        Self(Arc::new(Account {
            limit,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            spends_left: AtomicU64::new(spends),
            reclaimers: Mutex::new(Vec::new()),
            whole: None,
        }))
    }

    /// A part that can be as large as the whole and counts what is spent of it alone. What is
    /// spent of it is spent of the whole.
    #[must_use]
    pub fn part(&self) -> Self {
        Self(Arc::new(Account {
            limit: self.0.limit,
            used: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            spends_left: AtomicU64::new(u64::MAX),
            reclaimers: Mutex::new(Vec::new()),
            whole: Some(self.clone()),
        }))
    }

    /// Asks `who` for memory whenever it runs short, for as long as that lives.
    pub fn on_shortage(&self, who: Weak<dyn Reclaim>) {
        // Whoever needs memory of another part may be in need of this one's.
        if let Some(whole) = &self.0.whole {
            return whole.on_shortage(who);
        }
        let mut reclaimers = self.0.reclaimers.lock().unwrap_or_else(PoisonError::into_inner);
        reclaimers.retain(|known| known.strong_count() > 0);
        reclaimers.push(who);
    }

    /// Sets `bytes` aside until the reservation is dropped. When they are not free,
    /// everyone who holds memory [for others](Self::on_shortage) is asked first.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, LimitExceeded> {
        self.spend(bytes)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }

    /// The same of free memory only: for whoever holds a lock that a [`Reclaim`] takes.
    pub fn reserve_free(&self, bytes: u64) -> Result<Reservation, LimitExceeded> {
        self.spend_free(bytes)?;
        Ok(Reservation { budget: self.clone(), bytes })
    }

    /// A reservation of nothing, to grow later.
    pub fn empty(&self) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0 }
    }

    /// The whole budget.
    pub fn limit_bytes(&self) -> u64 {
        self.0.limit
    }

    /// What is reserved now.
    pub fn used_bytes(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The most that was ever reserved at once.
    pub fn peak_bytes(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    fn spend(&self, bytes: u64) -> Result<(), LimitExceeded> {
        loop {
            match self.spend_free(bytes) {
                Ok(()) => return Ok(()),
                Err(refused) if bytes > refused.allowed || !self.reclaim(bytes) => {
                    return Err(refused);
                }
                Err(_) => {}
            }
        }
    }

    /// Asks whoever holds memory for others for `bytes` of it; whether anything went.
    fn reclaim(&self, bytes: u64) -> bool {
        if let Some(whole) = &self.0.whole {
            return whole.reclaim(bytes);
        }
        // Not asked under the lock: giving back may take long.
        let reclaimers: Vec<_> = {
            let known = self.0.reclaimers.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter_map(Weak::upgrade).collect()
        };
        reclaimers.iter().any(|who| who.reclaim(bytes))
    }

    fn spend_free(&self, bytes: u64) -> Result<(), LimitExceeded> {
        let account = &*self.0;
        let failed = |seen| LimitExceeded { which: Which::Memory, allowed: account.limit, seen };
        if account.spends_left.load(Ordering::Relaxed) != u64::MAX {
            account
                .spends_left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                .map_err(|_| failed(account.limit.saturating_add(1)))?;
        }
        if let Some(whole) = &account.whole {
            whole.spend_free(bytes)?;
        }
        let before = account
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                used.checked_add(bytes).filter(|&sum| sum <= account.limit)
            })
            .map_err(|used| failed(used.saturating_add(bytes)))?;
        account.peak.fetch_max(before + bytes, Ordering::Relaxed);
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.0.whole {
            whole.give_back(bytes);
        }
    }
}

/// Bytes set aside from a [`Budget`]; dropping it gives them back.
#[derive(Debug)]
#[must_use = "dropping a reservation gives its bytes back at once"]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// What this reservation holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Sets `more` bytes aside in addition.
    pub fn grow(&mut self, more: u64) -> Result<(), LimitExceeded> {
        self.budget.spend(more)?;
        self.bytes += more;
        Ok(())
    }

    /// The same of free memory only: for what is nice to have.
    pub fn grow_free(&mut self, more: u64) -> Result<(), LimitExceeded> {
        self.budget.spend_free(more)?;
        self.bytes += more;
        Ok(())
    }

    /// Makes the reservation exactly `bytes` large.
    pub fn resize(&mut self, bytes: u64) -> Result<(), LimitExceeded> {
        if bytes > self.bytes {
            self.grow(bytes - self.bytes)
        } else {
            self.budget.give_back(self.bytes - bytes);
            self.bytes = bytes;
            Ok(())
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_given_back_whatever_way_a_reservation_went() {
        let budget = Budget::new(1_000);
        let mut held = budget.reserve(10).unwrap();
        held.grow(90).unwrap();
        held.resize(50).unwrap();
        assert_eq!(budget.used_bytes(), 50);
        let refused = held.grow(951).unwrap_err();
        assert_eq!(refused, LimitExceeded { which: Which::Memory, allowed: 1_000, seen: 1_001 });
        assert_eq!(held.bytes(), 50);
        drop(held);
        assert_eq!((budget.used_bytes(), budget.peak_bytes()), (0, 100));
    }

    #[test]
    fn overflow_is_a_refusal() {
        let budget = Budget::new(u64::MAX);
        let _held = budget.reserve(u64::MAX).unwrap();
        assert!(budget.reserve(1).is_err());
    }

    #[test]
    fn who_holds_memory_for_others_is_asked_until_it_has_none() {
        #[derive(Debug)]
        struct Cache(Mutex<Vec<Reservation>>);
        impl Reclaim for Cache {
            fn reclaim(&self, _bytes: u64) -> bool {
                self.0.lock().is_ok_and(|mut held| held.pop().is_some())
            }
        }
        let budget = Budget::new(100);
        let held = (0..9).map(|_| budget.reserve(10).unwrap()).collect();
        let cache = Arc::new(Cache(Mutex::new(held)));
        let weak = Arc::downgrade(&cache);
        budget.on_shortage(weak);
        assert!(budget.reserve_free(11).is_err());
        let mut paid = budget.reserve(35).unwrap();
        assert_eq!(budget.used_bytes(), 95);
        // What could never be had takes nothing from anyone.
        assert!(budget.reserve(101).is_err());
        assert_eq!(budget.used_bytes(), 95);
        paid.grow(60).unwrap();
        assert_eq!(budget.used_bytes(), 95);
        assert_eq!(paid.grow(6).unwrap_err().seen, 101);
        drop(cache);
        assert!(paid.grow(6).is_err());
    }

    #[test]
    fn a_part_counts_its_own_and_the_whole_counts_all() {
        let whole = Budget::new(100);
        let (one, other) = (whole.part(), whole.part());
        let mut held = one.reserve(60).unwrap();
        assert_eq!(other.reserve(50).unwrap_err().seen, 110, "what is free is shared");
        let rest = other.reserve(40).unwrap();
        assert_eq!([&one, &other, &whole].map(Budget::used_bytes), [60, 40, 100]);
        assert!(held.grow(1).is_err());
        assert_eq!([&one, &other, &whole].map(Budget::used_bytes), [60, 40, 100]);
        held.resize(10).unwrap();
        drop(rest);
        assert_eq!([&one, &other, &whole].map(Budget::used_bytes), [10, 0, 10]);
        assert_eq!([&one, &other, &whole].map(Budget::peak_bytes), [60, 40, 100]);
    }

    #[test]
    fn a_part_in_need_is_given_what_others_hold() {
        #[derive(Debug)]
        struct Cache(Mutex<Option<Reservation>>);
        impl Reclaim for Cache {
            fn reclaim(&self, _bytes: u64) -> bool {
                self.0.lock().is_ok_and(|mut held| held.take().is_some())
            }
        }
        let whole = Budget::new(100);
        let (one, other) = (whole.part(), whole.part());
        let cache = Arc::new(Cache(Mutex::new(Some(one.reserve(60).unwrap()))));
        let weak = Arc::downgrade(&cache);
        one.on_shortage(weak);
        let _held = other.reserve(80).unwrap();
        assert_eq!([&one, &other, &whole].map(Budget::used_bytes), [0, 80, 80]);
    }

    #[test]
    fn the_nth_spend_fails_on_order() {
        let budget = Budget::failing_after(100, 2);
        let _a = budget.reserve(1).unwrap();
        let _b = budget.reserve(1).unwrap();
        assert!(budget.reserve(1).is_err());
        assert!(budget.reserve(1).is_err());
    }
}
