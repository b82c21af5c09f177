//! What each flag of the command does, one file for each command. Exit codes and errors are
//! in `cli.rs`, and that grep finds what `git grep` finds is in `grep_parity.rs`.

#![allow(clippy::unwrap_used)]

#[path = "command/budgets.rs"]
mod budgets;
#[path = "command/cat.rs"]
mod cat;
#[path = "command/glob.rs"]
mod glob;
#[path = "command/golden.rs"]
mod golden;
#[path = "command/grep.rs"]
mod grep;
#[path = "command/json.rs"]
mod json;
#[path = "command/json_flags.rs"]
mod json_flags;
#[path = "command/refs.rs"]
mod refs;
#[path = "command/shell.rs"]
mod shell;
mod support;
#[path = "command/tree.rs"]
mod tree;
