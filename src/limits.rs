//! Caps, the memory budget, and the two things the caller lends to long work:
//! [`Interrupt`] and [`Workers`].
//!
//! Caps are per item and checked against numbers a peer declares, before anything is
//! allocated. The [`Budget`] is spent as bytes appear and given back on drop. This file
//! knows no clock and no thread; both come in as arguments.

mod budget;
mod paid_vec;

use std::fmt;
use std::sync::Arc;

pub use budget::{Budget, Reclaim, Reservation};
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
