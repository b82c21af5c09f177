//! How transfers go, from the library to JavaScript.
//!
//! The library reports from within its work, where a listener must not call back into it,
//! and its listeners may be called from any thread, which a JavaScript function may not.
//! So reports are noted, and the transport tells them between two steps.

use std::mem::discriminant;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gitsip::client::progress::{Phase, Progress, ProgressListener};

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
        for report in waiting.iter().map(Report::of) {
            if let Ok(text) = serde_json::to_string(&report) {
                host.report(&text);
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A report as a session's `progress` lines have it.
#[derive(serde::Serialize)]
struct Report {
    phase: &'static str,
    objects: u64,
    total_objects: Option<u64>,
    bytes: u64,
    note: Option<String>,
}

impl Report {
    fn of(progress: &Progress) -> Self {
        let Progress { phase, objects, total_objects, bytes } = *progress;
        let (phase, note) = match phase {
            Phase::Connecting => ("connecting", None),
            Phase::Listing => ("listing", None),
            Phase::Waiting => ("waiting", None),
            Phase::Receiving => ("receiving", None),
            Phase::Resolving => ("resolving", None),
            Phase::Over => ("over", None),
            Phase::Pausing(time) => {
                let seconds = time.as_secs();
                ("pausing", Some(format!("the host asks for patience: {seconds} s")))
            }
            Phase::Widening(why) => ("widening", Some(why.to_string())),
            _ => ("working", None),
        };
        Self { phase, objects, total_objects, bytes, note }
    }
}
