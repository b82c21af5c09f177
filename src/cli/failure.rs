//! How a command ends: its exit status, and the one line on standard error that says
//! why and what to do.

use std::process::ExitCode;

use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// Something was found.
pub(super) const FOUND: u8 = 0;
/// Everything was looked at, and nothing was found.
pub(super) const NOTHING_FOUND: u8 = 1;
/// The user interrupted it.
pub(super) const INTERRUPTED: u8 = 130;

/// The status for an error of `kind`.
pub(super) fn status(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Usage => 2,
        ErrorKind::NotFound => 3,
        ErrorKind::Auth => 4,
        ErrorKind::Transport => 5,
        ErrorKind::Limit => 6,
        ErrorKind::Corrupt | ErrorKind::Malformed => 7,
        ErrorKind::RateLimited => 8,
        ErrorKind::Unsupported => 9,
        ErrorKind::Cancelled => 10,
        ErrorKind::Conflict => 11,
        ErrorKind::Io => 12,
    }
}

/// Says `error` and gives its status.
pub(super) fn report(error: &Error) -> u8 {
    eprintln!("{}", line(&error.to_string()));
    status(error.kind())
}

/// `text` as the one line that goes to standard error.
pub(super) fn line(text: &str) -> String {
    format!("gitsip: {}", escape_for_people(text.as_bytes()))
}

/// Ends a run that clap ended: help and version are answers, everything else is one line
/// with clap's advice in it.
pub(super) fn of_arguments(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind as Clap;

    match error.kind() {
        Clap::DisplayHelp | Clap::DisplayVersion => {
            // A reader that has gone away needs no help.
            drop(error.print());
            ExitCode::from(FOUND)
        }
        Clap::DisplayHelpOnMissingArgumentOrSubcommand => {
            drop(error.print());
            ExitCode::from(status(ErrorKind::Usage))
        }
        _ => {
            let text = one_line(&error.render().to_string());
            ExitCode::from(report(&Error::new(ErrorKind::Usage, text)))
        }
    }
}

/// clap's message without its heading and usage: paragraphs joined by semicolons.
fn one_line(rendered: &str) -> String {
    let paragraphs: Vec<String> = rendered
        .trim_start_matches("error: ")
        .split("\n\n")
        .map(|paragraph| paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.starts_with("For more information"))
        .map(|paragraph| paragraph.trim_start_matches("tip: ").to_owned())
        .collect();
    paragraphs.join("; ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser as _;

    use super::super::args::Cli;
    use super::*;

    fn refusal(words: &[&str]) -> String {
        let words = ["gitsip"].iter().chain(words);
        one_line(&Cli::try_parse_from(words).unwrap_err().render().to_string())
    }

    #[test]
    fn typing_errors_are_one_line_with_advice() {
        for (words, parts) in [
            (&["grpe", "."][..], &["unrecognized subcommand 'grpe'", "'grep'"][..]),
            (&["grep", ".", "x", "--fixed-string"], &["'--fixed-string'", "'--fixed-strings'"]),
            (&["grep", ".", "x", "-C", "two"], &["'two'", "'--context <N>'"]),
            (&["cat", "."], &["required", "<PATH>", "Usage: gitsip cat"]),
            (&["cat", ".", "a", "--lines", "2:1"], &["line 1 comes before line 2"]),
        ] {
            let line = refusal(words);
            assert!(!line.contains('\n'), "{line}");
            for part in parts {
                assert!(line.contains(part), "{line:?} has no {part:?}");
            }
        }
    }

    #[test]
    fn what_a_peer_wrote_cannot_break_the_line() {
        assert_eq!(line("a\nb\u{1b}"), "gitsip: a\\nb\\x1b");
    }
}
