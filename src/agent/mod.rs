//! The public face: a [`Repo`], [`Snapshot`]s of it, and plain results.
//!
//! The only async code below the faces is here: one loop that asks the store, fetches
//! what is missing and asks again.

mod climb;
mod drive;
mod exchange;
mod flights;
mod history;
mod prefetch;
mod remote;
mod repo;
mod resolve;
mod results;
mod snapshot;
mod source;

pub use history::{CloneOptions, Cloned};
pub use prefetch::PrefetchOptions;
pub use remote::{Remote, RemoteOptions};
pub use repo::Repo;
pub use results::*;
pub use snapshot::{ReadOptions, Snapshot};
pub use source::Source;
