//! The hosts that requests of pages are passed on to, and the way there.
//!
//! A host is asked over the connections that this crate's own client uses: its addresses are
//! judged when it is connected to, and those that were judged are the ones connected to. Nothing
//! that a request says is sent along but what git needs.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use tokio::sync::mpsc;
use url::{Host, Position, Url};

use super::Hosting;
use super::auth::Deciding;
use super::body::{Body, Piece, Pieces, StopOnDrop};
use super::problem::Problem;
use super::proxy::{AUTHORIZATION_FOR, Asked, FOLDER, Flow, Outgoing, PassOn};
use super::read::no_page;
use super::route::decoded;
use super::work::PIECES;
use crate::client::policy::AddressPolicy;
use crate::client::requests::USER_AGENT;
use crate::error::{Error, ErrorKind};
use crate::transport::{HttpBody, HttpOptions, HttpTransport};

/// Hosts that git's requests are passed on to.
///
/// Addresses that are not public (loopback, private, link-local and so on) are not connected
/// to, whatever a name resolves to, unless the list has the address itself, as
/// `http://127.0.0.1:8080`. Through a proxy that the environment names it is that proxy which
/// resolves names. Redirects are followed, at most five, to the same endpoint of listed hosts.
pub struct ListedHosts {
    /// Each with scheme, host and port only.
    hosts: Vec<Url>,
    transport: HttpTransport,
    /// Where repositories are that an advertisement was redirected for, by where they were asked
    /// for: a request for a pack is not sent twice.
    moved: Mutex<HashMap<String, Url>>,
}

impl ListedHosts {
    /// Passes on to `hosts`, each of which is `HOST` or `HOST:PORT` for https, or
    /// `http://HOST[:PORT]`. `options` say whom to trust and who resolves names; only public
    /// addresses, those listed here and its `allowed_hosts` are connected to.
    ///
    /// # Errors
    /// `Usage` with the host that is none, and those of [`HttpTransport::new`].
    pub fn new(hosts: &[impl AsRef<str>], mut options: HttpOptions) -> Result<Self, Error> {
        let hosts = hosts.iter().map(|host| parse_host(host.as_ref()));
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        options.address_policy = AddressPolicy::PublicOnly;
        let addresses = hosts.iter().filter(|url| !matches!(url.host(), Some(Host::Domain(_))));
        options.allowed_hosts.extend(addresses.filter_map(|url| url.host_str().map(str::to_owned)));
        let transport = HttpTransport::new(options)?;
        Ok(Self { hosts, transport, moved: Mutex::default() })
    }

    /// What is asked of `url`, if it is an endpoint of git on a listed host.
    fn asked_of(&self, mut url: Url) -> Result<Asked, Problem> {
        url.set_fragment(None);
        if !self.hosts.iter().any(|listed| listed.origin() == url.origin()) {
            return Err(refused(UNLISTED));
        }
        let has_secret = !url.username().is_empty() || url.password().is_some();
        let (base, is_fetch) = endpoint(&url).filter(|_| !has_secret).ok_or_else(not_git)?;
        let name = name_of(&url, base).ok_or_else(not_git)?;
        Ok(Asked { name, is_fetch, url })
    }

    async fn exchange(&self, outgoing: Outgoing) -> Result<Response<Body>, Problem> {
        let Outgoing { asked: Asked { mut url, is_fetch, .. }, headers, mut body, .. } = outgoing;
        let base = base_of(&url);
        if is_fetch {
            url = self.where_now(&base).unwrap_or(url);
        }
        for _ in 0..=MAX_REDIRECTS {
            let answered = self.transport.pass_on(request(&url, &headers, body.take())).await;
            let (status, said, answer) =
                answered.map_err(|error| gateway(UNREACHABLE, Some(&error)))?;
            match said.get(header::LOCATION).filter(|_| status.is_redirection()) {
                None => {
                    if !is_fetch {
                        self.note(base, &url);
                    }
                    let body = received(answer, outgoing.flow);
                    return Ok(response(status, &said, body));
                }
                Some(_) if is_fetch => break,
                Some(location) => {
                    let to = location.to_str().ok().and_then(|to| url.join(to).ok());
                    let to = to.and_then(|to| self.asked_of(to).ok()).filter(|to| !to.is_fetch);
                    url = to.ok_or_else(|| gateway(AWAY, None))?.url;
                }
            }
        }
        Err(gateway(AWAY, None))
    }

