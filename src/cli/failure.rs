//! The one line on standard error that says why a command failed and what to do.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;

use serde::Serialize;

use super::exit::{self, FOUND};
use super::{output, screen};
use crate::agent::{Failure, Snapshot, Source};
use crate::error::{Error, ErrorKind};
use crate::limits::{LimitExceeded, Which};
use crate::text::escape_for_people;

/// Says `error`, with the word of this command that would help, and gives its status.
pub(super) fn report(error: &Error) -> u8 {
    say(&in_words_of_the_command(error));
    exit::of_error(error.kind())
}

/// The same as one JSON object.
pub(super) fn report_as_json(error: &Error) -> u8 {
    let mut failure = Failure { message: in_words_of_the_command(error), ..Failure::from(error) };
    if is_about_memory(error) {
        failure.hint = "ask for less at once, or pass --max-memory SIZE";
    }
    say_json(&failure);
    exit::of_error(error.kind())
}

fn say_json(value: &impl Serialize) {
    // Words and flags always become JSON.
    if let Ok(json) = serde_json::to_string(value) {
        say_as_it_is(&json);
    }
}

/// A warning, in the form in which all that is said is said.
pub(super) fn warn(text: &str, as_json: bool) {
    if as_json {
        let warning = escape_for_people(text.as_bytes());
        say_json(&BTreeMap::from([("warning", warning)]));
    } else {
        say(&format!("warning: {text}"));
    }
}

/// The status for a failure that is an item of an answer.
pub(super) fn status_of(failure: &Failure) -> u8 {
    let is_named = |kind: &&ErrorKind| kind.code() == failure.kind;
    exit::of_error(ErrorKind::ALL.iter().find(is_named).copied().unwrap_or(ErrorKind::Io))
}

/// The library names fields of its options where the command has flags.
fn in_words_of_the_command(error: &Error) -> String {
    let text = error.to_string();
    if error.code() == "no_such_type" {
        let mark = if text.ends_with('?') { "" } else { ";" };
        return format!("{text}{mark} gitsip grep --type-list has all");
    }
    if let Some(rest) = text.strip_suffix("use globs") {
        return format!("{rest}use -g");
    }
    for (field, flag) in [("max_requests", "--max-requests N"), ("max_bytes", "--max-bytes SIZE")] {
        if let Some(rest) = text.strip_suffix(&format!("allow more with {field}")) {
            return format!("{rest}allow more with {flag}");
        }
    }
    if !is_about_memory(error) {
        return text;
    }
    match text.strip_suffix("raise max_memory") {
        Some(rest) => format!("{rest}pass --max-memory SIZE"),
        None => format!("{text}; to allow more pass --max-memory SIZE"),
    }
}

fn is_about_memory(error: &Error) -> bool {
    matches!(error.limit(), Some(LimitExceeded { which: Which::Memory, .. }))
}

/// Says what is odd about the name of `snapshot`, if anything is.
pub(super) fn warn_of<S: Source>(snapshot: &Snapshot<S>) {
    if let Some(warning) = snapshot.warning() {
        warn(&warning, false);
    }
}

/// Puts one line on standard error. Nobody is left to be told when that fails.
pub(super) fn say(text: &str) {
    say_as_it_is(&line(text));
}

/// The same for a line that is meant for a program.
pub(super) fn say_as_it_is(line: &str) {
    screen::say(line);
}

/// `text` as the one line that goes to standard error.
fn line(text: &str) -> String {
    format!("gitsip: {}", escape_for_people(text.as_bytes()))
}

/// Ends a run that clap ended: help and version are answers, everything else is one line
/// with clap's advice in it.
pub(super) fn of_arguments(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind as Clap;

    match error.kind() {
        Clap::DisplayHelp | Clap::DisplayVersion => {
            // A reader that has gone away needs no help.
            let printed = error.print();
            let failed = printed.err().filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
            ExitCode::from(failed.map_or(FOUND, |error| report(&output::unwritable(error))))
        }
        Clap::DisplayHelpOnMissingArgumentOrSubcommand => {
            drop(error.print());
            ExitCode::from(exit::of_error(ErrorKind::Usage))
        }
        _ => {
            let text = one_line(&error.render().to_string());
            let error = Error::new(ErrorKind::Usage, text);
            ExitCode::from(if wants_json() { report_as_json(&error) } else { report(&error) })
        }
    }
}

/// Whether JSON is asked for in words that as a whole are not understood.
fn wants_json() -> bool {
    let mut words = std::env::args_os().take_while(|word| word != "--");
    words.any(|word| word == "--json" || word == "--jsonl")
}

/// clap's message on one line: its paragraphs joined by semicolons, and where to read on
/// in place of the usage.
fn one_line(rendered: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for paragraph in rendered.trim_start_matches("error: ").split("\n\n") {
        let line = paragraph.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if let Some(usage) = line.strip_prefix("Usage: ") {
            let is_name = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
            let command: Vec<&str> = usage.split(' ').take_while(is_name).collect();
            parts.push(format!("see {} --help", command.join(" ")));
        } else if !line.starts_with("For more information") {
            parts.push(line.trim_start_matches("tip: ").to_owned());
        }
    }
    parts.join("; ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::args::command;
    use super::*;

    fn refusal(words: &[&str]) -> String {
        let words = ["gitsip"].iter().chain(words);
        one_line(&command().try_get_matches_from(words).unwrap_err().render().to_string())
    }

    #[test]
    fn typing_errors_are_one_line_with_advice() {
        for (words, parts) in [
            (&["grpe", "."][..], &["unrecognized subcommand 'grpe'", "'grep'"][..]),
            (&["grep", ".", "x", "--fixed-string"], &["'--fixed-string'", "'--fixed-strings'"]),
            (&["grep", ".", "x", "-C", "two"], &["'two'", "'--context <N>'"]),
            (&["glob", "."], &["required", "<PATTERN>", "see gitsip glob --help"]),
            (&["cat", ".", "a", "--lines", "2:1"], &["'2:1'", "--lines"]),
        ] {
            let line = refusal(words);
            assert!(!line.contains('\n'), "{line}");
            for part in parts {
                assert!(line.contains(part), "{line:?} has no {part:?}");
            }
        }
    }

    #[test]
    fn a_limit_of_memory_names_the_flag_and_other_limits_the_field() {
        let limit = |which| LimitExceeded { which, allowed: 5, seen: 6 };
        let memory = in_words_of_the_command(&limit(Which::Memory).into());
        assert_eq!(
            memory,
            "limit: 6 bytes of memory are more than the 5 allowed; ask for less or pass \
             --max-memory SIZE"
        );
        let refs = in_words_of_the_command(&limit(Which::Refs).into());
        assert!(refs.ends_with("raise max_refs"), "{refs}");
        let own = Error::new(ErrorKind::Limit, "too large").with_source(limit(Which::Memory));
        assert!(in_words_of_the_command(&own).ends_with("pass --max-memory SIZE"));
    }

    #[test]
    fn what_a_peer_wrote_cannot_break_the_line() {
        assert_eq!(line("a\nb\u{1b}"), "gitsip: a\\nb\\x1b");
    }
}
