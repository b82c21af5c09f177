//! The names of files as resources: `gitsip://file?repo=..&commit=..&path=..`, pinned to a
//! commit, without credentials.

use bstr::BString;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::error::{Error, ErrorKind};
use crate::oid::ObjectId;

/// The form of all of them, as RFC 6570 has it.
pub(super) const TEMPLATE: &str = "gitsip://file{?repo,commit,path}";

const PREFIX: &str = "gitsip://file?";

/// A file at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileUri {
    /// The address of the repository.
    pub(super) repo: String,
    pub(super) commit: ObjectId,
    pub(super) path: BString,
}

impl FileUri {
    pub(super) fn encode(&self) -> String {
        let encode = |bytes: &[u8]| percent_encode(bytes, NON_ALPHANUMERIC).to_string();
        let (repo, path) = (encode(self.repo.as_bytes()), encode(&self.path));
        format!("{PREFIX}repo={repo}&commit={}&path={path}", self.commit)
    }

    /// # Errors
    /// `Usage` with code `bad_uri` for what [`encode`](Self::encode) does not give.
    pub(super) fn parse(uri: &str) -> Result<Self, Error> {
        let (mut repo, mut commit, mut path) = (None, None, None);
        for pair in uri.strip_prefix(PREFIX).ok_or_else(bad)?.split('&') {
            let (name, value) = pair.split_once('=').ok_or_else(bad)?;
            let value: Vec<u8> = percent_decode_str(value).collect();
            match name {
                "repo" => repo = String::from_utf8(value).ok(),
                "commit" => commit = ObjectId::from_hex(&value).ok(),
                "path" => path = Some(value.into()),
                _ => return Err(bad()),
            }
        }
        match (repo, commit, path) {
            (Some(repo), Some(commit), Some(path)) => Ok(Self { repo, commit, path }),
            _ => Err(bad()),
        }
    }
}

fn bad() -> Error {
    let why = format!("this is no address of a file here, which are {TEMPLATE}");
    Error::new(ErrorKind::Usage, why).with_code("bad_uri")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn any_path_makes_the_round_trip() {
        for path in [&b"a b/c&d=e?#%41"[..], b"caf\xe9\n", "日本".as_bytes()] {
            let commit = ObjectId::from_hex(b"0123456789012345678901234567890123456789").unwrap();
            let repo = "https://host.example:8443/a/b.git".to_owned();
            let uri = FileUri { repo, commit, path: path.into() };
            assert!(url::Url::parse(&uri.encode()).is_ok());
            assert_eq!(FileUri::parse(&uri.encode()).unwrap(), uri);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for uri in ["", "file:///etc/passwd", "gitsip://file?", "gitsip://file?repo=a&commit=1"] {
            assert_eq!(FileUri::parse(uri).unwrap_err().code(), "bad_uri", "{uri}");
        }
    }
}
