//! What is left to do when the last byte of a pack has come, in a store for reading and at
//! the default memory budget.

use std::path::Path;
use std::time::Instant;

use gitsip::limits::NeverInterrupt;
use gitsip::pack::{EARLY_ROUND_BYTES, Ingest};
use gitsip::parallel::Pool;
use gitsip::store::{MemoryStore, Staging};
use gitsip::{Budget, Limits, ObjectFormat};

/// Takes `pack` in as it would come from a network that is never slower than this machine,
/// and prints the time until all is resolved and committed.
pub(crate) fn measure(pack: &Path) {
    let bytes = std::fs::read(pack).unwrap();
    for threads in [1, 2] {
        let (limits, pool) = (Limits::default(), Pool::of(threads));
        let budget = Budget::new(limits.max_memory);
        let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
        let ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage());
        let mut ingest = ingest.resolving_early(pool.clone(), EARLY_ROUND_BYTES);
        let start = Instant::now();
        for chunk in bytes.chunks(64 << 10) {
            ingest.push(chunk, &NeverInterrupt).unwrap();
        }
        let (arrival, last_byte) = (start.elapsed().as_secs_f64(), Instant::now());
        let resolved = ingest.finish_on(&pool, &NeverInterrupt).unwrap();
        let stats = resolved.stats;
        drop(resolved.entries);
        assert!(!resolved.store.commit().unwrap().ids.is_empty());
        let left = last_byte.elapsed().as_secs_f64();
        println!(
            "  {threads} threads: {arrival:.3} s of arrival, {left:.3} s after the last byte; \
             {} deltas on arrival, {} in rounds; inflated {:.3} x the least",
            stats.deltas_on_arrival,
            stats.deltas_deferred,
            stats.inflated_bytes as f64 / stats.minimum_inflated_bytes as f64
        );
    }
}
