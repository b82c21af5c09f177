//! What may be written on the command line, and what each word of it means.
//!
//! Only spelling is judged here. Whether a repository, ref or path exists, and whether a
//! pattern or glob parses, is found out by whoever reads it.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::{Arg, ArgAction, Args, Parser, Subcommand};

use super::network::Network;
use crate::error::{Error, ErrorKind};
use crate::view::lines::LineRange;

/// Read a git repository without cloning it.
#[derive(Debug, Parser)]
#[command(
    name = "gitsip",
    version,
    args_override_self = true,
    disable_help_subcommand = true,
    after_help = TOP_HELP
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Search the files of a commit
    Grep(Box<Grep>),
    /// Print files
    Cat(Cat),
    /// List a folder
    Ls(Ls),
    /// Find files by name
    Glob(Glob),
    /// List branches and tags
    Refs(Refs),
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(super) struct Common {
    /// Environment variable with a token for the host (or user:password)
    #[arg(long, value_name = "NAME")]
    pub(super) token_env: Option<String>,
    /// Give up after this time: 30, 1.5s, 2m
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(super) timeout: Option<Duration>,
    /// Say what it cost in one JSON line on standard error
    #[arg(long)]
    pub(super) stats: bool,
    #[command(flatten)]
    pub(super) network: Network,
}

/// Which commit is read.
#[derive(Clone, Debug, Args)]
pub(super) struct AtRef {
    /// Branch, tag or commit id [default: HEAD, or that of the address]
    #[arg(long = "ref", value_name = "REF")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = REFS_HELP)]
pub(super) struct Refs {
    /// Address as pasted, owner/repo, or local path
    pub(super) repo: OsString,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = LS_HELP)]
pub(super) struct Ls {
    /// Address as pasted, owner/repo, or local path
    pub(super) repo: OsString,
    /// Folder or file in the repository
    #[arg(default_value = "", hide_default_value = true)]
    pub(super) path: OsString,
    /// All files below, at any depth
    #[arg(short, long)]
    pub(super) recursive: bool,
    /// Mode, type, id and size of each, as git ls-tree -l
    #[arg(short, long)]
    pub(super) long: bool,
    /// Names as they are, each ended by a NUL
    #[arg(short = 'z', long)]
    pub(super) null: bool,
    #[command(flatten)]
    pub(super) at: AtRef,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = CAT_HELP)]
pub(super) struct Cat {
    /// Address as pasted, owner/repo, or local path
    pub(super) repo: OsString,
    /// Files in the repository; may be left out when the address names one
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<OsString>,
    /// Only lines A to B, counted from 1: A:B, A:, :B or A
    #[arg(long, value_name = "A:B")]
    pub(super) lines: Option<LineRange>,
    #[command(flatten)]
    pub(super) at: AtRef,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
#[command(args_override_self = true, after_help = GLOB_HELP)]
pub(super) struct Glob {
    /// Address as pasted, owner/repo, or local path
    pub(super) repo: OsString,
    /// Such as '*.rs', 'src/**/*.c' or 'docs/'
    pub(super) pattern: String,
    /// Names as they are, each ended by a NUL
    #[arg(short = 'z', long)]
    pub(super) null: bool,
    #[command(flatten)]
    pub(super) at: AtRef,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    override_usage = "gitsip grep [OPTIONS] REPO PATTERN [PATH]...\n       \
                      gitsip grep [OPTIONS] REPO -e PATTERN... [PATH]...",
    after_help = GREP_HELP,
    args(habits())
)]
pub(super) struct Grep {
    /// Address as pasted, owner/repo, or local path
    pub(super) repo: OsString,
    /// A regular expression (Rust's), then files or folders to stay in
    #[arg(value_name = "PATTERN [PATH]")]
    rest: Vec<OsString>,
    /// A pattern; may be repeated, any of them matches
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN", allow_hyphen_values = true)]
    patterns: Vec<OsString>,
    /// Patterns are plain text
    #[arg(short = 'F', long)]
    pub(super) fixed_strings: bool,
    /// Upper and lower case are the same
    #[arg(short, long)]
    pub(super) ignore_case: bool,
    /// The same, unless a pattern has an upper-case letter
    #[arg(short = 'S', long)]
    pub(super) smart_case: bool,
    /// Only whole words
    #[arg(short, long)]
    pub(super) word_regexp: bool,
    /// The lines that do not match
    #[arg(short = 'v', long)]
    pub(super) invert_match: bool,
    /// Only what matches, each match on its own line
    #[arg(short, long)]
    pub(super) only_matching: bool,
    /// How many lines match in each file
    #[arg(short, long)]
    pub(super) count: bool,
    /// Only the names of files that match
    #[arg(short = 'l', long, alias = "name-only")]
    pub(super) files_with_matches: bool,
    /// Search binary files too
    #[arg(short = 'a', long, overrides_with = "skip_binary")]
    pub(super) text: bool,
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
    pub(super) max_count: Option<u64>,
    /// Only files whose path matches; '!GLOB' leaves out
    #[arg(short, long = "glob", value_name = "GLOB", allow_hyphen_values = true)]
    pub(super) globs: Vec<String>,
    /// Names as they are, each followed by a NUL
    #[arg(short = 'z', long)]
    pub(super) null: bool,
    #[command(flatten)]
    pub(super) at: AtRef,
    #[command(flatten)]
    pub(super) common: Common,
}

