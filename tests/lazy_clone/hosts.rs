//! What hosts do instead of answering: ask for credentials, send elsewhere, refuse, fail,
//! or turn out to be something else.

use gitsip::agent::{RemoteOptions, Source};
use gitsip::client::credentials::Auth;
use gitsip::client::retry::RetryOptions;
use gitsip::{Error, ErrorKind};

use super::client::*;
use super::support::git::{File, Sandbox};
use super::support::http_server::{self, Behaviour, CannedResponse, HttpServer};

const SECRET: &str = "s3cret-t0ken";

fn sandbox_with_repo() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n")]);
    sandbox
}

fn bearer() -> Auth {
    Auth::Bearer(SECRET.to_owned())
}

fn basic() -> Auth {
    Auth::Basic { user: "me".to_owned(), password: SECRET.to_owned() }
}

fn with_auth(auth: Auth) -> RemoteOptions {
    RemoteOptions { auth: Some(auth), ..RemoteOptions::default() }
}

/// Takes the first answer for the answer.
fn at_once(auth: Option<Auth>) -> RemoteOptions {
    let retry = RetryOptions { max_tries: 1, ..RetryOptions::default() };
    RemoteOptions { auth, retry, ..RemoteOptions::default() }
}

fn canned(status: u16, content_type: &str, body: &str) -> Behaviour {
    let response = CannedResponse::new(status, content_type, body);
    Behaviour { hook: Some(Box::new(move |_| Some(response.clone()))), ..Behaviour::default() }
}

/// The error is one line and shows no secret in any form.
#[track_caller]
fn assert_discreet(error: &Error) {
    let shown = format!("{error} {error:?} {error:#?}");
    assert!(!error.to_string().contains('\n'), "{error}");
    assert!(!shown.contains(SECRET) && !shown.contains("bWU6czNjcmV0LXQwa2Vu"), "{shown}");
}

#[test]
fn credentials_go_along_from_the_first_request_on() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start(sandbox.repos());
    let basic_there =
        http_server::Auth::Basic { user: "me".to_owned(), password: SECRET.to_owned() };
    for (auth, there) in
        [(basic(), basic_there.clone()), (bearer(), http_server::Auth::Bearer(SECRET.to_owned()))]
    {
        server.set_behaviour(Behaviour { auth: Some(there.clone()), ..Behaviour::default() });
        server.forget_requests();
        run(async {
            let repo = open_with(&server.url("r.git"), with_auth(auth)).await.unwrap();
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
            let shown = format!("{repo:?} {snapshot:?}");
            assert!(!shown.contains(SECRET), "{shown}");
        });
        assert_eq!(server.requests().len(), 4, "no request is refused first");
    }
    // In the address, too; and it is not kept there.
    server.set_behaviour(Behaviour { auth: Some(basic_there), ..Behaviour::default() });
    run(async {
        let url = server.url("r.git").replace("http://", &format!("http://me:{SECRET}@"));
        let repo = open(&url).await.unwrap();
        repo.snapshot("HEAD").await.unwrap();
        assert!(!repo.source().name().contains(SECRET));
    });
}