    /// Where packs of the repository at `base` are asked for, if not there.
    fn where_now(&self, base: &str) -> Option<Url> {
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        moved.get(base).cloned()
    }

    /// The advertisement of the repository at `base` came from `url`.
    fn note(&self, base: String, url: &Url) {
        let now = base_of(url);
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        if now == base {
            moved.remove(&base);
        } else if let Ok(to) = Url::parse(&format!("{now}{FETCH}")) {
            if moved.len() >= MAX_MOVED {
                moved.clear();
            }
            moved.insert(base, to);
        }
    }
}

impl PassOn for ListedHosts {
    fn asked(&self, head: &Parts) -> Option<Result<Asked, Problem>> {
        let asked = head.uri.path_and_query()?;
        if let ("/" | "/proxy" | "/proxy/", Some(text)) = (asked.path(), asked.query())
            && (text.starts_with("https://") || text.starts_with("http://"))
        {
            let url = Url::parse(text).map_err(|_| not_git());
            return Some(url.and_then(|url| self.asked_of(url)));
        }
        let rest = asked.as_str().strip_prefix("/proxy/")?;
        let urls = self
            .hosts
            .iter()
            .filter_map(|listed| at(listed, rest).filter(|url| url.origin() == listed.origin()));
        let url = urls.into_iter().next().ok_or_else(|| refused(UNLISTED));
        Some(url.and_then(|url| self.asked_of(url)))
    }

    fn send(&self, outgoing: Outgoing) -> Deciding<'_, Result<Response<Body>, Problem>> {
        Box::pin(self.exchange(outgoing))
    }
}

impl Hosting {
    /// The same, passing git's requests on to `hosts`. To be called before the first request.
    #[must_use]
    pub fn with_listed_hosts(self, hosts: ListedHosts) -> Self {
        self.with_passing(hosts)
    }
}

impl std::fmt::Debug for ListedHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hosts = self.hosts.iter().map(Url::as_str).collect::<Vec<_>>();
        f.debug_struct("ListedHosts").field("hosts", &hosts).finish_non_exhaustive()
    }
}

fn parse_host(text: &str) -> Result<Url, Error> {
    let scheme = if text.contains("://") { "" } else { "https://" };
    let url = Url::parse(&format!("{scheme}{text}")).ok().filter(|url| {
        let is_web = matches!(url.scheme(), "http" | "https");
        // Nothing but these makes an address of this form.
        let bare = format!("{}://{}/", url.scheme(), authority(url));
        is_web && url.as_str() == bare && !bare.contains('*')
    });
    url.ok_or_else(|| {
        let why = format!("'{text}' is no host to pass requests on to: give HOST or HOST:PORT");
        Error::new(ErrorKind::Usage, why)
    })
}

/// The host, and the port if it is not the usual one.
fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}

/// What stands behind the scheme of `like`.
fn at(like: &Url, rest: &str) -> Option<Url> {
    Url::parse(&format!("{}://{rest}", like.scheme())).ok()
}

/// The path of the repository that `url` is an endpoint of, and whether it is that for packs.
fn endpoint(url: &Url) -> Option<(&str, bool)> {
    match url.query() {
        None => Some((url.path().strip_suffix(FETCH)?, true)),
        Some(SERVICE) => Some((url.path().strip_suffix(REFS)?, false)),
        Some(_) => None,
    }
}

/// `url` without its endpoint.
fn base_of(url: &Url) -> String {
    let path = &url[..Position::AfterPath];
    let base = path.strip_suffix(FETCH).or_else(|| path.strip_suffix(REFS));
    base.unwrap_or(path).to_owned()
}

