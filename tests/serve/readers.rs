//! Files, folders and searches for who has no git, and the page of all repositories.

use serde_json::Value;

use super::history::{Storage, repository};
use super::server::Server;
use super::support::git::{File, Sandbox};

#[test]
fn files_are_given_as_they_are_and_once() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "group/source.git", Storage::Packed, "sha1");
    repo.commit(
        "odd/name",
        &[
            File::new("a b/ü", "text\n"),
            File::new("binary", b"\0\xff"),
            File::symlink("link", "binary"),
            File::submodule("module", &"12".repeat(20)),
        ],
    );
    let server = Server::start(&sandbox, &[]);
    for (path, rev) in [
        ("main/src/file1", "main:src/file1"),
        ("HEAD/src/deep/er/file2", "HEAD:src/deep/er/file2"),
        ("v2/big", "v2:big"),
        ("refs/heads/old/same", "old:same"),
        ("odd/name/a%20b/%C3%BC", "odd/name:a b/ü"),
        ("odd/name/binary", "odd/name:binary"),
        ("odd/name/link", "odd/name:binary"),
    ] {
        let answer = server.get(&format!("/group/source/-/raw/{path}"), &[]);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(answer.body, repo.git().bytes(["cat-file", "blob", rev]), "{path}");
        let id = repo.git().run(["rev-parse", rev]);
        assert!(answer.head.contains(&format!("\r\netag: \"{id}\"")), "{answer:?}");
        assert!(answer.head.contains("\r\nx-content-type-options: nosniff"), "{answer:?}");
        let held = format!("If-None-Match: \"{id}\"");
        let again = server.get(&format!("/group/source.git/-/raw/{path}"), &[&held]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
    }
    let text = server.get("/group/source/-/raw/main/same", &[]);
    assert!(text.head.contains("content-type: text/plain; charset=utf-8"), "{text:?}");
    let bytes = server.get("/group/source/-/raw/odd/name/binary", &[]);
    assert!(bytes.head.contains("content-type: application/octet-stream"), "{bytes:?}");
    let root = sandbox.path().to_str().unwrap();
    for (path, status) in [
        ("main/nothing", 404),
        ("mian/same", 404),
        ("main/src", 400),
        ("main", 400),
        ("odd/name/module", 404),
        ("main/../../../etc/passwd", 400),
        ("main/%2e%2e/%2e%2e/secret", 400),
        ("1212121212121212121212121212121212121212/same", 404),
    ] {
        let answer = server.get(&format!("/group/source/-/raw/{path}"), &[]);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(!answer.text().contains(root), "{path}: {answer:?}");
    }
}

/// Whoever knows the id of what was deleted gets it from git's own server, and not from here.
#[test]
fn an_id_counts_only_when_a_ref_reaches_it() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let gone = repo.commit("gone", &[File::new("secret", "deleted\n")]);
    repo.git().run(["branch", "-D", "gone"]);
    let old = repo.git().run(["rev-parse", "main~3"]);
    let server = Server::start(&sandbox, &[]);
    let raw = |at: &str, path: &str| server.get(&format!("/source/-/raw/{at}/{path}"), &[]);
    assert_eq!(raw(&old, "same").status, 200);
    assert_eq!(raw(&gone, "secret").status, 404);
    let ls = server.get(&format!("/source/-/ls/{gone}"), &[]);
    let grep = server.get(&format!("/source/-/grep?q=x&ref={gone}"), &[]);
    assert_eq!((ls.status, grep.status), (404, 404));
}

#[test]
fn folders_and_searches_are_the_librarys_json() {
    let sandbox = Sandbox::new();
    let repo = repository(&sandbox, "source.git", Storage::Mixed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let json = |path: &str| -> Value {
        let answer = server.get(path, &[]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(answer.head.contains("content-type: application/json"), "{answer:?}");
        serde_json::from_slice(&answer.body).unwrap()
    };
    let commit = repo.git().run(["rev-parse", "main"]);
    let ls = json("/source/-/ls/main/src");
    assert_eq!((&ls["schema"], &ls["commit"]), (&"gitsip.ls/1".into(), &commit.into()));
    let listed = ls["items"].as_array().unwrap().iter().map(|item| item["path"]["text"].as_str());
    let theirs = repo.git().run(["ls-tree", "--name-only", "main", "src/"]);
    assert_eq!(listed.collect::<Option<Vec<_>>>().unwrap(), theirs.lines().collect::<Vec<_>>());

    let count = |path: &str| json(path)["items"].as_array().unwrap().len();
    let grep = |args: &[&str]| repo.git().run(args).lines().count();
    assert_eq!(
        count("/source/-/grep?q=file+%5B1-3%5D%3A+13&ref=main"),
        grep(&["grep", "-I", "-E", "file [1-3]: 13", "main"])
    );
    assert_eq!(
        count("/source/-/grep?q=LINE+7&ignore_case=1&fixed=1&path=src&glob=*1"),
        grep(&["grep", "-I", "-i", "-F", "LINE 7", "HEAD", "--", "src/*1"])
    );
    let first = json("/source/-/grep?q=line&limit=2");
    let next = first["next"].as_str().unwrap();
    let second = json(&format!("/source/-/grep?q=line&limit=2&cursor={next}"));
    assert_ne!(first["items"], second["items"]);

    let bad = server.get("/source/-/grep?q=(", &[]);
    let error: Value = serde_json::from_slice(&bad.body).unwrap();
    assert_eq!((bad.status, &error["kind"]), (400, &"usage".into()));
    let tag = server.get("/source/-/ls/main", &[]);
    let tag = tag.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let tag = tag.replace("w/", "W/");
    let again = server.get("/source/-/ls/main", &[&format!("If-None-Match: {tag}")]);
    assert_eq!(again.status, 304);
}

#[test]
fn the_page_lists_what_is_there_without_a_restart() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "group/deep/source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let page = || server.get("/", &["X: y"]).text();
    assert!(page().contains("<td>group/deep/source<td>3<td>7<td>Tue, 14 Nov 2023"), "{}", page());
    assert!(page().contains("git clone http://localhost/group/deep/source"), "{}", page());
    sandbox.strict_bare("<b>&.git", &[]);
    assert!(page().contains("<td>&lt;b&gt;&amp;<td>0<td>0<td>-"), "{}", page());
}

#[test]
fn counters_count() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let to = sandbox.path().join("copy.git");
    super::server::clone(&sandbox, 2, &["--mirror"], &server.url("source"), &to);
    server.get("/absent/info/refs?service=git-upload-pack", &[]);
    server.logged(|line| line["outcome"] == "refused");
    let pack = server.logged(|line| line["entries_copied"].as_u64() > Some(100));
    assert!(pack["wants"].as_u64() > Some(5), "{pack}");
    let text = server.get("/metrics", &[]).text();
    for line in [
        "gitsip_requests_total{kind=\"refs\",outcome=\"done\"} 1",
        "gitsip_requests_total{kind=\"refs\",outcome=\"refused\"} 1",
        "gitsip_requests_total{kind=\"fetch\",outcome=\"done\"} 2",
        "gitsip_requests_active 1",
        "gitsip_repositories_open 1",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    let copied = text
        .lines()
        .find_map(|line| line.strip_prefix("gitsip_pack_entries_total{how=\"copied\"} "));
    assert!(copied.unwrap().parse::<u64>().unwrap() > 100, "{text}");
}
