//! Why a client gets no answer: what it is told, and what its host is.
//!
//! A client hears of its own mistakes in full. Of what is wrong here it hears that, and
//! nothing about files, paths or memory.

use crate::error::{Error, ErrorKind};
use crate::limits::LimitExceeded;
use crate::protocol::ProtocolError;
use crate::store::StoreError;

/// An error with the words a client may hear.
#[derive(Debug)]
pub struct Refusal {
    words: String,
    error: Error,
}

impl Refusal {
    /// A mistake of the client's, told as it is.
    pub(super) fn told(kind: ErrorKind, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { error: Error::new(kind, words.clone()), words }
    }

    /// What the client is told.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// What happened, for the host's log.
    pub fn error(&self) -> &Error {
        &self.error
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let words = match error.kind() {
            ErrorKind::Cancelled => "the server gave up: it took too long, or is about to stop",
            ErrorKind::Limit => "the server lacks the memory for this now: try again later",
            _ => "the server cannot read the repository: tell its owner",
        };
        Self { words: words.to_owned(), error }
    }
}

impl From<LimitExceeded> for Refusal {
    fn from(limit: LimitExceeded) -> Self {
        Error::from(limit).into()
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Error::from(error).into()
    }
}

impl From<ProtocolError> for Refusal {
    fn from(error: ProtocolError) -> Self {
        Self { words: error.to_string(), error: error.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_hears_of_its_own_mistakes_only() {
        let io = StoreError::Malformed { path: "/srv/secret.git/x".into(), what: "bad".into() };
        let refused = Refusal::from(io);
        assert!(!refused.words().contains("secret") && refused.words().contains("owner"));
        assert!(refused.error().to_string().contains("secret"));
        let theirs = Refusal::from(ProtocolError::UnknownFilter { spec: "x".into() });
        assert_eq!(theirs.words(), "filter 'x' not supported");
    }
}
