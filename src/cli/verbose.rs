//! `-v`: what was asked of the host, what it lacked and what was sent again, one line each
//! on standard error. The lines are the messages of the spans and events that the library
//! traces, so whoever embeds it sees the same. `-vv` adds what is for debugging.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::failure;

/// Says what is traced from now on, as loudly as `-v` was given often.
pub(super) fn listen(verbosity: u8) {
    let most = match verbosity {
        0 => return,
        1 => Level::INFO,
        2.. => Level::DEBUG,
    };
    // Only a program that set one before has another, and this is the program.
    drop(tracing::subscriber::set_global_default(Lines { most }));
}

/// Puts messages on standard error.
struct Lines {
    most: Level,
}

impl Subscriber for Lines {
    /// Warnings are said in any case, by whoever watches the progress.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "gitsip"
            && metadata.is_event()
            && *metadata.level() > Level::WARN
            && *metadata.level() <= self.most
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.most))
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        failure::say(&message.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message of an event, without its fields.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Writing to memory does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}
