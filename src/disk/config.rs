//! What the repository's `config` says about its own format, and nothing else.
//!
//! Follows git's `repository-version`.

use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::Repository;
use super::discover;
use super::files::{MAX_SMALL_FILE_BYTES, malformed, read_small};
use super::settings::{Setting, parse};
use crate::oid::ObjectFormat;
use crate::store::StoreError;

impl Repository {
    /// What the repository's own `config` says now, in its order.
    ///
    /// # Errors
    /// When it is damaged or cannot be read.
    pub fn settings(&self) -> Result<Vec<Setting>, StoreError> {
        settings(&self.0.layout.common_dir)
    }

    /// Where the repository whose git folder is `git_dir` has its `config`, which linked work
    /// trees share.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn config_path(git_dir: &Path) -> Result<PathBuf, StoreError> {
        let shared = discover::common_dir(git_dir)?;
        Ok(shared.unwrap_or_else(|| git_dir.to_owned()).join("config"))
    }
}

/// All settings of the repository whose shared folder is `common_dir`.
pub(super) fn settings(common_dir: &Path) -> Result<Vec<Setting>, StoreError> {
    let path = common_dir.join("config");
    let bytes = read_small(&path, MAX_SMALL_FILE_BYTES)?.unwrap_or_default();
    parse(&bytes).map_err(|line| malformed(&path, format!("line {line} is no setting")))
}

/// The hash a repository uses, if this build can read the rest of it too.
pub(super) fn object_format(common_dir: &Path) -> Result<ObjectFormat, StoreError> {
    let mut version = 0;
    let mut format = ObjectFormat::Sha1;
    let mut format_named = false;
    let mut unknown = None;
    for Setting { key, value } in settings(common_dir)? {
        let value = value.map_or("true".to_owned(), |value| value.to_string());
        match key.to_str().unwrap_or_default() {
            "core.repositoryformatversion" => {
                version = value.trim().parse().map_err(|_| {
                    let what = format!("the repository version '{value}' is no number");
                    malformed(&common_dir.join("config"), what)
                })?;
            }
            "extensions.objectformat" => {
                format = ObjectFormat::from_name(value.as_bytes())
                    .ok_or_else(|| unsupported("objectFormat", &value))?;
                format_named = true;
            }
            "extensions.refstorage" if value == "files" => {}
            "extensions.refstorage" if value == "reftable" => {
                return Err(StoreError::Unsupported(
                    "the repository keeps its refs as reftable, which is not supported: convert \
                     a copy with 'git refs migrate --ref-format=files'"
                        .to_owned(),
                ));
            }
            key => match key.strip_prefix("extensions.") {
                Some(name) if !KNOWN_EXTENSIONS.contains(&name) => {
                    unknown.get_or_insert(unsupported(name, &value));
                }
                _ => {}
            },
        }
    }
    match (version, unknown) {
        // Version 0 knows no extensions: git ignores those it does not know.
        (0, _) if format_named => Err(StoreError::Unsupported(
            "extensions.objectFormat needs core.repositoryFormatVersion = 1".to_owned(),
        )),
        (0, _) | (1, None) => Ok(format),
        (1, Some(error)) => Err(error),
        (other, _) => Err(StoreError::Unsupported(format!(
            "repository format version {other} is not supported: 0 and 1 are"
        ))),
    }
}

fn unsupported(name: &str, value: &str) -> StoreError {
    StoreError::Unsupported(format!("the repository extension {name} = {value} is not supported"))
}

/// Extensions that change nothing for who only reads objects and refs from files.
const KNOWN_EXTENSIONS: &[&str] = &[
    "compatobjectformat",
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "relativeworktrees",
    "worktreeconfig",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn format_of(config: &str) -> Result<ObjectFormat, StoreError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config"), config).unwrap();
        object_format(dir.path())
    }

    #[test]
    fn versions_and_extensions_are_gits() {
        let sha1 = |config| matches!(format_of(config), Ok(ObjectFormat::Sha1));
        assert!(sha1(""));
        assert!(sha1("[core]\n\trepositoryformatversion = 0\n[extensions]\n\tfancy = 1\n"));
        assert!(sha1("[core] repositoryformatversion = 1\n[extensions] worktreeConfig\n"));
        assert!(sha1("[core \"x]y\"]\nrepositoryformatversion = 7\n"));
        let sha256 = "[Core]\nRepositoryFormatVersion = \"1\" ; one\n\
                      [extensions]\n objectFormat = sh\\\na256 # hash\n";
        assert_eq!(format_of(sha256).unwrap(), ObjectFormat::Sha256);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (config, word) in [
            ("[core]\nrepositoryformatversion = 2\n", "version 2"),
            ("[core]\nrepositoryformatversion=1\n[extensions]\nfancy=1\n", "fancy"),
            ("[core]\nrepositoryformatversion=1\n[extensions]\nrefStorage=reftable\n", "reftable"),
            ("[core]\nrepositoryformatversion=1\n[extensions]\nobjectFormat=md5\n", "md5"),
            ("[extensions]\nobjectFormat=sha256\n", "repositoryFormatVersion"),
            ("[core\n", "line 1"),
            ("[core]\n\nbad name = 1\n", "line 3"),
            ("[core]\nx = \"open\n", "line 2"),
        ] {
            let error = format_of(config).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
