//! Hosts that lack, ignore and refuse, by the knobs of the test server; and those that are
//! no git host, or want credentials.

use gitsip::ErrorKind;
use gitsip::agent::{DoctorOptions, examine};
use gitsip::client::credentials::Auth;

use super::support::git::Sandbox;
use super::support::http_server::in_process::run;
use super::support::http_server::{self, Behaviour, CannedResponse, InProcess, Redirect};
use super::{check, check_cost, examined, origin, verdict};

/// A name, what a host does, verdicts, and what that means.
type Row = (&'static str, Behaviour, &'static [(&'static str, &'static str)], &'static str);

fn git() -> Behaviour {
    Behaviour::default()
}

#[test]
fn each_lack_is_told_from_the_others() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let rows: [Row; 6] = [
        (
            "no filter",
            git().without_filter(),
            &[("filter tree:0", "refused"), ("depth 1", "offered, honoured")],
            "cannot filter",
        ),
        (
            "filters ignored",
            git().ignoring_filters(),
            &[
                ("filter blob:none", "offered, ignored"),
                ("filter blob:limit", "offered, ignored"),
                ("filter tree:0", "offered, ignored"),
                ("filter object:type", "offered, ignored"),
                ("filter combine", "offered, ignored"),
                ("blob by id", "honoured"),
            ],
            "ignores filters",
        ),
        (
            "filters refused",
            git().refusing_filters(),
            &[("filter blob:none", "offered, refused"), ("depth 1", "offered, honoured")],
            "refuses filters",
        ),
        (
            "depth not offered",
            git().without_shallow(),
            &[("depth 1", "honoured"), ("deepen-since", "honoured")],
            "cannot cut history",
        ),
        (
            "depth ignored",
            git().asking_without("deepen"),
            &[
                ("depth 1", "offered, ignored"),
                ("deepen-since", "offered, ignored"),
                ("deepen-not", "offered, ignored"),
                ("filter tree:0", "offered, honoured"),
            ],
            "takes 4 requests",
        ),
        (
            "prefixes ignored",
            git().asking_without("ref-prefix "),
            &[("ref prefixes", "ignored"), ("symrefs", "honoured")],
            "lists all refs",
        ),
    ];
    for (what, behaviour, expected, says) in rows {
        let (answer, _) = examined(&sandbox, behaviour);
        assert!(answer.error.is_none(), "{what}");
        check(what, &answer.diagnosis, expected);
        let meaning = answer.diagnosis.meaning.join(" ");
        assert!(meaning.contains(says), "{what}: {meaning}");
    }
}

#[test]
fn objects_that_are_left_out_and_refused_by_their_ids_are_told_apart() {
    let sandbox = Sandbox::new();
    let origin = origin(&sandbox);
    let id = |name: &str| origin.git().run(["rev-parse", name]);
    let ids: Vec<_> = ["main^{tree}", "main:README", "main:src/lib.rs", "main~1"].map(id).into();
    let (answer, _) = examined(&sandbox, git().dropping(ids.clone()));
    let names = ["commit by id", "tree by id", "blob by id"];
    for name in names {
        assert_eq!(verdict(&answer.diagnosis, name), "ignored", "{name}");
    }
    let meaning = answer.diagnosis.meaning.join(" ");
    assert!(meaning.contains("leaves out objects asked for by id"), "{meaning}");

    let refuses = git().answering_first(move |request| {
        let asked = request.body_text();
        let body = b"0033ERR upload-pack: not our ref, so do not ask me!";
        let is_asked = ids.iter().any(|id| asked.contains(&format!("want {id}")));
        is_asked.then(|| {
            CannedResponse::new(200, "application/x-git-upload-pack-result", body.as_slice())
        })
    });
    let (answer, _) = examined(&sandbox, refuses);
    for name in names {
        assert_eq!(verdict(&answer.diagnosis, name), "refused", "{name}");
    }
    let meaning = answer.diagnosis.meaning.join(" ");
    assert!(meaning.contains("refuses objects by id"), "{meaning}");
}

#[test]
fn what_is_no_git_host_is_told_and_is_the_error_of_a_read() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    for (behaviour, kind, says) in [
        (git().dumb(), ErrorKind::Unsupported, "'dumb' HTTP"),
        (git().html(), ErrorKind::NotFound, "web page"),
        (git().failing(404, "no such thing"), ErrorKind::NotFound, "no such thing"),
        (git().failing(403, "go away"), ErrorKind::Auth, "go away"),
        (git().failing(500, "oh"), ErrorKind::Transport, "500"),
        (git().busy(429, "7", 100), ErrorKind::RateLimited, "in 7 seconds"),
    ] {
        let (answer, host) = examined(&sandbox, behaviour);
        let error = answer.error.unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        let failure = answer.diagnosis.failure.as_ref().unwrap();
        assert!(failure.message.contains(says), "{failure:?}");
        assert_eq!(failure.code, error.code());
        assert!(answer.diagnosis.git.is_none());
        assert_eq!(answer.diagnosis.findings.len(), 1, "what a browser may");
        assert_eq!(host.requests().len(), 2);
    }
}

