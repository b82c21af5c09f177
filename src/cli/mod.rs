//! The command `gitsip`: it reads words, asks the [`agent`](crate::agent), and prints
//! plain lines.
//!
//! Everything a command knows about git is below; here are only spelling, standard
//! output, one-line errors and exit codes. Nothing here is meant for a library's users.

#![allow(dead_code, reason = "the reads that use it land next")]

mod args;
mod failure;
mod output;
mod quote;
mod repo_arg;

use std::process::ExitCode;

use clap::Parser as _;

use crate::error::{Error, ErrorKind};

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    let command = match args::Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return failure::of_arguments(&error),
    };
    let error = match repo_arg::RepoArg::parse(command.repo()) {
        Ok(_) => Error::new(ErrorKind::Unsupported, "this build reads no repository yet"),
        Err(error) => error,
    };
    ExitCode::from(failure::report(&error))
}
