//! What may be written on the command line, and what each word of it means.
//!
//! Only spelling is judged here. Whether a repository, ref or path exists, and whether a
//! pattern or glob parses, is found out by whoever reads it.

mod cat;
mod common;
mod glob;
mod grep;
mod ls;
mod refs;

use std::ffi::OsStr;

use clap::{Parser, Subcommand};

pub(super) use cat::Cat;
pub(super) use common::{AtRef, Common};
pub(super) use glob::Glob;
pub(super) use grep::Grep;
pub(super) use ls::Ls;
pub(super) use refs::Refs;

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
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
