//! Every error is one line: what the host said, escaped; what that means; and what to do.
//! Told by the library, which knows no flags, and by the command, which names them.
//!
//! What a certificate or an inner address is refused with is in `networks/`, what a command
//! line is refused with in `cli.rs`.

#![allow(clippy::unwrap_used)]

#[path = "support/raw_server.rs"]
mod raw_server;
#[path = "support/mod.rs"]
mod support;

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use gitsip::agent::{Remote, RemoteOptions, Repo};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::{Error, Limits};
use raw_server::{read_head, serve, wait_for_close};
use support::git::{File, Sandbox, isolate};
use support::http_server::{Behaviour, CannedResponse, HttpServer, InProcess, Redirect};
use support::runtime::run;

/// What a host says that wants to be more than words: escapes, a C1 control, an override.
const RUDE: &str = "no \x1b[31m\u{9b}1m\u{202e}tea";
const SHOWN: &str = "no \\x1b[31m\\u{9b}1m\\u{202e}tea";

/// What is asked of a host.
#[derive(Clone, Copy, Debug)]
struct Question {
    at: &'static str,
    path: &'static str,
}

const README: Question = Question { at: "HEAD", path: "README" };

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let files = [File::new("README", "text\n"), File::new("src/main.rs", "fn main() {}\n")];
    sandbox.bare("r.git").commit("main", &files);
    sandbox
}

async fn ask(address: &str, question: Question, options: HttpOptions) -> Result<(), Error> {
    let limits = Limits::default();
    let remote =
        Remote::open(HttpTransport::new(options)?, address, RemoteOptions::default()).await?;
    let snapshot = Repo::new(remote, limits).snapshot(question.at).await?;
    snapshot.read_path(question.path, Default::default()).await.map(drop)
}

/// The library's line.
#[track_caller]
fn library(address: &str, question: Question, options: HttpOptions) -> String {
    let line = run(ask(address, question, options)).unwrap_err().to_string();
    assert!(!line.contains("--"), "flags are the command's: {line}");
    in_one_line(&line);
    line
}

/// The command's line.
#[track_caller]
fn command(
    sandbox: &Sandbox,
    address: &str,
    question: Question,
    variables: &[(&str, &str)],
) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.args(["cat", address, question.path, "--ref", question.at]);
    command.envs(variables.iter().copied()).current_dir(sandbox.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
    let line = said.strip_prefix("gitsip: ").and_then(|said| said.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("{said:?}"));
    in_one_line(line);
    line.to_owned()
}

/// Nothing in it breaks the line, or the terminal it is shown on.
#[track_caller]
fn in_one_line(line: &str) {
    let obeyed = |char: char| {
        char.is_control() || matches!(char, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
    };
    assert!(!line.contains(obeyed), "{line:?}");
    assert!(line.len() < 1_500, "{line}");
}

#[track_caller]
fn assert_says(line: &str, what: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "{what}: {line:?} does not say {part:?}");
    }
}

