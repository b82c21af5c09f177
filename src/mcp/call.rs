//! A question under way: it ends when its client cancels it, when its time is up, and it
//! tells how far it has come where the client asked for that.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::agent::{AnyAnswer, Query, Stop};
use crate::client::progress::{Phase, Progress, ProgressListener};
use crate::error::Error;
use crate::live::{Live, Place};
use crate::text::amounts::{Bytes, Time};

/// The answer to `query` for the client of `context`.
///
/// # Errors
/// Those of opening and asking it; `Cancelled` when the client cancelled it, to whom nothing is
/// sent, or when the time was up before anything was found.
pub(super) async fn ask(
    live: &Live,
    place: &Place,
    query: &Query,
    context: &RequestContext<RoleServer>,
    timeout: Option<Duration>,
) -> Result<AnyAnswer, Error> {
    let stop = Stop::default();
    // Whoever drops this future wants the computation to end too.
    let _stop = CancelOnDrop(stop.clone());
    // On tasks of their own: a question may compute for long without awaiting.
    let _watch = AbortOnDrop(tokio::spawn(stop_in_time(context.ct.clone(), stop.clone(), timeout)));
    let Some(token) = context.meta.get_progress_token() else {
        return answer(live, place, query, &stop, ProgressListener::none()).await;
    };
    let (sender, reports) = watch::channel(None);
    let listener = ProgressListener::new(move |report| {
        sender.send_replace(Some(*report));
    });
    let teller = Teller { peer: context.peer.clone(), token, told: None, before: 0, bytes: 0 };
    let answered = CancellationToken::new();
    let mut telling = AbortOnDrop(tokio::spawn(teller.run(reports, answered.clone())));
    let answer = answer(live, place, query, &stop, listener).await;
    answered.cancel();
    // What was reported last is told before the answer is.
    tokio::select! {
        _ = &mut telling.0 => {}
        () = context.ct.cancelled() => {}
    }
    answer
}

async fn answer(
    live: &Live,
    place: &Place,
    query: &Query,
    stop: &Stop,
    progress: ProgressListener,
) -> Result<AnyAnswer, Error> {
    let holding = live.hold(place, stop, progress).await?;
    let answer = holding.held().ask(query, stop).await;
    holding.settle(answer)
}

/// Stops a question when it is cancelled, and when its time is up.
async fn stop_in_time(cancelled: CancellationToken, stop: Stop, timeout: Option<Duration>) {
    if let Some(timeout) = timeout {
        tokio::select! {
            () = cancelled.cancelled() => stop.cancel(),
            () = sleep(timeout) => stop.pass_deadline(),
        }
    } else {
        cancelled.cancelled().await;
        stop.cancel();
    }
}

/// Tells a client how far a transfer has come, as often as a person can read it.
struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    /// The number that was sent last.
    told: Option<f64>,
    /// Bytes of the transfers before this one.
    before: u64,
    /// Bytes of this transfer.
    bytes: u64,
}

impl Teller {
    async fn run(
        mut self,
        mut reports: watch::Receiver<Option<Progress>>,
        answered: CancellationToken,
    ) {
        // It ends when nobody can report any more and the last report was told.
        while reports.changed().await.is_ok() {
            let report = *reports.borrow_and_update();
            if let Some(report) = report {
                self.tell(&report).await;
            }
            tokio::select! {
                () = sleep(INTERVAL) => {}
                () = answered.cancelled() => {}
            }
        }
    }

    async fn tell(&mut self, report: &Progress) {
        if report.bytes < self.bytes {
            self.before = self.before.saturating_add(self.bytes);
        }
        self.bytes = report.bytes;
        // It has to grow each time, also where no byte came in between.
        let sum = self.before.saturating_add(self.bytes) as f64;
        let progress = self.told.map_or(sum, |told| sum.max(told + 1.0));
        self.told = Some(progress);
        let told = ProgressNotificationParam::new(self.token.clone(), progress)
            .with_message(message(report));
        // A client that is gone needs no progress.
        drop(self.peer.notify_progress(told).await);
    }
}

fn message(report: &Progress) -> String {
    let Progress { phase, objects, total_objects, bytes } = report;
    match phase {
        Phase::Connecting => "asking the host what it is".into(),
        Phase::Listing => "listing refs".into(),
        Phase::Waiting => "the host prepares what was asked for".into(),
        Phase::Pausing(time) => format!("the host asks for patience: {}", Time(*time)),
        Phase::Searching => format!("searching, {objects} files so far"),
        Phase::Resolving => format!("resolving {objects} objects"),
        Phase::Widening(why) => format!("more comes than was asked for: {why}"),
        _ => {
            let of = total_objects.map(|total| format!(" of {total}")).unwrap_or_default();
            format!("received {objects}{of} objects, {}", Bytes(*bytes))
        }
    }
}

struct CancelOnDrop(Stop);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Between two notifications.
const INTERVAL: Duration = Duration::from_millis(100);
