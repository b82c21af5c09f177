//! `gitsip completions` and `gitsip man`, which need no repository.

use clap::Args;
use clap_complete::Shell;

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(in crate::cli) struct Completions {
    /// bash, elvish, fish, powershell or zsh
    #[arg(hide_possible_values = true)]
    pub(in crate::cli) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = MAN_HELP)]
pub(in crate::cli) struct Man {
    /// The command it is about; without, gitsip as a whole
    pub(in crate::cli) command: Option<String>,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  gitsip completions bash
  gitsip completions zsh

Put what is printed where your shell looks: for bash
~/.local/share/bash-completion/completions/gitsip, for fish
~/.config/fish/completions/gitsip.fish, for zsh _gitsip in a folder of $fpath.";

const MAN_HELP: &str = "\
Examples:
  gitsip man
  gitsip man grep";
