//! `gitsip mcp` as its clients meet it: the SDK's own client over both transports, replies
//! word for word, and whatever may go wrong.

#![allow(clippy::unwrap_used)]

#[path = "mcp/client.rs"]
mod client;
#[path = "mcp/golden.rs"]
mod golden;
#[path = "mcp/over_http.rs"]
mod over_http;
#[path = "mcp/replay.rs"]
mod replay;
#[path = "mcp/sizes.rs"]
mod sizes;
#[path = "support/mod.rs"]
mod support;
#[path = "mcp/talk.rs"]
mod talk;
#[path = "mcp/transfers.rs"]
mod transfers;
#[path = "mcp/trouble.rs"]
mod trouble;
