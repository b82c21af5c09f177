//! The command `gitsip`: it reads words, asks the [`agent`](crate::agent), and prints
//! plain lines.
//!
//! Everything a command knows about git is below; here are only spelling, standard
//! output, one-line errors and exit codes. Nothing here is meant for a library's users.

mod args;
mod color;
mod commands;
mod doctor;
mod exit;
#[cfg_attr(not(feature = "mcp"), path = "no_face.rs")]
mod face;
mod failure;
mod grep;
mod json;
mod manual;
#[cfg(feature = "mcp")]
mod mcp;
mod network;
mod output;
mod place;
mod progress;
mod query;
mod quote;
mod repo_arg;
mod run;
mod screen;
mod serve;
mod session;
mod verbose;

use std::process::ExitCode;

use clap::FromArgMatches as _;

use self::args::{Cli, Command, Verb};
use self::output::Output;
use crate::error::{Error, ErrorKind};

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    match parse() {
        Ok(cli) => {
            let is_json = cli.verb.common().is_some_and(|common| common.form.is_json());
            match answer(cli.verb) {
                Ok(status) => ExitCode::from(status),
                Err(error) if is_json => ExitCode::from(failure::report_as_json(&error)),
                Err(error) => ExitCode::from(failure::report(&error)),
            }
        }
        Err(error) => failure::of_arguments(&error),
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let words = args::words_of_help(std::env::args_os().collect());
    Cli::from_arg_matches(&args::command().try_get_matches_from(words)?)
}

/// What can be said without a repository is said at once.
fn answer(verb: Verb) -> Result<u8, Error> {
    match verb {
        Verb::Read(Command::Grep(args)) if args.type_list => {
            if args.common.form.is_json() {
                let why = "--type-list is plain lines, NAME: GLOB, ...: leave out --json";
                return Err(Error::new(ErrorKind::Usage, why));
            }
            print(&grep::type_list())
        }
        Verb::Completions(args) => print(&manual::completions(args.shell)),
        Verb::Man(args) => print(&manual::page(args.command.as_deref())?),
        Verb::Read(command) => run::run(command),
        Verb::Doctor(args) => doctor::run(args),
        Verb::IndexPack(args) => commands::index_pack(&args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Session(args) => session::run(args),
        Verb::UploadPack(args) => commands::upload_pack(&args),
        Verb::Start(face) => face::run(face),
    }
}

fn print(text: &[u8]) -> Result<u8, Error> {
    Output::stdout().lock().write_through(text)?;
    Ok(exit::FOUND)
}
