//! How help looks: each page fits a screen of 80 columns, and what every command takes is
//! explained on one page.
//!
//! Completions and the manual have all of it.

use std::ffi::OsString;

use clap::{Arg, ArgAction, Args as _, Command, CommandFactory as _};

use super::{Cli, Common};

/// The heading of the options that every command takes.
pub(super) const EVERYWHERE: &str = "Options of every command";

/// The command line as clap parses it.
pub(in crate::cli) fn command() -> Command {
    let help = || {
        let help = Arg::new("help").short('h').long("help").help("Print help");
        help.action(ArgAction::HelpShort).hide_short_help(true)
    };
    Cli::command()
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(help())
        .arg(
            Arg::new("version")
                .short('V')
                .long("version")
                .help("Print the version")
                .action(ArgAction::Version)
                .hide_short_help(true),
        )
        .after_help([&options_of_every_command(), "\n", TOP_HELP].concat())
        .max_term_width(COLUMNS)
        .mut_subcommands(|command| {
            let mut footer = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            if command.get_arguments().any(|arg| arg.get_help_heading() == Some(EVERYWHERE)) {
                footer.push_str(MORE);
            }
            command
                .disable_help_flag(true)
                .mut_args(|arg| match arg.get_help_heading() {
                    Some(EVERYWHERE) => arg.hide_short_help(true),
                    _ => arg,
                })
                .arg(help())
                .after_help(footer)
                .max_term_width(COLUMNS)
        })
}

/// `gitsip help grep`, as one asks git, in the words that are understood.
pub(in crate::cli) fn words_of_help(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

fn options_of_every_command() -> String {
    let every = Common::augment_args(Command::new("gitsip"));
    every
        .disable_help_flag(true)
        .max_term_width(COLUMNS)
        .help_template("{all-args}")
        .render_help()
        .to_string()
}

/// What every page keeps within.
const COLUMNS: usize = 80;

const MORE: &str = "\n\nMore options, which every command takes: gitsip --help.";

const TOP_HELP: &str = "\
REPO, an http(s) address, owner/repo on github.com or a local path, is read at
HEAD (no working tree) or --ref; the address of a web page says ref and path.

Private repositories: --token-env NAME, else GITSIP_TOKEN, user:password@ in the
address, ~/.netrc; and git's credential helpers after the host has refused.

Examples:
  gitsip grep https://github.com/git/git 'TODO|FIXME' builtin
  gitsip cat https://github.com/git/git README.md --lines 1:20

Exit: 0 found, 1 nothing found, 2 usage, 3 not found, 4 auth, 5 transport,
6 limit, 7 corrupt, 8 rate limited, 9 unsupported, 10 deadline, 11 conflict,
12 I/O, 130 interrupted. 'gitsip COMMAND --help' has the options of each.";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn help_is_given_as_git_gives_it() {
        let words = |words: &[&str]| words_of_help(words.iter().map(OsString::from).collect());
        assert_eq!(words(&["gitsip", "help"]), ["gitsip", "--help"]);
        assert_eq!(words(&["gitsip", "help", "grep"]), ["gitsip", "grep", "--help"]);
        assert_eq!(words(&["gitsip", "ls", "help"]), ["gitsip", "ls", "help"]);
        assert_eq!(words(&["gitsip"]), ["gitsip"]);
    }

    #[test]
    fn help_fits_a_screen() {
        let mut top = command();
        // Builds the subcommands too.
        let text = top.render_help().to_string();
        fits(&text, 52);
        for name in ["--timeout", "HEAD", "GITSIP_TOKEN"] {
            assert!(text.contains(name), "{text}");
        }
        for command in top.get_subcommands_mut() {
            let is_apart = command.get_name() == "mcp";
            let lines = match command.get_name() {
                "grep" => 48,
                // They take none of the common options, and so list their own.
                "mcp" | "serve" => 32,
                _ => 24,
            };
            let text = command.render_help().to_string();
            fits(&text, lines);
            assert_eq!(text.contains("--timeout"), is_apart, "explained once: {text}");
            let asks_a_repository = text.contains("REPO");
            assert_eq!(text.contains("gitsip --help"), asks_a_repository, "{text}");
        }
    }

    #[track_caller]
    fn fits(text: &str, lines: usize) {
        assert!(text.lines().count() <= lines, "{} lines\n{text}", text.lines().count());
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert!(text.contains("  gitsip "), "has an example: {text}");
    }
}
