//! Read remote git repositories without cloning them.

pub mod agent;
#[cfg(feature = "cli")]
pub mod cli;
pub mod client;
#[cfg(feature = "disk")]
pub mod disk;
pub mod error;
pub mod limits;
pub mod object;
pub mod oid;
pub mod pack;
pub mod pktline;
pub mod protocol;
pub mod store;
pub mod text;
pub mod transport;
pub mod view;

pub use error::{Error, ErrorKind, Result};
pub use limits::{Budget, Interrupt, Limits, Workers};
pub use oid::{ObjectFormat, ObjectId};
