//! Shell completions and pages of the manual, made from the command line's own definition.

use clap_complete::Shell;
use clap_mangen::Man;

use super::args::command;
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;
use crate::view::nearest::nearest;

/// The script that completes commands in `shell`.
pub(super) fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "gitsip", &mut script);
    script
}

/// The page about the command `name`, or about all of it, in roff.
///
/// # Errors
/// `NotFound` for a command that there is not, with the nearest.
pub(super) fn page(name: Option<&str>) -> Result<Vec<u8>, Error> {
    let mut whole = command();
    whole.build();
    let about = match name {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(found) => found.clone(),
            None => return Err(no_command(&whole, name)),
        },
    };
    let mut page = Vec::new();
    Man::new(about).render(&mut page).map_err(|error| {
        let why = format!("the page cannot be made: {error}");
        Error::new(ErrorKind::Io, why).with_source(error)
    })?;
    Ok(page)
}

fn no_command(whole: &clap::Command, name: &str) -> Error {
    let names = whole.get_subcommands().map(|command| command.get_name().into());
    let shown = escape_for_people(name.as_bytes());
    let why = match nearest(names, name.into()).first() {
        Some(near) => format!("there is no command '{shown}'; did you mean '{near}'?"),
        None => format!("there is no command '{shown}'; gitsip --help has all"),
    };
    Error::new(ErrorKind::NotFound, why)
}
