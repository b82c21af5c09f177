//! Every kind of host there is, as far as its answers are known, and every way to
//! misbehave that the test server has: each operation gives git's own answer, or one clear
//! error. In the same process and over a real socket.

#![allow(clippy::unwrap_used)]

#[path = "profiles/backends.rs"]
mod backends;
#[path = "profiles/hosts.rs"]
mod hosts;
#[path = "profiles/knobs.rs"]
mod knobs;
#[path = "profiles/operations.rs"]
mod operations;
#[cfg(feature = "http-client")]
#[path = "profiles/over_a_socket.rs"]
mod over_a_socket;
#[path = "support/mod.rs"]
mod support;
