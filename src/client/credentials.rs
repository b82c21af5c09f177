//! Credentials: their forms, who may renew them, and the one origin they may go to.
//!
//! Nothing is looked for here: what is not given, or answered by the [`AuthSource`] that
//! was given, does not exist. A credential belongs to the origin (scheme, host, port) of
//! the address it was given with and goes nowhere else, whatever a host redirects to. It
//! is never shown: `Debug` prints its form, and errors are cleaned of it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;

use super::address::RepoUrl;
use crate::error::{Error, ErrorKind};

/// A credential. It is never shown: `Debug` prints only its form.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Auth {
    /// A user name and a password or token.
    Basic {
        /// The user name; any word where a token is the password.
        user: String,
        /// The password or token.
        password: String,
    },
    /// A bearer token.
    Bearer(String),
    /// A header of its own, for hosts and gateways that want another than `authorization`.
    Header {
        /// Its name; sent in lower case.
        name: String,
        /// Its value.
        value: String,
    },
}

impl Auth {
    /// An access token in the form that the host of `repo` wants: GitHub, GitLab, Gitea,
    /// Forgejo and Bitbucket by their public names and by host names that begin with
    /// theirs (`gitlab.example.org`). Others get it as the password of a user whose name
    /// they disregard.
    ///
    /// ```
    /// use gitsip::client::address::RepoUrl;
    /// use gitsip::client::credentials::Auth;
    ///
    /// let (repo, _) = RepoUrl::parse("https://gitlab.com/group/project")?;
    /// let expected = Auth::Basic { user: "oauth2".into(), password: "glpat-1".into() };
    /// assert_eq!(Auth::token("glpat-1", &repo), expected);
    /// # Ok::<(), gitsip::Error>(())
    /// ```
    pub fn token(token: impl Into<String>, repo: &RepoUrl) -> Self {
        let token = token.into();
        let host = repo.host();
        let form = FORMS.iter().find(|(known, _)| belongs_to(host, known)).map(|(_, form)| form);
        let (user, password) = match form {
            Some(TokenForm::AsUser) => (token, TOKEN_IS_USER.to_owned()),
            Some(TokenForm::PasswordOf(user)) => ((*user).to_owned(), token),
            None => (ANY_USER.to_owned(), token),
        };
        Self::Basic { user, password }
    }

    /// Name and value of the header that carries it.
    fn header(&self) -> Result<(String, String), Error> {
        let (name, value) = match self {
            Self::Basic { .. } => (AUTHORIZATION.to_owned(), self.on_the_wire("Basic ")),
            Self::Bearer(_) => (AUTHORIZATION.to_owned(), self.on_the_wire("Bearer ")),
            Self::Header { name, .. } => (name.to_ascii_lowercase(), self.on_the_wire("")),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) || FRAMING.contains(&name.as_str()) {
            let why = "the credential's header has a name that no credential can have";
            return Err(Error::new(ErrorKind::Usage, why));
        }
        if value.bytes().any(|byte| byte.is_ascii_control()) {
            let why = "the credential has characters in it that HTTP cannot carry";
            return Err(Error::new(ErrorKind::Usage, why));
        }
        Ok((name, value))
    }

    /// What follows the scheme's name in the header, after `scheme`.
    fn on_the_wire(&self, scheme: &str) -> String {
        match self {
            Self::Basic { user, password } => {
                let pair = format!("{user}:{password}");
                format!("{scheme}{}", base64::engine::general_purpose::STANDARD.encode(pair))
            }
            Self::Bearer(secret) | Self::Header { value: secret, .. } => {
                format!("{scheme}{secret}")
            }
        }
    }

    /// What nobody may see, longest first.
    fn secrets(&self) -> Vec<String> {
        let mut secrets = vec![self.on_the_wire("")];
        if let Self::Basic { user, password } = self {
            secrets.push(password.clone());
            // A token may stand in the place of the user.
            if password.is_empty() || password == TOKEN_IS_USER {
                secrets.push(user.clone());
            }
        }
        // What is this short is no secret, and would be found in any text.
        secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES && secret != TOKEN_IS_USER);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Basic { .. } => "Basic(hidden)",
            Self::Bearer(_) => "Bearer(hidden)",
            Self::Header { .. } => "Header(hidden)",
        })
    }
}

