//! What a person sees of a command beside its answer: progress on a terminal and in lines,
//! what was asked of the host in words, and what it cost. Standard output is the same with
//! and without.

#![allow(clippy::unwrap_used)]

#[path = "watching/lines.rs"]
mod lines;
mod support;
#[path = "watching/terminal.rs"]
mod terminal;
