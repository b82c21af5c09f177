//! A host sends its reader elsewhere, in every way that has ever fooled a client. The
//! network is a script, so that any name and scheme can be the target.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gitsip::agent::{Remote, RemoteOptions};
use gitsip::client::Conversation;
use gitsip::client::credentials::{Auth, AuthSource};
use gitsip::client::transport::{Request, Response, Transport};
use gitsip::{Error, ErrorKind};

use super::{SECRET, basic, bearer, has_secret, run};

const GOOD: &str = "https://good.example";

/// Where the reader of `https://good.example/r` ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lands {
    /// At the same origin: the credential goes along.
    Here,
    /// At this origin, without it.
    At(&'static str),
    /// Nowhere: the redirect is not followed.
    Nowhere,
}
use Lands::{At, Here, Nowhere};

const REDIRECTS: &[(&str, Lands)] = &[
    // The same origin in other words.
    ("/other/info/refs", Here),
    ("../r.git/info/refs", Here),
    ("https://good.example/r.git/info/refs", Here),
    ("https://good.example:443/r.git/info/refs", Here),
    ("https://good.example:00443/r.git/info/refs", Here),
    ("HTTPS://GOOD.EXAMPLE/r.git/info/refs", Here),
    ("https://good%2Eexample/r.git/info/refs", Here),
    ("https://other:word@good.example/r.git/info/refs", Here),
    // A scheme without slashes is relative to a base of that scheme.
    ("https:evil.example/r/info/refs", Here),
    ("https:/evil.example/r/info/refs", Here),
    // Another host.
    ("//evil.example/r/info/refs", At("https://evil.example")),
    ("https://evil.example/r/info/refs", At("https://evil.example")),
    ("https:///evil.example/r/info/refs", At("https://evil.example")),
    ("\\\\evil.example/r/info/refs", At("https://evil.example")),
    ("/\\evil.example/r/info/refs", At("https://evil.example")),
    ("/\t/evil.example/r/info/refs", At("https://evil.example")),
    (" https://ev\til.example/r/info/refs", At("https://evil.example")),
    ("https://good.example@evil.example/r/info/refs", At("https://evil.example")),
    ("https://good.example:443@evil.example/r/info/refs", At("https://evil.example")),
    ("https://me:word@evil.example/r/info/refs", At("https://evil.example")),
    ("https://evil.example\\@good.example/r/info/refs", At("https://evil.example")),
    ("https://evil.example/@good.example/r/info/refs", At("https://evil.example")),
    ("https://good.example.evil.example/r/info/refs", At("https://good.example.evil.example")),
    ("https://sub.good.example/r/info/refs", At("https://sub.good.example")),
    ("https://example/r/info/refs", At("https://example")),
    ("https://good.example./r/info/refs", At("https://good.example.")),
    ("https://g\u{43e}od.example/r/info/refs", At("https://xn--god-sed.example")),
    ("https://127.0.0.1/r/info/refs", At("https://127.0.0.1")),
    ("https://[::1]/r/info/refs", At("https://[::1]")),
    // Another port.
    ("https://good.example:444/r/info/refs", At("https://good.example:444")),
    ("https://good.example:80/r/info/refs", At("https://good.example:80")),
    // Another scheme, and what is no repository.
    ("http://good.example/r/info/refs", Nowhere),
    ("http://good.example:443/r/info/refs", Nowhere),
    ("http://evil.example/r/info/refs", Nowhere),
    ("ftp://good.example/r/info/refs", Nowhere),
    ("file:///r/info/refs", Nowhere),
    ("javascript:info/refs", Nowhere),
    ("https://evil.example?@good.example/r/info/refs", Nowhere),
    ("https://evil.example#@good.example/r/info/refs", Nowhere),
    ("https://good.example%00.evil.example/r/info/refs", Nowhere),
    ("https://good.example%0a.evil.example/r/info/refs", Nowhere),
    ("https://good.example/r%0d%0ahost:evil/info/refs", Nowhere),
    ("https://good.example:99999/r/info/refs", Nowhere),
    ("https://", Nowhere),
];

#[test]
fn case_28_a_credential_never_leaves_its_origin_whatever_a_redirect_says() {
    assert!(REDIRECTS.len() >= 20);
    for &(location, lands) in REDIRECTS {
        for given in [Given::Option, Given::Address, Given::Source, Given::Header] {
            let (requests, error) = follow(location, given);
            let (first, rest) = requests.split_first().unwrap();
            assert!(carries(first), "{given:?} is sent at first");
            for request in rest {
                let here = origin(request) == GOOD;
                assert_eq!(carries(request), here, "{location:?} {given:?} {}", request.url);
                assert!(!has_secret(&request.url), "{location:?} {}", request.url);
            }
            let landed = rest.first().map(origin);
            let expected = match lands {
                Here => Some(GOOD.to_owned()),
                At(origin) => Some(origin.to_owned()),
                Nowhere => None,
            };
            assert_eq!(landed, expected, "{location:?}");
            let kind = if lands == Nowhere { ErrorKind::Transport } else { ErrorKind::Auth };
            assert_eq!(error.kind(), kind, "{location:?} {error}");
            let is_elsewhere = error.code() == "credentials_elsewhere";
            assert_eq!(is_elsewhere, matches!(lands, At(_)), "{location:?} {error}");
            let shown = format!("{error} {error:?}");
            assert!(!has_secret(&shown) && !shown.contains("word"), "{location:?} {shown}");
        }
    }
}

/// How the credential is given.
#[derive(Clone, Copy, Debug)]
enum Given {
    Address,
    Header,
    Option,
    Source,
}

/// Every request that a redirect to `location` leads to, and how it ended.
fn follow(location: &str, given: Given) -> (Vec<Request>, Error) {
    let net = Net { location: location.to_owned(), seen: Arc::default() };
    let seen = Arc::clone(&net.seen);
    let (mut address, mut options) = (format!("{GOOD}/r"), RemoteOptions::default());
    match given {
        Given::Address => address = format!("https://me:{SECRET}@good.example/r"),
        Given::Header => {
            let (name, value) = ("X-Token".to_owned(), SECRET.to_owned());
            options.auth = Some(Auth::Header { name, value });
        }
        Given::Option => options.auth = Some(basic("me", SECRET)),
        Given::Source => {
            options.auth_source = AuthSource::new(|origin, _| {
                // One that answers anybody is not asked by just anybody.
                assert_eq!(origin, GOOD);
                Some(bearer(SECRET))
            });
        }
    }
    let error = run(Remote::open(net, &address, options)).unwrap_err();
    let requests = seen.lock().unwrap().clone();
    (requests, error)
}

fn carries(request: &Request) -> bool {
    request.headers.iter().any(|(_, value)| has_secret(value))
}

fn origin(request: &Request) -> String {
    request.url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}

/// Answers the first request with a redirect and every other one with 401.
struct Net {
    location: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Transport for Net {
    type Body = ();

    async fn send(&self, request: Request) -> Result<Response<()>, Error> {
        let mut seen = self.seen.lock().unwrap();
        let url = request.url.clone();
        seen.push(request);
        let (status, headers) = match seen.len() {
            1 => (302, vec![("location".to_owned(), self.location.clone())]),
            _ => (401, Vec::new()),
        };
        Ok(Response { status, url, headers, http_version: None, peer: None, body: () })
    }

    async fn receive(
        &self,
        (): (),
        mut conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        let received = conversation.push(SECRET.as_bytes()).and_then(|()| conversation.finish());
        (conversation, received)
    }

    async fn sleep(&self, _: Duration) {}

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}
