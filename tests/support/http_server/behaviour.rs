//! How a server is told to treat its clients: as git would, or in every other way.

use std::fmt;
use std::time::Duration;

use super::Recorded;
use super::wire::base64;

/// A response that is not git's.
#[derive(Clone, Debug, Default)]
pub struct CannedResponse {
    /// Its status.
    pub status: u16,
    /// Its headers. Without a `Content-Length` or `Transfer-Encoding` among them, the
    /// body's length is added; with one, the body is sent as it is and nothing is checked.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl CannedResponse {
    /// One with a content type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }.with("Content-Type", content_type)
    }

    /// A redirect to `location`.
    pub fn redirect(status: u16, location: &str) -> Self {
        Self { status, ..Self::default() }.with("Location", location)
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Credentials that a server asks for.
#[derive(Clone, Debug)]
pub enum Auth {
    /// A name and a password.
    Basic { user: String, password: String },
    /// A token.
    Bearer(String),
}

impl Auth {
    /// The value of `Authorization` that satisfies it.
    pub fn header(&self) -> String {
        match self {
            Self::Basic { user, password } => {
                format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
            }
            Self::Bearer(token) => format!("Bearer {token}"),
        }
    }

    fn challenge(&self) -> CannedResponse {
        let scheme = match self {
            Self::Basic { .. } => "Basic realm=\"test\"",
            Self::Bearer(_) => "Bearer",
        };
        CannedResponse::new(401, "text/plain", "credentials, please\n")
            .with("WWW-Authenticate", scheme)
    }
}

/// A decision about one request.
pub type When = Box<dyn Fn(&Recorded) -> bool + Send + Sync>;
/// An answer in git's place, or `None` to let git answer.
pub type Hook = Box<dyn Fn(&Recorded) -> Option<CannedResponse> + Send + Sync>;

/// Changes the body of a request on its way to git, or that of git's answer.
pub type Rewrite = Box<dyn Fn(&Recorded, Vec<u8>) -> Vec<u8> + Send + Sync>;

/// How a server treats its clients. The default is faithful. What it takes more than a
/// field for is in `knobs.rs`.
#[derive(Default)]
pub struct Behaviour {
    /// Without these credentials every answer is 401.
    pub auth: Option<Auth>,
    /// A path prefix and what stands in its place in the `Location` of a 302.
    pub redirect: Option<(String, String)>,
    /// Asked after `auth` and `redirect`, before git.
    pub hook: Option<Hook>,
    /// Asked after `hook`, one after the other.
    pub hooks: Vec<Hook>,
    /// Serves protocol version 0 whatever was asked for.
    pub version_0_only: bool,
    /// Whether `NAME` is the repository `NAME.git`.
    pub dot_git_is_optional: bool,
    /// What git is told in place of the client's `Git-Protocol`.
    pub git_protocol: Option<&'static str>,
    /// git's configuration, stronger than the repository's.
    pub git_config: Vec<(&'static str, &'static str)>,
    /// What becomes of a request before git sees it.
    pub question: Vec<Rewrite>,
    /// What becomes of git's answer, when that is 200, before the client sees it.
    pub answer: Vec<Rewrite>,
    /// Compresses git's answers, whether or not the client asked for that.
    pub gzip: bool,
    /// Which requests the faults below are for; all, when there is none.
    pub faults_when: Option<When>,
    /// Answers nothing until the client goes away.
    pub silent: bool,
    /// Waits before the response's head.
    pub delay: Duration,
    /// Closes the connection after so many bytes of the body.
    pub cut_after: Option<u64>,
    /// Sends so many bytes of the body, and then nothing until the client goes away.
    pub stall_after: Option<u64>,
    /// Sends at most so many bytes of the body at once, each in a chunk of its own.
    pub max_chunk_bytes: Option<usize>,
    /// Waits after each piece of the body.
    pub chunk_delay: Duration,
    /// Closes the connection after each response.
    pub close: bool,
    /// Keeps no bodies of responses, for long runs and benches.
    pub forget_bodies: bool,
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behaviour").finish_non_exhaustive()
    }
}

/// What is answered in git's place.
pub(super) fn canned_for(request: &Recorded, behaviour: &Behaviour) -> Option<CannedResponse> {
    if let Some(auth) = &behaviour.auth
        && request.header("authorization") != Some(&auth.header())
    {
        return Some(auth.challenge());
    }
    if let Some((prefix, target)) = &behaviour.redirect
        && let Some(rest) = request.path.strip_prefix(prefix.as_str())
    {
        let mark = if request.query.is_empty() { "" } else { "?" };
        let location = format!("{target}{rest}{mark}{}", request.query);
        return Some(CannedResponse::redirect(302, &location));
    }
    behaviour.hook.iter().chain(&behaviour.hooks).find_map(|hook| hook(request))
}