#[test]
fn a_private_host_is_asked_what_it_wants_and_whether_what_was_given_does() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let auth = || http_server::Auth::Basic { user: "me".into(), password: "secret".into() };
    let private = || Behaviour { auth: Some(auth()), ..git() };
    let given = |password: &str| Auth::Basic { user: "me".into(), password: password.into() };
    let rows = [
        (private(), None, Some(true), None, true),
        (private(), Some(given("wrong!")), Some(true), Some(false), true),
        (private(), Some(given("secret")), Some(true), Some(true), false),
        (git(), Some(given("secret")), Some(false), None, false),
        (git(), None, Some(false), None, false),
    ];
    for (number, (behaviour, auth, wanted, accepted, fails)) in rows.into_iter().enumerate() {
        let host = InProcess::new(sandbox.repos(), behaviour);
        let is_given = auth.is_some();
        let options = DoctorOptions { auth, ..DoctorOptions::default() };
        let answer = run(examine(&host, &host.url("r.git"), options)).unwrap();
        check_cost(&answer.diagnosis, &host);
        let found = &answer.diagnosis.auth;
        assert_eq!((found.wanted, found.accepted), (wanted, accepted), "row {number}");
        assert_eq!(found.given, is_given, "row {number}");
        let schemes = if wanted == Some(true) { &["Basic"][..] } else { &[] };
        assert_eq!(found.schemes, schemes, "row {number}");
        let kind = answer.error.as_ref().map(|error| error.kind());
        assert_eq!(kind, fails.then_some(ErrorKind::Auth), "row {number}");
        // A browser's question carries no credential, nor does the one without.
        let carried: Vec<_> = host
            .requests()
            .iter()
            .filter(|request| request.header("authorization").is_some())
            .map(|request| request.method.clone())
            .collect();
        assert_eq!(carried.is_empty(), !is_given, "row {number}");
        assert!(!carried.contains(&"OPTIONS".to_owned()), "row {number}");
        assert!(!format!("{answer:?}").contains("secret"), "row {number}");
    }
}

#[test]
fn redirects_are_told_one_by_one() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let host = InProcess::new(sandbox.repos(), git().redirecting(308, Redirect::AddDotGit));
    let answer = run(examine(&host, &host.url("r"), DoctorOptions::default())).unwrap();
    let diagnosis = answer.diagnosis;
    assert_eq!(diagnosis.address, host.url("r"));
    assert_eq!(diagnosis.base, host.url("r.git"));
    assert_eq!(diagnosis.redirects.len(), 1);
    assert_eq!((diagnosis.redirects[0].status, &diagnosis.redirects[0].to), (308, &diagnosis.base));
    // Everything else is asked of where it led.
    assert!(host.requests()[1..].iter().all(|request| request.path.starts_with("/r.git/")));

    let host = InProcess::new(sandbox.repos(), git().redirecting(302, Redirect::Loop));
    let error = run(examine(&host, &host.url("r.git"), DoctorOptions::default())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert_eq!(host.requests().len(), 6);
}

#[test]
fn a_page_of_another_site_may_read_where_the_host_says_so() {
    let sandbox = Sandbox::new();
    origin(&sandbox);
    let (answer, host) = examined(&sandbox, git());
    assert_eq!(verdict(&answer.diagnosis, "CORS preflight"), "refused");
    assert_eq!(verdict(&answer.diagnosis, "CORS answers"), "ignored");
    let preflight = host.requests().into_iter().find(|r| r.method == "OPTIONS").unwrap();
    assert_eq!(preflight.header("access-control-request-method"), Some("POST"));
    let headers = preflight.header("access-control-request-headers").unwrap();
    assert_eq!(headers, "authorization,content-type,git-protocol");
    assert!(answer.diagnosis.meaning.last().unwrap().contains("cannot read"));

    let open = git().answering_first(|request| {
        let canned = CannedResponse::new(204, "text/plain", "");
        let canned = canned.with("Access-Control-Allow-Origin", "*");
        let canned = canned.with("Access-Control-Allow-Headers", "Authorization, *");
        (request.method == "OPTIONS").then_some(canned)
    });
    let (answer, _) = examined(&sandbox, open);
    assert_eq!(verdict(&answer.diagnosis, "CORS preflight"), "honoured");
    assert_eq!(verdict(&answer.diagnosis, "CORS answers"), "ignored");
}