#[test]
fn without_or_with_wrong_credentials_the_error_says_which() {
    let sandbox = sandbox_with_repo();
    let auth = Some(http_server::Auth::Bearer("another".to_owned()));
    let server = HttpServer::start_with(sandbox.repos(), Behaviour { auth, ..Default::default() });
    run(async {
        let error = open(&server.url("r.git")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(error.to_string().contains("give credentials"), "{error}");
        assert!(error.to_string().contains("credentials, please"), "{error}");
        for auth in [bearer(), basic()] {
            let error = open_with(&server.url("r.git"), with_auth(auth)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth);
            assert!(error.to_string().contains("not accepted"), "{error}");
            assert_discreet(&error);
        }
    });
}

#[test]
fn a_redirect_to_another_port_or_host_carries_no_credentials() {
    let sandbox = sandbox_with_repo();
    let elsewhere = HttpServer::start(sandbox.repos());
    let server = HttpServer::start(sandbox.repos());
    let by_name = format!("http://localhost:{}", server.address().port());
    for target in [elsewhere.url(""), format!("{by_name}/")] {
        let redirect = Some(("/moved/".to_owned(), target));
        server.set_behaviour(Behaviour { redirect, ..Behaviour::default() });
        server.forget_requests();
        elsewhere.forget_requests();
        run(async {
            let repo = open_with(&server.url("moved/r.git"), with_auth(bearer())).await.unwrap();
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        });
        let all = [server.requests(), elsewhere.requests()].concat();
        assert_eq!(all.len(), 5);
        let (first, rest) = all.split_first().unwrap();
        assert!(first.header("authorization").is_some());
        assert!(rest.iter().all(|request| request.header("authorization").is_none()));
    }
}

#[test]
fn case_27_after_a_redirect_that_adds_dot_git_everything_goes_to_the_new_address() {
    let sandbox = sandbox_with_repo();
    for status in [301, 302, 303, 307, 308] {
        let hook = move |request: &http_server::Recorded| {
            let rest = request.path.strip_prefix("/r/")?;
            let location = format!("/r.git/{rest}?{}", request.query);
            Some(CannedResponse::redirect(status, &location))
        };
        let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        run(async {
            let repo = open_with(&server.url("r"), with_auth(bearer())).await.unwrap();
            assert_eq!(repo.source().address().to_string(), server.url("r.git"));
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        });
        let requests = server.requests();
        assert_eq!(requests.len(), 5);
        assert!(requests[1..].iter().all(|request| request.path.starts_with("/r.git/")));
        // The same origin: credentials stay.
        assert!(requests.iter().all(|request| request.header("authorization").is_some()));
    }
}

#[test]
fn case_29_five_redirects_are_followed_and_a_loop_is_not() {
    let sandbox = sandbox_with_repo();
    let hook = |request: &http_server::Recorded| {
        let (number, rest) = request.path.strip_prefix("/hop")?.split_once('/')?;
        let next: u32 = number.parse::<u32>().ok()?.saturating_sub(1);
        let location = if next == 0 { format!("/{rest}") } else { format!("/hop{next}/{rest}") };
        Some(CannedResponse::redirect(302, &location))
    };
    let behaviour = Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    run(async {
        open(&server.url("hop5/r.git")).await.unwrap();
        server.forget_requests();
        let error = open(&server.url("hop6/r.git")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.to_string().contains("more than 5 redirects"), "{error}");
        assert_eq!(server.requests().len(), 6);
        server.forget_requests();
        let redirect = Some(("/r.git".to_owned(), "/r.git".to_owned()));
        server.set_behaviour(Behaviour { redirect, ..Behaviour::default() });
        let error = open(&server.url("r.git")).await.unwrap_err();
        assert_eq!((error.kind(), server.requests().len()), (ErrorKind::Transport, 6));
    });
}

#[test]
fn a_redirect_to_a_login_or_to_nowhere_is_an_error_that_says_where() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        for location in [
            "/login?next=r.git",
            "ftp://h/r.git/info/refs",
            "http://[/info/refs",
            "http://me:s3cret-t0ken@h/login",
            "\u{9b}31m",
        ] {
            let response = CannedResponse::redirect(302, location);
            let hook = move |_: &_| Some(response.clone());
            server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Default::default() });
            let error = open_with(&server.url("r.git"), with_auth(bearer())).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
            assert!(error.to_string().contains("redirects to"), "{error}");
            assert!(!error.to_string().contains('\u{9b}'), "{error}");
            assert_discreet(&error);
        }
        // Commands are never redirected: their answer is for the address that was asked.
        let hook = |request: &http_server::Recorded| {
            (request.method == "POST")
                .then(|| CannedResponse::redirect(307, "/r.git/git-upload-pack"))
        };
        server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Default::default() });
        let repo = open(&server.url("r.git")).await.unwrap();
        server.forget_requests();
        let error = repo.snapshot("HEAD").await.unwrap_err();
        assert!(error.to_string().contains("answered 307"), "{error}");
        assert_eq!(server.requests().len(), 1);
    });
}

