//! Serving: what a client of upload-pack asks for, answered from any store, without I/O.
//!
//! [`UploadPack`] takes requests as bytes and gives answers as pieces of bytes, of which none
//! is larger than a few entries of a pack; HTTP and standard input are the business of whoever
//! drives it. It reads through [`Objects`](crate::store::Objects) and
//! [`Refs`](crate::store::Refs), so that a repository on disk and one in memory are served
//! alike.

mod answer;
mod boundary;
mod encoded;
mod fetch;
mod filter_rule;
#[cfg(test)]
mod fixture;
#[cfg(feature = "serve")]
pub mod http;
mod known;
mod life_signs;
mod object_info;
mod old_upload_pack;
mod options;
mod pack_stream;
mod placed;
mod refusal;
mod restrictions;
mod select;
mod served;
#[cfg(feature = "disk")]
pub mod stdio;
mod talk;
mod upload_pack;
mod wants;

pub use answer::Answer;
pub use known::KnownSets;
pub use old_upload_pack::OldUploadPack;
pub use options::ServeOptions;
pub use pack_stream::PackWork;
pub use refusal::Refusal;
pub use served::Served;
pub use talk::{Outlet, Talk, Talked, converse};
pub use upload_pack::UploadPack;
