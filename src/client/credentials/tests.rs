//! Which origin a credential may go to, when it is asked for again, and that it is never
//! shown.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn repo(address: &str) -> RepoUrl {
    RepoUrl::parse(address).unwrap().0
}

fn basic(user: &str, password: &str) -> Auth {
    Auth::Basic { user: user.into(), password: password.into() }
}

fn given(auth: Auth, address: &str) -> Credentials {
    Credentials::new(Some(auth), AuthSource::none(), &repo(address))
}

fn sent(credentials: &Credentials, address: &str) -> Option<String> {
    let carried = credentials.for_request(&repo(address)).unwrap();
    carried.header().map(|(name, value)| format!("{name}: {value}"))
}

#[test]
fn credentials_stay_with_scheme_host_and_port() {
    let given = given(Auth::Bearer("t".into()), "https://good/r");
    for same in ["https://good/r", "https://good:443/other", "https://GOOD/x"] {
        assert_eq!(sent(&given, same).as_deref(), Some("authorization: Bearer t"), "{same}");
        assert!(given.are_sent_to(&repo(same)));
    }
    for other in [
        "http://good/r",
        "https://good:444/r",
        "https://good.evil/r",
        "https://evil?@good/",
        "https://evil/good",
        "https://sub.good/r",
        "https://good.:443/r",
        "https://good@evil/r",
    ] {
        assert_eq!(sent(&given, other), None, "{other}");
        assert!(!given.are_sent_to(&repo(other)), "{other}");
    }
}

#[test]
fn each_form_has_its_header() {
    let header = |name: &str, value: &str| Auth::Header { name: name.into(), value: value.into() };
    for (auth, expected) in [
        (basic("me", "secret"), "authorization: Basic bWU6c2VjcmV0"),
        (Auth::Bearer("abc".into()), "authorization: Bearer abc"),
        (header("Private-Token", "a b"), "private-token: a b"),
    ] {
        assert_eq!(sent(&given(auth, "https://h/r"), "https://h/r").as_deref(), Some(expected));
    }
    for bad in [
        header("x", "a\r\nhost: evil"),
        header("x", "a\0"),
        header("x: y\r\nz", "a"),
        header("", "a"),
        header("Host", "evil"),
        header("content-length", "0"),
        Auth::Bearer("a\nb".into()),
    ] {
        let refused = given(bad, "https://h/r").for_request(&repo("https://h/r")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Usage);
        assert!(!format!("{refused:?}").contains("evil"));
    }
}

#[test]
fn a_token_takes_the_form_its_host_wants() {
    for (host, user, password) in [
        ("github.com", "x-access-token", "t0ken"),
        ("gitlab.com", "oauth2", "t0ken"),
        ("gitlab.example.org:8443", "oauth2", "t0ken"),
        ("GitLab.com", "oauth2", "t0ken"),
        ("gitea.com", "t0ken", "x-oauth-basic"),
        ("codeberg.org", "t0ken", "x-oauth-basic"),
        ("forgejo.example.org", "t0ken", "x-oauth-basic"),
        ("bitbucket.org", "x-token-auth", "t0ken"),
        ("dev.azure.com", "x-access-token", "t0ken"),
        ("notgitlab.com", "x-access-token", "t0ken"),
        ("gitlabs.com", "x-access-token", "t0ken"),
        ("[::1]", "x-access-token", "t0ken"),
    ] {
        let auth = Auth::token("t0ken", &repo(&format!("https://{host}/a/b")));
        assert_eq!((auth == basic(user, password), &auth), (true, &auth), "{host}");
    }
}

#[test]
fn a_secret_that_the_host_sends_back_is_hidden() {
    let wire = basic("me", "hunter2").on_the_wire("");
    for (auth, words) in [
        (basic("me", "hunter2"), "you sent hunter2".to_owned()),
        (basic("me", "hunter2"), format!("bad header Basic {wire}")),
        (basic("hunter2", "x-oauth-basic"), "who is hunter2?".to_owned()),
        (basic("hunter2", ""), "who is hunter2?".to_owned()),
        (Auth::Bearer("t0ken".into()), "no t0ken, not t0ken".to_owned()),
        (Auth::Header { name: "x".into(), value: "t0ken".into() }, "no t0ken".to_owned()),
    ] {
        let given = given(auth, "https://h/r");
        let source = std::io::Error::other(words.clone());
        let error = Error::new(ErrorKind::Auth, words).with_code("x").with_source(source);
        let hidden = given.hide_in(error);
        let shown = format!("{hidden} {hidden:?} {given:?}");
        assert!(shown.contains("(hidden)"), "{shown}");
        assert!(!["hunter2", &wire, "t0ken"].iter().any(|s| shown.contains(s)), "{shown}");
        assert_eq!((hidden.kind(), hidden.code()), (ErrorKind::Auth, "x"));
    }
    let given = given(Auth::Bearer("t0ken".into()), "https://h/r");
    assert_eq!(given.hide_in(Error::new(ErrorKind::Auth, "no")).context(), "no");
}

#[test]
fn a_source_is_asked_first_and_once_for_those_refused_together() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let source = AuthSource::new(move |origin, asked| {
        assert_eq!(origin, "https://h:8443");
        let number = counted.fetch_add(1, Ordering::Relaxed);
        assert_eq!(asked, if number == 0 { Asked::First } else { Asked::Refused });
        Some(Auth::Bearer(format!("token-{number}")))
    });
    let repo = repo("https://h:8443/r");
    let credentials = Credentials::new(None, source, &repo);
    let one = credentials.for_request(&repo).unwrap();
    let other = credentials.for_request(&repo).unwrap();
    assert!(credentials.renew(&repo, &one) && credentials.renew(&repo, &other));
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let renewed = credentials.for_request(&repo).unwrap();
    assert_eq!(renewed.header(), Some(("authorization", "Bearer token-1")));
    // The one before is hidden, too.
    let error = Error::new(ErrorKind::Auth, "token-0 expired, token-1 is new");
    assert_eq!(credentials.hide_in(error).context(), "(hidden) expired, (hidden) is new");
}

#[test]
fn a_source_without_another_answer_ends_the_asking() {
    let repo = repo("https://h/r");
    let evil = RepoUrl::parse("https://evil/r").unwrap().0;
    for answer in [None, Some(Auth::Bearer("same".into()))] {
        let refused = if answer.is_some() { Asked::Refused } else { Asked::Wanted };
        let source = AuthSource::new(move |_, asked| {
            assert!(asked == Asked::First || asked == refused);
            answer.clone()
        });
        let credentials = Credentials::new(None, source, &repo);
        let carried = credentials.for_request(&repo).unwrap();
        assert!(!credentials.renew(&repo, &carried));
        assert!(!credentials.renew(&evil, &carried), "nobody is asked for another origin");
    }
}
