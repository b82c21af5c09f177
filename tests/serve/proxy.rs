//! Pages that read other hosts through the server: what is passed on, to whom, and what of it.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gitsip::server::http::{Handled, Hosting, HostingOptions, ListedHosts};
use gitsip::transport::{HttpOptions, Resolver};

use super::history::{Storage, repository};
use super::raw_server;
use super::server::{Server, clone, packets, within};
use super::support::git::{Repo, Sandbox};
use super::support::http_server::{Auth, Behaviour, HttpServer};
use super::support::runtime;

const REFS: &str = "info/refs?service=git-upload-pack";
const PAGE: &str = "Origin: https://page.example";

/// A host with a repository, and a server of an empty folder that passes requests on to it.
struct Stage {
    sandbox: Sandbox,
    source: Repo,
    host: HttpServer,
    server: Server,
}

impl Stage {
    fn new(behaviour: Behaviour, options: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        let source = repository(&sandbox, "source.git", Storage::Packed, "sha1");
        let host = HttpServer::start_with(sandbox.repos(), behaviour);
        let server = passing_on(&sandbox, host.address(), options);
        Self { sandbox, source, host, server }
    }

    /// The path of what is at `path` on the host.
    fn path(&self, path: &str) -> String {
        format!("/proxy/{}/{path}", self.host.address())
    }

    /// A request for the pack of all, and the head of its answer.
    fn fetch(&self, repo: &str, headers: &[&str]) -> super::server::Response {
        let head = self.source.git().run(["rev-parse", "main"]);
        let want = format!("want {head}");
        let body = packets(&["command=fetch", "0001", &want, "done", "0000"]);
        self.server.post(&self.path(repo)[1..], &body, headers)
    }
}

fn passing_on(sandbox: &Sandbox, host: SocketAddr, options: &[&str]) -> Server {
    let root = sandbox.path().join("nothing");
    std::fs::create_dir_all(&root).unwrap();
    let listed = format!("http://{host}");
    Server::of(sandbox, &root, &[&["--proxy-allow", &listed], options].concat())
}

#[test]
fn git_reads_another_host_through_it() {
    let stage = Stage::new(Behaviour::default(), &["--cors", "https://page.example"]);
    for version in [0, 2] {
        let to = stage.sandbox.path().join(format!("copy{version}"));
        let url = stage.server.url(&stage.path("source.git")[1..]);
        let copy = clone(&stage.sandbox, version, &["--mirror"], &url, &to);
        copy.run(["fsck", "--strict"]);
        assert_eq!(copy.run(["show-ref"]), stage.source.git().run(["show-ref"]));
    }
    // The other form of the address, and what a page sees.
    let direct = stage.host.url(&format!("source.git/{REFS}"));
    let headers = [PAGE, "Git-Protocol: version=2", "Cookie: secret", "User-Agent: browser"];
    stage.host.forget_requests();
    let answer = stage.server.get(&format!("/?{direct}"), &headers);
    assert_eq!(answer.status, 200, "{answer:?}");
    let asked = stage.host.requests().remove(0);
    assert_eq!(answer.body, asked.response_body);
    assert!(answer.is_whole && answer.text().starts_with("000eversion 2\n"));
    for header in [
        "access-control-allow-origin: https://page.example",
        "content-type: application/x-git-upload-pack-advertisement",
        "content-security-policy: default-src 'none'; sandbox",
        "x-content-type-options: nosniff",
    ] {
        assert!(answer.head.contains(header), "{header}: {answer:?}");
    }
    assert!(asked.header("user-agent").unwrap().starts_with("git/gitsip-"));
    assert_eq!((asked.header("cookie"), asked.header("origin")), (None, None));
    let preflight = stage.server.ask(format!(
        "OPTIONS {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{PAGE}\r\n\r\n",
        stage.path("source.git/git-upload-pack")
    ));
    assert_eq!(preflight.status, 204);
    assert!(preflight.head.contains("authorization-for"), "{preflight:?}");

    let name = stage.path("source.git");
    let line = stage.server.logged(|line| line["kind"] == "proxy" && line["method"] == "POST");
    assert_eq!((&line["path"], line["outcome"].as_str()), (&name.clone().into(), Some("done")));
    assert_eq!(line["repository"], name[1..]);
    assert!(line["bytes_in"].as_u64() > Some(50) && line["bytes_out"].as_u64() > Some(100));
    let metrics = stage.server.get("/metrics", &[]).text();
    assert!(
        metrics.contains("gitsip_requests_total{kind=\"proxy\",outcome=\"done\"}"),
        "{metrics}"
    );
}

