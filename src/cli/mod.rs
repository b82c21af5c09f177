//! The command `gitsip`: it reads words, asks the [`agent`](crate::agent), and prints
//! plain lines.
//!
//! Everything a command knows about git is below; here are only spelling, standard
//! output, one-line errors and exit codes. Nothing here is meant for a library's users.

mod args;
mod commands;
mod credentials;
mod failure;
mod grep;
mod network;
mod output;
mod place;
mod quote;
mod repo_arg;
mod run;

use std::process::ExitCode;

use clap::Parser as _;

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    match args::Cli::try_parse() {
        Ok(cli) => match run::run(cli.command) {
            Ok(status) => ExitCode::from(status),
            Err(error) => ExitCode::from(failure::report(&error)),
        },
        Err(error) => failure::of_arguments(&error),
    }
}
