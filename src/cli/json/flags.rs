//! Flags that only say how plain lines look. With JSON they are errors, for whoever writes
//! them expects something else than comes. What changes nothing because JSON always has it
//! (`ls -l`, `refs --symref`) is accepted.

use crate::cli::args::Command;
use crate::cli::color::When;
use crate::error::{Error, ErrorKind};

/// # Errors
/// `Usage` for the first flag of `command` that JSON has no place for.
pub(super) fn check(command: &Command) -> Result<(), Error> {
    let said: &[(bool, &str, &str)] = match command {
        Command::Cat(cat) => &[(cat.number, "--number", "items say their first_line")],
        Command::Glob(glob) => &[(glob.null, "--null", PATHS)],
        Command::Ls(ls) => &[(ls.null, "--null", PATHS)],
        Command::Grep(grep) => &[
            (grep.only_matching, "--only-matching", "the ranges of a hit are what matches"),
            (grep.heading, "--heading", "each hit has its path"),
            (grep.color == When::Always, "--color", "the ranges of a hit are what matches"),
            (grep.null, "--null", PATHS),
        ],
        Command::Refs(_) | Command::Tree(_) => &[],
    };
    match said.iter().find(|(is_said, ..)| *is_said) {
        None => Ok(()),
        Some((_, flag, instead)) => {
            let why = format!("{flag} means nothing in JSON, where {instead}: leave it out");
            Err(Error::new(ErrorKind::Usage, why))
        }
    }
}

const PATHS: &str = "paths are as they are";
