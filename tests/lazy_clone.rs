//! A lazy clone against real git over HTTP: what is asked for, how often, what comes back,
//! and what is left of it when something goes wrong.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

#[path = "lazy_clone/bounds.rs"]
mod bounds;
#[path = "lazy_clone/budgets.rs"]
mod budgets;
#[path = "lazy_clone/client.rs"]
mod client;
#[path = "lazy_clone/costs.rs"]
mod costs;
#[path = "lazy_clone/evictions.rs"]
mod evictions;
#[path = "lazy_clone/failures.rs"]
mod failures;
#[path = "lazy_clone/hosts.rs"]
mod hosts;
#[path = "lazy_clone/moved.rs"]
mod moved;
#[path = "lazy_clone/names.rs"]
mod names;
#[path = "support/pack_builder.rs"]
mod pack_builder;
#[path = "lazy_clone/refresh.rs"]
mod refresh;
#[path = "lazy_clone/sharing.rs"]
mod sharing;
#[path = "support/mod.rs"]
mod support;
