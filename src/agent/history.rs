//! Clones in git's sense, into memory: history to a depth or all of it, with a filter or
//! whole.
//!
//! A lazy read never needs this. It is for callers that know that they will look at
//! history, and it shares nothing with what is held: the host sends everything asked for.

use std::num::NonZeroU32;

use crate::client::lazy;
use crate::client::transport::Transport;
use crate::error::{Error, ErrorKind};
use crate::oid::ObjectId;
use crate::protocol::Filter;
use crate::store::Objects as _;

use super::remote::Remote;
use super::source::Source as _;

/// How much a clone brings; everything by default.
#[derive(Clone, Debug, Default)]
pub struct CloneOptions {
    /// Commits of history, counted from each tip.
    pub depth: Option<NonZeroU32>,
    /// What is left out; it is fetched later when something needs it.
    pub filter: Option<Filter>,
}

/// What a clone brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloned {
    /// Objects that were not held before.
    pub new_objects: u64,
    /// Commits whose parents the host left out.
    pub shallow: Vec<ObjectId>,
    /// The host cannot filter, and sent what was to be left out.
    pub filter_ignored: bool,
}

impl<T: Transport> Remote<T> {
    /// Brings `tips` with their history in one request.
    ///
    /// ```no_run
    /// # async fn example<T: gitsip::client::transport::Transport>(
    /// #     remote: gitsip::agent::Remote<T>,
    /// #     tip: gitsip::ObjectId,
    /// # ) -> Result<(), gitsip::Error> {
    /// use gitsip::agent::CloneOptions;
    /// use gitsip::protocol::Filter;
    ///
    /// let options = CloneOptions { filter: Some(Filter::BlobNone), ..CloneOptions::default() };
    /// let cloned = remote.clone_history(&[tip], &options).await?;
    /// println!("{} commits and trees", cloned.new_objects);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Usage` without a tip; `Unsupported` when a depth is asked of a host that cannot cut
    /// history; `NotFound` with code `not_our_ref` for a tip that the host does not have;
    /// `Limit`, and those of the transfer.
    pub async fn clone_history(
        &self,
        tips: &[ObjectId],
        options: &CloneOptions,
    ) -> Result<Cloned, Error> {
        let features = self.features();
        if tips.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "a clone needs a commit to begin with"));
        }
        if options.depth.is_some() && !features.shallow {
            let why = format!("{} cannot cut history: clone without a depth", self.address());
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        let request = lazy::history(tips.to_vec(), options.depth, options.filter.clone(), features);
        let mut fetched = self.fetch_request(&request).await?;
        for id in self.boundary() {
            if !fetched.shallow.contains(&id) && self.store().contains(&id)? {
                fetched.shallow.push(id);
            }
        }
        // Later commits join these when no tree of them was left out.
        if matches!(request.filter, None | Some(Filter::BlobLimit(_) | Filter::BlobNone)) {
            self.remember(&request.wants)?;
        }
        Ok(Cloned {
            new_objects: fetched.committed.new_objects,
            shallow: fetched.shallow,
            filter_ignored: options.filter.is_some() && !features.filter,
        })
    }
}