/// `proxy/HOST/PATH` with each segment of `path` decoded once, so that no other way of writing
/// it passes for another repository.
fn name_of(url: &Url, path: &str) -> Option<String> {
    let segments = path.strip_prefix('/')?.split('/').map(decoded);
    let path = segments.collect::<Option<Vec<_>>>()?.join("/");
    Some(format!("{FOLDER}/{}/{path}", authority(url)))
}

/// The request, as it goes to `url`.
fn request(url: &Url, given: &HeaderMap, body: Option<Body>) -> reqwest::Request {
    let method = if body.is_some() { Method::POST } else { Method::GET };
    let mut request = reqwest::Request::new(method, url.clone());
    let headers = request.headers_mut();
    copy(given, headers, &SENT_ON);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    let meant = given.get(AUTHORIZATION_FOR).and_then(|host| host.to_str().ok());
    let is_meant =
        meant.and_then(|host| at(url, host)).is_some_and(|it| it.origin() == url.origin());
    if let (true, Some(login)) = (is_meant, given.get(header::AUTHORIZATION)) {
        let mut login = login.clone();
        login.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, login);
    }
    *request.body_mut() = body.map(reqwest::Body::wrap);
    request
}

/// The body of `answer`, as it comes.
fn received(answer: HttpBody, flow: Flow) -> Body {
    let (pieces, next) = mpsc::channel(PIECES);
    // Its end is known by the channel.
    drop(tokio::spawn(async move {
        let Flow { stop, max_stall, record, _room } = flow;
        match stop.guard(answer.pour(&pieces, max_stall)).await {
            Ok(()) => drop(pieces.send(Piece::End).await),
            // Without an end the answer is broken off, as this one was.
            Err(error) => record.note().error = Some(error.to_string()),
        }
    }));
    Body::pieces(Pieces { next, _stop: StopOnDrop::default() })
}

fn response(status: StatusCode, said: &HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    copy(said, headers, &SENT_BACK);
    no_page(headers);
    response
}

fn copy(from: &HeaderMap, to: &mut HeaderMap, names: &[HeaderName]) {
    for name in names {
        if let Some(value) = from.get(name) {
            to.insert(name, value.clone());
        }
    }
}

/// The other host did not answer as it should; `error` is for the log.
fn gateway(words: &str, error: Option<&Error>) -> Problem {
    let problem = Problem::new(StatusCode::BAD_GATEWAY, words);
    Problem { error: error.map(ToString::to_string), ..problem }
}

fn refused(words: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, words)
}

fn not_git() -> Problem {
    refused("only git's requests for reading are passed on: PATH/info/refs and git-upload-pack")
}

