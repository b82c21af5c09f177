//! What one question has left to spend: requests and bytes, and time.
//!
//! There is no clock here. The source has one, and it is looked at where computation looks
//! whether to go on; what is waited for is given up when its alarm rings.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::client::allowance::Allowance;
use crate::error::Error;
use crate::limits::{Interrupt, Interrupted};

use super::query::QueryBudget;
use super::results::Truncated;
use super::source::Source;
use super::stop::Stop;

/// What is left of a question's budget. A clone is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Spending {
    /// What requests and answers are paid from.
    pub(super) allowance: Allowance,
    /// When it has to be answered, on the source's clock.
    ends_at: Option<Duration>,
    budget: QueryBudget,
}

impl Spending {
    /// All of `budget`; its time begins now.
    pub(super) fn of(budget: &QueryBudget, source: &impl Source) -> Self {
        Self {
            allowance: Allowance::new(budget.max_requests, budget.max_bytes),
            ends_at: budget.deadline.map(|time| source.now().saturating_add(time)),
            budget: *budget,
        }
    }

    /// Whether some files may not be fetched.
    pub(super) fn is_tight(&self) -> bool {
        self.budget.is_tight()
    }

    /// Whether all files may be asked for in one request, of which nothing is left when it
    /// is cut.
    pub(super) fn lets_all_come_at_once(&self) -> bool {
        self.allowance.bytes_left().is_none() && self.ends_at.is_none()
    }

    /// Of what there was not enough, if `error` says that the budget is spent.
    pub(super) fn why_ended(&self, error: &Error) -> Option<Truncated> {
        let has_deadline = self.ends_at.is_some();
        Truncated::of_spent(error).or(match error.code() {
            "deadline" if has_deadline => Some(Truncated::Deadline),
            _ => None,
        })
    }

    /// What stops computation for `stop` and for want of time.
    pub(super) fn watch<'a, S: Source>(&'a self, stop: &'a Stop, source: &'a S) -> Watch<'a, S> {
        Watch { stop, source, ends_at: self.ends_at }
    }

    /// `work`, given up as soon as `stop` is stopped or the time is up.
    pub(super) async fn guard<S: Source, T>(
        &self,
        stop: &Stop,
        source: &S,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(ends_at) = self.ends_at else { return Box::pin(stop.guard(work)).await };
        let left = ends_at.saturating_sub(source.now());
        if left.is_zero() {
            return Err(Interrupted::Deadline.into());
        }
        let mut alarm = pin!(source.sleep(left));
        let mut work = Box::pin(stop.guard(work));
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => {
                alarm.as_mut().poll(context).map(|()| Err(Interrupted::Deadline.into()))
            }
        })
        .await
    }
}

/// Stops computation.
pub(super) struct Watch<'a, S> {
    stop: &'a Stop,
    source: &'a S,
    ends_at: Option<Duration>,
}

impl<S: Source> Interrupt for Watch<'_, S> {
    fn check(&self) -> Result<(), Interrupted> {
        self.stop.check()?;
        match self.ends_at {
            Some(ends_at) if self.source.now() >= ends_at => Err(Interrupted::Deadline),
            _ => Ok(()),
        }
    }
}
