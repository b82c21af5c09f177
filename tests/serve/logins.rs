//! Who may read what, and what those hear who may not.

use std::time::Duration;

use super::history::{Storage, repository};
use super::server::{Server, within};
use super::support::git::Sandbox;

/// Of `secret`, with four rounds.
const SECRET: &str = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";
/// SHA-256 of `t0ken`.
const TOKEN: &str = "b46c09677343261f0b439a472422225e3a230c9c094d6ab16762e2036b597053";

const ALICE: &str = "Authorization: Basic YWxpY2U6c2VjcmV0";

fn stage() -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    repository(&sandbox, "public/a.git", Storage::Packed, "sha1");
    let copy = |name: &str| {
        sandbox.git().run([
            "clone",
            "-q",
            "--bare",
            "repos/public/a.git",
            &format!("repos/{name}"),
        ]);
    };
    ["team/b.git", "secret/c.git"].iter().for_each(|name| copy(name));
    let logins =
        format!("alice:{SECRET} read team/*\nci:sha256:{TOKEN} read **\n* read public/**\n");
    let file = sandbox.path().join("logins");
    std::fs::write(&file, logins).unwrap();
    let server = Server::start(&sandbox, &["--auth-file", file.to_str().unwrap()]);
    (sandbox, server)
}

fn refs(name: &str) -> String {
    format!("/{name}/info/refs?service=git-upload-pack")
}

#[test]
fn each_may_read_what_is_theirs() {
    let (_sandbox, server) = stage();
    let wrong = "Authorization: Basic YWxpY2U6d3Jvbmc=";
    let nobody = "Authorization: Basic Ym9iOnNlY3JldA==";
    let token = "Authorization: Bearer t0ken";
    let as_password = "Authorization: Basic eDp0MGtlbg==";
    for (who, of_public, of_team, of_secret, of_absent) in [
        ("X: y", 200, 401, 401, 401),
        (ALICE, 200, 200, 404, 404),
        (token, 200, 200, 200, 404),
        (as_password, 200, 200, 200, 404),
        (wrong, 401, 401, 401, 401),
        (nobody, 401, 401, 401, 401),
        ("Authorization: nonsense", 401, 401, 401, 401),
    ] {
        for (name, status) in [
            ("public/a", of_public),
            ("team/b.git", of_team),
            ("secret/c", of_secret),
            ("secret/absent", of_absent),
        ] {
            let answer = server.get(&refs(name), &[who]);
            assert_eq!(answer.status, status, "{who} {name}: {answer:?}");
            let asks = answer.head.contains("\r\nwww-authenticate: basic");
            assert_eq!(asks, status == 401, "{answer:?}");
            let raw = server.get(&format!("/{name}/-/raw/main/same"), &[who]);
            assert_eq!(raw.status, status, "{who} {name}: {raw:?}");
        }
    }
    // What is there and what is not looks the same.
    let [there, absent] = ["secret/c", "secret/x"].map(|name| server.get(&refs(name), &[ALICE]));
    assert_eq!(there.body, absent.body);
    let line = server.logged(|line| line["principal"] == "alice");
    assert!(!line.to_string().contains("secret\""), "{line}");
}

#[test]
fn the_page_and_the_counters_are_not_for_everybody() {
    let (_sandbox, server) = stage();
    let shown = |who: &str| {
        let page = server.get("/", &[who]).text();
        ["public/a", "team/b", "secret/c"].map(|name| page.contains(&format!("<td>{name}<td>")))
    };
    assert_eq!(shown("X: y"), [true, false, false]);
    assert_eq!(shown(ALICE), [true, true, false]);
    assert_eq!(shown("Authorization: Bearer t0ken"), [true, true, true]);
    assert_eq!(server.get("/metrics", &[]).status, 401);
    assert_eq!(server.get("/metrics", &[ALICE]).status, 200);
    assert_eq!(server.get("/healthz", &[]).status, 200);
}

#[test]
fn git_logs_in() {
    let (sandbox, server) = stage();
    let url = server.url("team/b").replace("http://", "http://alice:secret@");
    let to = sandbox.path().join("b.git");
    super::server::clone(&sandbox, 2, &[], &url, &to);
    let refused = sandbox.git().output(["ls-remote", &server.url("team/b")]);
    assert!(!refused.status.success());
}

#[test]
fn logins_are_read_again_when_they_change() {
    let (sandbox, server) = stage();
    let file = sandbox.path().join("logins");
    assert_eq!(server.get(&refs("team/b"), &[ALICE]).status, 200);
    std::fs::write(&file, "nonsense\n").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(server.get(&refs("team/b"), &[ALICE]).status, 200, "those before stay");
    std::fs::write(&file, format!("alice:{SECRET} read secret/*\n")).unwrap();
    let changed = within(Duration::from_secs(10), || {
        (server.get(&refs("secret/c"), &[ALICE]).status == 200).then_some(())
    });
    assert!(changed.is_some());
    assert_eq!(server.get(&refs("team/b"), &[ALICE]).status, 404);
}
