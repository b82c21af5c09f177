//! No other face: this command was built without them.

use clap::Subcommand;

use crate::error::Error;

/// None.
#[derive(Debug, Subcommand)]
pub(super) enum Face {}

/// Never called.
///
/// # Errors
/// None.
pub(super) fn run(face: Face) -> Result<u8, Error> {
    match face {}
}
