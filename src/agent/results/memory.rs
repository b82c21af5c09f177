//! Where the memory of a repository is, and what had to go for lack of it.

use crate::limits::Budget;
use crate::store::StoreStats;

/// Where the memory of a repository is, in bytes, and what had to go for lack of it.
///
/// All of it is counted against one limit
/// ([`Limits::max_memory`](crate::Limits::max_memory), or that of the
/// [budget](crate::agent::RemoteOptions::budget) that several repositories share).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryReport {
    /// Objects as they came, compressed.
    pub packed_bytes: u64,
    /// Text of files side by side, for searches.
    pub text_bytes: u64,
    /// Other contents as they are: folders, commits, what was read last.
    pub copies_bytes: u64,
    /// Tables of the objects that are held or were.
    pub table_bytes: u64,
    /// The rest: transfers and answers under way, tables of files, lists of refs.
    pub other_bytes: u64,
    /// All of the above.
    pub used_bytes: u64,
    /// The most that was ever used at once.
    pub peak_bytes: u64,
    /// What may be used, by this repository and those that it shares a budget with.
    pub max_bytes: u64,
    /// Objects that went, to be fetched again when someone asks for them.
    pub evicted_objects: u64,
    /// Their bytes, compressed.
    pub evicted_bytes: u64,
    /// Objects that were fetched again after that.
    pub refetched_objects: u64,
    /// Their bytes, compressed.
    pub refetched_bytes: u64,
}

impl MemoryReport {
    /// What `budget` says, of which a store holds a part.
    pub(crate) fn of(budget: &Budget, held: &StoreStats) -> Self {
        let used_bytes = budget.used_bytes();
        let copies_bytes = held.raw_bytes.saturating_sub(held.arena_bytes);
        let known = held.packed_bytes + held.arena_bytes + copies_bytes + held.table_bytes;
        Self {
            packed_bytes: held.packed_bytes,
            text_bytes: held.arena_bytes,
            copies_bytes,
            table_bytes: held.table_bytes,
            other_bytes: used_bytes.saturating_sub(known),
            used_bytes,
            peak_bytes: budget.peak_bytes(),
            max_bytes: budget.limit_bytes(),
            evicted_objects: held.evicted_objects,
            evicted_bytes: held.evicted_bytes,
            refetched_objects: held.returned_objects,
            refetched_bytes: held.returned_bytes,
        }
    }
}
