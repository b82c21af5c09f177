//! `gitsip grep`.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, Args};

use super::{AtRef, Common, Types};
use crate::cli::color::When;
use crate::error::{Error, ErrorKind};

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    override_usage = "gitsip grep [OPTIONS] REPO PATTERN [PATH]...\n       \
                      gitsip grep [OPTIONS] REPO -e PATTERN... [PATH]...",
    after_help = GREP_HELP,
    args(habits()),
    // Its short form inverts, as in every grep.
    mut_arg("verbose", |verbose| verbose.short(Resettable::Reset))
)]
pub(in crate::cli) struct Grep {
    /// Address as pasted, owner/repo, or local path
    #[arg(
        required = false,
        required_unless_present = "type_list",
        default_value_if("type_list", "true", "")
    )]
    pub(in crate::cli) repo: OsString,
    /// A regular expression (Rust's), then paths to stay in
    #[arg(value_name = "PATTERN [PATH]")]
    rest: Vec<OsString>,
    /// A pattern; may be repeated, any of them matches
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN", allow_hyphen_values = true)]
    patterns: Vec<OsString>,
    /// Patterns are plain text
    #[arg(short = 'F', long)]
    pub(in crate::cli) fixed_strings: bool,
    /// Upper and lower case are the same
    #[arg(short, long)]
    pub(in crate::cli) ignore_case: bool,
    /// The same, unless a pattern has upper case
    #[arg(short = 'S', long)]
    pub(in crate::cli) smart_case: bool,
    /// Only whole words
    #[arg(short, long)]
    pub(in crate::cli) word_regexp: bool,
    /// Matches may span lines; . still stays in one
    #[arg(short = 'U', long)]
    pub(in crate::cli) multiline: bool,
    /// The lines that do not match
    #[arg(short = 'v', long)]
    pub(in crate::cli) invert_match: bool,
    /// Only what matches, one match a line
    #[arg(short, long)]
    pub(in crate::cli) only_matching: bool,
    /// How many lines match in each file
    #[arg(short, long)]
    pub(in crate::cli) count: bool,
    /// Only the names of files that match
    #[arg(short = 'l', long, alias = "name-only")]
    pub(in crate::cli) files_with_matches: bool,
    /// Print nothing; the exit status says it
    #[arg(short, long)]
    pub(in crate::cli) quiet: bool,
    /// Search binary files too
    #[arg(short = 'a', long, overrides_with = "skip_binary")]
    pub(in crate::cli) text: bool,
    /// Lines of context after each match
    #[arg(short = 'A', long, value_name = "N")]
    after_context: Option<u32>,
    /// Lines of context before each match
    #[arg(short = 'B', long, value_name = "N")]
    before_context: Option<u32>,
    /// Lines of context on both sides
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<u32>,
    /// At most N matching lines of each file
    #[arg(short, long, value_name = "N")]
    pub(in crate::cli) max_count: Option<u64>,
    /// Only paths that match; '!GLOB' leaves out
    #[arg(short, long = "glob", value_name = "GLOB", allow_hyphen_values = true)]
    pub(in crate::cli) globs: Vec<String>,
    /// At most N lines in all (files, with -l and -c)
    #[arg(long, value_name = "N")]
    pub(in crate::cli) max_total: Option<u64>,
    /// Cut longer lines around what matches
    #[arg(short = 'M', long, value_name = "N")]
    pub(in crate::cli) max_columns: Option<usize>,
    #[command(flatten)]
    pub(in crate::cli) types: Types,
    /// Say what the search would cost, and fetch no file
    #[arg(long)]
    pub(in crate::cli) plan: bool,
    /// Say which types there are
    #[arg(long)]
    pub(in crate::cli) type_list: bool,
    /// auto (on a terminal), always or never
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(in crate::cli) color: When,
    /// Names on lines of their own
    #[arg(long, overrides_with = "no-heading")]
    pub(in crate::cli) heading: bool,
    /// Names unquoted, each followed by a NUL
    #[arg(short = 'z', long)]
    pub(in crate::cli) null: bool,
    #[command(flatten)]
    pub(in crate::cli) at: AtRef,
    #[command(flatten)]
    pub(in crate::cli) common: Common,
}

