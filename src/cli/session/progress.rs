//! How far the transfers have come that a request waits for, as lines.

use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use super::running::Running;
use crate::client::progress::{Phase, Progress, ProgressListener};
use crate::text::amounts::Time;

/// Tells `running` of each phase, and within one as often as is of use.
pub(super) fn listener(running: Arc<Running>) -> ProgressListener {
    let told: Mutex<Option<(Discriminant<Phase>, Instant)>> = Mutex::new(None);
    ProgressListener::new(move |progress| {
        let phase = discriminant(&progress.phase);
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.is_none_or(|(last, at)| last != phase || at.elapsed() >= INTERVAL);
        if is_news {
            *told = Some((phase, Instant::now()));
            running.progress(&report(progress));
        }
    })
}

/// What a line tells; `note` is what there is to say in words.
fn report(progress: &Progress) -> String {
    let Progress { phase, objects, total_objects, bytes } = *progress;
    let (phase, note) = match phase {
        Phase::Connecting => ("connecting", None),
        Phase::Listing => ("listing", None),
        Phase::Waiting => ("waiting", None),
        Phase::Receiving => ("receiving", None),
        Phase::Resolving => ("resolving", None),
        Phase::Over => ("over", None),
        Phase::Pausing(time) => {
            ("pausing", Some(format!("the host asks for patience: {}", Time(time))))
        }
        Phase::Widening(why) => ("widening", Some(why.to_string())),
    };
    let report = json!({
        "phase": phase,
        "objects": objects,
        "total_objects": total_objects,
        "bytes": bytes,
        "note": note,
    });
    report.to_string()
}

/// Between two lines about the same phase.
const INTERVAL: Duration = Duration::from_millis(100);
