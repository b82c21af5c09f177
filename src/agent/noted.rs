//! A request that is noted from its sending to the end of its answer: in the journal, in
//! the trace, and for whoever watches its progress.

use crate::client::conversation::Context;
use crate::client::progress::{Phase, Progress};
use crate::client::transport::Transport;

use super::trace;

/// A request under way. When it is dropped before its end, nobody waits for it any more.
pub(super) struct Noted<'a, T: Transport> {
    transport: &'a T,
    context: &'a Context,
    number: u64,
    is_over: bool,
}

impl<'a, T: Transport> Noted<'a, T> {
    /// Notes that what `context` is about is asked for now.
    pub(super) fn begin(transport: &'a T, context: &'a Context) -> Self {
        trace::sending(&context.purpose);
        let Context { journal, purpose, received, .. } = context;
        let number = journal.begin(*purpose, received, transport.now());
        Self { transport, context, number, is_over: false }
    }

    pub(super) fn answered(&self, status: u16) {
        self.context.journal.answered(self.number, status);
    }

    /// Notes the end, with the code of the error that it came to.
    pub(super) fn end(mut self, error: Option<&'static str>) {
        self.note(error);
    }

    fn note(&mut self, error: Option<&'static str>) {
        self.is_over = true;
        let ended = self.context.journal.end(self.number, error, self.transport.now());
        if let Some(exchange) = ended {
            trace::request(&exchange);
        }
        let (bytes, phase) = (self.context.received.bytes(), Phase::Over);
        self.context.progress.report(Progress { phase, objects: 0, total_objects: None, bytes });
    }
}

impl<T: Transport> Drop for Noted<'_, T> {
    fn drop(&mut self) {
        if !self.is_over {
            self.note(Some("cancelled"));
        }
    }
}
