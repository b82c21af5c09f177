//! What is said of files that are not used.

use std::cell::RefCell;

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, span};

thread_local! {
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What `work` gives, and the messages that were traced meanwhile.
pub(crate) fn listen<T>(work: impl FnOnce() -> T) -> (T, Vec<String>) {
    SAID.with_borrow_mut(Vec::clear);
    let given = tracing::subscriber::with_default(Listener, work);
    (given, SAID.with_borrow_mut(std::mem::take))
}

struct Listener;

impl tracing::Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "gitsip"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Message);
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            SAID.with_borrow_mut(|said| said.push(format!("{value:?}")));
        }
    }
}
