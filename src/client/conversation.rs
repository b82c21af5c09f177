//! What is done with the bytes of one response.
//!
//! A conversation is fed by a [`Transport`](super::transport::Transport): `push` for
//! each chunk, `finish` when the body has ended. Natively both run on a thread that may
//! block, since parsing and resolving a pack is work. Nothing of a fetch is visible in
//! the store before `finish` succeeded.

mod fetching;
mod sizes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::fetching::{Answer, FetchState};
use self::sizes::Sizes;
use super::allowance::Allowance;
use super::journal::{Journal, Purpose, Received};
use super::progress::{Phase, Progress, ProgressListener};
use super::sample::{Sample, Sampled};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Interrupt, Interrupted, Limits, Reservation, SharedWorkers};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::{EARLY_ROUND_BYTES, Ingest, KeepBlobs};
use crate::protocol::{Advertised, Advertisement, FetchRequest, LsRefsResponse, v0};
use crate::store::{MemoryStaging, MemoryStore, Objects as _, Ref};

pub use self::fetching::Fetched;

/// Bytes of an error page that are kept to quote from.
const MAX_QUOTED_BYTES: usize = 4 << 10;

/// Takes the chunks of one response body and makes an [`Outcome`] of them.
#[derive(Debug)]
pub struct Conversation {
    state: State,
    bytes: u64,
    context: Context,
}

#[derive(Debug)]
enum State {
    Advertisement(Box<Advertisement>),
    Fetch(Box<FetchState<MemoryStaging>>),
    Refs(LsRefsResponse),
    Sample(Box<FetchState<Sample>>),
    Sizes(Box<Sizes>),
    Text(Vec<u8>),
    Over(Outcome),
    Failed,
}

/// Where a fetch brings what comes, and what bounds it on the way.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Caps on each item.
    pub limits: &'a Limits,
    /// What all of it is paid from.
    pub budget: &'a Budget,
    /// Where it becomes visible; its hash is that of the repository.
    pub store: &'a MemoryStore,
    /// Which of the blobs that come are kept.
    pub blobs: &'a KeepBlobs,
}

/// What a response came to.
#[derive(Debug)]
pub enum Outcome {
    /// What the host says first, and what that occupies.
    Advertised(Box<Advertised>, Reservation),
    /// What a fetch brought.
    Fetched(Fetched),
    /// The refs asked for.
    Refs(Vec<Ref>),
    /// What a fetch brought that is only looked at.
    Sampled(Sampled),
    /// Objects and the bytes of each.
    Sizes(Vec<(ObjectId, u64)>),
    /// The beginning of an error page.
    Text(Vec<u8>),
}

impl Conversation {
    /// Reads a ref advertisement, which in protocol v2 lists capabilities.
    pub fn advertisement(limits: &Limits, budget: &Budget, context: &Context) -> Self {
        let advertisement = Advertisement::new(budget).with_limits(limits);
        Self::new(State::Advertisement(Box::new(advertisement)), context)
    }

    /// Reads the answer to `ls-refs`.
    pub fn refs(format: ObjectFormat, limits: &Limits, budget: &Budget, context: &Context) -> Self {
        Self::new(State::Refs(LsRefsResponse::new(format, limits, budget)), context)
    }

    /// Reads the answer to `fetch` into `target`.
    pub fn fetch(target: Target<'_>, context: &Context) -> Self {
        Self::fetch_in(Answer::v2(target.store.format(), target.limits), target, context)
    }

    /// Reads the answer of a host of protocol v0 with `features` to `request` into `target`.
    pub fn fetch_v0(
        request: &FetchRequest,
        features: &v0::Features,
        target: Target<'_>,
        context: &Context,
    ) -> Self {
        let response = Answer::v0(request, features, target.store.format(), target.limits);
        Self::fetch_in(response, target, context)
    }

