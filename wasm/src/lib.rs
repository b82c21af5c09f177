//! gitsip for JavaScript.
//!
//! So far this is the core and nothing else, built for wasm32-unknown-unknown so that it
//! stays fit for it: no host function is imported. The `fetch` transport and the
//! bindings belong here.

pub use gitsip;
