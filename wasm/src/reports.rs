//! How transfers go, from the library to JavaScript.
//!
//! The library reports from within its work, where a listener must not call back into it,
//! and its listeners may be called from any thread, which a JavaScript function may not.
//! So reports are noted, and the transport tells them between two steps.

use std::mem::discriminant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gitsip::agent::ProgressReport;
use gitsip::client::progress::{Progress, ProgressListener};

use crate::host::Host;

/// Reports that are yet to be told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports(Arc<Mutex<Vec<Progress>>>);

/// More phases than there are between two steps.
const MAX_WAITING: usize = 16;

impl Reports {
    /// Who notes them.
    pub(crate) fn listener(&self) -> ProgressListener {
        let noted = self.clone();
        ProgressListener::new(move |progress| noted.note(progress))
    }

    /// Of several reports of a phase the newest counts.
    fn note(&self, progress: &Progress) {
        let mut waiting = self.waiting();
        let has_room = waiting.len() < MAX_WAITING;
        match waiting.last_mut() {
            Some(last) if discriminant(&last.phase) == discriminant(&progress.phase) => {
                *last = *progress;
            }
            _ if has_room => waiting.push(*progress),
            _ => {}
        }
    }

    /// Tells `host` what was noted.
    pub(crate) fn tell(&self, host: &Host) {
        let waiting = std::mem::take(&mut *self.waiting());
        for report in waiting.iter().map(ProgressReport::from) {
            if let Ok(text) = serde_json::to_string(&report) {
                host.report(&text);
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
