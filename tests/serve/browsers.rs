//! What browsers ask before their pages may ask.

use super::history::{Storage, repository};
use super::server::Server;
use super::support::git::Sandbox;

const PAGE: &str = "Origin: https://page.example";

fn preflight(server: &Server, path: &str, origin: &str) -> super::server::Response {
    server.ask(format!(
        "OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{origin}\r\n\
         Access-Control-Request-Method: POST\r\n\
         Access-Control-Request-Headers: authorization,content-type,git-protocol\r\n\r\n"
    ))
}

#[test]
fn pages_of_an_origin_may_speak_git() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &["--cors", "https://page.example"]);
    for path in ["/source.git/git-upload-pack", "/source/info/refs", "/absent/-/raw/main/x"] {
        let answer = preflight(&server, path, PAGE);
        assert_eq!(answer.status, 204, "{answer:?}");
        for header in [
            "\r\naccess-control-allow-origin: https://page.example\r\n",
            "\r\naccess-control-allow-methods: get, head, post\r\n",
            "\r\nvary: origin\r\n",
        ] {
            assert!(format!("{}\r\n", answer.head).contains(header), "{header}: {answer:?}");
        }
        for name in ["authorization", "content-type", "git-protocol"] {
            assert!(answer.head.contains(name), "{answer:?}");
        }
    }
    let path = "/source.git/info/refs?service=git-upload-pack";
    let answer = server.get(path, &[PAGE]);
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("access-control-allow-origin: https://page.example"));
    // A page may read why it is refused, too.
    assert!(
        server
            .get("/absent/info/refs?service=git-upload-pack", &[PAGE])
            .head
            .contains("allow-origin")
    );
    for other in
        ["Origin: https://other.example", "Origin: null", "Origin: https://page.example.evil"]
    {
        assert!(!server.get(path, &[other]).head.contains("allow-origin"), "{other}");
        assert!(!preflight(&server, path, other).head.contains("allow-origin"), "{other}");
    }
}

#[test]
fn without_leave_no_page_is_let_in() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let server = Server::start(&sandbox, &[]);
    let answer = preflight(&server, "/source.git/git-upload-pack", PAGE);
    assert_eq!(answer.status, 405);
    assert!(!answer.head.contains("access-control"), "{answer:?}");
}

/// A page's own name server can say that the page's name lives here.
#[test]
fn a_page_whose_name_lives_here_reads_nothing() {
    let sandbox = Sandbox::new();
    repository(&sandbox, "source.git", Storage::Packed, "sha1");
    let logins = sandbox.path().join("logins");
    std::fs::write(&logins, "* read\n").unwrap();
    let status = |server: &Server, host: &str, path: &str| {
        let rest = "Connection: close\r\nOrigin: http://evil.example:8418\r\n\r\n";
        let answer = server.ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{rest}"));
        assert!(answer.status == 200 || answer.text().lines().count() == 1, "{answer:?}");
        answer.status
    };
    let refs = "/source.git/info/refs?service=git-upload-pack";
    let server = Server::start(&sandbox, &["--served-as", "git.example"]);
    for path in ["/", refs, "/source/-/raw/main/file1", "/metrics", "/healthz", "/absent"] {
        assert_eq!(status(&server, "evil.example:8418", path), 421, "{path}");
    }
    server.logged(|line| line["status"] == 421 && line["outcome"] == "refused");
    for host in ["git.example", "localhost:1", "127.0.0.1"] {
        assert_eq!(status(&server, host, refs), 200, "{host}");
    }
    // Whoever reads there has a login, or the owner's word that anybody may.
    let server = Server::start(&sandbox, &["--auth-file", logins.to_str().unwrap()]);
    assert_eq!(status(&server, "evil.example:8418", refs), 200);
}