impl Grep {
    /// The patterns, and the paths to stay in. With `-e` every word after the repository
    /// is a path, as in git and ripgrep.
    pub(super) fn patterns_and_paths(&self) -> Result<(&[OsString], &[OsString]), Error> {
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
    pub(super) fn context_lines(&self) -> (usize, usize) {
        let lines = |own: Option<u32>| {
            usize::try_from(own.or(self.context).unwrap_or(0)).unwrap_or(usize::MAX)
        };
        (lines(self.before_context), lines(self.after_context))
    }
}

impl Command {
    /// The repository that is asked about.
    pub(super) fn repo(&self) -> &OsStr {
        match self {
            Self::Cat(cat) => &cat.repo,
            Self::Glob(glob) => &glob.repo,
            Self::Grep(grep) => &grep.repo,
            Self::Ls(ls) => &ls.repo,
            Self::Refs(refs) => &refs.repo,
        }
    }

    /// The ref that is named beside the repository.
    pub(super) fn at(&self) -> Option<&str> {
        match self {
            Self::Cat(cat) => cat.at.name.as_deref(),
            Self::Glob(glob) => glob.at.name.as_deref(),
            Self::Grep(grep) => grep.at.name.as_deref(),
            Self::Ls(ls) => ls.at.name.as_deref(),
            Self::Refs(_) => None,
        }
    }

    pub(super) fn common(&self) -> &Common {
        match self {
            Self::Cat(cat) => &cat.common,
            Self::Glob(glob) => &glob.common,
            Self::Grep(grep) => &grep.common,
            Self::Ls(ls) => &ls.common,
            Self::Refs(refs) => &refs.common,
        }
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
        Arg::new("skip_binary")
            .short('I')
            .action(ArgAction::SetTrue)
            .overrides_with("text")
            .hide(true),
    ]
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds_per_unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write seconds, or a number with ms, s, m or h".to_owned()),
    };
    let seconds: f64 = number.parse().map_err(|_| format!("'{number}' is no number"))?;
    match Duration::try_from_secs_f64(seconds * seconds_per_unit) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("it must be more than nothing".to_owned()),
    }
}

const TOP_HELP: &str = "\
REPO comes first: an http(s) address, owner/repo on github.com, or a local path. A local
repository is read at its HEAD commit, not as the working tree is. --ref names another
branch, tag or commit. A page's address, as a browser shows it, also says ref, path and
lines; --ref, PATH and --lines win over it. Nothing is written to disk.