/// A host that behaves so, what both faces say of it, and what only the command adds.
type Row = (&'static str, Behaviour, &'static [&'static str], &'static str);

fn check(rows: impl IntoIterator<Item = Row>, user: &str) {
    let sandbox = sandbox();
    for (what, behaviour, parts, flag) in rows {
        let server = HttpServer::start_with(sandbox.repos(), behaviour);
        let address = server.url("r.git").replace("http://", &format!("http://{user}"));
        let line = library(&address, README, HttpOptions::default());
        assert_says(&line, what, parts);
        let line = command(&sandbox, &address, README, &[]);
        assert_says(&line, what, parts);
        assert_says(&line, what, &[flag]);
        assert!(!line.contains("s3cret"), "{what}: {line}");
    }
}

fn host() -> Behaviour {
    Behaviour::default()
}

fn answering(status: u16, content_type: &'static str, body: &'static str) -> Behaviour {
    host().answering_first(move |_| Some(CannedResponse::new(status, content_type, body)))
}

const TOKEN: &str = ": pass --token-env NAME";

#[test]
fn a_status_says_who_is_to_do_what() {
    check(
        [
            (
                "401 without credentials",
                host().failing(401, RUDE),
                &["r.git answered 401", SHOWN, "private or missing", "give credentials"][..],
                TOKEN,
            ),
            (
                "403 without credentials",
                host().failing(403, RUDE),
                &["answered 403", SHOWN, "not shown without credentials", "give credentials"],
                TOKEN,
            ),
            (
                "404",
                host().failing(404, RUDE),
                &[
                    "answered 404",
                    SHOWN,
                    "no such repository, or a private one",
                    "check the address",
                ],
                TOKEN,
            ),
            (
                "400",
                host().failing(400, RUDE),
                &["answered 400", SHOWN, "no answer of a git host", "check the address"],
                "",
            ),
            (
                "500",
                host().failing(500, RUDE),
                &["answered 500", SHOWN, "the host failed", "try again later"],
                "",
            ),
            (
                "429 for longer than is waited",
                host().busy(429, "3600", u32::MAX),
                &[
                    "answered 429 ('busy')",
                    "asks for patience",
                    "try again later (in 3600 seconds)",
                ],
                "",
            ),
            (
                "503 for longer than is waited",
                host().busy(503, "3600", u32::MAX),
                &[
                    "answered 503 ('busy')",
                    "asks for patience",
                    "try again later (in 3600 seconds)",
                ],
                "",
            ),
        ],
        "",
    );
    let rejected = "check the user and password in the address, or pass --token-env NAME";
    check(
        [
            (
                "401 with rejected credentials",
                host().failing(401, RUDE),
                &["answered 401", SHOWN, "were not accepted", "give other ones"][..],
                rejected,
            ),
            (
                "403 with credentials",
                host().failing(403, RUDE),
                &["answered 403", SHOWN, "these credentials may not read it", "give other ones"],
                rejected,
            ),
        ],
        "me:s3cret@",
    );
}

#[test]
fn what_is_no_git_host_is_told_what_it_looks_like() {
    const DUMB: &[&str] =
        &["offers git's files but not its protocol", "'dumb' HTTP", "clone it with git"];
    const HTML: &[&str] =
        &["web page", "a login", "a wall against programs", "lack '.git'", "give credentials"];
    check(
        [
            ("a page", host().html(), HTML, TOKEN),
            ("files", host().dumb(), DUMB, ""),
            (
                "json",
                answering(200, "application/json; \u{202e}", "{\"error\": \"\u{9b}\"}"),
                &[
                    "of type 'application/json",
                    "not git's protocol",
                    "begins with '{",
                    "check the address",
                ],
                "",
            ),
            (
                "a picture that calls itself git's",
                answering(200, "application/x-git-upload-pack-advertisement", "GIF89a\x07"),
                &["not git's protocol: it begins with 'GIF89a\\x07'", "check the address"],
                "",
            ),
            (
                "nothing",
                answering(200, "text/plain", ""),
                &["the answer is empty", "try again"],
                "",
            ),
            (
                "a version of the future",
                answering(200, "text/plain", "000eversion 9\n0000"),
                &["answers with 'version 9'", "versions 0, 1 and 2 are known"],
                "",
            ),
        ],
        "",
    );
}

#[test]
fn a_redirect_that_is_not_followed_says_why_and_where_it_led() {
    let to = |place: &'static str| {
        host().answering_first(move |_| Some(CannedResponse::redirect(302, place)))
    };
    let leads = |place: &'static str| ("redirect", to(place));
    let rows = [
        (
            leads("/login?from=r"),
            &["redirects to '/login?from=r'", "no git repository", "a login or another address"][..],
        ),
        (
            leads("ftp://h/r/info/refs"),
            &["'ftp://h/r/info/refs'", "only http:// and https://", "check the address"],
        ),
        (leads("http://h:99999/r/info/refs"), &["no address", "invalid port", "check the address"]),
        (leads("http://h/%0d%0a/info/refs"), &["control character", "check the address"]),
        (
            ("no place", answering(301, "text/plain", "moved")),
            &["answered 301 ('moved')", "check the address"],
        ),
        (
            ("a loop", host().redirecting(301, Redirect::Loop)),
            &["more than 5 redirects", "check the address"],
        ),
    ];
    check(rows.map(|((what, behaviour), parts)| (what, behaviour, parts, "")), "");

    let sandbox = sandbox();
    let host = InProcess::new(sandbox.repos(), to("http://in.process/r.git/info/refs"));
    let opened = Remote::open(host, "https://in.process/r.git", RemoteOptions::default());
    let line = support::http_server::in_process::run(opened).unwrap_err().to_string();
    in_one_line(&line);
    let parts = ["from https to http is not followed", "open that address itself"];
    assert_says(&line, "to an open network", &parts);

    // To another host that wants credentials of its own.
    let there = HttpServer::start_with(sandbox.repos(), Behaviour::default().failing(401, RUDE));
    let elsewhere = Redirect::Elsewhere(there.url("").trim_end_matches('/').to_owned());
    let here = Behaviour::default().redirecting(302, elsewhere);
    let here = HttpServer::start_with(sandbox.repos(), here);
    let parts = ["answered 401", SHOWN, "open this address itself", &there.url("r.git")];
    assert_says(&library(&here.url("r.git"), README, HttpOptions::default()), "moved", &parts);
    assert_says(&command(&sandbox, &here.url("r.git"), README, &[]), "moved", &parts);
}

