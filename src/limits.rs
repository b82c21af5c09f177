//! Caps, the memory budget, and the two things the caller lends to long work:
//! [`Interrupt`] and [`Workers`].
//!
//! Caps are per item and checked against numbers a peer declares, before anything is
//! allocated. The [`Budget`] is spent as bytes appear and given back on drop. This file
//! knows no clock and no thread; both come in as arguments.

mod paid_vec;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

pub use paid_vec::PaidVec;

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Which {
    /// [`Limits::max_chain_bytes`].
    ChainBytes,
    /// [`Limits::max_delta_depth`].
    DeltaDepth,
    /// [`Limits::max_memory`].
    Memory,
    /// [`Limits::max_object_bytes`].
    ObjectBytes,
    /// [`Limits::max_pack_bytes`].
    PackBytes,
    /// [`Limits::max_pack_objects`].
    PackObjects,
    /// [`Limits::max_path_bytes`].
    PathBytes,
    /// [`Limits::max_refs`].
    Refs,
    /// [`Limits::max_ref_bytes`].
    RefBytes,
    /// [`Limits::max_regex_bytes`].
    RegexBytes,
    /// [`Limits::max_resolved_bytes`] or [`Limits::max_resolved_ratio`].
    ResolvedBytes,
    /// [`Limits::max_symlink_hops`].
    SymlinkHops,
    /// [`Limits::max_tree_depth`].
    TreeDepth,
    /// [`Limits::max_walk_entries`].
    WalkEntries,
}

impl Which {
    /// The limit in words, with its unit.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ChainBytes => "bytes along one delta chain",
            Self::DeltaDepth => "deltas in one chain",
            Self::Memory => "bytes of memory",
            Self::ObjectBytes => "bytes of one object",
            Self::PackBytes => "bytes of pack received",
            Self::PackObjects => "objects in one pack",
            Self::PathBytes => "bytes of one path",
            Self::Refs => "refs",
            Self::RefBytes => "bytes of ref advertisement",
            Self::RegexBytes => "bytes of compiled pattern",
            Self::ResolvedBytes => "bytes of resolved objects in one pack",
            Self::SymlinkHops => "symbolic links followed",
            Self::TreeDepth => "folders of depth",
            Self::WalkEntries => "entries visited",
        }
    }

    /// The field of [`Limits`] that sets it.
    pub const fn field(self) -> &'static str {
        match self {
            Self::ChainBytes => "max_chain_bytes",
            Self::DeltaDepth => "max_delta_depth",
            Self::Memory => "max_memory",
            Self::ObjectBytes => "max_object_bytes",
            Self::PackBytes => "max_pack_bytes",
            Self::PackObjects => "max_pack_objects",
            Self::PathBytes => "max_path_bytes",
            Self::Refs => "max_refs",
            Self::RefBytes => "max_ref_bytes",
            Self::RegexBytes => "max_regex_bytes",
            Self::ResolvedBytes => "max_resolved_ratio",
            Self::SymlinkHops => "max_symlink_hops",
            Self::TreeDepth => "max_tree_depth",
            Self::WalkEntries => "max_walk_entries",
        }
    }
}

/// A limit was reached: which, what it allowed, what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{seen} {} are more than the {allowed} allowed", which.describe())]
pub struct LimitExceeded {
    /// Which limit.
    pub which: Which,
    /// What it allows.
    pub allowed: u64,
    /// What was seen or asked for.
    pub seen: u64,
}

