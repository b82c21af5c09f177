//! Requests that no git sends: each has a clear answer, and none tells what is on the disk.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::history::{Storage, repository};
use super::server::{Server, packets, within};
use super::support::git::{File, Sandbox};

const ADVERTISEMENT: &str = "/source.git/info/refs?service=git-upload-pack";

#[track_caller]
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip =
        Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = gzip.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(bytes).unwrap());
        let mut out = Vec::new();
        gzip.stdout.take().unwrap().read_to_end(&mut out).unwrap();
        gzip.wait().unwrap();
        out
    })
}

#[test]
fn nothing_outside_of_the_folder_is_reached() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let secret = sandbox.path().join("secret.git");
    sandbox.git().run(["clone", "-q", "--bare", "repos/source.git", "secret.git"]);
    symlink(&secret, sandbox.repos().join("link.git")).unwrap();
    symlink("source.git", sandbox.repos().join("inside.git")).unwrap();
    let points = sandbox.repos().join("points");
    std::fs::create_dir(&points).unwrap();
    std::fs::write(points.join(".git"), format!("gitdir: {}\n", secret.display())).unwrap();
    sandbox.git().run(["clone", "-q", "--bare", "--shared", "secret.git", "repos/borrows.git"]);
    std::fs::create_dir(sandbox.repos().join("folder")).unwrap();

    let server = Server::start(&sandbox, &[]);
    let ask = |name: &str| server.get(&format!("/{name}/info/refs?service=git-upload-pack"), &[]);
    assert_eq!(ask("inside").status, 200);
    let absent = ask("absent");
    assert_eq!(absent.status, 404);
    for name in [
        "link.git",
        "points",
        "borrows.git",
        "folder",
        "source.git/refs",
        "source.git/objects",
        "../secret.git",
        "%2e%2e/secret.git",
        "%252e%252e/secret.git",
        "source.git/..%2f..%2fsecret.git",
        "..%5csecret.git",
        "source.git%00",
        ".",
        "",
    ] {
        let refused = ask(name);
        assert_eq!((refused.status, refused.text()), (404, absent.text()), "{name}");
    }
    let root = sandbox.path().to_str().unwrap();
    assert!(!absent.text().contains(root), "{}", absent.text());
}

/// A folder of repositories may be part of a work tree: that is not served by another name.
#[test]
fn a_folder_in_a_work_tree_is_not_the_work_tree() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    sandbox.git().run(["clone", "-q", "repos/source.git", "work"]);
    let root = sandbox.path().join("work/src");
    let server = Server::of(&sandbox, &root, &[]);
    let ask = |path: &str| server.get(&format!("{path}/info/refs?service=git-upload-pack"), &[]);
    assert_eq!(ask("/deep").status, 404);
    let above = Server::of(&sandbox, sandbox.path(), &[]);
    let ask = |path: &str| above.get(&format!("{path}/info/refs?service=git-upload-pack"), &[]);
    assert_eq!((ask("/work").status, ask("/work/.git").status), (200, 404));
}

#[test]
fn what_is_not_served_says_so() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &[]);
    for (path, status, says) in [
        ("/source.git/info/refs?service=git-receive-pack", 403, "pushes are not taken"),
        ("/source.git/info/refs", 403, "smart protocol only"),
        ("/source.git/info/refs?service=git-archive", 403, "not known"),
        ("/source.git/git-upload-pack", 405, "only POST"),
        ("/source.git/HEAD", 404, "no such"),
        ("/healthz", 200, "ok"),
        ("/readyz", 200, "ready"),
    ] {
        let answer = server.get(path, &[]);
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(answer.text().contains(says), "{path}: {answer:?}");
    }
    let push = sandbox.git().output(["push", &server.url("source.git"), "HEAD:refs/heads/x"]);
    assert!(!push.status.success());
    for (headers, status) in
        [(&["Content-Type: text/plain"][..], 415), (&["Content-Encoding: br"], 415)]
    {
        assert_eq!(server.post("source.git", b"0000", headers).status, status, "{headers:?}");
    }
}

#[test]
fn bodies_are_bounded_and_framed() {
    let sandbox = Sandbox::new();
    let source = repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let head = source.git().run(["rev-parse", "main"]);
    let want = format!("want {head}");
    let fetch = packets(&["command=fetch", "0001", &want, "done", "0000"]);
    assert_eq!(server.post("source.git", &fetch, &[]).status, 200);
    let zipped = server.post("source.git", &gzip(&fetch), &["Content-Encoding: gzip"]);
    assert_eq!(zipped.status, 200);
    assert!(zipped.is_whole && zipped.body.starts_with(b"000dpackfile\n"));

    let agent = packets(&[&format!("agent={}", "x".repeat(65_000))]);
    let bomb = gzip(&[packets(&["command=fetch"]), agent.repeat(3_200)].concat());
    assert!(bomb.len() < 512 << 10, "{}", bomb.len());
    let refused = server.post("source.git", &bomb, &["Content-Encoding: gzip"]);
    assert_eq!(refused.status, 413, "{}", refused.text());

    let cut = &fetch[..fetch.len() - 6];
    let bad_gzip = &gzip(&fetch)[..20];
    for (body, headers, status) in [
        (cut, &[][..], 400),
        (b"-001", &[], 400),
        (b"0x1fxx", &[], 400),
        (b"ZZZZ", &[], 400),
        (b"fff1", &[], 400),
        (b"0003", &[], 400),
        (bad_gzip, &["Content-Encoding: gzip"], 400),
        (b"0000", &["Content-Length: 999999999999"], 400),
    ] {
        let answer = server.post("source.git", body, headers);
        assert_eq!(answer.status, status, "{:?}: {answer:?}", String::from_utf8_lossy(body));
    }
    let chunked = |chunks: &str| {
        let head = "POST /source.git/git-upload-pack HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                    Content-Type: application/x-git-upload-pack-request\r\n\
                    Git-Protocol: version=2\r\nTransfer-Encoding: chunked\r\n\r\n";
        server.ask(format!("{head}{chunks}")).status
    };
    assert_eq!(chunked("4\r\n0000\r\n0\r\n\r\n"), 200);
    for bad in ["-1\r\n0000\r\n", "ffffffffffffffffff\r\n0000\r\n", "x\r\n0000\r\n"] {
        assert_eq!(chunked(bad), 400, "{bad}");
    }
}

