//! Colours on standard output, those of `git grep`, where a person sees them.
//!
//! Whether one does is judged by the crate `anstream`, which knows `NO_COLOR`, `CLICOLOR`,
//! `CLICOLOR_FORCE`, `TERM` and what a terminal is.

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use super::output::push_fmt;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum When {
    /// On a terminal.
    #[default]
    Auto,
    Always,
    Never,
}

/// Puts text in colour, or does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Colours of standard output.
    pub(super) fn of_stdout(when: When) -> Self {
        let is_on = match when {
            When::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
            When::Always => true,
            When::Never => false,
        };
        Self { is_on }
    }

    pub(super) fn is_on(self) -> bool {
        self.is_on
    }

    /// Appends `text` in `style`.
    pub(super) fn push(self, bytes: &mut Vec<u8>, style: Style, text: &[u8]) {
        if self.is_on && !text.is_empty() {
            push_fmt(bytes, format_args!("{style}"));
            bytes.extend_from_slice(text);
            push_fmt(bytes, format_args!("{style:#}"));
        } else {
            bytes.extend_from_slice(text);
        }
    }
}

/// The name of a file.
pub(super) const NAME: Style = AnsiColor::Magenta.on_default();
/// The number of a line.
pub(super) const NUMBER: Style = AnsiColor::Green.on_default();
/// What stands between them.
pub(super) const SEPARATOR: Style = AnsiColor::Cyan.on_default();
/// What was searched for.
pub(super) const MATCH: Style = AnsiColor::Red.on_default().bold();
