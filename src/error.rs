//! The one error of the public face: who is to blame, what was being done, and
//! what lies beneath.
//!
//! Ranks 0 to 2 have small comparable enums of their own; each says beside its
//! definition how it becomes an [`Error`]. Nothing here formats on a hot path.

use std::fmt;

use crate::limits::LimitExceeded;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, sorted by whose turn it is to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The host wants credentials, or other ones. Retry: only with different
    /// credentials.
    Auth,
    /// The caller's deadline passed or the caller cancelled. Retry: yes, with more
    /// time; what was fetched so far is kept.
    Cancelled,
    /// Two writers met. Retry: after reading the present state.
    Conflict,
    /// Stored or received data contradicts its own checksum, size or id. Retry: once,
    /// in case the transfer was damaged; then report it to whoever runs the host.
    Corrupt,
    /// A local file or stream failed. Retry: after the cause is removed.
    Io,
    /// A limit was reached; [`Error::limit`] has the numbers. Retry: with a smaller
    /// question or a larger limit.
    Limit,
    /// The peer's bytes do not follow the protocol or format. Retry: no.
    Malformed,
    /// The repository, ref, path or object does not exist. Retry: with another name.
    NotFound,
    /// The host asked for patience. Retry: after the time it named.
    RateLimited,
    /// The network or the host failed. Retry: yes.
    Transport,
    /// The host, or this build, cannot do what was asked. Retry: no.
    Unsupported,
    /// The question itself is wrong: an invalid pattern, path or address. Retry: after
    /// correcting it.
    Usage,
}

impl ErrorKind {
    /// Each kind once.
    pub const ALL: &'static [Self] = &[
        Self::Auth,
        Self::Cancelled,
        Self::Conflict,
        Self::Corrupt,
        Self::Io,
        Self::Limit,
        Self::Malformed,
        Self::NotFound,
        Self::RateLimited,
        Self::Transport,
        Self::Unsupported,
        Self::Usage,
    ];

    /// A stable lower-case word for machines.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Cancelled => "cancelled",
            Self::Conflict => "conflict",
            Self::Corrupt => "corrupt",
            Self::Io => "io",
            Self::Limit => "limit",
            Self::Malformed => "malformed",
            Self::NotFound => "not_found",
            Self::RateLimited => "rate_limited",
            Self::Transport => "transport",
            Self::Unsupported => "unsupported",
            Self::Usage => "usage",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotFound => "not found",
            Self::RateLimited => "rate limited",
            other => other.code(),
        })
    }
}

/// An error with its kind, one line of context, and its cause.
///
/// `Display` is one line for a person: `kind: context`. The cause is in
/// [`source`](std::error::Error::source) and is not repeated in the line.
///
/// ```
/// use gitsip::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::NotFound, "'src/mian.rs' at main");
/// assert_eq!(error.to_string(), "not found: 'src/mian.rs' at main");
/// assert_eq!(error.code(), "not_found");
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    code: &'static str,
    context: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of `kind` with one line that says what happened and what to do.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, code: kind.code(), context: context.into(), source: None }))
    }

    /// The same with a more precise stable [`code`](Self::code).
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = code;
        self
    }

    /// The same with its cause attached.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same with `what` put before the context: `what: context`.
    #[must_use]
    pub fn while_doing(mut self, what: impl fmt::Display) -> Self {
        self.0.context = format!("{what}: {}", self.0.context);
        self
    }

    /// Who is to blame.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// A stable word for machines: the kind's [`code`](ErrorKind::code), or a more
    /// precise one where documented (`snapshot_gone`).
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// What happened, without the kind.
    pub fn context(&self) -> &str {
        &self.0.context
    }

    /// The limit that was reached, when one was.
    pub fn limit(&self) -> Option<LimitExceeded> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> =
            self.0.source.as_deref().map(|e| e as _);
        while let Some(error) = cause {
            if let Some(limit) = error.downcast_ref::<LimitExceeded>() {
                return Some(*limit);
            }
            cause = error.source();
        }
        None
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind, self.0.context)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("code", &self.0.code)
            .field("context", &self.0.context)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

impl From<LimitExceeded> for Error {
    fn from(limit: LimitExceeded) -> Self {
        let field = limit.which.field();
        Self::new(ErrorKind::Limit, format!("{limit}; ask for less or raise {field}"))
            .with_source(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Which;

    #[test]
    fn a_limit_is_found_beneath_its_wrappers() {
        let limit = LimitExceeded { which: Which::ObjectBytes, allowed: 5, seen: 6 };
        let error = Error::from(limit).while_doing("reading a pack");
        assert_eq!(error.limit(), Some(limit));
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(
            error.to_string(),
            "limit: reading a pack: 6 bytes of one object are more than the 5 allowed; ask for \
             less or raise max_object_bytes"
        );
    }
}