/// Every cap, as explicit integers.
///
/// ```
/// let limits = gitsip::Limits { max_object_bytes: 16 << 20, ..Default::default() };
/// assert!(limits.check_object_bytes(1 << 20).is_ok());
/// assert!(limits.check_object_bytes(1 << 40).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that everything a peer sent may occupy at once. 512 MiB: a repository with
    /// 300 MB of text fits, a laptop does not notice.
    pub max_memory: u64,
    /// Bytes of one inflated object. 128 MiB: above GitHub's 100 MB file limit.
    pub max_object_bytes: u64,
    /// Bytes of one pack on the wire. 4 GiB: more than any shallow snapshot seen.
    pub max_pack_bytes: u64,
    /// Objects of one pack. 20 M: twice the largest public repository. Tables grow with
    /// arrivals, never from the declared count.
    pub max_pack_objects: u64,
    /// Deltas in one chain. 10,000: git itself writes at most 4,095.
    pub max_delta_depth: u32,
    /// Resolved bytes of a pack per received byte, on top of
    /// [`resolved_allowance_bytes`](Self::resolved_allowance_bytes). 4,096: deflate tops
    /// out at 1,032 and honest deltas multiply that by little.
    pub max_resolved_ratio: u64,
    /// Resolved bytes granted to any pack before the ratio counts. 256 MiB.
    pub resolved_allowance_bytes: u64,
    /// Resolved bytes of a pack whatever the ratio. 64 GiB.
    pub max_resolved_bytes: u64,
    /// Resolved bytes summed along one delta chain. 16 GiB: 4,095 revisions of 4 MiB.
    pub max_chain_bytes: u64,
    /// Refs in one advertisement, and lines in one answer to a fetch. 1 M.
    pub max_refs: u64,
    /// Bytes of one ref advertisement, and of what is not pack in one answer to a fetch.
    /// 256 MiB.
    pub max_ref_bytes: u64,
    /// Folders below the root. 2,048: git's own default for `core.maxTreeDepth`.
    pub max_tree_depth: u32,
    /// Bytes of one path. 4,096: Linux's `PATH_MAX`.
    pub max_path_bytes: u32,
    /// Symbolic links followed for one path. 40, as on Linux.
    pub max_symlink_hops: u32,
    /// Entries one walk visits. 50 M.
    pub max_walk_entries: u64,
    /// Bytes of one compiled regex. 16 MiB.
    pub max_regex_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_memory: 512 << 20,
            max_object_bytes: 128 << 20,
            max_pack_bytes: 4 << 30,
            max_pack_objects: 20_000_000,
            max_delta_depth: 10_000,
            max_resolved_ratio: 4_096,
            resolved_allowance_bytes: 256 << 20,
            max_resolved_bytes: 64 << 30,
            max_chain_bytes: 16 << 30,
            max_refs: 1_000_000,
            max_ref_bytes: 256 << 20,
            max_tree_depth: 2_048,
            max_path_bytes: 4_096,
            max_symlink_hops: 40,
            max_walk_entries: 50_000_000,
            max_regex_bytes: 16 << 20,
        }
    }
}

impl Limits {
    /// The defaults of a browser tab: 256 MiB of memory.
    pub fn browser() -> Self {
        Self { max_memory: 256 << 20, ..Self::default() }
    }

    /// The defaults of an edge worker: 64 MiB of memory.
    pub fn edge() -> Self {
        Self { max_memory: 64 << 20, ..Self::default() }
    }

    /// Refuses an object of `size` bytes when it is over the cap.
    pub fn check_object_bytes(&self, size: u64) -> Result<(), LimitExceeded> {
        check(Which::ObjectBytes, self.max_object_bytes, size)
    }
}

/// `seen` must not be over `allowed`.
pub fn check(which: Which, allowed: u64, seen: u64) -> Result<(), LimitExceeded> {
    if seen > allowed { Err(LimitExceeded { which, allowed, seen }) } else { Ok(()) }
}

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

/// Why long work was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Interrupted {
    /// The caller no longer wants the answer.
    #[error("cancelled by the caller")]
    Cancelled,
    /// The caller's deadline passed.
    #[error("the deadline passed")]
    Deadline,
}

impl From<Interrupted> for crate::error::Error {
    fn from(why: Interrupted) -> Self {
        let error = Self::new(crate::error::ErrorKind::Cancelled, why.to_string());
        match why {
            Interrupted::Cancelled => error.with_source(why),
            Interrupted::Deadline => error.with_code("deadline").with_source(why),
        }
    }
}

/// Asked every 64 KiB of work or 256 objects whether to go on.
pub trait Interrupt {
    /// `Err` stops the work.
    fn check(&self) -> Result<(), Interrupted>;
}

/// Never stops anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeverInterrupt;

impl Interrupt for NeverInterrupt {
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }
}

/// Runs jobs, on threads where there are some.
pub trait Workers {
    /// How many jobs may run at once. Work is cut into more parts than that, so that no
    /// thread waits long for the others; with 1 it need not be cut at all.
    fn threads(&self) -> usize {
        1
    }

    /// Calls `job(0)` to `job(n - 1)`, in any order and perhaps at once, and returns
    /// when all have returned.
    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync));
}

/// Runs every job on the caller's thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

impl Workers for Inline {
    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(job);
    }
}

/// Workers that several share; the default is [`Inline`]. A clone is the same workers.
#[derive(Clone)]
pub struct SharedWorkers(Arc<dyn Workers + Send + Sync>);

impl SharedWorkers {
    /// Lends `workers` to whoever has a clone of this.
    pub fn new(workers: Arc<dyn Workers + Send + Sync>) -> Self {
        Self(workers)
    }
}

impl Default for SharedWorkers {
    fn default() -> Self {
        Self(Arc::new(Inline))
    }
}

impl Workers for SharedWorkers {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn run(&self, n: usize, job: &(dyn Fn(usize) + Sync)) {
        self.0.run(n, job);
    }
}

impl fmt::Debug for SharedWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWorkers").field("threads", &self.threads()).finish()
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
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
