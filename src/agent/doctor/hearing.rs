//! Hearing one answer: how much of it is read, for how long, and what is made of what came.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::agent::exchange::Line;
use crate::agent::results::Diagnosis;
use crate::agent::shared::CancelOnDrop;
use crate::client::address::RepoUrl;
use crate::client::conversation::{Context, Conversation, Outcome};
use crate::client::doctor::{End, MAX_ANSWER_BYTES};
use crate::client::journal::{Journal, Purpose};
use crate::client::transport::{Request, Transport};
use crate::limits::{Budget, Limits};

/// The memory and the counts of one examination.
pub(super) struct Room {
    pub(super) limits: Limits,
    pub(super) budget: Budget,
    pub(super) journal: Journal,
}

impl Room {
    pub(super) fn new() -> Self {
        let limits = Limits {
            max_memory: MAX_MEMORY,
            max_object_bytes: MAX_RESOLVED_BYTES,
            max_pack_bytes: MAX_ANSWER_BYTES,
            max_ref_bytes: MAX_ANSWER_BYTES,
            max_resolved_bytes: MAX_RESOLVED_BYTES,
            ..Limits::default()
        };
        let budget = Budget::new(limits.max_memory);
        Self { limits, budget, journal: Journal::default() }
    }

    pub(super) fn context(&self, purpose: Purpose) -> Context {
        Context { purpose, journal: self.journal.clone(), ..Context::default() }
    }

    pub(super) fn advertisement(&self, context: &Context) -> Conversation {
        Conversation::advertisement(&self.limits, &self.budget, context)
    }

    pub(super) fn count_into(&self, diagnosis: &mut Diagnosis) {
        diagnosis.requests = self.journal.requests();
        diagnosis.bytes_received = self.journal.bytes_received();
    }
}

/// What may take how long.
pub(super) struct Clock<'a, T> {
    pub(super) transport: &'a T,
    pub(super) end: Duration,
    pub(super) max_question_time: Duration,
}

impl<T: Transport> Clock<'_, T> {
    pub(super) fn left(&self) -> Duration {
        self.end.saturating_sub(self.transport.now())
    }

    /// `work`, unless it takes longer than `time`.
    pub(super) async fn within<R>(
        &self,
        time: Duration,
        work: impl Future<Output = R>,
    ) -> Option<R> {
        let mut work = pin!(work);
        let mut alarm = pin!(self.transport.sleep(time));
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => alarm.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}

/// An answer as far as it came, and how it ended.
pub(super) struct Heard {
    pub(super) outcome: Option<Outcome>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) status: u16,
    pub(super) end: End,
    /// Whether the host said nothing for too long.
    pub(super) is_silence: bool,
}

pub(super) async fn hear<T: Transport>(
    line: &Line<'_, '_, T>,
    request: Request,
    conversation: Conversation,
    context: &Context,
) -> Heard {
    // Dropping this future also stops the thread that reads the answer.
    let _stop = CancelOnDrop(&context.cancel);
    let (response, noted) = match line.send(request, context).await {
        Ok(sent) => sent,
        Err(error) => {
            let is_silence = error.code() == "stalled";
            return Heard { is_silence, ..Heard::nothing(End::Failed(error.context().to_owned())) };
        }
    };
    let (status, headers) = (response.status, response.headers.clone());
    let (conversation, taken) = line.take(response, noted, conversation, context).await;
    let is_silence = taken.as_ref().is_err_and(|error| error.code() == "stalled");
    let end = match &taken {
        Ok(()) => End::Whole,
        Err(error) => match End::of(status, error) {
            End::Failed(words) => End::Failed(shorter(words, line.repo)),
            End::Refused(words) => End::Refused(shorter(words, line.repo)),
            end => end,
        },
    };
    Heard { outcome: conversation.into_so_far(), headers, status, end, is_silence }
}

impl Heard {
    pub(super) fn nothing(end: End) -> Self {
        Self { outcome: None, headers: Vec::new(), status: 0, end, is_silence: false }
    }
}

/// `words` without the address, which is above them.
fn shorter(words: String, repo: &RepoUrl) -> String {
    let rest = words.strip_prefix(&repo.to_string());
    rest.map(|rest| rest.trim_start_matches([':', ' ']).to_owned()).unwrap_or(words)
}

pub(super) fn words(end: &End) -> String {
    match end {
        End::Cut => "the answer is too long".to_owned(),
        End::Failed(words) | End::Refused(words) => words.clone(),
        End::Whole => String::new(),
    }
}

/// What a cut answer may inflate to. 16 MiB: no commit or folder is near it.
const MAX_RESOLVED_BYTES: u64 = 16 << 20;
/// What an examination may hold at once.
const MAX_MEMORY: u64 = 64 << 20;
