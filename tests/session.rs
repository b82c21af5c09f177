//! `gitsip session` as a program meets it: a process, lines in and lines out, and a host
//! that counts.

#![allow(clippy::unwrap_used)]

#[path = "session/client.rs"]
mod client;
#[path = "session/costs.rs"]
mod costs;
#[path = "session/ends.rs"]
mod ends;
#[path = "session/hostile.rs"]
mod hostile;
#[path = "session/lines.rs"]
mod lines;
#[path = "session/memory.rs"]
mod memory;
#[path = "session/stops.rs"]
mod stops;
#[path = "support/mod.rs"]
mod support;
#[path = "session/trouble.rs"]
mod trouble;
