//! Which repository a request is about.

use std::ffi::OsStr;
use std::fs;

use super::request::wrong;
use crate::cli::repo_arg::RepoArg;
use crate::client::address::RepoUrl;
use crate::client::pasted::Pasted;
use crate::error::Error;
use crate::live::Place;

/// Where the repository is that `word` names: one spelling for one repository, so that it is
/// not kept twice.
///
/// # Errors
/// Those of [`RepoArg::parse`], and `Usage` for the address of a page in a repository.
pub(super) fn parse(word: &OsStr) -> Result<Place, Error> {
    let Pasted { repo, rest, .. } = match RepoArg::parse(word)? {
        RepoArg::Path(path) => return Ok(Place::Path(fs::canonicalize(&path).unwrap_or(path))),
        RepoArg::Address(pasted) => pasted,
    };
    let (address, credential) = RepoUrl::parse(&repo)?;
    let shown = address.to_string();
    if rest.is_some() {
        let why = format!(
            "'repo' is the address of a page; give {shown}, and what is behind it as ref and path"
        );
        return Err(wrong("bad_params", &why));
    }
    // One with a credential in it is kept apart from the one without.
    Ok(Place::Address(if credential.is_some() { repo } else { shown }))
}

/// The origin that a token of the environment may go to, when the place has one.
pub(super) fn origin(place: &Place) -> Option<String> {
    match place {
        Place::Path(_) => None,
        Place::Address(address) => RepoUrl::parse(address).ok().map(|(repo, _)| repo.origin_text()),
    }
}
