//! Stopping questions that are under way, from outside of them.
//!
//! Computation hears of it where it polls its [`Interrupt`], and a transfer that is waited
//! for is dropped at once. Whoever has a clock passes deadlines; there is none here.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use event_listener::Event;

use crate::error::Error;
use crate::limits::{Interrupt, Interrupted};

const GOES_ON: u8 = 0;
const CANCELLED: u8 = 1;
const DEADLINE: u8 = 2;

/// Stops what it was handed to. A clone stops the same, and stopping is for good.
///
/// ```
/// use gitsip::Interrupt as _;
/// use gitsip::agent::Stop;
///
/// let stop = Stop::default();
/// let handle = stop.clone();
/// assert!(stop.check().is_ok());
/// handle.cancel();
/// assert!(stop.check().is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    why: AtomicU8,
    stopped: Event,
}

impl Stop {
    /// The caller no longer wants the answer: it ends in a `cancelled` error.
    pub fn cancel(&self) {
        self.stop(CANCELLED);
    }

    /// The caller's time is up: what was found so far becomes a partial answer, if there
    /// is anything.
    pub fn pass_deadline(&self) {
        self.stop(DEADLINE);
    }

    /// The first reason stays.
    fn stop(&self, why: u8) {
        let swap = |seen| (seen == GOES_ON).then_some(why);
        if self.0.why.fetch_update(Ordering::Release, Ordering::Relaxed, swap).is_err() {
            return;
        }
        self.0.stopped.notify(usize::MAX);
    }

    /// `work`, given up as soon as this is stopped: for what takes no `Stop` of its own, as
    /// opening a repository and taking a snapshot.
    ///
    /// # Errors
    ///
    /// Those of `work`, and `Cancelled`.
    pub async fn guard<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        // Listening starts before the look, so that no stop falls in between.
        let mut stopped = pin!(self.0.stopped.listen());
        self.check()?;
        let mut work = pin!(work);
        poll_fn(|context| {
            if stopped.as_mut().poll(context).is_ready() {
                self.check()?;
            }
            work.as_mut().poll(context)
        })
        .await
    }
}

impl Interrupt for Stop {
    fn check(&self) -> Result<(), Interrupted> {
        match self.0.why.load(Ordering::Acquire) {
            GOES_ON => Ok(()),
            DEADLINE => Err(Interrupted::Deadline),
            _ => Err(Interrupted::Cancelled),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::{pending, ready};
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn what_is_waited_for_is_given_up_when_it_is_stopped() {
        let stop = Stop::default();
        let handle = stop.clone();
        let mut work = pin!(stop.guard(pending::<Result<(), Error>>()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(work.as_mut().poll(&mut context).is_pending());
        handle.pass_deadline();
        handle.cancel();
        let Poll::Ready(Err(error)) = work.as_mut().poll(&mut context) else { panic!() };
        assert_eq!((error.kind(), error.code()), (ErrorKind::Cancelled, "deadline"));
    }

    #[test]
    fn nothing_begins_after_a_stop() {
        let stop = Stop::default();
        stop.cancel();
        let mut work = pin!(stop.guard(ready(Ok(()))));
        let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Err(error)) if error.code() == "cancelled"));
    }
}
