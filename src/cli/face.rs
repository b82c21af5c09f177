//! The other faces that this command starts: those that answer many questions.

use clap::Subcommand;

use super::args::Mcp;
use super::mcp;
use crate::error::Error;

/// A face to start.
#[derive(Debug, Subcommand)]
pub(super) enum Face {
    /// Serve agents: the Model Context Protocol
    Mcp(Mcp),
}

/// Runs it to its end; its exit status.
///
/// # Errors
/// What keeps it from running.
pub(super) fn run(face: Face) -> Result<u8, Error> {
    match face {
        Face::Mcp(args) => mcp::run(&args),
    }
}
