//! What each flag of the command does, one file for each command. Exit codes and errors are
//! in `cli.rs`, and that grep finds what `git grep` finds is in `grep_parity.rs`.

#![allow(clippy::unwrap_used)]

#[path = "command/grep.rs"]
mod grep;
#[path = "command/json.rs"]
mod json;
mod support;
