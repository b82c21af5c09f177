//! Read remote git repositories without cloning them.
//!
//! A [`Repo`](agent::Repo) learns the refs, fetches only the objects a question needs,
//! keeps them in memory under one [`Budget`], and answers about one pinned commit, the
//! [`Snapshot`](agent::Snapshot): read a path, list a folder, walk, glob, grep.
//!
//! ```no_run
//! # #[cfg(feature = "http-client")]
//! # async fn example() -> Result<(), gitsip::Error> {
//! use gitsip::agent::{ReadAnswer, ReadOptions, RemoteOptions};
//! use gitsip::view::grep::{GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
//!
//! let repo = gitsip::open("https://github.com/git/git", RemoteOptions::default()).await?;
//! let snapshot = repo.snapshot("HEAD").await?;
//! if let ReadAnswer::File(file) = snapshot.read_path("Makefile", ReadOptions::default()).await? {
//!     println!("blob {} at commit {}: {} bytes", file.id, file.commit, file.bytes.len());
//! }
//!
//! struct Print;
//!
//! impl Sink for Print {
//!     fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, gitsip::Error> {
//!         println!("{}:{}", hit.file.path, hit.line_number);
//!         Ok(true)
//!     }
//! }
//!
//! let matcher = Matcher::new(&[PatternSpec::regex("TODO|FIXME")], &MatchOptions::default())?;
//! snapshot.grep(matcher, GrepOptions::default(), &mut Print).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # A map of the crate
//!
//! Imports go down this list only; a test holds them to it.
//!
//! - **Faces and the world**: the command line, `transport` (HTTP by reqwest), `disk`
//!   (local repositories), `parallel` (threads). Each is a feature.
//! - [`agent`]: the facade above and the one async driver, generic over a
//!   [`Transport`](client::transport::Transport).
//! - [`client`] and [`server`]: conversations from both ends, without I/O.
//! - [`graph`]: walks over commits.
//! - [`view`]: reads over any store, plain synchronous functions that return what they
//!   lack as a value.
//! - [`store`] and [`protocol`]: the traits of a store and the one in memory; the messages
//!   of protocol v2 in both directions.
//! - [`pack`], [`object`], [`pktline`]: parsers over bytes, incremental and bounded.
//! - [`error`], [`limits`], [`oid`], [`text`]: what everything speaks.
//!
//! Without features there is no tokio, no file, no socket and no thread: bring a transport
//! of your own, also to WebAssembly.

pub mod agent;
#[cfg(feature = "cli")]
mod cache;
#[cfg(feature = "cli")]
pub mod cli;
pub mod client;
pub mod commit_graph;
#[cfg(feature = "cli")]
mod credentials;
#[cfg(feature = "disk")]
pub mod disk;
pub mod error;
pub mod graph;
pub mod limits;
#[cfg(feature = "cli")]
mod live;
#[cfg(feature = "mcp")]
mod mcp;
pub mod object;
pub mod oid;
pub mod pack;
#[cfg(feature = "parallel")]
pub mod parallel;
pub mod pktline;
pub mod protocol;
pub mod server;
pub mod store;
pub mod text;
pub mod transport;
pub mod view;

pub use error::{Error, ErrorKind, Result};
pub use limits::{Budget, Interrupt, Limits, Workers};
pub use oid::{ObjectFormat, ObjectId};
#[cfg(feature = "http-client")]
pub use transport::open;

/// The README's code compiles.
#[cfg(all(doctest, feature = "http-client"))]
#[doc = include_str!("../README.md")]
struct Readme;
