//! What may be written on the command line, and what each word of it means.
//!
//! Only spelling is judged here. Whether a repository, ref or path exists, and whether a
//! pattern or glob parses, is found out by whoever reads it.

mod cache;
mod cat;
mod common;
mod doctor;
mod form;
mod glob;
mod grep;
mod help;
mod index_pack;
mod ls;
#[cfg(feature = "mcp")]
mod mcp;
mod refs;
mod serve;
mod session;
mod shell;
mod spend;
mod tree;
mod types;
mod upload_pack;

use std::ffi::OsStr;

use clap::{Parser, Subcommand};

pub(super) use cat::Cat;
pub(super) use common::{AtRef, Common, parse_time};
pub(super) use doctor::Doctor;
pub(super) use form::Form;
pub(super) use glob::Glob;
pub(super) use grep::Grep;
pub(super) use help::{command, words_of_help};
pub(super) use index_pack::IndexPack;
pub(super) use ls::Ls;
#[cfg(feature = "mcp")]
pub(super) use mcp::Mcp;
pub(super) use refs::{Order, Refs};
pub(super) use serve::{LogFormat, Serve};
pub(super) use session::Session;
pub(super) use shell::{Completions, Man};
pub(super) use spend::Spend;
pub(super) use tree::{DEFAULT_MAX_ENTRIES, Tree};
pub(super) use types::Types;
pub(super) use upload_pack::UploadPack;

use super::face::Face;

/// Read a git repository without cloning it.
#[derive(Debug, Parser)]
#[command(
    name = "gitsip",
    version,
    args_override_self = true,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// What to do: read a repository, look at its host, write an index, help a shell, or serve
/// others.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    #[command(flatten)]
    Read(Command),
    /// Find out what a host offers and honours
    Doctor(Doctor),
    /// Print a script that completes commands in a shell
    Completions(Completions),
    /// Print a page of the manual
    Man(Man),
    /// Write the index of a pack
    IndexPack(IndexPack),
    /// Serve a folder of repositories over HTTP
    Serve(Serve),
    /// Answer requests, a line of JSON each
    Session(Session),
    /// Serve one git client on standard input and output
    UploadPack(UploadPack),
    #[command(flatten)]
    Start(Face),
}

impl Verb {
    /// What is said to every command that asks a repository or host.
    pub(super) fn common(&self) -> Option<&Common> {
        match self {
            Self::Read(command) => Some(command.common()),
            Self::Doctor(doctor) => Some(&doctor.common),
            Self::Completions(_)
            | Self::IndexPack(_)
            | Self::Man(_)
            | Self::Serve(_)
            | Self::Session(_)
            | Self::UploadPack(_)
            | Self::Start(_) => None,
        }
    }
}

/// A way to read a repository.
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
    /// Draw folders and count what is in them
    Tree(Tree),
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
            Self::Tree(tree) => &tree.repo,
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
            Self::Tree(tree) => tree.at.name.as_deref(),
        }
    }

    /// Whether nothing but the exit status is asked for.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(self, Self::Grep(grep) if grep.quiet)
    }

    pub(super) fn common(&self) -> &Common {
        match self {
            Self::Cat(cat) => &cat.common,
            Self::Glob(glob) => &glob.common,
            Self::Grep(grep) => &grep.common,
            Self::Ls(ls) => &ls.common,
            Self::Refs(refs) => &refs.common,
            Self::Tree(tree) => &tree.common,
        }
    }
}
