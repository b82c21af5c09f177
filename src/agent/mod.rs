//! The public face: a [`Repo`], [`Snapshot`]s of it, and plain results.
//!
//! The only async code below the faces is here: one loop that asks the store, fetches
//! what is missing and asks again.

mod drive;
mod remote;
mod repo;
mod resolve;
mod results;
mod snapshot;
mod source;

pub use remote::{Remote, RemoteOptions};
pub use repo::Repo;
pub use results::*;
pub use snapshot::{PrefetchOptions, ReadOptions, Snapshot};
pub use source::Source;
