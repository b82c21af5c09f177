//! Which files a question about some of them means, for searches and their plans alike.

use bstr::BString;

use super::super::snapshot::Snapshot;
use super::super::source::Source;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::view::file_types;
use crate::view::glob::PathFilter;

/// The files that a search of these reads.
///
/// # Errors
/// `Usage` for globs, paths and types that are none.
pub(super) fn filter_of(
    globs: &[String],
    names: &[String],
    types: &[String],
    paths: &[BString],
    limits: &Limits,
) -> Result<PathFilter, Error> {
    let filter = PathFilter::new(globs, paths, limits)?;
    let names = [file_types::globs(types)?, names.to_vec()].concat();
    Ok(filter.with_names(&names)?)
}

/// A path that is not there is a slip of the pen, not a search without a hit.
///
/// # Errors
/// `NotFound` for the first that is not.
pub(super) async fn check_paths<S: Source>(
    snapshot: &Snapshot<S>,
    paths: &[BString],
    filter: &PathFilter,
) -> Result<(), Error> {
    if filter.is_unrestricted() {
        // It is one request, unless its folders are asked for first.
        return Ok(());
    }
    for path in paths {
        match snapshot.stat(path).await {
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && path.iter().any(|byte| b"*?[".contains(byte)) =>
            {
                let context = format!("{}; for a pattern of paths use globs", error.context());
                let code = error.code();
                return Err(Error::new(ErrorKind::NotFound, context)
                    .with_code(code)
                    .with_source(error));
            }
            other => drop(other?),
        }
    }
    Ok(())
}
