//! Does real git get from `gitsip serve` what it gets from its own server, and does nobody get
//! more?

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "serve/browsers.rs"]
mod browsers;
#[path = "serve/clones.rs"]
mod clones;
#[path = "serve/configured.rs"]
mod configured;
#[path = "serving/copy.rs"]
mod copy;
#[path = "serve/embedded.rs"]
mod embedded;
#[allow(dead_code, reason = "each test file uses another part")]
#[path = "serving/history.rs"]
mod history;
#[path = "serve/hostile.rs"]
mod hostile;
#[path = "serve/logins.rs"]
mod logins;
#[path = "serve/process.rs"]
mod process;
#[path = "serve/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "each test file uses another part")]
#[path = "support/raw_server.rs"]
mod raw_server;
#[path = "serve/readers.rs"]
mod readers;
#[path = "serve/server.rs"]
mod server;
mod support;
