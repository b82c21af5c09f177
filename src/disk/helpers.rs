//! Files that make reads cheaper and that all else works without: one that cannot be used is
//! said so, and passed over.

use std::path::Path;

use bytes::Bytes;

use super::map::map;
use crate::pack::helper::HelperError;

/// What `parse` makes of the file at `path`; `None` when there is none or it is of no use.
pub(super) fn open<T>(
    path: &Path,
    parse: impl FnOnce(Bytes) -> Result<T, HelperError>,
) -> Option<T> {
    let parsed = match map(path) {
        Ok(bytes) => parse(bytes?).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    parsed.map_err(|why| ignore(path, &why)).ok()
}

/// Says that the file at `path` is not used, and why.
pub(super) fn ignore(path: &Path, why: &str) {
    tracing::event!(
        target: "gitsip", tracing::Level::INFO, path = %path.display(), why,
        "{} is not used: {why}", path.display()
    );
}
