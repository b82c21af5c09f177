//! Who asks, and what they may read: a question to whoever embeds this.

use std::pin::Pin;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};

use super::problem::Problem;

/// A future that is called by way of a table.
pub type Deciding<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Decides who may read what. [`AuthFile`](super::AuthFile) is one.
///
/// Who may not read a repository cannot tell whether it is there: without credentials the
/// answer is 401, with those of somebody else 404, as for what does not exist.
pub trait Authorizer: Send + Sync {
    /// Who presents `credentials`, which are `None` for anybody; `Ok(None)` when they are
    /// wrong.
    ///
    /// # Errors
    /// `RateLimited` when too many ask at once; anything else is a fault of the server's.
    fn identify<'a>(
        &'a self,
        credentials: Option<&'a Presented>,
    ) -> Deciding<'a, Result<Option<Principal>, crate::Error>>;

    /// Whether `who` may read the repository called `repository`, which need not exist and has
    /// no `.git` at its end.
    fn may_read<'a>(&'a self, who: &'a Principal, repository: &'a str) -> Deciding<'a, bool>;
}

/// Somebody who is known, or anybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// `None` for anybody.
    pub name: Option<String>,
}

/// What a request says of who sent it.
#[derive(Clone, PartialEq, Eq)]
pub struct Presented {
    /// `None` for a token by itself.
    pub user: Option<String>,
    /// A password or token.
    pub secret: String,
}

impl Presented {
    /// What `Authorization` says: `Basic` or `Bearer`; none when there is no such header.
    pub(super) fn read(headers: &HeaderMap) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
        let read = || {
            let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
            if scheme.eq_ignore_ascii_case("bearer") {
                return Some(Self { user: None, secret: rest.trim().to_owned() });
            }
            scheme.eq_ignore_ascii_case("basic").then_some(())?;
            let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
            let (user, secret) = pair.split_once(':')?;
            Some(Self { user: Some(user.to_owned()), secret: secret.to_owned() })
        };
        read().map(Some).ok_or_else(Problem::unknown_caller)
    }
}

impl std::fmt::Debug for Presented {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Presented").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_basic_or_bearer() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            Presented::read(&headers).ok().flatten()
        };
        let of = |user: Option<&str>, secret: &str| {
            Some(Presented { user: user.map(str::to_owned), secret: secret.to_owned() })
        };
        assert_eq!(read("Basic YWxpY2U6YTpi"), of(Some("alice"), "a:b"));
        assert_eq!(read("bearer  t0ken"), of(None, "t0ken"));
        for bad in ["", "Basic", "Basic !", "Basic YQ==", "Digest x=y", "Basic /w=="] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
