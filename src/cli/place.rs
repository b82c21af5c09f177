//! Which commit a command reads, and where in it: what is written on the command line, else
//! what the address of a page says, else the root at `HEAD`.

use bstr::BString;

use super::args::Command;
use crate::agent::{Repo, Snapshot, Source};
use crate::client::pasted::{Pasted, Rest};
use crate::error::Error;
use crate::view::lines::LineRange;

/// What a command line and an address say together. One wins over the other word by word.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The ref of the command line.
    at: Option<String>,
    /// Ref and path of the address.
    rest: Option<Rest>,
    /// The lines that the address points at in its path.
    pub(super) lines: Option<LineRange>,
}

impl Place {
    pub(super) fn new(command: &Command, pasted: Option<&Pasted>) -> Self {
        Self {
            at: command.at().map(str::to_owned),
            rest: pasted.and_then(|pasted| pasted.rest.clone()),
            lines: pasted.and_then(|pasted| pasted.lines),
        }
    }

    /// The ref, when nothing of the address is needed to know it.
    pub(super) fn written(&self) -> Option<&str> {
        match (&self.at, &self.rest) {
            (Some(at), None) => Some(at),
            (None, None) => Some("HEAD"),
            (_, Some(_)) => None,
        }
    }

    /// Whether the address may name a path; it does not when all of it is the ref.
    pub(super) fn may_have_path(&self) -> bool {
        self.rest.is_some()
    }

    /// The commit, and the path of the address, which is empty when it names none.
    pub(super) async fn open<S: Source>(
        &self,
        repo: &Repo<S>,
    ) -> Result<(Snapshot<S>, BString), Error> {
        let (at, path) = match (self.at.as_deref(), &self.rest) {
            (None, Some(rest)) => return repo.snapshot_at(rest).await,
            (Some(at), Some(rest)) => (at, repo.snapshot_at(rest).await?.1),
            (at, None) => (at.unwrap_or("HEAD"), BString::default()),
        };
        Ok((repo.snapshot(at).await?, path))
    }
}
