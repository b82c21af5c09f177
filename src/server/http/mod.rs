//! Serving over HTTP: a folder of repositories, as `gitsip serve` does it.
//!
//! [`Hosting::handle`] is the whole of it: a plain request in, an answer out whose body is a
//! stream with back pressure. [`listen`](listen::serve) puts it behind a socket; whoever has a
//! server of their own calls `handle` from there, or nests a [`Hosting`], which is a
//! `tower_service::Service` as far as axum is concerned.
//!
//! What computes does so on tokio's blocking threads, and hands pieces of a pack through a
//! channel of a few: a client that reads slowly is waited for, one that is gone ends the work,
//! and memory does not grow with the pack. TLS is the business of a proxy in front.
//!
//! | address | what |
//! |---|---|
//! | `/REPO/info/refs?service=git-upload-pack`, `/REPO/git-upload-pack` | git |
//! | `/healthz` | 200 while the process lives |
//! | `/readyz` | 200 while the folder can be read and nobody asked for an end, else 503 |
//!
//! `REPO` is the path of a repository below the folder, with or without `.git`.

mod body;
mod git;
mod hosting;
pub mod listen;
mod options;
mod problem;
mod record;
mod repositories;
mod request_body;
mod route;
mod work;

pub use body::Body;
pub use hosting::Hosting;
pub use options::HostingOptions;
pub use record::{Handled, Outcome};
