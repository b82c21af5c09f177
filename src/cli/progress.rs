//! How far a transfer or a search has come: a bar that redraws itself on a terminal, plain lines
//! elsewhere for whoever asks for them. Only numbers and words of our own are shown, so
//! nothing that a host says reaches the terminal this way. Standard output is never
//! touched.

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{failure, screen};
use crate::client::progress::{Phase, Progress, ProgressListener};
use crate::text::amounts::{Bytes, Time};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    Bar,
    Lines,
    Nothing,
}

impl Show {
    /// As asked for by `--progress` (`Some(true)`) or `--no-progress`; else a bar, where a
    /// terminal can redraw one.
    pub(super) fn choose(wish: Option<bool>) -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let can_redraw = io::stderr().is_terminal() && !is_dumb;
        match (wish, can_redraw) {
            (Some(false), _) | (None, false) => Self::Nothing,
            (_, true) => Self::Bar,
            (Some(true), false) => Self::Lines,
        }
    }
}

/// Watches the transfers of a command. A clone is the same watch.
#[derive(Clone)]
pub(super) struct Watch(Arc<Shared>);

struct Shared {
    show: Show,
    /// Whether warnings are JSON too.
    as_json: bool,
    /// The transfer under way.
    transfer: Mutex<Option<Transfer>>,
}

/// A transfer as it was reported last.
#[derive(Clone, Copy)]
struct Transfer {
    last: Progress,
    began: Instant,
    phase_began: Instant,
    /// When objects began to arrive, and how many bytes had come before.
    receiving: Option<(Instant, u64)>,
    /// When a line was written last.
    told: Option<Instant>,
}

impl Watch {
    pub(super) fn new(show: Show, as_json: bool) -> Self {
        Self(Arc::new(Shared { show, as_json, transfer: Mutex::default() }))
    }

    /// Who is to be told by the library.
    pub(super) fn listener(&self) -> ProgressListener {
        let watch = self.clone();
        ProgressListener::new(move |progress| watch.hear(*progress, Instant::now()))
    }

    /// Redraws the bar until it is dropped.
    pub(super) async fn redraw(self) {
        if self.0.show != Show::Bar {
            return;
        }
        loop {
            tokio::time::sleep(REDRAW_EVERY).await;
            let transfer = *self.transfer();
            match transfer {
                Some(transfer) if transfer.began.elapsed() >= SHOW_AFTER => transfer.draw(),
                _ => screen::clear_bar(),
            }
        }
    }

    fn hear(&self, progress: Progress, now: Instant) {
        // Said before the transfer begins, whatever else is shown.
        if let Phase::Widening(why) = progress.phase {
            failure::warn(&why.to_string(), self.0.as_json);
            return;
        }
        let mut transfer = self.transfer();
        let before = *transfer;
        if progress.phase == Phase::Over {
            *transfer = None;
            drop(transfer);
            if let (Show::Lines, Some(before)) = (self.0.show, before) {
                before.tell_its_end(progress.bytes, now);
            }
            return;
        }
        let mut current = Transfer::after(before, progress, now);
        let line = (self.0.show == Show::Lines).then(|| current.line(now)).flatten();
        *transfer = Some(current);
        drop(transfer);
        if let Some(line) = line {
            failure::say(&line);
        }
    }

