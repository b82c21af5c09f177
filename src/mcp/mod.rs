//! `gitsip mcp`: the reads of [`agent`](crate::agent) as tools of the Model Context Protocol,
//! over standard input and output or over HTTP.
//!
//! Six tools, all of which only read: `git_refs`, `git_ls`, `git_tree`, `git_read`,
//! `git_glob` and `git_grep`. Their arguments are the questions of `agent` and the name of a
//! repository, and their structured answers are those of `agent` as they are; beside each
//! stands a text form for models. Deliberately absent: prompts, subscriptions, and files of
//! this machine.
//!
//! Whoever calls may have been told what to ask by a stranger's text. So repositories are
//! looked for at public addresses only, a token goes to the hosts that it is for, a reply has
//! a size, and what comes from a repository is marked as data in a way that it cannot forge.

mod call;
mod fence;
mod http;
mod reply;
mod schema;
mod server;
mod stdio;
mod text;
mod tools;
mod uri;

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::Error;
use crate::live::Live;

use self::server::Server;

/// How the server answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerOptions {
    /// When a call ends with what it has found.
    pub(crate) timeout: Option<Duration>,
    /// The most bytes of a reply that does not ask for another size.
    pub(crate) max_reply_bytes: usize,
}

/// Where clients come from.
#[derive(Clone, Debug)]
pub(crate) struct Listen {
    /// Where to listen.
    pub(crate) address: SocketAddr,
    /// The names that clients may call it by, beside those of this machine.
    pub(crate) names: Vec<String>,
}

/// Bytes of a reply: about 10,000 tokens, at which clients begin to warn.
pub(crate) const DEFAULT_REPLY_BYTES: usize = 40_000;

/// Serves one client over standard input and output, until the input ends or nobody reads the
/// output.
///
/// # Errors
/// `Malformed` for a client that does not begin as the protocol wants it, `Io` when the output
/// cannot be written.
pub(crate) async fn serve_stdio(live: Live, options: ServerOptions) -> Result<(), Error> {
    Box::pin(stdio::serve(Server::new(live, options))).await
}

/// Serves clients over HTTP, until it is dropped. `ready` is told the address once it
/// listens.
///
/// # Errors
/// `Io` when nobody can listen there.
pub(crate) async fn serve_http(
    live: Live,
    options: ServerOptions,
    listen: Listen,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    Box::pin(http::serve(Server::new(live, options), listen, ready)).await
}
