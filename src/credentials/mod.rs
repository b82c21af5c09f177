//! Which credential the faces send, and whom they ask when a host wants another one.
//!
//! In this order: the variable that `--token-env` names, the variable `GITSIP_TOKEN`, what
//! is written in the address, the netrc file; and `git credential`, only once the host has
//! answered 401. What was named on this command line is final: when it is refused, nobody
//! else is asked. All of it is for the origin of the address and goes nowhere else.
//!
//! Where addresses come from a program, as in a session, whoever chooses one must not
//! choose where a token goes: [`Scope::Origins`] says which hosts it is for.

mod git;
mod netrc;

use std::path::PathBuf;
use std::sync::Arc;

use self::git::GitCredential;
use crate::client::address::RepoUrl;
use crate::client::credentials::{Asked, Auth, AuthSource};
use crate::error::{Error, ErrorKind};

/// What was found for one address.
#[derive(Debug)]
pub(crate) struct Credentials {
    auth: Option<Auth>,
    from: From,
    git: Option<Arc<GitCredential>>,
    host: String,
}

/// Which hosts the token of the environment is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    /// The one of the address, which a person chose together with the token.
    Address,
    /// These origins, as [`RepoUrl::origin_text`] has them. To others nothing is sent
    /// unencrypted, not even what netrc has for them.
    Origins(&'a [String]),
}

impl Scope<'_> {
    fn is_trusted(self, repo: &RepoUrl) -> bool {
        match self {
            Self::Address => true,
            Self::Origins(origins) => origins.contains(&repo.origin_text()),
        }
    }

    /// Whether what is sent to `repo` stays between it and the sender.
    fn is_private(self, repo: &RepoUrl) -> bool {
        self.is_trusted(repo) || repo.origin_text().starts_with("https://")
    }
}

/// Where a credential comes from.
#[derive(Debug)]
enum From {
    Address,
    Netrc(PathBuf),
    Nowhere,
    Variable(String),
}

impl Credentials {
    /// Looks for what `address` may be read with.
    ///
    /// # Errors
    /// `Usage` for an address that is none, and for a variable that holds no token.
    pub(crate) fn find(
        address: &str,
        token_env: Option<&str>,
        scope: Scope<'_>,
    ) -> Result<Self, Error> {
        let (repo, written) = RepoUrl::parse(address)?;
        let is_trusted = scope.is_trusted(&repo);
        let token_env = token_env.filter(|_| is_trusted);
        let user = match &written {
            Some(Auth::Basic { user, password }) if password.is_empty() => Some(user.as_str()),
            _ => None,
        };
        let is_complete = written.is_some() && user.is_none();
        let git = token_env.is_none().then(|| Arc::new(GitCredential::new(&repo, user)));
        let (auth, from) = if let Some(name) = token_env {
            (Some(token("--token-env", name, &repo)?), From::Variable(name.to_owned()))
        } else if is_trusted && is_set(TOKEN_VARIABLE) {
            let auth = token("the environment", TOKEN_VARIABLE, &repo)?;
            (Some(auth), From::Variable(TOKEN_VARIABLE.to_owned()))
        } else if is_complete {
            (written, From::Address)
        } else if scope.is_private(&repo)
            && let Some((auth, path)) = netrc::look_up(repo.host(), user)
        {
            (Some(auth), From::Netrc(path))
        } else {
            // Some hosts take a token in the place of the user.
            let from = if written.is_some() { From::Address } else { From::Nowhere };
            (written, from)
        };
        Ok(Self { auth, from, git, host: repo.host().to_owned() })
    }

    /// Those of a repository on this machine.
    pub(crate) fn none() -> Self {
        Self { auth: None, from: From::Nowhere, git: None, host: String::new() }
    }

    /// What the first request carries.
    pub(crate) fn auth(&self) -> Option<Auth> {
        self.auth.clone()
    }

    /// Who is asked after a 401. `around` is given the asking to do, and keeps the terminal
    /// free for it where that has other uses.
    pub(crate) fn source(&self, around: fn(&mut dyn FnMut())) -> AuthSource {
        let Some(git) = self.git.clone() else { return AuthSource::none() };
        AuthSource::new(move |_, asked| match asked {
            Asked::First => None,
            // It may prompt, where a bar would be drawn over it.
            Asked::Refused | Asked::Wanted => {
                let mut answer = None;
                around(&mut || answer = git.fill());
                answer
            }
        })
    }

    /// Whether a helper gave one, which is to hear how it fared.
    pub(crate) fn has_asked_helpers(&self) -> bool {
        self.git.as_ref().is_some_and(|git| git.has_answered())
    }

    /// Tells git how its credential fared, if it gave one.
    pub(crate) fn settle<T>(&self, result: &Result<T, Error>) {
        let Some(git) = &self.git else { return };
        match result {
            Ok(_) => git.approve(),
            Err(error) if error.code() == "credentials_refused" => git.reject(),
            Err(_) => {}
        }
    }

    /// Ends whoever is still being asked.
    pub(crate) fn stop_asking(&self) {
        if let Some(git) = &self.git {
            git.stop();
        }
    }

    /// Says with which words of this command a host is given credentials, or where to look
    /// for what is wrong with them.
    pub(crate) fn with_advice(&self, error: Error) -> Error {
        let is_missing = ["no_repository", "web_page"].contains(&error.code());
        let is_elsewhere = error.code() == "credentials_elsewhere";
        if (error.kind() != ErrorKind::Auth && !is_missing) || is_elsewhere {
            return error;
        }
        let from_git = self.git.as_ref().is_some_and(|git| git.has_answered());
        let advice = match &self.from {
            _ if from_git => {
                "; git credential gave them: log in to git again, or pass --token-env NAME".into()
            }
            From::Address => {
                "; check the user and password in the address, or pass --token-env NAME".into()
            }
            From::Netrc(path) => {
                let (host, path) = (&self.host, path.display());
                format!("; check the entry for {host} in {path}, or pass --token-env NAME")
            }
            From::Nowhere => ": pass --token-env NAME".to_owned(),
            From::Variable(name) => format!("; check what {name} holds"),
        };
        let context = format!("{}{advice}", error.context());
        Error::new(error.kind(), context).with_code(error.code()).with_source(error)
    }
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// The credential in the environment variable `name`: `user:password`, `Bearer TOKEN`, or
/// a token alone, in the form that the host wants. `said_by` is who named the variable.
fn token(said_by: &str, name: &str, repo: &RepoUrl) -> Result<Auth, Error> {
    let refuse = |why: &str| {
        Err(Error::new(ErrorKind::Usage, format!("{said_by}: the variable '{name}' {why}")))
    };
    let value = match std::env::var(name) {
        Ok(value) => value,
        Err(std::env::VarError::NotPresent) => return refuse("is not set; export it first"),
        Err(std::env::VarError::NotUnicode(_)) => return refuse("is not text"),
    };
    let value = value.trim();
    if value.is_empty() || value.contains(|c: char| c.is_ascii_control()) {
        return refuse("holds no token");
    }
    Ok(match (value.strip_prefix("Bearer "), value.split_once(':')) {
        (Some(token), _) => Auth::Bearer(token.trim().to_owned()),
        (None, Some((user, password))) => {
            Auth::Basic { user: user.to_owned(), password: password.to_owned() }
        }
        (None, None) => Auth::token(value, repo),
    })
}

/// Read when `--token-env` names no other.
const TOKEN_VARIABLE: &str = "GITSIP_TOKEN";
