//! What tests, benches and examples' checks share: the real `git` in a sealed
//! environment, and an HTTP server over `git http-backend` that records and can
//! misbehave.
//!
//! A bench includes it with `#[path = "../tests/support/mod.rs"] mod support;`.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test uses its own part of it")]
#![allow(clippy::unwrap_used, reason = "a helper that fails should end the test")]

pub mod corpus;
pub mod git;
pub mod http_server;
pub mod loaded;
#[cfg(feature = "http-client")]
pub mod runtime;
#[cfg(feature = "cli")]
pub mod world;