#[test]
fn a_host_that_gives_up_is_quoted_and_damage_is_called_so() {
    const SAYS: &[&str] =
        &["the remote says: no \\x1b[31m\\u{9b}1m\\u{202e}tea; try again, or ask whoever"];
    let cut = |stall: bool| Behaviour {
        faults_when: Some(Box::new(|seen| seen.body_text().contains("want "))),
        cut_after: (!stall).then_some(40),
        stall_after: stall.then_some(40),
        ..Behaviour::default()
    };
    check(
        [
            ("ERR", host().giving_up(RUDE), SAYS, ""),
            ("band 3", host().dying_after(0, RUDE), SAYS, ""),
            ("band 3 in a pack", host().dying_after(13, RUDE), SAYS, ""),
            (
                "ERR not found",
                host().giving_up("Repository not found."),
                &["says: Repository not found.; check the address or give credentials"],
                TOKEN,
            ),
            (
                "ERR denied",
                host().giving_up("access denied"),
                &["says: access denied; give credentials that may read it"],
                TOKEN,
            ),
            (
                "a wrong trailer",
                host().with_wrong_trailers(),
                &["r.git: the pack's checksum is ", "its bytes hash to ", "try again, or tell"],
                "",
            ),
            (
                "a line of no sense",
                answering(200, "text/plain", "000eversion 2\n0001"),
                &["check the address, or tell whoever runs the host"],
                "",
            ),
            ("cut", cut(false), &["was cut after 40 bytes", "try again"], ""),
        ],
        "",
    );
    // Words without end are not repeated to their end.
    let sandbox = sandbox();
    let long: &'static str = "x".repeat(60_000).leak();
    let server = HttpServer::start_with(sandbox.repos(), host().giving_up(long));
    assert_says(
        &library(&server.url("r.git"), README, HttpOptions::default()),
        "long",
        &["xx; try"],
    );

    let stall_timeout = Duration::from_millis(300);
    let impatient = || HttpOptions { stall_timeout, ..HttpOptions::default() };
    let server = HttpServer::start_with(sandbox.repos(), cut(true));
    let line = library(&server.url("r.git"), README, impatient());
    let parts = ["sent nothing for 300 ms after 40 bytes", "try again or allow a longer stall"];
    assert_says(&line, "silence", &parts);
    let silent = Behaviour { silent: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), silent);
    let line = library(&server.url("r.git"), README, impatient());
    let parts = ["has not answered for 300 ms", "try again or allow a longer stall"];
    assert_says(&line, "silence from the start", &parts);
}

#[test]
fn an_answer_without_its_end_says_that_it_lacks_one() {
    let sandbox = sandbox();
    for version in [0, 2] {
        let server =
            HttpServer::start_with(sandbox.repos(), Behaviour::default().speaking(version));
        run(ask(&server.url("r.git"), README, HttpOptions::default())).unwrap();
        let fetched = |body: &str| body.contains("want ");
        let whole = server.requests().into_iter().find(|seen| fetched(&seen.body_text())).unwrap();
        for (end, parts) in [
            (whole.response_body.len() - 10, ["ended in the middle of the answer", "try again"]),
            (0, ["the answer is empty", "try again"]),
        ] {
            let body = whole.response_body[..end].to_vec();
            let short = Behaviour::default().speaking(version).answering_first(move |seen| {
                let canned = CannedResponse::new(200, "text/plain", body.clone());
                fetched(&seen.body_text()).then_some(canned)
            });
            server.set_behaviour(short);
            let line = library(&server.url("r.git"), README, HttpOptions::default());
            assert_says(&line, "short", &parts);
            assert_says(&command(&sandbox, &server.url("r.git"), README, &[]), "short", &parts);
        }
    }
}