const FETCH: &str = "/git-upload-pack";
const REFS: &str = "/info/refs";
const SERVICE: &str = "service=git-upload-pack";
/// What git needs of a request.
const SENT_ON: [HeaderName; 5] = [
    header::ACCEPT,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    HeaderName::from_static("git-protocol"),
];
/// And of an answer.
const SENT_BACK: [HeaderName; 5] = [
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_TYPE,
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
];
const MAX_REDIRECTS: usize = 5;
/// Repositories that are remembered to have moved.
const MAX_MOVED: usize = 1024;
const UNLISTED: &str = "that host is not among those that requests are passed on to here";
const UNREACHABLE: &str = "that host cannot be reached from here";
const AWAY: &str = "that host redirects to where requests are not passed on to: open the \
                    repository by its new address";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn asked(hosts: &ListedHosts, uri: &str) -> Option<Result<(String, bool), u16>> {
        let (head, ()) = http::Request::get(uri).body(()).unwrap().into_parts();
        let asked = hosts.asked(&head)?;
        Some(match asked {
            Ok(asked) => Ok((format!("{} {}", asked.url, asked.name), asked.is_fetch)),
            Err(problem) => Err(problem.status.as_u16()),
        })
    }

    fn hosts() -> ListedHosts {
        let listed = ["git.example", "http://127.0.0.1:8080", "other.example:444", "[2001:DB8::1]"];
        ListedHosts::new(&listed, HttpOptions::default()).unwrap()
    }

    #[test]
    fn both_forms_mean_the_same() {
        let (hosts, refs) = (hosts(), "/info/refs?service=git-upload-pack");
        for (path, url, name) in [
            ("git.example/a/.github", "https://git.example/a/.github", "git.example/a/.github"),
            ("git.example:443/a", "https://git.example/a", "git.example/a"),
            ("GIT.example/a.git", "https://git.example/a.git", "git.example/a.git"),
            ("127.0.0.1:8080/a", "http://127.0.0.1:8080/a", "127.0.0.1:8080/a"),
            ("[2001:db8::1]/a", "https://[2001:db8::1]/a", "[2001:db8::1]/a"),
            ("git.example/%61/../b", "https://git.example/b", "git.example/b"),
            ("git.example/%61", "https://git.example/%61", "git.example/a"),
        ] {
            let is = Some(Ok((format!("{url}{refs} proxy/{name}"), false)));
            assert_eq!(asked(&hosts, &format!("/proxy/{path}{refs}")), is, "{path}");
            for form in ["/?", "/proxy?"] {
                assert_eq!(asked(&hosts, &format!("{form}{url}{refs}")), is, "{path}");
            }
            let fetch = Some(Ok((format!("{url}/git-upload-pack proxy/{name}"), true)));
            assert_eq!(asked(&hosts, &format!("/proxy/{path}/git-upload-pack")), fetch, "{path}");
        }
    }

    #[test]
    fn nothing_else_is_passed_on() {
        let hosts = hosts();
        for uri in
            ["/", "/?after=x", "/proxy", "/a/info/refs", "/a/info/refs?https://git.example/a"]
        {
            assert_eq!(asked(&hosts, uri), None, "{uri}");
        }
        let service = "service=git-upload-pack";
        for uri in [
            "git.example/a/info/refs",
            "git.example/a/info/refs?service=git-receive-pack",
            &format!("git.example/a/info/refs?{service}&x"),
            &format!("git.example/a/info/refs?x&{service}"),
            &format!("git.example/info/refs?{service}"),
            &format!("git.example//info/refs?{service}"),
            &format!("git.example/a/HEAD?{service}"),
            &format!("git.example/a?/info/refs?{service}"),
            "git.example/a?/git-upload-pack",
            &format!("git.example/a%2f..%2fb/info/refs?{service}"),
            &format!("git.example/a%00/info/refs?{service}"),
            &format!("git.example:444/a/info/refs?{service}"),
            &format!("evil.example/a/info/refs?{service}"),
            &format!("me:secret@git.example/a/info/refs?{service}"),
            &format!("git.example@evil.example/a/info/refs?{service}"),
            &format!("git.example%0ahost=evil/a/info/refs?{service}"),
            &format!("127.0.0.1/a/info/refs?{service}"),
            &format!("localhost:8080/a/info/refs?{service}"),
            &format!("2130706433:8081/a/info/refs?{service}"),
            "git.example/a/git-receive-pack",
            "git.example/a/git-upload-pack?x",
            "git.example/git-upload-pack",
            "other.example/a/git-upload-pack",
        ] {
            assert_eq!(asked(&hosts, &format!("/proxy/{uri}")), Some(Err(403)), "{uri}");
            assert_eq!(asked(&hosts, &format!("/?https://{uri}")), Some(Err(403)), "{uri}");
        }
        let plain = format!("/?http://git.example/a/info/refs?{service}");
        assert_eq!(asked(&hosts, &plain), Some(Err(403)));
    }

    #[test]
    fn a_list_has_hosts_and_nothing_else() {
        for bad in ["", "a/b", "a b", "ftp://a", "https://me@a", "a?b", "a#b", "a:x", "*", "a:1:2"]
        {
            let error = ListedHosts::new(&[bad], HttpOptions::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{bad}");
        }
    }
}
