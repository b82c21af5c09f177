//! What the word REPO stands for: an address, or a path of this machine.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RepoArg {
    /// An address; not yet judged.
    Address(String),
    /// A path that exists.
    Path(PathBuf),
}

impl RepoArg {
    /// An address has `://` in it; everything else must exist on this machine.
    ///
    /// # Errors
    /// `NotFound` for what is neither, and `Usage` for ssh's short form, each with the
    /// address that was probably meant.
    pub(super) fn parse(word: &OsStr) -> Result<Self, Error> {
        let text = word.to_string_lossy();
        if let Some(rest) = text.strip_prefix("file://") {
            return Self::file_address(rest, &text);
        }
        if text.contains("://") {
            return Ok(Self::Address(text.into_owned()));
        }
        let path = PathBuf::from(word);
        if path.try_exists().unwrap_or(true) && !word.is_empty() {
            return Ok(Self::Path(path));
        }
        if let Some((host, rest)) = ssh_short_form(&text) {
            return Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "ssh is not spoken here; try https://{}/{}",
                    escape_for_people(host.as_bytes()),
                    escape_for_people(rest.trim_start_matches('/').as_bytes())
                ),
            ));
        }
        let shown = escape_for_people(word.as_encoded_bytes());
        let first = text.split('/').next().unwrap_or_default();
        let advice = if text.contains('/') && first.contains('.') && !first.starts_with('.') {
            format!("did you mean https://{shown}?")
        } else {
            "REPO comes first: an http:// or https:// address, or the path of a local repository"
                .to_owned()
        };
        Err(Error::new(
            ErrorKind::NotFound,
            format!("'{shown}' is no address and no path here; {advice}"),
        ))
    }

    fn file_address(rest: &str, whole: &str) -> Result<Self, Error> {
        let path = url::Url::parse(whole).ok().and_then(|url| url.to_file_path().ok());
        match path {
            Some(path) if path.exists() => Ok(Self::Path(path)),
            _ => Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no '{}' here", escape_for_people(rest.as_bytes())),
            )),
        }
    }
}

/// Host and path of `user@host:path` or `host:path`, as git reads it: a colon before any
/// slash.
fn ssh_short_form(text: &str) -> Option<(&str, &str)> {
    let (before, path) = text.split_once(':')?;
    let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
    let is_host = host.len() > 1 && !before.contains(['/', '\\']);
    (is_host && !path.is_empty()).then_some((host, path))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Result<RepoArg, Error> {
        RepoArg::parse(OsStr::new(word))
    }

    #[test]
    fn addresses_have_a_scheme() {
        for address in ["https://h/r", "http://h:1/r.git", "ssh://h/r", "HTTPS://h/r"] {
            assert_eq!(parse(address).unwrap(), RepoArg::Address(address.to_owned()));
        }
    }

    #[test]
    fn paths_exist() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().to_str().unwrap();
        assert_eq!(parse(path).unwrap(), RepoArg::Path(path.into()));
        assert_eq!(parse(&format!("file://{path}")).unwrap(), RepoArg::Path(path.into()));
        assert_eq!(parse(".").unwrap(), RepoArg::Path(".".into()));
    }

    #[test]
    fn what_is_neither_gets_advice() {
        for (word, kind, advice) in [
            ("git@host:owner/repo.git", ErrorKind::Usage, "try https://host/owner/repo.git"),
            ("host:/owner/repo", ErrorKind::Usage, "try https://host/owner/repo"),
            ("host.example/owner/repo", ErrorKind::NotFound, "did you mean https://host.example/"),
            ("owner/repo", ErrorKind::NotFound, "REPO comes first"),
            ("./no/such/folder", ErrorKind::NotFound, "REPO comes first"),
            ("", ErrorKind::NotFound, "'' is no address"),
            ("file:///no/such/folder", ErrorKind::NotFound, "there is no '/no/such/folder'"),
            ("no\n\u{1b}[31m", ErrorKind::NotFound, "'no\\n\\x1b[31m'"),
        ] {
            let error = parse(word).unwrap_err();
            assert_eq!(error.kind(), kind, "{word}");
            assert!(error.to_string().contains(advice), "{error}");
        }
    }
}