#[test]
fn a_network_that_fails_says_at_which_step() {
    let sandbox = sandbox();
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let talks = |words: Vec<u8>| {
        serve(move |mut stream: TcpStream| {
            if read_head(&mut stream).is_some() && stream.write_all(&words).is_ok() {
                wait_for_close(&mut stream);
            }
        })
    };
    let ssh = talks(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec());
    let huge = format!("HTTP/1.1 200 OK\r\nx-tea: {}\r\n", "x".repeat(2 << 20));
    let huge = talks(huge.into_bytes());
    let many = "x-tea: \u{9b}\r\n".repeat(5_000);
    let many = talks(format!("HTTP/1.1 200 OK\r\n{many}").into_bytes());
    let plain = HttpServer::start(sandbox.repos());
    for (what, address, parts) in [
        (
            "no such name",
            "http://no-such-name.invalid/r".to_owned(),
            &["could not resolve host 'no-such-name.invalid'", "check the address"][..],
        ),
        (
            "a closed port",
            format!("http://{closed}/r"),
            &["refused the connection", "check the port"],
        ),
        (
            "not TLS",
            plain.url("r.git").replace("http:", "https:"),
            &["check the scheme and the port"],
        ),
        ("not HTTP", format!("http://{ssh}/r"), &["does not answer in HTTP", "check the port"]),
        ("a huge header", format!("http://{huge}/r"), &["does not answer in HTTP", "too large"]),
        ("many headers", format!("http://{many}/r"), &["does not answer in HTTP", "too large"]),
    ] {
        assert_says(&library(&address, README, HttpOptions::default()), what, parts);
        assert_says(&command(&sandbox, &address, README, &[]), what, parts);
    }
    let refusing = talks(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n".to_vec());
    for (proxy, parts) in [
        (
            format!("http://me:s3cret@{refusing}"),
            &["the proxy opened no way to 'git.test'", "check the proxy"][..],
        ),
        (format!("http://me:s3cret@{closed}"), &["HTTPS_PROXY is set: check that proxy too"]),
    ] {
        let through = [("HTTPS_PROXY", proxy.as_str())];
        let line = command(&sandbox, "https://git.test/r", README, &through);
        assert_says(&line, "proxy", parts);
        assert!(!line.contains("s3cret"), "{line}");
    }
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    for (at, path, parts) in [
        ("mian", "README", &["no ref 'mian' in http://", "did you mean 'main'?"][..]),
        ("zzzzzz", "README", &["no ref 'zzzzzz' in http://", "name one of its 2 refs"]),
        ("HEAD", "src/mian.rs", &["'src/mian.rs' at HEAD (", "); did you mean 'src/main.rs'?"]),
        (
            "HEAD",
            "quite/else",
            &["'quite/else' at HEAD (", "there is no 'quite'; list what is there"],
        ),
        ("HEAD", "README/x", &["'README/x' does not exist: 'README' is a file"]),
        ("HEAD", "src", &["'src' is a folder: list it"]),
        ("HEAD~1", "README", &["no ref 'HEAD~1' in http://", "'~' asks for history"]),
        ("main^{tree}", "README", &["no ref 'main^{tree}'", "a full commit id"]),
        ("ma\u{202e}in", "README", &["no ref 'ma\\u{202e}in'", "name one of its 2 refs"]),
    ] {
        let question = Question { at, path };
        let line = library(&server.url("r.git"), question, HttpOptions::default());
        assert_says(&line, path, parts);
        assert_says(&command(&sandbox, &server.url("r.git"), question, &[]), path, parts);
    }
}

#[test]
fn a_limit_says_how_much_was_seen_how_much_is_allowed_and_what_to_raise() {
    let sandbox = Sandbox::new();
    let origin = sandbox.bare("r.git");
    let files: Vec<_> = (0..40).map(|n| File::new(format!("{n}"), format!("{n}\n"))).collect();
    origin.commit("main", &files);
    let server = HttpServer::start(sandbox.repos());
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    for (limits, parts) in [
        (
            limits(|l| l.max_memory = 4_000),
            ["bytes of memory are more than the 4000 allowed", "raise max_memory"],
        ),
        (
            limits(|l| l.max_object_bytes = 100),
            ["bytes of one object are more than the 100 allowed", "raise max_object_bytes"],
        ),
        (
            limits(|l| l.max_pack_objects = 1),
            ["objects in one pack are more than the 1 allowed", "raise max_pack_objects"],
        ),
        (
            limits(|l| l.max_pack_bytes = 50),
            ["bytes of pack received are more than the 50 allowed", "raise max_pack_bytes"],
        ),
        (
            limits(|l| l.max_ref_bytes = 60),
            ["bytes of ref advertisement are more than the 60 allowed", "raise max_ref_bytes"],
        ),
    ] {
        let options = RemoteOptions { limits: limits.clone(), ..RemoteOptions::default() };
        let error = run(async {
            let transport = HttpTransport::new(HttpOptions::default()).unwrap();
            let remote = Remote::open(transport, &server.url("r.git"), options).await?;
            let snapshot = Repo::new(remote, limits).snapshot("main").await?;
            snapshot.read_path("7", Default::default()).await.map(drop)
        })
        .unwrap_err();
        in_one_line(&error.to_string());
        assert_says(&error.to_string(), "limit", &parts);
        assert_says(&error.to_string(), "limit", &["ask for less or raise"]);
        assert!(error.limit().is_some(), "{error}");
    }
}

#[test]
fn a_host_that_falls_silent_is_waited_for_as_long_as_is_said() {
    let sandbox = sandbox();
    let silent = Behaviour { silent: true, ..host() };
    let server = HttpServer::start_with(sandbox.repos(), silent);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.args(["cat", &server.url("r.git"), "README", "--stall-timeout", "200ms"]);
    let output = command.current_dir(sandbox.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let parts = ["has not answered for 200 ms", "for that pass --stall-timeout TIME"];
    assert_says(&String::from_utf8(output.stderr).unwrap(), "silent", &parts);
}
