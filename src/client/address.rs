//! Where a repository lives.
//!
//! An address is parsed once, by the same parser that the native HTTP client uses, so
//! that the origin a credential is checked against is the origin it would be sent to.
//! Nothing is appended to an address unasked, in particular not `.git`.

use std::fmt;

use url::Url;

use super::credentials::Auth;
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// The address of a repository that speaks smart HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct RepoUrl(Url);

impl RepoUrl {
    /// The repository at `address`, and the credentials written into it, which are not
    /// kept in the address.
    pub fn parse(address: &str) -> Result<(Self, Option<Auth>), Error> {
        let refuse = |why: &str| {
            let shown = escape_for_people(hide_userinfo(address).as_bytes());
            Error::new(ErrorKind::Usage, format!("'{shown}' is no repository address: {why}"))
        };
        if address.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(refuse("it contains a control character"));
        }
        let mut url = Url::parse(address).map_err(|error| refuse(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("only http:// and https:// addresses can be read"));
        }
        let userinfo = [url.username(), url.password().unwrap_or_default()];
        if [url.path()].iter().chain(&userinfo).any(|part| percent_decoded_control(part)) {
            return Err(refuse("it contains an encoded control character"));
        }
        let auth = auth_in(&url);
        // Both fail only for addresses without a host, which http and https never are.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        Ok((Self(url), auth))
    }

    /// Where the ref advertisement is.
    pub fn info_refs(&self) -> String {
        format!("{}/info/refs?service=git-upload-pack", self.trimmed())
    }

    /// Where commands are posted.
    pub fn upload_pack(&self) -> String {
        format!("{}/git-upload-pack", self.trimmed())
    }

    /// The repository that a redirect of [`info_refs`](Self::info_refs) to `location`
    /// points at.
    pub fn redirected(&self, location: &str) -> Result<Self, Error> {
        let refuse = |why: &str| {
            let shown = escape_for_people(hide_userinfo(location).as_bytes());
            Error::new(ErrorKind::Transport, format!("{self} redirects to '{shown}': {why}"))
        };
        let no_address = |error| refuse(&format!("that is no address ({error}); {ADVICE}"));
        let from = Url::parse(&self.info_refs()).map_err(no_address)?;
        let target = from.join(location).map_err(no_address)?;
        let mut base = target.clone();
        base.set_query(None);
        base.set_fragment(None);
        let base = base.as_str().strip_suffix("/info/refs").ok_or_else(|| {
            refuse("that is no git repository; the host may want a login or another address")
        })?;
        let unusable = |error: Error| refuse(&format!("{}; {ADVICE}", error.context()));
        let (repo, _) = Self::parse(base).map_err(unusable)?;
        if self.0.scheme() == "https" && repo.0.scheme() == "http" {
            return Err(refuse(
                "a redirect from https to http is not followed; open that address itself if an \
                 open network will do",
            ));
        }
        Ok(repo)
    }

    /// Scheme, host and port, as in `https://host` or `http://host:8080`.
    pub fn origin_text(&self) -> String {
        self.origin().ascii_serialization()
    }

    /// The host without its port, in lower case.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub(super) fn origin(&self) -> url::Origin {
        self.0.origin()
    }

    fn trimmed(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }
}

impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.trimmed())
    }
}

impl fmt::Debug for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoUrl({self})")
    }
}

/// What to do about a host that sends its readers nowhere.
const ADVICE: &str = "check the address, or tell whoever runs the host";

fn auth_in(url: &Url) -> Option<Auth> {
    let decode =
        |part: &str| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned();
    match (url.username(), url.password()) {
        ("", None) => None,
        (user, password) => {
            Some(Auth::Basic { user: decode(user), password: decode(password.unwrap_or_default()) })
        }
    }
}

/// The address without what stands before an `@` in its authority.
pub(super) fn hide_userinfo(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let authority_end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    match rest[..authority_end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => address.to_owned(),
    }
}

fn percent_decoded_control(part: &str) -> bool {
    percent_encoding::percent_decode_str(part).any(|byte| byte.is_ascii_control())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn repo(address: &str) -> RepoUrl {
        RepoUrl::parse(address).unwrap().0
    }

    #[test]
    fn nothing_is_appended_but_the_service() {
        for address in ["https://h/a/b", "https://h/a/b/", "https://h/a/b?x=1#f"] {
            assert_eq!(
                repo(address).info_refs(),
                "https://h/a/b/info/refs?service=git-upload-pack"
            );
            assert_eq!(repo(address).upload_pack(), "https://h/a/b/git-upload-pack");
        }
    }

    #[test]
    fn credentials_in_an_address_leave_it() {
        let (url, auth) = RepoUrl::parse("https://me:s%40cret@h/r").unwrap();
        assert_eq!(auth, Some(Auth::Basic { user: "me".into(), password: "s@cret".into() }));
        assert!(!format!("{url} {url:?} {auth:?}").contains("cret"));
    }

    #[test]
    fn control_bytes_are_refused_also_encoded() {
        for bad in [
            "https://x%0ahost=y/",
            "https://h/a%0d%0ab",
            "https://h/a\nb",
            "https://h/\u{7f}",
            "https://me%0ahost=y@h/a",
            "https://me:%00@h/a",
        ] {
            assert_eq!(RepoUrl::parse(bad).unwrap_err().kind(), ErrorKind::Usage, "{bad:?}");
        }
    }

    #[test]
    fn a_refused_address_is_shown_without_its_password() {
        let error = RepoUrl::parse("ssh://me:secret@h/r").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn redirects_lead_to_another_repository_or_nowhere() {
        let from = repo("https://h/a/b");
        let to = |location: &str| from.redirected(location).map(|r| r.to_string());
        assert_eq!(
            to("https://h/a/b.git/info/refs?service=git-upload-pack").unwrap(),
            "https://h/a/b.git"
        );
        assert_eq!(to("/c/info/refs?service=git-upload-pack").unwrap(), "https://h/c");
        assert_eq!(to("//evil/c/info/refs?service=git-upload-pack").unwrap(), "https://evil/c");
        for bad in ["https://h/login", "http://h/a/b/info/refs", "ftp://h/info/refs", "::"] {
            assert_eq!(to(bad).unwrap_err().kind(), ErrorKind::Transport, "{bad}");
        }
    }
}
