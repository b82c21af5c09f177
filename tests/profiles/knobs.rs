//! Each knob of the test server, and what comes of it for someone who reads a file.

use std::time::Duration;

use gitsip::agent::{ReadAnswer, Remote, RemoteOptions, Repo};
use gitsip::client::transport::Transport as _;
use gitsip::{Error, ErrorKind, Limits};

use super::operations::{Operation, origin};
use super::support::git::{Repo as Origin, Sandbox};
use super::support::http_server::in_process::run;
use super::support::http_server::{Behaviour, InProcess, Redirect};

/// What a client makes of it.
enum Then {
    /// git's answer.
    Right,
    /// An error of this kind with these words.
    Error(ErrorKind, &'static str),
}
use Then::{Error as Fails, Right};

fn faithful() -> Behaviour {
    Behaviour::default()
}

struct Host {
    sandbox: Sandbox,
    origin: Origin,
}

impl Host {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let origin = origin(&sandbox);
        Self { sandbox, origin }
    }

    fn start(&self, behaviour: Behaviour) -> InProcess {
        InProcess::new(self.sandbox.repos(), behaviour)
    }

    fn id(&self, name: &str) -> String {
        self.origin.git().run(["rev-parse", name])
    }

    fn read(&self, behaviour: Behaviour) -> Result<Vec<String>, Error> {
        let host = self.start(behaviour);
        run(Operation::Cat.ask(host.clone(), &host.url("r.git"), RemoteOptions::default()))
    }

    #[track_caller]
    fn check(&self, what: &str, behaviour: Behaviour, then: Then) {
        let answer = self.read(behaviour);
        if let Err(error) = &answer {
            let line = error.to_string();
            assert!(!line.contains(|c: char| c.is_control()), "{what}: {line:?}");
        }
        match (answer, then) {
            (Ok(answer), Right) => {
                assert_eq!(answer, Operation::Cat.expected(&self.origin), "{what}");
            }
            (Err(error), Fails(kind, words)) => {
                assert_eq!(error.kind(), kind, "{what}: {error}");
                assert!(error.to_string().contains(words), "{what}: {error}");
            }
            (answer, _) => panic!("{what}: {answer:?}"),
        }
    }
}

#[test]
fn what_a_host_cannot_do_is_done_without() {
    let host = Host::new();
    host.check("no filter", faithful().without_filter(), Right);
    host.check("filter ignored", faithful().ignoring_filters(), Right);
    host.check("no shallow", faithful().without_shallow(), Right);
    host.check("neither", faithful().without_shallow().without_filter(), Right);
    host.check("filter refused", faithful().refusing_filters(), Right);
    host.check("version 0", faithful().speaking(0), Right);
    host.check("version 1", faithful().speaking(1), Right);
}

#[test]
fn a_filter_that_is_ignored_costs_no_second_fetch() {
    let host = Host::new();
    for (behaviour, requests) in [(faithful(), 4), (faithful().ignoring_filters(), 3)] {
        let server = host.start(behaviour);
        let url = server.url("r.git");
        run(Operation::Cat.ask(server.clone(), &url, RemoteOptions::default())).unwrap();
        assert_eq!(server.requests().len(), requests);
        assert!(server.requests()[2].body_text().contains("filter blob:none"));
    }
}

#[test]
fn a_capability_that_is_taken_away_is_not_used_and_the_others_are() {
    let host = Host::new();
    let asked = |behaviour| {
        let server = host.start(behaviour);
        let url = server.url("r.git");
        run(Operation::Cat.ask(server.clone(), &url, RemoteOptions::default())).unwrap();
        let advertised = String::from_utf8(server.requests()[0].response_body.clone()).unwrap();
        (advertised, server.requests()[2].body_text())
    };
    let (advertised, fetch) = asked(faithful().without_shallow());
    assert!(advertised.contains("fetch=wait-for-done filter\n"), "{advertised}");
    assert!(fetch.contains("filter blob:none") && !fetch.contains("deepen"), "{fetch}");
    let (advertised, fetch) = asked(faithful().without_capability("filter"));
    assert!(advertised.contains("fetch=shallow wait-for-done\n"), "{advertised}");
    assert!(!fetch.contains("filter") && fetch.contains("deepen 1"), "{fetch}");
}