#[test]
fn each_status_has_its_kind_and_the_hosts_own_words_on_one_line() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        for (status, kind) in [
            (401, ErrorKind::Auth),
            (403, ErrorKind::Auth),
            (404, ErrorKind::NotFound),
            (418, ErrorKind::Transport),
            (429, ErrorKind::RateLimited),
            (500, ErrorKind::Transport),
            (503, ErrorKind::Transport),
        ] {
            // The host sends the token back, and terminal escapes.
            let body = format!("the tea is \x1b[31mcold\x07, {SECRET}\nmore\n");
            server.set_behaviour(canned(status, "text/plain", &body));
            let error = open_with(&server.url("r.git"), at_once(Some(bearer()))).await.unwrap_err();
            assert_eq!(error.kind(), kind);
            let line = error.to_string();
            assert!(
                line.contains(&format!("answered {status} ('the tea is \\x1b[31mcold")),
                "{line}"
            );
            assert!(!line.contains("more"), "{line}");
            assert_discreet(&error);

            server.set_behaviour(canned(status, "text/html", "<html><h1>Tea</h1></html>"));
            let error = open_with(&server.url("r.git"), at_once(None)).await.unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(!error.to_string().contains("Tea"), "{error}");
        }
        // The same for a command.
        server.set_behaviour(Behaviour::default());
        let repo = open_with(&server.url("r.git"), with_auth(bearer())).await.unwrap();
        server.set_behaviour(canned(500, "text/plain", SECRET));
        let error = repo.snapshot("HEAD").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert_discreet(&error);
    });
}

#[test]
fn an_error_page_without_end_is_not_read_to_its_end() {
    let sandbox = sandbox_with_repo();
    let body = "busy ".repeat(8 << 20);
    let server = HttpServer::start_with(sandbox.repos(), canned(500, "text/plain", &body));
    run(async {
        let error = open(&server.url("r.git")).await.unwrap_err();
        assert!(error.to_string().contains("answered 500 ('busy busy"), "{error}");
        assert!(error.to_string().len() < 500, "{error}");
    });
    assert!(!server.requests()[0].complete);
}

#[test]
fn case_21_what_is_no_git_host_is_called_what_it_is() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start(sandbox.repos());
    let id = "1".repeat(40);
    let dumb = format!("{id}\trefs/heads/main\n");
    run(async {
        for (content_type, body, kind, words) in [
            ("text/html", "<!doctype html><title>x</title>", ErrorKind::NotFound, "web page"),
            ("text/plain", dumb.as_str(), ErrorKind::Unsupported, "dumb"),
            ("application/json", "{\"error\": \"x\"}", ErrorKind::Malformed, "not git's protocol"),
            ("text/plain", "", ErrorKind::Transport, "is empty"),
        ] {
            server.set_behaviour(canned(200, content_type, body));
            let error = open(&server.url("r.git")).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(words), "{error}");
            assert!(error.to_string().contains(&server.url("r.git")), "{error}");
        }
        // A login page in the place of the answer to a command.
        server.set_behaviour(Behaviour::default());
        let repo = open(&server.url("r.git")).await.unwrap();
        server.set_behaviour(canned(200, "text/html; charset=utf-8", "<html>log in</html>"));
        let error = repo.snapshot("HEAD").await.unwrap_err();
        assert!(error.to_string().contains("web page"), "{error}");
        server.set_behaviour(canned(200, "application/\u{9b}json", "{}{}"));
        let error = repo.snapshot("HEAD").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert!(error.to_string().contains("of type 'application/"), "{error}");
        assert!(!error.to_string().contains('\u{9b}'), "{error}");
    });
}

#[test]
fn a_right_answer_under_a_wrong_content_type_is_read() {
    let sandbox = sandbox_with_repo();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let (_, snapshot) = head_of(&server, "r.git").await;
        read(&snapshot, "a").await.unwrap();
        let mut bodies = server
            .requests()
            .into_iter()
            .map(|request| request.response_body)
            .rev()
            .collect::<Vec<_>>();
        let bodies = std::sync::Mutex::new(std::mem::take(&mut bodies));
        let hook = move |_: &_| {
            let body = bodies.lock().unwrap().pop()?;
            Some(CannedResponse::new(200, "text/plain", body))
        };
        server.set_behaviour(Behaviour { hook: Some(Box::new(hook)), ..Behaviour::default() });
        let (_, snapshot) = head_of(&server, "r.git").await;
        assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
    });
}

#[test]
fn case_30_an_address_that_cannot_be_read_is_refused_before_anything_is_sent() {
    run(async {
        for address in [
            "ssh://me:s3cret-t0ken@h/r",
            "https://x%0ahost=y/",
            "http://me:s3cret-t0ken@h:99999/r",
            "file:///etc",
            "r.git",
            "",
        ] {
            let error = open(address).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{address}: {error}");
            assert_discreet(&error);
        }
    });
}
