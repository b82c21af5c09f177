//! `-t` and `-T`, whose order counts: the last word about a type wins, as in ripgrep.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// Types of files as they are written in a question: `rust`, and `!rust` for `-T rust`.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Types(pub(in crate::cli) Vec<String>);

const WANTED: &str = "type";
const UNWANTED: &str = "type-not";

impl Args for Types {
    fn augment_args(command: Command) -> Command {
        let arg = |id: &'static str, short: char| {
            Arg::new(id).short(short).long(id).value_name("TYPE").action(ArgAction::Append)
        };
        command
            .arg(arg(WANTED, 't').help("Only files of a type, such as rust"))
            .arg(arg(UNWANTED, 'T').help("No files of a type"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Types {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut words: Vec<(usize, String)> = Vec::new();
        for (id, mark) in [(WANTED, ""), (UNWANTED, "!")] {
            let places = matches.indices_of(id).into_iter().flatten();
            let names = matches.get_many::<String>(id).into_iter().flatten();
            words.extend(places.zip(names).map(|(at, name)| (at, format!("{mark}{name}"))));
        }
        words.sort_unstable();
        Ok(Self(words.into_iter().map(|(_, word)| word).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_order() {
        let command = Types::augment_args(Command::new("x")).args_override_self(true);
        let words = ["x", "-Trust", "-t", "lua", "--type-not=c", "-trust", "-t", "rust"];
        let matches = command.try_get_matches_from(words).unwrap();
        let Types(types) = Types::from_arg_matches(&matches).unwrap();
        assert_eq!(types, ["!rust", "lua", "!c", "rust", "rust"]);
    }
}