#[test]
fn heads_are_bounded() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let long = "x".repeat(400_000);
    assert_eq!(server.get(ADVERTISEMENT, &[&format!("X: {long}")]).status, 431);
    let status = server.get(&format!("/{long}/info/refs"), &[]).status;
    assert!(matches!(status, 414 | 431), "{status}");
    let many: Vec<String> = (0..200).map(|number| format!("X{number}: y")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(server.get(ADVERTISEMENT, &many).status, 431);
    assert_eq!(server.get(ADVERTISEMENT, &["Git-Protocol: \u{1}version=2"]).status, 400);
}

#[test]
fn a_body_that_drips_is_given_up() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &["--stall-timeout", "500ms"]);
    let mut stream = server.connect();
    let head = "POST /source.git/git-upload-pack HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\
                Content-Type: application/x-git-upload-pack-request\r\n\r\n00";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
}

/// A repository whose pack is larger than what sockets hold, so that a client that does not
/// read is waited for.
pub(super) fn with_a_large_file(sandbox: &Sandbox) -> Vec<u8> {
    let repo = sandbox.strict_bare("large.git", &[]);
    let mut noise = Vec::new();
    let mut state = 1_u64;
    while noise.len() < 24 << 20 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        noise.extend_from_slice(&(state >> 16).to_le_bytes()[..6]);
    }
    let parts = noise.chunks(1 << 20).enumerate();
    let files: Vec<File> =
        parts.map(|(number, part)| File::new(format!("part{number}"), part)).collect();
    let head = repo.commit("main", &files);
    repo.git().run(["repack", "-adq", "--window=0"]);
    let want = format!("want {head}");
    packets(&["command=fetch", "0001", &want, "done", "0000"])
}

/// A request for all of it whose answer has begun.
pub(super) fn begin(server: &Server, body: &[u8]) -> std::net::TcpStream {
    let mut stream = server.connect();
    let head = format!(
        "POST /large.git/git-upload-pack HTTP/1.1\r\nHost: localhost\r\nGit-Protocol: version=2\r\n\
         Content-Type: application/x-git-upload-pack-request\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    stream
}

#[test]
fn a_client_that_hangs_up_ends_the_work() {
    let sandbox = Sandbox::new();
    let body = with_a_large_file(&sandbox);
    let server = Server::start(&sandbox, &[]);
    let stream = begin(&server, &body);
    drop(stream);
    let gone = within(Duration::from_secs(1), || {
        server.log().into_iter().find(|line| line["kind"] == "fetch")
    });
    let gone = gone.expect("the end is logged within a second");
    assert_eq!(gone["outcome"], "gone");
    assert!(gone["bytes_out"].as_u64().unwrap() < 24 << 20, "{gone}");
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let sandbox = Sandbox::new();
    let body = with_a_large_file(&sandbox);
    let server = Server::start(&sandbox, &["--stall-timeout", "300ms"]);
    let mut stream = begin(&server, &body);
    let line = server.logged(|line| line["kind"] == "fetch");
    assert_eq!(line["outcome"], "gone");
    let mut rest = Vec::new();
    _ = stream.read_to_end(&mut rest);
    assert!(rest.len() < 24 << 20, "the answer was broken off");
}

#[test]
fn what_is_full_says_when_to_come_again() {
    let sandbox = Sandbox::new();
    let body = with_a_large_file(&sandbox);
    let server = Server::start(&sandbox, &["--max-requests", "1", "--max-wait", "100ms"]);
    let busy = begin(&server, &body);
    let refused = server.post("large.git", &body, &[]);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.head.contains("\r\nretry-after: 5"), "{refused:?}");
    drop(busy);
    assert!(server.get("/readyz", &[]).status == 200);
}

/// Somebody who waits for others is let go of when they go.
#[test]
fn a_client_that_hangs_up_while_it_waits_is_forgotten() {
    let sandbox = Sandbox::new();
    let body = with_a_large_file(&sandbox);
    let server = Server::start(&sandbox, &["--max-requests", "1", "--max-wait", "60"]);
    let busy = begin(&server, &body);
    let mut waiting = server.connect();
    let head = "GET /large/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: localhost\r\n\r\n";
    waiting.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(waiting);
    let gone = within(Duration::from_secs(1), || {
        server.log().into_iter().find(|line| line["kind"] == "refs")
    });
    assert_eq!(gone.expect("the end is logged within a second")["outcome"], "gone");
    drop(busy);
}