/// Why a credential is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// Nothing was sent yet. Without an answer the first request carries no credential.
    First,
    /// The host refused the last one: it is wrong, or it has expired.
    Refused,
    /// The host wants one and was sent none.
    Wanted,
}

/// Who is asked for credentials: called before the first request when none was given, and
/// once more for each request that the host answers with 401.
///
/// It may take its time (a program to run, a person to type): it is called where it holds
/// up only what waits for the answer. It is asked for the origin of the address that was
/// opened and no other. The same credential again, or none, ends in an error.
///
/// ```
/// use gitsip::client::credentials::{Asked, Auth, AuthSource};
///
/// # fn minted() -> String { String::new() }
/// let source = AuthSource::new(|origin, asked| match asked {
///     Asked::First | Asked::Refused if origin == "https://git.example.org" => {
///         Some(Auth::Bearer(minted()))
///     }
///     _ => None,
/// });
/// # let _ = source;
/// ```
#[derive(Clone, Default)]
pub struct AuthSource(Option<Arc<AskForAuth>>);

type AskForAuth = dyn Fn(&str, Asked) -> Option<Auth> + Send + Sync;

impl AuthSource {
    /// Nobody.
    pub const fn none() -> Self {
        Self(None)
    }

    /// Asks `ask` with the origin (`https://host`, with a port where it is not the
    /// scheme's own) and why.
    pub fn new(ask: impl Fn(&str, Asked) -> Option<Auth> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }
}

impl fmt::Debug for AuthSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "AuthSource(set)" } else { "AuthSource(none)" })
    }
}

/// The credential of one origin (scheme, host, port), and who renews it.
///
/// ```
/// use gitsip::client::address::RepoUrl;
/// use gitsip::client::credentials::{Auth, AuthSource, Credentials};
///
/// let (repo, auth) = RepoUrl::parse("https://me:secret@good.example/r")?;
/// let given = Credentials::new(auth, AuthSource::none(), &repo);
/// let (evil, _) = RepoUrl::parse("https://evil.example/r")?;
/// assert!(given.for_request(&repo)?.header().is_some());
/// assert!(given.for_request(&evil)?.header().is_none());
/// # Ok::<(), gitsip::Error>(())
/// ```
#[derive(Debug)]
pub struct Credentials {
    origin: url::Origin,
    source: AuthSource,
    /// Held while somebody is asked, so that requests refused together ask once.
    asking: Mutex<()>,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    auth: Option<Auth>,
    /// The one before, which a host may still speak of.
    previous: Option<Auth>,
    /// How often `auth` has changed.
    generation: u64,
    /// Whether the source has nothing to say before the first request.
    asked_first: bool,
}

/// What one request carries.
#[derive(Clone)]
pub struct Carried {
    header: Option<(String, String)>,
    generation: u64,
}

impl Carried {
    /// Name and value of a header, if there is a credential for this request.
    pub fn header(&self) -> Option<(&str, &str)> {
        self.header.as_ref().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.header.is_some() { "Carried(hidden)" } else { "Carried(nothing)" })
    }
}

impl Credentials {
    /// `auth` and what `source` will answer, for the origin of `repo` and no other.
    pub fn new(auth: Option<Auth>, source: AuthSource, repo: &RepoUrl) -> Self {
        let asked_first = auth.is_some() || source.0.is_none();
        let held = Held { auth, previous: None, generation: 0, asked_first };
        Self { origin: repo.origin(), source, asking: Mutex::default(), held: Mutex::new(held) }
    }

    /// Whether requests to `repo` may carry it.
    pub fn are_for(&self, repo: &RepoUrl) -> bool {
        repo.origin() == self.origin
    }

    /// Whether requests to `repo` do carry one.
    pub fn are_sent_to(&self, repo: &RepoUrl) -> bool {
        self.are_for(repo) && self.held().auth.is_some()
    }

