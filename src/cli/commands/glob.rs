//! `gitsip glob`: which paths match.

use bstr::BString;

use super::entries::{EntryLines, print_files};
use crate::agent::{GlobQuery, Snapshot, Source};
use crate::cli::args;
use crate::cli::output::{Names, Output};
use crate::cli::query;
use crate::error::Error;
use crate::limits::Limits;

/// A glob that was found to be sound.
#[derive(Debug)]
pub(in crate::cli) struct Glob {
    query: GlobQuery,
    names: Names,
}

impl Glob {
    /// Judges `args` before any repository is opened.
    pub(super) fn new(args: &args::Glob, limits: &Limits) -> Result<Self, Error> {
        let query = query::glob(args, &args.common.form);
        query.filter(&query.path, limits)?;
        Ok(Self { query, names: Names::from_null_flag(args.null) })
    }

    /// `folder` is that of the address: what is outside of it is left out.
    pub(super) async fn run<S: Source>(
        &self,
        snapshot: &Snapshot<S>,
        folder: BString,
        out: &Output,
    ) -> Result<bool, Error> {
        let folder = match folder.is_empty() {
            true => folder,
            false => snapshot.ls(folder).await?.resolved_path,
        };
        let filter = self.query.filter(&folder, &Limits::default())?;
        print_files(snapshot, filter, EntryLines { long: false, names: self.names }, out).await
    }
}