#[test]
fn only_the_endpoints_of_listed_hosts_are_reached() {
    let stage = Stage::new(Behaviour::default(), &[]);
    let other = HttpServer::start(stage.sandbox.repos());
    let get = |path: &str| stage.server.get(path, &[]).status;
    assert_eq!(get(&stage.path(&format!("source.git/{REFS}"))), 200);
    assert_eq!(get(&stage.path(&format!("absent.git/{REFS}"))), 404);
    stage.host.forget_requests();
    let port = stage.host.address().port();
    for path in [
        stage.path("source.git/HEAD"),
        stage.path("source.git/info/refs?service=git-receive-pack"),
        format!("/?https://127.0.0.1:{port}/source.git/{REFS}"),
        format!("/?http://localhost:{port}/source.git/{REFS}"),
        format!("/proxy/{}/source.git/{REFS}", other.address()),
        format!("/proxy/me:s3cret@127.0.0.1:{port}/source.git/{REFS}"),
        format!("/?http://me:s3cret@127.0.0.1:{port}/source.git/{REFS}"),
    ] {
        assert_eq!(get(&path), 403, "{path}");
    }
    assert_eq!(get(&stage.path("source.git/git-upload-pack")), 405);
    assert_eq!(stage.fetch("source.git", &["Content-Type: text/plain"]).status, 415);
    assert!(stage.host.requests().is_empty() && other.requests().is_empty());
    stage.server.logged(|line| line["status"] == 415);
    let log = stage.server.log();
    assert!(log.iter().all(|line| !line.to_string().contains("s3cret")), "{log:?}");
    let plain = Server::of(&stage.sandbox, &stage.sandbox.repos(), &[]);
    assert_eq!(plain.get(&stage.path(&format!("source.git/{REFS}")), &[]).status, 404);
}

/// A name is judged by where it leads at the moment of connecting.
#[test]
fn names_that_lead_inside_are_not_followed() {
    let sandbox = Sandbox::new();
    let host = HttpServer::start(sandbox.repos());
    let lookups = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lookups);
    let resolver = Resolver::new(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(vec!["192.0.2.1".parse().unwrap(), "127.0.0.1".parse().unwrap()])
    });
    let options = HttpOptions { resolver, ..HttpOptions::default() };
    let port = host.address().port();
    let listed = [format!("http://git.test:{port}"), format!("http://{}", host.address())];
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let hosting = Hosting::new(HostingOptions::new(sandbox.repos())).unwrap();
    let hosting = hosting.with_listener(move |it: &Handled| {
        heard.lock().unwrap().push(it.error.clone().unwrap_or_default());
    });
    let hosting = hosting.with_listed_hosts(ListedHosts::new(&listed, options).unwrap());
    let answer = runtime::threads().block_on(async {
        let uri = format!("/proxy/git.test:{port}/source.git/{REFS}");
        let request = http::Request::get(uri).body(String::new()).unwrap();
        hosting.handle(request).await
    });
    assert_eq!(answer.status(), 502);
    drop(answer);
    assert!(host.requests().is_empty() && lookups.load(Ordering::Relaxed) == 1);
    assert!(
        said.lock().unwrap()[0].contains("not public")
            || said.lock().unwrap()[0].contains("only public")
    );
}

#[test]
fn redirects_lead_to_listed_hosts_only() {
    let moved = ("/old.git".to_owned(), "/source.git".to_owned());
    let moves = Behaviour { redirect: Some(moved), ..Behaviour::default() };
    let stage = Stage::new(moves, &[]);
    let url = stage.server.url(&stage.path("old.git")[1..]);
    let to = stage.sandbox.path().join("copy");
    clone(&stage.sandbox, 2, &[], &url, &to).run(["fsck", "--strict"]);
    let other = HttpServer::start(stage.sandbox.repos());
    for (location, says) in [
        (format!("http://{}/source.git", other.address()), 0),
        ("/old.git".to_owned(), 6),
        ("/source.git/HEAD?".to_owned(), 1),
    ] {
        let redirect = Some(("/old.git".to_owned(), location.clone()));
        stage.host.set_behaviour(Behaviour { redirect, ..Behaviour::default() });
        stage.host.forget_requests();
        let answer = stage.server.get(&stage.path(&format!("old.git/{REFS}")), &[]);
        assert_eq!(answer.status, 502, "{location}: {answer:?}");
        assert!(answer.text().contains("redirects") && !answer.head.contains("\r\nlocation"));
        assert_eq!(stage.host.requests().len(), says.max(1), "{location}");
    }
    assert!(other.requests().is_empty());
}