    /// Whether the source is to be asked before the first request.
    pub fn ask_first(&self) -> bool {
        !self.held().asked_first
    }

    /// What a request to `repo` carries: nothing, unless that is the origin the credential
    /// was given for. The first time it may ask the source, and take as long as that does.
    ///
    /// # Errors
    ///
    /// `Usage` for a credential that no header can carry.
    pub fn for_request(&self, repo: &RepoUrl) -> Result<Carried, Error> {
        if !self.are_for(repo) {
            return Ok(Carried { header: None, generation: 0 });
        }
        if self.ask_first() {
            let _asking = lock(&self.asking);
            if self.ask_first() {
                let auth = self.ask(Asked::First);
                let mut held = self.held();
                (held.auth, held.asked_first) = (auth, true);
            }
        }
        let held = self.held();
        let header = held.auth.as_ref().map(Auth::header).transpose()?;
        Ok(Carried { header, generation: held.generation })
    }

    /// After a 401 of `repo` to a request with `carried`: whether there is another
    /// credential to try now. Asks the source, and takes as long as that does.
    pub fn renew(&self, repo: &RepoUrl, carried: &Carried) -> bool {
        if !self.are_for(repo) {
            return false;
        }
        let _asking = lock(&self.asking);
        if self.held().generation != carried.generation {
            // Another request was refused as well, and was here first.
            return true;
        }
        let refused = self.held().auth.is_some();
        let Some(auth) = self.ask(if refused { Asked::Refused } else { Asked::Wanted }) else {
            return false;
        };
        let mut held = self.held();
        if held.auth.as_ref() == Some(&auth) {
            return false;
        }
        held.previous = held.auth.replace(auth);
        held.generation += 1;
        true
    }

    /// `error` without the secrets, which a host may have sent back in its words.
    #[must_use]
    pub fn hide_in(&self, error: Error) -> Error {
        let secrets: Vec<String> = {
            let held = self.held();
            held.auth.iter().chain(&held.previous).flat_map(Auth::secrets).collect()
        };
        if !secrets.iter().any(|secret| error.context().contains(secret)) {
            return error;
        }
        let context = secrets.iter().fold(error.context().to_owned(), |context, secret| {
            context.replace(secret, "(hidden)")
        });
        // Without its source, which says the same.
        Error::new(error.kind(), context).with_code(error.code())
    }

    fn ask(&self, asked: Asked) -> Option<Auth> {
        let ask = self.source.0.as_ref()?;
        ask(&self.origin.ascii_serialization(), asked)
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        lock(&self.held)
    }
}

/// What a source that panicked left behind is whole: nothing is changed while it runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a host wants a token.
enum TokenForm {
    /// As the user, with [`TOKEN_IS_USER`] as the password.
    AsUser,
    /// As the password of this user.
    PasswordOf(&'static str),
}

/// Whether `host` is `known`, below it, or an installation named after it: `known` without
/// its last label in front.
fn belongs_to(host: &str, known: &str) -> bool {
    let below = host.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let name = known.split('.').next().unwrap_or(known);
    below || host.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

/// What the hosts document. A host that is named after one of them and is another at most
/// refuses the form: the token is for it in any case.
const FORMS: &[(&str, TokenForm)] = &[
    ("bitbucket.org", TokenForm::PasswordOf("x-token-auth")),
    ("codeberg.org", TokenForm::AsUser),
    ("forgejo.org", TokenForm::AsUser),
    ("gitea.com", TokenForm::AsUser),
    ("github.com", TokenForm::PasswordOf("x-access-token")),
    ("gitlab.com", TokenForm::PasswordOf("oauth2")),
];

/// Disregarded beside a token by Azure, GitHub Enterprise and most others.
const ANY_USER: &str = "x-access-token";
/// The password by which Gitea and Forgejo know that the user is a token.
const TOKEN_IS_USER: &str = "x-oauth-basic";
/// Secrets shorter than this are not looked for in a host's words.
const MIN_SECRET_BYTES: usize = 4;
const AUTHORIZATION: &str = "authorization";
/// Headers that say how a message is framed and where it goes.
const FRAMING: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

#[cfg(test)]
mod tests;