Private repositories: --token-env NAME, else GITSIP_TOKEN, user:password@ in the address,
~/.netrc; and git's credential helpers, asked when the host refuses what it was sent.

Examples:
  gitsip grep https://github.com/git/git 'TODO|FIXME' builtin
  gitsip cat https://github.com/git/git README.md --lines 1:20
  gitsip ls . src
  gitsip glob . '*.rs'
  gitsip refs .

'gitsip COMMAND --help' has the options of each.
Exit: 0 found, 1 nothing found, 2 usage, 3 not found, 4 auth, 5 transport, 6 limit,
7 corrupt, 8 rate limited, 9 unsupported, 10 deadline, 11 conflict, 12 I/O, 130 interrupted.";

const GREP_HELP: &str = "\
Prints path:line:text, as git grep -n -I -E does at HEAD. A local path is read at its HEAD
commit, not the working tree. Binary files are skipped. -n -r -E -H -I are accepted.

Examples:
  gitsip grep . 'fn main'
  gitsip grep . -iw todo src -g '*.rs' -C 2
  gitsip grep . -l -F 'a[0]'";

const CAT_HELP: &str = "\
A local path is read at its HEAD commit, not the working tree. Links are followed inside
the repository. The address of a file's page, such as
https://github.com/OWNER/REPO/blob/REF/PATH#L10-L20, says what to print.

Examples:
  gitsip cat . README.md
  gitsip cat . README.md --lines 1:5";

const LS_HELP: &str = "\
Paths are from the root; folders end with a slash. A local path is read at its HEAD commit,
not the working tree. Sizes are shown where they cost nothing.

Examples:
  gitsip ls .
  gitsip ls . src -l
  gitsip ls . -r";

const GLOB_HELP: &str = "\
A pattern without a slash is a name at any depth; ** crosses folders. A local path is read
at its HEAD commit, not the working tree.

Examples:
  gitsip glob . '*.md'
  gitsip glob . 'src/**/*.rs'";

const REFS_HELP: &str = "\
Prints id, tab, name, as git ls-remote does; NAME^{} is what an annotated tag points to.

Example:
  gitsip refs .";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn grep(words: &[&str]) -> Grep {
        let all = ["gitsip", "grep"].iter().chain(words);
        match Cli::try_parse_from(all).unwrap().command {
            Command::Grep(grep) => *grep,
            other => panic!("{other:?}"),
        }
    }

    fn patterns_and_paths(words: &[&str]) -> (Vec<OsString>, Vec<OsString>) {
        let grep = grep(words);
        let (patterns, paths) = grep.patterns_and_paths().unwrap();
        (patterns.to_vec(), paths.to_vec())
    }

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
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

    #[test]
    fn times_have_units() {
        let millis = |text| parse_time(text).map(|time| time.as_millis());
        assert_eq!(millis("30"), Ok(30_000));
        assert_eq!(millis("1.5s"), Ok(1_500));
        assert_eq!(millis("250ms"), Ok(250));
        assert_eq!(millis("2m"), Ok(120_000));
        assert_eq!(millis("1h"), Ok(3_600_000));
        for bad in ["", "0", "-1", "s", "1d", "1e400", "nan", "inf", "1 s"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn help_fits_a_screen() {
        use clap::CommandFactory as _;
        let mut top = Cli::command();
        let names: Vec<String> =
            top.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        let mut texts = vec![top.render_help().to_string()];
        for name in names {
            let command = top.find_subcommand_mut(&name).unwrap();
            texts.push(command.render_help().to_string());
        }
        for text in texts {
            assert!(text.lines().count() <= 44, "{text}");
            assert!(text.lines().all(|line| line.len() <= 96), "{text}");
            assert!(text.contains("HEAD") || text.contains("ls-remote"), "{text}");
        }
    }
}