#[test]
fn a_host_that_has_only_the_newest_history_is_read() {
    let host = Host::new();
    let git = host.origin.git();
    std::fs::write(host.origin.path().join("shallow"), host.id("main") + "\n").unwrap();
    git.run(["tag", "-d", "v1"]);
    git.run(["branch", "-D", "other"]);
    git.run(["reflog", "expire", "--expire=now", "--all"]);
    git.run(["repack", "-adq"]);
    git.run(["prune", "--expire=now"]);
    assert_eq!(git.run(["rev-list", "--count", "--all"]), "1");
    host.check("shallow server", faithful(), Right);
    host.check("shallow server without filter", faithful().without_filter(), Right);
}

#[test]
fn what_is_no_git_host_is_named() {
    let host = Host::new();
    host.check("dumb", faithful().dumb(), Fails(ErrorKind::Unsupported, "dumb"));
    host.check("html", faithful().html(), Fails(ErrorKind::NotFound, "web page"));
    for (status, kind) in [
        (401, ErrorKind::Auth),
        (403, ErrorKind::Auth),
        (404, ErrorKind::NotFound),
        (429, ErrorKind::RateLimited),
        (500, ErrorKind::Transport),
    ] {
        let words = "the host's words";
        host.check(&status.to_string(), faithful().failing(status, words), Fails(kind, words));
    }
}

#[test]
fn a_host_that_asks_for_patience_is_waited_for_and_not_for_ever() {
    let host = Host::new();
    for status in [429, 503] {
        for (retry_after, times, tries) in [
            ("2", 3, None),
            ("Fri, 31 Dec 1999 23:59:59 GMT", 3, None),
            ("2", u32::MAX, Some(4)),
            ("86400", 1, Some(1)),
        ] {
            let server = host.start(faithful().busy(status, retry_after, times));
            let url = server.url("r.git");
            let answer = run(Operation::Cat.ask(server.clone(), &url, RemoteOptions::default()));
            let what = format!("{status} for {retry_after}, {times} times");
            match tries {
                None => {
                    let expected = Operation::Cat.expected(&host.origin);
                    assert_eq!(answer.unwrap(), expected, "{what}");
                    assert_eq!(server.requests().len(), 3 + 4, "{what}");
                }
                Some(tries) => {
                    let error = answer.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::RateLimited, "{what}: {error}");
                    assert!(error.to_string().contains("try again later"), "{what}: {error}");
                    assert_eq!(server.requests().len(), tries, "{what}");
                }
            }
            let waited = server.now();
            let least = if retry_after == "2" { 6 } else { 0 };
            assert!(waited >= Duration::from_secs(least), "{what}: {waited:?}");
            assert!(waited < Duration::from_secs(60), "{what}: {waited:?}");
        }
    }
}

#[test]
fn an_advertisement_elsewhere_is_followed_and_a_loop_is_not() {
    let host = Host::new();
    let answers = |address: &str, redirect: Redirect, status| {
        let server = host.start(faithful().redirecting(status, redirect));
        let url = server.url(address);
        let answer = run(Operation::Cat.ask(server.clone(), &url, RemoteOptions::default()));
        (server.requests(), answer)
    };
    for status in [301, 302, 307, 308] {
        for (address, redirect) in [("r", Redirect::AddDotGit), ("moved/r.git", Redirect::Relative)]
        {
            let (requests, answer) = answers(address, redirect, status);
            assert_eq!(answer.unwrap(), Operation::Cat.expected(&host.origin));
            assert!(requests[1..].iter().all(|request| request.path.starts_with("/r.git/")));
        }
        let (requests, answer) = answers("r.git", Redirect::Loop, status);
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Transport);
        assert_eq!(requests.len(), 6);
        let elsewhere = Redirect::Elsewhere("http://elsewhere.test:8080".to_owned());
        let (requests, answer) = answers("r.git", elsewhere, status);
        // The server behind that name is the same one, and sends on again.
        assert!(answer.unwrap_err().to_string().contains("elsewhere.test:8080"));
        assert_eq!(requests.len(), 6);
    }
}

