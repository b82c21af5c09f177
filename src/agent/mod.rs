//! The public face: a [`Repo`], [`Snapshot`]s of it, and plain results.
//!
//! The only async code below the faces is here: one loop that asks the store, fetches
//! what is missing and asks again.
//!
//! # What is traced
//!
//! With a subscriber of the crate [`tracing`], a program sees what is asked of hosts. The
//! target is `gitsip`; names, levels and fields are stable, messages are for people. No
//! credential, header or body is ever traced.
//!
//! | name | what | level | fields |
//! |---|---|---|---|
//! | `gitsip.open` | span | info | `repo` |
//! | `gitsip.question` | span: all of an [`Ask`] | info | `method`, `repo`, `items`, `requests`, `bytes`, `truncated`, `error` |
//! | `gitsip.refs` | span | info | `prefixes` |
//! | `gitsip.fetch` | span | info | `kind`, `objects` |
//! | `gitsip.sending` | event: a request is sent | debug | `kind`, `objects` |
//! | `gitsip.request` | event: its answer has ended | info | `kind`, `objects`, `status`, `bytes`, `ms`, `error` |
//! | `gitsip.retry` | event: it is sent again, after a while | info | `status`, `wait_ms` |
//! | `gitsip.renewal` | event: it is sent again with other credentials | info | |
//! | `gitsip.redirect` | event: the host leads elsewhere | info | `to` |
//! | `gitsip.fallback` | event: the host does not do its best; a warning when more is sent for it | info or warn | |
//! | `gitsip.wanted` | event: objects are fetched or waited for | debug | `mine`, `others` |
//! | `gitsip.received` | event: objects came | debug | `objects`, `new_objects`, `deltas` |
//!
//! `kind` is that of [`Exchange::kind`], `method` a word of [`Query::METHODS`]. What a question
//! asks for is not traced, and what it came to only when it has ended: `items` found, what it
//! cost, and either `truncated` by [`Truncated::code`] or an `error` by its code. `truncated`,
//! `status` and `error` are left out where there are none.

mod ask;
mod climb;
mod cursor;
mod doctor;
mod drive;
mod exchange;
mod flights;
mod history;
mod noted;
mod plan;
mod prefetch;
mod query;
mod remote;
mod repo;
mod resolve;
mod results;
mod saved;
#[cfg(feature = "schema")]
mod schema;
mod search;
mod shared;
mod sizes;
mod snapshot;
mod source;
mod spending;
mod stop;
mod trace;
mod unsearched;

pub use ask::{AnyAnswer, AnyItem, Ask};
pub use doctor::{DoctorOptions, Examined, MAX_DOCTOR_REQUESTS, examine};
pub use history::{CloneOptions, Cloned};
pub use plan::PlanOptions;
pub use prefetch::PrefetchOptions;
pub use query::*;
pub use remote::{Remote, RemoteOptions};
pub use repo::Repo;
pub use results::*;
pub use saved::Saved;
#[cfg(feature = "schema")]
pub use schema::schema;
pub use snapshot::{ReadOptions, Snapshot};
pub use source::Source;
pub use stop::Stop;
