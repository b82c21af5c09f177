//! An error as every face hands it out.

use crate::error::{Error, ErrorKind};

/// What went wrong, for programs and people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// A stable word: that of the kind, or a more precise one such as `is_folder`,
    /// `bad_cursor`, `snapshot_gone`.
    pub code: &'static str,
    /// Who is to blame, one of a closed set of words: `auth`, `cancelled`, `conflict`,
    /// `corrupt`, `io`, `limit`, `malformed`, `not_found`, `rate_limited`, `transport`,
    /// `unsupported`, `usage`.
    pub kind: &'static str,
    /// One line for a person: what happened, and what to do where that is known.
    pub message: String,
    /// What a caller can do about errors of this kind.
    pub hint: &'static str,
    /// Whether the same question may succeed later.
    pub retryable: bool,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let kind = error.kind();
        Self {
            code: error.code(),
            kind: kind.code(),
            message: error.to_string(),
            hint: hint(error),
            retryable: !is_forbidden(error)
                && matches!(
                    kind,
                    ErrorKind::Cancelled
                        | ErrorKind::Conflict
                        | ErrorKind::Corrupt
                        | ErrorKind::RateLimited
                        | ErrorKind::Transport
                ),
        }
    }
}

fn is_forbidden(error: &Error) -> bool {
    error.code() == "forbidden_address"
}

fn hint(error: &Error) -> &'static str {
    if is_forbidden(error) {
        return "whoever runs this can allow the host by name, with --allow-host";
    }
    match error.kind() {
        ErrorKind::Auth => "give a credential for this host, or another one",
        ErrorKind::Cancelled => "ask again with more time; what was fetched is kept",
        ErrorKind::Conflict => "read the present state and try again",
        ErrorKind::Corrupt => "ask once more; if it stays, whoever runs the host must repair it",
        ErrorKind::Io => "remove the cause on this machine and ask again",
        ErrorKind::Limit => "ask for less at once, or raise the limit",
        ErrorKind::Malformed => "asking again does not help; leave out what is damaged",
        ErrorKind::NotFound => "look at the name; list with refs, ls or glob what there is",
        ErrorKind::RateLimited => "wait for the time that the host named, then ask again",
        ErrorKind::Transport => "ask again; look at the address and the network if it stays",
        ErrorKind::Unsupported => "ask in another way; this host or build cannot do it",
        ErrorKind::Usage => "correct the question",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_words_and_says_whether_to_try_again() {
        let error = Error::new(ErrorKind::Usage, "'src' is a folder").with_code("is_folder");
        let failure = Failure::from(&error);
        assert_eq!((failure.code, failure.kind), ("is_folder", "usage"));
        assert_eq!(failure.message, "usage: 'src' is a folder");
        assert!(!failure.retryable);
        assert!(Failure::from(&Error::new(ErrorKind::Transport, "it broke")).retryable);
    }
}