#[test]
fn credentials_go_to_the_host_that_they_are_for() {
    let auth = Auth::Basic { user: "me".to_owned(), password: "secret".to_owned() };
    let login = format!("Authorization: {}", auth.header());
    let stage = Stage::new(Behaviour { auth: Some(auth), ..Behaviour::default() }, &[]);
    let port = stage.host.address().port();
    let means = format!("Authorization-For: 127.0.0.1:{port}");
    let refs = stage.path(&format!("source.git/{REFS}"));
    let refused = stage.server.get(&refs, &[&login]);
    assert_eq!(refused.status, 401);
    assert!(refused.head.contains("www-authenticate: basic realm=\"test\""), "{refused:?}");
    assert_eq!(stage.server.get(&refs, &[&login, "Authorization-For: git.example"]).status, 401);
    assert!(stage.host.requests().iter().all(|it| it.header("authorization").is_none()));
    assert_eq!(stage.server.get(&refs, &[&login, &means]).status, 200);
    assert_eq!(stage.fetch("source.git", &[&login, &means]).status, 200);
    assert!(stage.host.requests().iter().all(|it| it.header("authorization-for").is_none()));
    let log = stage.server.log();
    assert!(log.iter().all(|line| !line.to_string().contains("bWU6")), "{log:?}");

    // Where there are logins, one is needed here, or the leave of everybody.
    let logins = stage.sandbox.path().join("logins");
    let start = |rules: &str| {
        std::fs::write(&logins, rules).unwrap();
        passing_on(&stage.sandbox, stage.host.address(), &["--auth-file", logins.to_str().unwrap()])
    };
    let closed = start("* read public/**\n");
    assert_eq!(closed.get(&refs, &[&login, &means]).status, 401);
    let open = start("* read proxy/127.0.0.1*/source\n");
    assert_eq!(open.get(&refs, &[&login, &means]).status, 200);
    assert_eq!(open.get(&refs, &[&login]).status, 401);
    assert_eq!(open.get(&stage.path(&format!("other.git/{REFS}")), &[&login, &means]).status, 401);
}

#[test]
fn a_page_that_reads_slowly_or_leaves_slows_or_ends_the_transfer() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let host = raw_server::serve(move |mut stream| {
        raw_server::read_head(&mut stream).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-result\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        while stream.write_all(&[b'x'; 64 << 10]).is_ok() {
            counted.fetch_add(64 << 10, Ordering::SeqCst);
        }
        counted.store(usize::MAX, Ordering::SeqCst);
    });
    let sandbox = Sandbox::new();
    let server = passing_on(&sandbox, host, &[]);
    let mut stream = server.connect();
    let head = format!(
        "POST /proxy/{host}/a/git-upload-pack HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\
         Content-Type: application/x-git-upload-pack-request\r\n\r\n0000"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut begun = vec![0; 1 << 20];
    stream.read_exact(&mut begun).unwrap();
    assert!(begun.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&begun));
    let sent = || sent.load(Ordering::SeqCst);
    let halted = within(Duration::from_secs(10), || {
        let before = sent();
        std::thread::sleep(Duration::from_millis(100));
        (sent() == before).then_some(before)
    });
    assert!(halted.is_some_and(|bytes| bytes < 40 << 20), "{halted:?}");
    drop(stream);
    let gone = |line: &serde_json::Value| line["kind"] == "proxy" && line["outcome"] == "gone";
    let second = Duration::from_secs(1);
    let ended =
        within(second, || (server.log().iter().any(gone) && sent() == usize::MAX).then_some(()));
    assert!(ended.is_some(), "{} {:?}", sent(), server.log());
}

#[test]
fn a_host_or_page_that_says_nothing_more_is_given_up() {
    let stage = Stage::new(Behaviour::default(), &["--stall-timeout", "300ms"]);
    let stalls = |bytes| Behaviour { stall_after: Some(bytes), ..Behaviour::default() };
    stage.host.set_behaviour(stalls(10));
    let answer = stage.fetch("source.git", &[]);
    assert!(answer.status == 200 && !answer.is_whole && answer.body.len() == 10, "{answer:?}");
    stage.server.logged(|line| line["outcome"] == "gone");
    stage.host.set_behaviour(Behaviour { silent: true, ..Behaviour::default() });
    assert_eq!(stage.fetch("source.git", &[]).status, 504);
    assert_eq!(stage.server.get(&stage.path(&format!("source.git/{REFS}")), &[]).status, 504);
    stage.host.set_behaviour(Behaviour { cut_after: Some(20), ..Behaviour::default() });
    assert!(!stage.fetch("source.git", &[]).is_whole);

    let mut stream = stage.server.connect();
    let head = |length: &str| {
        format!(
            "POST {} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\
             Content-Type: application/x-git-upload-pack-request\r\n\r\n00",
            stage.path("source.git/git-upload-pack")
        )
    };
    stream.write_all(head("Content-Length: 100").as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(stage.server.ask(head("Content-Length: 99999999999")).status, 413);
}

#[test]
fn a_host_that_is_none_is_a_mistake() {
    let sandbox = Sandbox::new();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gitsip"));
    command.arg("serve").arg(sandbox.repos()).args(["--proxy-allow", "a/b"]);
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("'a/b' is no host") && said.lines().count() == 1, "{said}");
}