    fn fetch_in(response: Answer, target: Target<'_>, context: &Context) -> Self {
        let Target { limits, budget, store, blobs } = target;
        let ingest = Ingest::new(store.format(), limits, budget, store.stage());
        let ingest = ingest
            .keeping(blobs.clone())
            .resolving_early(context.workers.clone(), EARLY_ROUND_BYTES);
        Self::new(State::Fetch(Box::new(FetchState::new(response, ingest, budget))), context)
    }

    /// Looks at the answer to `request`, and keeps nothing of it: of a host of protocol v0
    /// when `features` are its, else v2. What came before a cut is in
    /// [`into_so_far`](Self::into_so_far).
    pub fn sample(
        (request, features): (&FetchRequest, Option<&v0::Features>),
        format: ObjectFormat,
        limits: &Limits,
        budget: &Budget,
        context: &Context,
    ) -> Self {
        let response = match features {
            Some(features) => Answer::v0(request, features, format, limits),
            None => Answer::v2(format, limits),
        };
        let ingest = Ingest::new(format, limits, budget, Sample::new(budget));
        Self::new(State::Sample(Box::new(FetchState::new(response, ingest, budget))), context)
    }

    /// Reads the answer to `object-info` about `ids` objects.
    pub fn sizes(ids: usize, format: ObjectFormat, budget: &Budget, context: &Context) -> Self {
        Self::new(State::Sizes(Box::new(Sizes::new(ids, format, budget))), context)
    }

    /// Keeps the beginning of an error page.
    pub fn text(context: &Context) -> Self {
        Self::new(State::Text(Vec::new()), context)
    }

    fn new(state: State, context: &Context) -> Self {
        let conversation = Self { state, bytes: 0, context: context.clone() };
        // The wait for the first byte is a phase too, often the longest.
        conversation.report();
        conversation
    }