    fn transfer(&self) -> MutexGuard<'_, Option<Transfer>> {
        self.0.transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transfer {
    fn after(before: Option<Self>, last: Progress, now: Instant) -> Self {
        let mut transfer = before.unwrap_or(Self {
            last,
            began: now,
            phase_began: now,
            receiving: None,
            told: None,
        });
        if transfer.last.phase != last.phase {
            transfer.phase_began = now;
            // Every phase is told, however short.
            transfer.told = None;
        }
        if last.phase == Phase::Receiving {
            transfer.receiving.get_or_insert((now, last.bytes));
        }
        transfer.last = last;
        transfer
    }

    /// What to write now, if it is time for that.
    fn line(&mut self, now: Instant) -> Option<String> {
        let is_time = self.told.is_none_or(|told| now.duration_since(told) >= LINE_EVERY);
        is_time.then(|| {
            self.told = Some(now);
            self.words(now)
        })
    }

    fn tell_its_end(&self, bytes: u64, now: Instant) {
        if matches!(self.last.phase, Phase::Receiving | Phase::Resolving) {
            let (objects, time) = (self.last.objects, Time(now.duration_since(self.began)));
            failure::say(&format!("received {objects} objects, {} in {time}", Bytes(bytes)));
        }
    }

    fn words(&self, now: Instant) -> String {
        let Progress { phase, objects, total_objects, bytes } = self.last;
        match phase {
            Phase::Connecting => "asking the host".to_owned(),
            Phase::Listing => format!("listing refs, {}", Bytes(bytes)),
            Phase::Pausing(wait) => {
                let left = wait.saturating_sub(now.duration_since(self.phase_began));
                format!("the host asks for patience, {} left", Time(left))
            }
            Phase::Receiving => {
                let total = total_objects.map(|total| format!("/{total}")).unwrap_or_default();
                let rate = self.rate(now).map(|rate| format!(", {}/s", Bytes(rate)));
                let rate = rate.unwrap_or_default();
                format!("receiving {objects}{total} objects, {}{rate}", Bytes(bytes))
            }
            Phase::Resolving => format!("resolving {objects} objects"),
            Phase::Searching => format!("searching, {objects} files and {} so far", Bytes(bytes)),
            _ => "waiting for the host".to_owned(),
        }
    }

    /// Bytes a second since objects began to arrive, once that can be told.
    fn rate(&self, now: Instant) -> Option<u64> {
        let (since, before) = self.receiving?;
        let time = now.duration_since(since);
        let bytes = self.last.bytes.saturating_sub(before) as f64;
        (time >= RATE_AFTER).then(|| (bytes / time.as_secs_f64()) as u64)
    }

    fn draw(&self) {
        screen::draw(|bar| {
            let bar = bar.get_or_insert_with(|| {
                ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
            });
            let total = match self.last.phase {
                Phase::Receiving => self.last.total_objects,
                _ => None,
            };
            bar.set_style(style(total.is_some()));
            bar.set_length(total.unwrap_or(0));
            bar.set_position(self.last.objects);
            bar.set_message(self.words(Instant::now()));
            bar.tick();
        });
    }
}

/// A spinner, the words, and in the rest of the line how much of the total has come. What
/// does not fit is left out.
fn style(has_total: bool) -> ProgressStyle {
    let columns = usize::from(console_columns());
    let template = if has_total && columns >= BAR_COLUMNS {
        "{spinner} {msg} {wide_bar}"
    } else {
        "{spinner} {wide_msg}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Columns of the terminal behind standard error.
fn console_columns() -> u16 {
    console::Term::stderr().size().1
}

/// A transfer that ends sooner flashes nothing.
const SHOW_AFTER: Duration = Duration::from_millis(300);
const REDRAW_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(1);
/// Sooner, a rate says more about buffers than about the network.
const RATE_AFTER: Duration = Duration::from_millis(250);
/// The longest words and a bar of some use beside them.
const BAR_COLUMNS: usize = 72;

#[cfg(test)]
mod tests {
    use super::*;

    fn report(phase: Phase, objects: u64, bytes: u64) -> Progress {
        Progress { phase, objects, total_objects: Some(40), bytes }
    }

    /// The lines of a transfer whose reports come at these milliseconds.
    fn lines(reports: &[(u64, Progress)]) -> Vec<String> {
        let start = Instant::now();
        let mut transfer = None;
        let mut lines = Vec::new();
        for (millis, progress) in reports {
            let now = start + Duration::from_millis(*millis);
            let mut current = Transfer::after(transfer, *progress, now);
            lines.extend(current.line(now));
            transfer = Some(current);
        }
        lines
    }

    #[test]
    fn each_phase_is_told_and_then_once_a_second() {
        let told = lines(&[
            (0, report(Phase::Connecting, 0, 0)),
            (10, report(Phase::Listing, 0, 12_000)),
            (20, report(Phase::Waiting, 0, 0)),
            (100, report(Phase::Receiving, 0, 1_000)),
            (600, report(Phase::Receiving, 10, 1_001_000)),
            (1_100, report(Phase::Receiving, 20, 2_001_000)),
            (1_900, report(Phase::Receiving, 39, 3_601_000)),
            (2_000, report(Phase::Resolving, 40, 3_601_000)),
        ]);
        assert_eq!(
            told,
            [
                "asking the host",
                "listing refs, 12 kB",
                "waiting for the host",
                "receiving 0/40 objects, 1.0 kB",
                "receiving 20/40 objects, 2.0 MB, 2.0 MB/s",
                "resolving 40 objects",
            ]
        );
    }

    #[test]
    fn a_pause_says_how_long_it_goes_on() {
        let wait = Phase::Pausing(Duration::from_secs(7));
        let told = lines(&[(0, report(wait, 0, 0)), (3_000, report(wait, 0, 0))]);
        let words = |left| format!("the host asks for patience, {left} left");
        assert_eq!(told, [words("7.0 s"), words("4.0 s")]);
    }

    #[test]
    fn no_words_are_longer_than_the_room_beside_a_bar() {
        let largest = Progress {
            phase: Phase::Receiving,
            objects: 20_000_000,
            total_objects: Some(20_000_000),
            bytes: 999_000_000,
        };
        let start = Instant::now();
        let first = Transfer::after(None, Progress { bytes: 0, ..largest }, start);
        let now = start + Duration::from_secs(1);
        let words = Transfer::after(Some(first), largest, now).words(now);
        assert!(words.len() + "- ".len() < BAR_COLUMNS - 8, "{words}");
    }
}
