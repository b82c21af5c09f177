//! A repository on disk as something to ask, by the type that this program asks anyway.

use super::options::HostingOptions;
use crate::agent::Repo;
use crate::disk::{Local, Repository};
use crate::limits::Budget;
#[cfg(feature = "cli")]
use crate::live::Anywhere;

/// The source of questions: the one of the command, so that its code is there once.
#[cfg(feature = "cli")]
type Source = Anywhere;
#[cfg(not(feature = "cli"))]
type Source = Local;

#[cfg(feature = "cli")]
fn source(local: Local) -> Source {
    Anywhere::Here(Box::new(local))
}

#[cfg(not(feature = "cli"))]
fn source(local: Local) -> Source {
    local
}

/// `repository`, to be asked within `budget`.
pub(super) fn of(
    repository: &Repository,
    options: &HostingOptions,
    budget: &Budget,
) -> Repo<Source> {
    let local = Local::new(repository.clone(), budget).with_workers(options.workers.clone());
    Repo::new(source(local), options.limits.clone())
}
