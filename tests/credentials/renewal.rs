//! Hosts that refuse a credential, now or in the middle of a session, and what is shown.

use std::sync::{Arc, Mutex};

use gitsip::agent::{Remote, RemoteOptions, Repo};
use gitsip::client::address::RepoUrl;
use gitsip::client::credentials::{Asked, Auth, AuthSource, Credentials};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::{Error, ErrorKind, Limits};

use super::support::http_server::{self, Behaviour, CannedResponse, HttpServer};
use super::{SECRET, basic, bearer, has_secret, run, sandbox_with_repo};

#[test]
fn after_a_401_the_source_is_asked_and_its_answer_is_used_from_then_on() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start_with(sandbox.repos(), wanting(SECRET));
    let (source, asked) = source_of([None, Some(SECRET)]);
    run(async {
        let repo = open(&server, None, source).await.unwrap();
        repo.snapshot("HEAD").await.unwrap();
    });
    assert_eq!(*asked.lock().unwrap(), [Asked::First, Asked::Wanted]);
    let statuses: Vec<_> = server.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [401, 200, 200]);
}

#[test]
fn a_source_that_knows_at_first_costs_no_request() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start_with(sandbox.repos(), wanting(SECRET));
    let (source, asked) = source_of([Some(SECRET)]);
    run(async { open(&server, None, source).await.unwrap() });
    assert_eq!(*asked.lock().unwrap(), [Asked::First]);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_token_that_expires_in_a_session_is_renewed_once_for_the_request_it_failed() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start_with(sandbox.repos(), wanting("first"));
    let (source, asked) = source_of([Some("second"), Some("third")]);
    run(async {
        let repo = open(&server, Some(bearer("first")), source).await.unwrap();
        for token in ["second", "third"] {
            server.set_behaviour(wanting(token));
            server.forget_requests();
            repo.snapshot("HEAD").await.unwrap();
            let statuses: Vec<_> = server.requests().iter().map(|it| it.status).collect();
            assert_eq!(statuses, [401, 200]);
        }
        // The fourth is nobody's: the source is asked once, and the error is the host's.
        server.set_behaviour(wanting("fourth"));
        let error = repo.snapshot("HEAD").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Auth, "credentials_refused"));
    });
    assert_eq!(*asked.lock().unwrap(), [Asked::Refused; 3]);
}

#[test]
fn a_host_that_refuses_twice_is_not_asked_a_third_time() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start_with(sandbox.repos(), wanting("another"));
    let (source, asked) = source_of([Some("one"), Some("two"), Some("three")]);
    let error = run(open(&server, None, source)).unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Auth, "credentials_refused"));
    assert!(error.to_string().contains("not accepted"), "{error}");
    assert_eq!(*asked.lock().unwrap(), [Asked::First, Asked::Refused]);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_403_or_404_asks_nobody_for_another_credential() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start(sandbox.repos());
    for (status, code) in [(403, "forbidden"), (404, "no_repository")] {
        let hook = move |_: &_| Some(CannedResponse::new(status, "text/plain", "no\n"));
        server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() });
        let (source, asked) = source_of([None, Some(SECRET)]);
        let error = run(open(&server, None, source)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(*asked.lock().unwrap(), [Asked::First]);
    }
    let gone = run(open(&server, None, AuthSource::none())).unwrap_err().to_string();
    assert!(gone.contains("no such repository, or a private one"), "{gone}");
}

#[test]
fn a_header_of_any_name_is_sent_with_every_request() {
    let sandbox = sandbox_with_repo();
    let hook = |request: &http_server::Recorded| {
        let is_right = request.header("private-token") == Some(SECRET);
        (!is_right).then(|| CannedResponse::new(401, "text/plain", "no\n"))
    };
    let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let auth = Auth::Header { name: "Private-Token".into(), value: SECRET.into() };
    run(async {
        let repo = open(&server, Some(auth), AuthSource::none()).await.unwrap();
        repo.snapshot("HEAD").await.unwrap();
    });
    assert!(server.requests().iter().all(|request| request.status == 200));
}

#[test]
fn nothing_public_shows_a_secret() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start_with(sandbox.repos(), wanting(SECRET));
    let (url, _) = RepoUrl::parse(&server.url("r.git")).unwrap();
    let header = Auth::Header { name: "x".into(), value: SECRET.into() };
    for auth in [basic("me", SECRET), basic(SECRET, ""), bearer(SECRET), header] {
        let held = auth.clone();
        let source = AuthSource::new(move |_, _| Some(held.clone()));
        let credentials = Credentials::new(Some(auth.clone()), source.clone(), &url);
        let carried = credentials.for_request(&url).unwrap();
        assert!(has_secret(&format!("{:?}", carried.header())) || auth == basic(SECRET, ""));
        let options = RemoteOptions {
            auth: Some(auth.clone()),
            auth_source: source.clone(),
            ..RemoteOptions::default()
        };
        let shown = format!("{auth:#?} {source:?} {credentials:#?} {carried:?} {options:#?}");
        assert!(!has_secret(&shown), "{shown}");
        assert!(shown.contains("hidden"), "{shown}");
    }
    run(async {
        let repo = open(&server, Some(bearer(SECRET)), AuthSource::none()).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        let shown = format!("{repo:#?} {snapshot:#?} {:#?}", repo.stats());
        assert!(!has_secret(&shown), "{shown}");
        // The host sends the one before back, after the source has given another one.
        let echo = |_: &_| Some(CannedResponse::new(401, "text/plain", SECRET));
        server.set_behaviour(Behaviour { hook: Some(Box::new(echo)), ..Behaviour::default() });
        let (source, _) = source_of([Some("an0ther")]);
        let error = open(&server, Some(bearer(SECRET)), source).await.unwrap_err();
        let shown = format!("{error} {error:#?}");
        assert!(shown.contains("(hidden)") && !has_secret(&shown), "{shown}");
    });
}

type Reasons = Arc<Mutex<Vec<Asked>>>;

/// A source that gives one answer after the other, then none, and why it was asked.
fn source_of<const N: usize>(answers: [Option<&'static str>; N]) -> (AuthSource, Reasons) {
    let asked = Reasons::default();
    let reasons = Arc::clone(&asked);
    let source = AuthSource::new(move |_, why| {
        let mut reasons = reasons.lock().unwrap();
        reasons.push(why);
        answers.get(reasons.len() - 1).copied().flatten().map(bearer)
    });
    (source, asked)
}

/// A host that lets this bearer in.
fn wanting(token: &str) -> Behaviour {
    let auth = Some(http_server::Auth::Bearer(token.to_owned()));
    Behaviour { auth, ..Behaviour::default() }
}

async fn open(
    server: &HttpServer,
    auth: Option<Auth>,
    auth_source: AuthSource,
) -> Result<Repo<Remote<HttpTransport>>, Error> {
    let transport = HttpTransport::new(HttpOptions::default())?;
    let options = RemoteOptions { auth, auth_source, ..RemoteOptions::default() };
    let remote = Remote::open(transport, &server.url("r.git"), options).await?;
    Ok(Repo::new(remote, Limits::default()))
}
