//! gitsip for JavaScript: the library's `agent` behind a `fetch` that the host lends.
//!
//! Types are converted here and futures driven; every question is answered by the
//! library. Questions come in and answers go out as JSON, the same as of every other face;
//! only the bytes of files are handed over as they are. What people call is the package's
//! JavaScript (`js/`), which is also where the web platform's oddities are dealt with.
//!
//! Every export takes `&self` and is over as soon as it has returned its promise, so that
//! calls may overlap, and `free()` in the middle of one takes nothing away from it.

mod failure;
mod host;
mod options;
mod read;
mod repo;
mod reports;
mod saved;
mod stop;
mod transport;

pub use gitsip;
pub use repo::{Repo, open};
pub use stop::Stop;
