//! How a repository is opened, as JavaScript says it.

use gitsip::client::address::RepoUrl;
use gitsip::client::credentials::Auth;
use gitsip::client::progress::ProgressListener;
use gitsip::{Error, Limits};

use gitsip::agent::RemoteOptions;

/// The JSON that [`open`](crate::open) takes.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Options {
    auth: Option<Credential>,
    /// Bytes that everything a host sent may occupy.
    max_memory: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { auth: None, max_memory: Limits::browser().max_memory }
    }
}

/// A credential in one of its forms.
#[derive(serde::Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Credential {
    Basic { username: String, password: String },
    Bearer(String),
    Token(String),
}

impl Options {
    /// The options for the repository at `url`.
    ///
    /// # Errors
    /// `Usage` for what is no address.
    pub(crate) fn into_remote(
        self,
        url: &str,
        progress: ProgressListener,
    ) -> Result<RemoteOptions, Error> {
        let Self { auth, max_memory } = self;
        let auth = match auth {
            None => None,
            Some(Credential::Basic { username: user, password }) => {
                Some(Auth::Basic { user, password })
            }
            Some(Credential::Bearer(token)) => Some(Auth::Bearer(token)),
            Some(Credential::Token(token)) => Some(Auth::token(token, &RepoUrl::parse(url)?.0)),
        };
        let limits = Limits { max_memory, ..Limits::browser() };
        Ok(RemoteOptions { auth, limits, progress, ..RemoteOptions::default() })
    }
}
