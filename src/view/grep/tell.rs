//! Telling how far a search has come, now and then.

use std::fmt;
use std::sync::Arc;

use super::cursor::GrepStats;

/// Who wants to know how far a search has come.
#[derive(Clone)]
pub struct Tell {
    tell: Arc<dyn Fn(&GrepStats) + Send + Sync>,
    told_at: (u64, u64),
}

impl Tell {
    /// Calls `tell` about every 4 MiB or 1,024 files, on the thread that searches.
    pub fn new(tell: impl Fn(&GrepStats) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), told_at: (0, 0) }
    }

    pub(super) fn has_told(&self) -> bool {
        self.told_at != (0, 0)
    }

    pub(super) fn hear(&mut self, stats: &GrepStats) {
        let (files, bytes) = self.told_at;
        if stats.files_searched - files >= EVERY_FILES
            || stats.bytes_searched - bytes >= EVERY_BYTES
        {
            self.told_at = (stats.files_searched, stats.bytes_searched);
            (self.tell)(stats);
        }
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tell").field("told_at", &self.told_at).finish_non_exhaustive()
    }
}

/// Some milliseconds of a plain search, and a tenth of a second of a slow pattern.
const EVERY_BYTES: u64 = 4 << 20;
const EVERY_FILES: u64 = 1 << 10;
