//! Serving over HTTP: a folder of repositories, as `gitsip serve` does it.
//!
//! [`Hosting::handle`] is the whole of it: a plain request in, an answer out whose body is a
//! stream with back pressure. [`listen`](listen::serve) puts it behind a socket; whoever has a
//! server of their own calls `handle` from there, or hands a [`Hosting`] to axum as the
//! `tower_service::Service` that it is: `Router::new().nest_service("/git", hosting)`.
//!
//! What computes does so on tokio's blocking threads, and hands pieces of a pack through a
//! channel of a few: a client that reads slowly is waited for, one that is gone ends the work,
//! and memory does not grow with the pack. TLS is the business of a proxy in front.
//!
//! | address | what |
//! |---|---|
//! | `/REPO/info/refs?service=git-upload-pack`, `/REPO/git-upload-pack` | git |
//! | `/REPO/-/raw/REF/PATH` | a file as it is, with its blob's id as `ETag` |
//! | `/REPO/-/ls/REF/PATH` | a folder as JSON; `?recursive=1`, `limit`, `cursor` |
//! | `/REPO/-/grep?q=` | lines as JSON; see below |
//! | `/proxy/HOST/PATH/info/refs`, `/?https://HOST/PATH/info/refs`, and so on | git, of hosts that `ListedHosts` has |
//! | `/` | a page of all repositories |
//! | `/metrics` | counters for Prometheus, whose names [`metrics`] lists |
//! | `/healthz` | 200 while the process lives |
//! | `/readyz` | 200 while the folder can be read and nobody asked for an end, else 503 |
//!
//! `REPO` is the path of a repository below the folder, with or without `.git`. A search also
//! takes `ref`, `path`, `glob` and `type`, each but the first any number of times, the switches
//! `fixed`, `ignore_case` and `word`, and `limit` and `cursor`.

mod auth;
mod auth_file;
mod body;
pub(crate) mod connection;
mod cors;
mod git;
mod host;
mod hosting;
#[cfg(feature = "http-client")]
mod listed_hosts;
pub mod listen;
pub mod metrics;
mod options;
mod page;
mod problem;
#[cfg_attr(not(feature = "http-client"), allow(dead_code, reason = "nothing connects then"))]
mod proxy;
mod read;
mod record;
mod repositories;
mod request_body;
mod route;
mod service;
mod source;
mod work;

pub use auth::{Authorizer, Deciding, Presented, Principal};
pub use auth_file::AuthFile;
pub use body::{Body, BrokenOff};
pub use hosting::Hosting;
#[cfg(feature = "http-client")]
pub use listed_hosts::ListedHosts;
pub use options::HostingOptions;
pub use record::{Handled, Kind, Outcome};
