//! The client's side of the conversation, without I/O: addresses and credentials, requests,
//! and what is done with the bytes of each response.

pub mod address;
pub mod allowance;
pub mod conversation;
pub mod credentials;
pub mod doctor;
pub mod journal;
pub mod ladder;
pub mod lazy;
pub mod old_host;
pub mod pasted;
pub mod policy;
pub mod progress;
pub mod requests;
pub mod retry;
pub mod sample;
pub mod transport;

pub use conversation::Conversation;
