//! What the word REPO stands for: an address, or a path of this machine.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::client::pasted::{self, NO_ADDRESS, Pasted};
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RepoArg {
    /// An address, and what it says beside the repository.
    Address(Pasted),
    /// A path that exists.
    Path(PathBuf),
}

impl RepoArg {
    /// A word with `://` in it is an address, what exists on this machine is a path, and
    /// the rest is read as people paste it.
    ///
    /// # Errors
    /// `NotFound` for what is neither, and those of [`pasted::parse`], each with the
    /// address that was probably meant.
    pub(super) fn parse(word: &OsStr) -> Result<Self, Error> {
        let text = word.to_string_lossy();
        if let Some(rest) = text.strip_prefix("file://") {
            return Self::file_address(rest, &text);
        }
        let path = PathBuf::from(word);
        let may_be_path = !text.contains("://") && !word.is_empty();
        if may_be_path && path.try_exists().unwrap_or(true) {
            return Ok(Self::Path(path));
        }
        match pasted::parse(&text) {
            Err(error) if error.code() == NO_ADDRESS => {}
            parsed => return parsed.map(Self::Address),
        }
        let shown = escape_for_people(word.as_encoded_bytes());
        let first = text.split('/').next().unwrap_or_default();
        let advice = if text.contains('/') && first.contains('.') && !first.starts_with('.') {
            format!("did you mean https://{shown}?")
        } else {
            "REPO comes first: an http:// or https:// address, owner/repo on github.com, or the \
             path of a local repository"
                .to_owned()
        };
        Err(Error::new(
            ErrorKind::NotFound,
            format!("'{shown}' is no address and no path here; {advice}"),
        ))
    }

    /// What the address says, when it is one.
    pub(super) fn pasted(&self) -> Option<&Pasted> {
        match self {
            Self::Address(pasted) => Some(pasted),
            Self::Path(_) => None,
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Result<RepoArg, Error> {
        RepoArg::parse(OsStr::new(word))
    }

    #[test]
    fn addresses_have_a_scheme() {
        for address in ["https://h/r", "http://h:1/r.git", "HTTPS://h/r"] {
            let parsed = parse(address).unwrap();
            assert_eq!(parsed.pasted().unwrap().repo, address);
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
    fn owner_and_repo_are_of_github_unless_they_are_a_path() {
        let parsed = parse("owner/repo").unwrap();
        assert_eq!(parsed.pasted().unwrap().repo, "https://github.com/owner/repo");
        assert_eq!(parse("src/client").unwrap(), RepoArg::Path("src/client".into()));
    }

    #[test]
    fn what_is_neither_gets_advice() {
        for (word, kind, advice) in [
            ("ssh://me@h:22/r", ErrorKind::Usage, "try https://h/r"),
            ("git@host:owner/repo.git", ErrorKind::Usage, "try https://host/owner/repo.git"),
            ("host:/owner/repo", ErrorKind::Usage, "try https://host/owner/repo"),
            ("me:secret@host/owner/repo", ErrorKind::Usage, "try https://host/owner/repo"),
            ("me:secret@host:owner/repo", ErrorKind::Usage, "try https://host/owner/repo"),
            ("host.example/owner/repo", ErrorKind::NotFound, "did you mean https://host.example/"),
            ("owner/repo/src", ErrorKind::NotFound, "REPO comes first"),
            ("./no/such/folder", ErrorKind::NotFound, "REPO comes first"),
            ("", ErrorKind::NotFound, "'' is no address"),
            ("file:///no/such/folder", ErrorKind::NotFound, "there is no '/no/such/folder'"),
            ("no\n\u{1b}[31m", ErrorKind::NotFound, "'no\\n\\x1b[31m'"),
        ] {
            let error = parse(word).unwrap_err();
            assert_eq!(error.kind(), kind, "{word}");
            assert!(error.to_string().contains(advice), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
