//! How far the transfers have come that a request waits for, as lines.

use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::running::Running;
use crate::agent::ProgressReport;
use crate::client::progress::{Phase, ProgressListener};

/// Tells `running` of each phase, and within one as often as is of use.
pub(super) fn listener(running: Arc<Running>) -> ProgressListener {
    let told: Mutex<Option<(Discriminant<Phase>, Instant)>> = Mutex::new(None);
    ProgressListener::new(move |progress| {
        let phase = discriminant(&progress.phase);
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.is_none_or(|(last, at)| last != phase || at.elapsed() >= INTERVAL);
        if is_news {
            *told = Some((phase, Instant::now()));
            if let Ok(report) = serde_json::to_string(&ProgressReport::from(progress)) {
                running.progress(&report);
            }
        }
    })
}

/// Between two lines about the same phase.
const INTERVAL: Duration = Duration::from_millis(100);
