//! Networks that are not a clean wire to a patient host: redirects that lead inside, hosts
//! that ask for patience, connections that end early, proxies.

#![cfg(feature = "http-client")]
#![allow(clippy::unwrap_used)]

#[path = "networks/addresses.rs"]
mod addresses;
#[cfg(all(feature = "cli", unix))]
#[path = "networks/documented.rs"]
mod documented;
#[path = "networks/net.rs"]
mod net;
#[path = "networks/patience.rs"]
mod patience;
#[cfg(feature = "cli")]
#[path = "networks/proxies.rs"]
mod proxies;
#[allow(dead_code, reason = "each test file uses another part")]
#[path = "support/raw_server.rs"]
mod raw_server;
#[path = "support/mod.rs"]
mod support;
