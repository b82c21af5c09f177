//! The client's side of the conversation, without I/O.

mod conversation;
pub mod transport;

pub use conversation::Conversation;