#[test]
fn what_a_network_does_to_a_body_changes_no_answer() {
    let host = Host::new();
    host.check("slow", Behaviour { delay: Duration::from_secs(20), ..faithful() }, Right);
    for bytes in [1, 3, 4_096] {
        let chunks = Behaviour {
            max_chunk_bytes: Some(bytes),
            chunk_delay: Duration::from_secs(1),
            ..faithful()
        };
        host.check("chunks", chunks, Right);
    }
    let silent = Behaviour { silent: true, ..faithful() };
    host.check("silent", silent, Fails(ErrorKind::Transport, "broke"));
}

#[test]
fn a_host_that_fails_in_the_middle_stores_nothing() {
    let host = Host::new();
    let git_says = "out of \x1b[31mcoffee";
    let quoted = "out of \\x1b[31mcoffee";
    let rows = [
        (faithful().giving_up(git_says), ErrorKind::Transport, quoted),
        (faithful().with_wrong_trailers(), ErrorKind::Corrupt, ""),
        (faithful().dying_after(0, git_says), ErrorKind::Transport, quoted),
        (faithful().dying_after(13, git_says), ErrorKind::Transport, quoted),
        (faithful().dying_after(usize::MAX, git_says), ErrorKind::Transport, quoted),
    ];
    for (number, (behaviour, kind, words)) in rows.into_iter().enumerate() {
        let server = host.start(behaviour);
        run(async {
            let options = RemoteOptions::default();
            let remote = Remote::open(server.clone(), &server.url("r.git"), options).await.unwrap();
            let repo = Repo::new(remote, Limits::default());
            let error = match repo.snapshot("HEAD").await {
                Ok(snapshot) => snapshot.ls("").await.unwrap_err(),
                Err(error) => error,
            };
            assert_eq!(error.kind(), kind, "row {number}: {error}");
            assert!(error.to_string().contains(words), "row {number}: {error}");
            assert_eq!(repo.stats().objects, 0, "row {number}");
            // And the client lives on.
            server.set_behaviour(faithful());
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            snapshot.ls("").await.unwrap();
        });
    }
}

#[test]
fn more_than_was_asked_for_is_accepted_and_less_is_named() {
    let host = Host::new();
    let extra = [host.id("v1"), host.id("main~1:README")];
    host.check("extra objects", faithful().adding(extra), Right);

    for version in [0, 2] {
        less_is_named(&host, version);
    }
}

fn less_is_named(host: &Host, version: u8) {
    let blob = host.id("main:src/lib.rs");
    let server = host.start(faithful().speaking(version).dropping([blob.clone()]));
    run(async {
        let options = RemoteOptions::default();
        let remote = Remote::open(server.clone(), &server.url("r.git"), options).await.unwrap();
        let repo = Repo::new(remote, Limits::default());
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        // Whoever has another way to ask may find it; who has none says what is lacking.
        match snapshot.read_path("src/lib.rs", Default::default()).await {
            Ok(ReadAnswer::File(file)) => assert_eq!(file.id.to_string(), blob),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                assert!(error.to_string().contains(&blob), "{error}");
            }
        }
        assert!(server.requests().len() < 10, "{}", server.requests().len());
        // What was not dropped is there.
        match snapshot.read_path("README", Default::default()).await.unwrap() {
            ReadAnswer::File(file) => assert_eq!(&file.bytes[..], b"a needle here\n"),
            other => panic!("{other:?}"),
        }
    });
}