impl Grep {
    /// The patterns, and the paths to stay in. With `-e` every word after the repository
    /// is a path, as in git and ripgrep.
    pub(in crate::cli) fn patterns_and_paths(&self) -> Result<(&[OsString], &[OsString]), Error> {
        if !self.patterns.is_empty() {
            return Ok((&self.patterns, &self.rest));
        }
        match self.rest.split_at_checked(1) {
            Some(split) => Ok(split),
            None => Err(Error::new(
                ErrorKind::Usage,
                "no pattern given; write it after the repository: gitsip grep REPO PATTERN",
            )),
        }
    }

    /// Lines of context before and after a hit: `-A` and `-B` say more than `-C`.
    pub(in crate::cli) fn context_lines(&self) -> (usize, usize) {
        let lines = |own: Option<u32>| {
            usize::try_from(own.or(self.context).unwrap_or(0)).unwrap_or(usize::MAX)
        };
        (lines(self.before_context), lines(self.after_context))
    }
}

/// What is written by habit of git or ripgrep and changes nothing here.
fn habits() -> Vec<Arg> {
    let quiet = |id: &'static str, short: char| {
        Arg::new(id).short(short).long(id).action(ArgAction::SetTrue).hide(true)
    };
    vec![
        quiet("extended-regexp", 'E'),
        quiet("line-number", 'n'),
        quiet("recursive", 'r').short_alias('R'),
        quiet("with-filename", 'H'),
        Arg::new("no-heading")
            .long("no-heading")
            .action(ArgAction::SetTrue)
            .overrides_with("heading")
            .hide(true),
        Arg::new("skip_binary")
            .short('I')
            .action(ArgAction::SetTrue)
            .overrides_with("text")
            .hide(true),
    ]
}

const GREP_HELP: &str = "\
Prints path:line:text, as git grep -n -I -E does in a bare repository. Binary
files are skipped. -n -r -E -H -I are accepted.

Examples:
  gitsip grep . 'fn main'
  gitsip grep . -iw todo src -g '*.rs' -C 2
  gitsip grep . -t rust -l -F 'a[0]'";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser as _;

    use crate::cli::args::{Cli, Command, Verb};

    fn grep(words: &[&str]) -> Grep {
        let all = ["gitsip", "grep"].iter().chain(words);
        match Cli::try_parse_from(all).unwrap().verb {
            Verb::Read(Command::Grep(grep)) => *grep,
            other => panic!("{other:?}"),
        }
    }

    fn patterns_and_paths(words: &[&str]) -> (Vec<OsString>, Vec<OsString>) {
        let grep = grep(words);
        let (patterns, paths) = grep.patterns_and_paths().unwrap();
        (patterns.to_vec(), paths.to_vec())
    }

    #[test]
    fn the_first_word_is_the_pattern_unless_e_gives_one() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(patterns_and_paths(&[".", "a", "b"]), (words(&["a"]), words(&["b"])));
        assert_eq!(
            patterns_and_paths(&[".", "-e", "-a", "b", "-ec", "d"]),
            (words(&["-a", "c"]), words(&["b", "d"]))
        );
        assert_eq!(patterns_and_paths(&[".", "--", "-a", "-b"]), (words(&["-a"]), words(&["-b"])));
        let missing = grep(&["."]).patterns_and_paths().unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Usage);
    }

    #[test]
    fn flags_of_habit_are_accepted_in_any_number() {
        let grep = grep(&["-nrEHI", "-n", "-R", ".", "x", "-i", "-i", "--line-number"]);
        assert!(grep.ignore_case && !grep.text);
    }

    #[test]
    fn the_last_word_about_binary_files_counts() {
        assert!(grep(&["-I", "-a", ".", "x"]).text);
        assert!(!grep(&["-a", "-I", ".", "x"]).text);
    }

    #[test]
    fn one_sided_context_says_more_than_both_sides() {
        assert_eq!(grep(&[".", "x", "-C2"]).context_lines(), (2, 2));
        assert_eq!(grep(&[".", "x", "-A5", "-C2"]).context_lines(), (2, 5));
        assert_eq!(grep(&[".", "x", "-B", "0", "-C2"]).context_lines(), (0, 2));
        assert_eq!(grep(&[".", "x"]).context_lines(), (0, 0));
    }
}
