//! The networks that conversations run over.
//!
//! What a network must do is said by the trait
//! [`Transport`](crate::client::transport::Transport); here are its implementations for
//! native programs, and one that needs no network. The browser's lives beside its bindings.

#[cfg(feature = "http-client")]
mod failure;
#[cfg(any(feature = "http-client", feature = "serve"))]
pub(crate) mod gzip;
#[cfg(feature = "http-client")]
mod http;
mod in_process;
#[cfg(feature = "http-client")]
mod open;
#[cfg(all(feature = "http-client", feature = "serve"))]
mod passing;
#[cfg(feature = "http-client")]
mod pump;
#[cfg(feature = "http-client")]
mod resolve;
#[cfg(feature = "http-client")]
mod tls;

#[cfg(feature = "http-client")]
pub use http::{HttpBody, HttpOptions, HttpTransport};
pub use in_process::{InProcess, Unanswered};
#[cfg(feature = "http-client")]
pub use open::{HttpRepo, open};
#[cfg(feature = "http-client")]
pub use resolve::Resolver;

#[cfg(all(test, feature = "http-client"))]
mod tests;