    /// Takes the next chunk; an error ends the transfer.
    ///
    /// # Errors
    ///
    /// That of the message, the pack or a limit; `Cancelled`; `Limit` when the allowance is
    /// spent; and for an error page that there is enough of it to quote from.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.bytes += chunk.len() as u64;
        self.context.received.count(chunk.len() as u64, &self.context.journal);
        self.context.cancel.check()?;
        self.context.allowance.pay_bytes(chunk.len() as u64)?;
        match &mut self.state {
            State::Advertisement(advertisement) => advertisement.push(chunk)?,
            State::Refs(response) => response.push(chunk)?,
            State::Sizes(sizes) => sizes.push(chunk)?,
            State::Text(text) => {
                let room = MAX_QUOTED_BYTES.saturating_sub(text.len());
                text.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return Err(enough_to_quote());
                }
            }
            State::Fetch(fetch) => fetch.push(chunk, &self.context.cancel)?,
            State::Sample(fetch) => fetch.push(chunk, &self.context.cancel)?,
            State::Over(_) | State::Failed => return Err(after_the_end()),
        }
        self.report();
        Ok(())
    }

    /// The body has ended: completes the answer and, for a fetch, makes it visible.
    ///
    /// # Errors
    ///
    /// When the answer is not whole, and for a fetch when its pack is damaged, an object
    /// of it cannot be resolved, or memory is spent. Nothing is visible then.
    pub fn finish(&mut self) -> Result<(), Error> {
        let state = std::mem::replace(&mut self.state, State::Failed);
        let outcome = match state {
            State::Advertisement(_)
            | State::Fetch(_)
            | State::Refs(_)
            | State::Sample(_)
            | State::Sizes(_)
                if self.bytes == 0 =>
            {
                return Err(empty());
            }
            State::Advertisement(advertisement) => {
                let (advertised, held) = advertisement.finish_reserved()?;
                Outcome::Advertised(Box::new(advertised), held)
            }
            State::Refs(response) => Outcome::Refs(response.finish()?),
            State::Sizes(sizes) => Outcome::Sizes(sizes.finish()?),
            State::Text(text) => Outcome::Text(text),
            State::Fetch(fetch) => {
                self.context.progress.report(Progress {
                    phase: Phase::Resolving,
                    objects: fetch.objects(),
                    total_objects: fetch.total_objects(),
                    bytes: self.bytes,
                });
                Outcome::Fetched(fetch.finish(&self.context)?)
            }
            State::Sample(fetch) => {
                let so_far = fetch.so_far();
                let finished = fetch.finish_sample(&self.context.cancel);
                let sampled = finished.as_ref().cloned().unwrap_or(so_far);
                self.state = State::Over(Outcome::Sampled(sampled));
                return finished.map(drop);
            }
            State::Over(_) | State::Failed => return Err(after_the_end()),
        };
        self.state = State::Over(outcome);
        Ok(())
    }

    /// What the response came to: of an error page what there is so far, of everything
    /// else the answer once it has finished.
    pub fn into_outcome(self) -> Option<Outcome> {
        match self.state {
            State::Over(outcome) => Some(outcome),
            State::Text(text) => Some(Outcome::Text(text)),
            _ => None,
        }
    }

    /// What came of an error page.
    pub fn error_page(&self) -> &[u8] {
        match &self.state {
            State::Text(page) | State::Over(Outcome::Text(page)) => page,
            _ => &[],
        }
    }

    /// What came of a response that failed or was cut: of an advertisement and of refs
    /// those that were read, of a sample its objects. Nothing where nothing can be told.
    pub fn into_so_far(self) -> Option<Outcome> {
        match self.state {
            State::Advertisement(advertisement) => advertisement
                .into_so_far()
                .map(|(advertised, held)| Outcome::Advertised(Box::new(advertised), held)),
            State::Refs(response) => Some(Outcome::Refs(response.into_so_far())),
            State::Sample(fetch) => Some(Outcome::Sampled(fetch.so_far())),
            _ => self.into_outcome(),
        }
    }

    /// Bytes of body taken so far.
    pub fn received_bytes(&self) -> u64 {
        self.bytes
    }

    fn report(&self) {
        let (phase, objects, total_objects) = match &self.state {
            State::Advertisement(_) => (Phase::Connecting, 0, None),
            State::Refs(_) => (Phase::Listing, 0, None),
            State::Fetch(fetch) => {
                let total = fetch.total_objects();
                let phase = if total.is_some() { Phase::Receiving } else { Phase::Waiting };
                (phase, fetch.objects(), total)
            }
            State::Sample(_)
            | State::Sizes(_)
            | State::Text(_)
            | State::Over(_)
            | State::Failed => return,
        };
        self.context.progress.report(Progress { phase, objects, total_objects, bytes: self.bytes });
    }
}

fn enough_to_quote() -> Error {
    Error::new(ErrorKind::Transport, "the error page is longer than what is quoted of it")
}

fn empty() -> Error {
    let why = "the answer is empty: try again; if it stays so, tell whoever runs the host";
    Error::new(ErrorKind::Transport, why).with_code("empty_answer")
}

fn after_the_end() -> Error {
    Error::new(ErrorKind::Malformed, "bytes follow the end of the response")
}

/// What every conversation of a request is given: how to stop it, whom to tell, who helps.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// What requests and answers are paid from.
    pub allowance: Allowance,
    /// Set when nobody waits for the answer any more.
    pub cancel: Cancel,
    /// Where requests and bytes are noted.
    pub journal: Journal,
    /// Whom to tell.
    pub progress: ProgressListener,
    /// What is asked for.
    pub purpose: Purpose,
    /// Bytes of all answers to it.
    pub received: Received,
    /// Who resolves the deltas of a pack that came before their bases were at hand.
    pub workers: SharedWorkers,
}

/// A flag that stops a conversation that runs on another thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stops the work at its next check.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Interrupt for Cancel {
    fn check(&self) -> Result<(), Interrupted> {
        if self.0.load(Ordering::Relaxed) { Err(Interrupted::Cancelled) } else { Ok(()) }
    }
}
