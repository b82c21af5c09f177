//! The same server over HTTP: the SDK's client, and requests that a browser would make.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};

use rmcp::ServiceExt as _;
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::json;

use super::client::{Told, call, code, command, structured};
use super::support::git::{File, Sandbox};
use super::support::http_server::HttpServer;
use super::support::runtime::run;

/// A server that listens, and ends on drop.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(sandbox: &Sandbox, options: &[&str]) -> Self {
        let mut command = command(sandbox, &["--addr", "127.0.0.1:0"]);
        let mut child = command.args(options).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("gitsip: serving http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().parse().unwrap();
        Self { child, address }
    }

    /// The status of a request with these headers.
    fn status(&self, path: &str, headers: &str) -> String {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }})
        .to_string();
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n{headers}\
             Connection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        String::from_utf8_lossy(&head[9..]).into_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn clients_share_what_was_fetched() {
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "needle\n")]);
    let host = HttpServer::start(sandbox.repos());
    let server = Server::start(&sandbox, &[]);
    // The SDK's client is built without a choice of its own.
    drop(tokio_rustls::rustls::crypto::ring::default_provider().install_default());
    run(async {
        for requests in [3, 4] {
            let address = format!("http://{}/mcp", server.address);
            let transport = StreamableHttpClientTransport::from_uri(address);
            let client = Told::default().serve(transport).await.unwrap();
            assert_eq!(client.list_all_tools().await.unwrap().len(), 6);
            let arguments = json!({"repo": host.url("r.git"), "patterns": ["needle"]});
            let result = call(&client, "git_grep", arguments).await;
            assert_eq!(structured(&result)["items"].as_array().unwrap().len(), 1);
            assert_eq!(host.requests().len(), requests, "the second asks for the ref only");
            let result = call(&client, "git_ls", json!({"repo": "x"})).await;
            assert_eq!(code(&result), "no_address");
            client.cancel().await.unwrap();
        }
    });
}

#[test]
fn pages_in_browsers_are_turned_away() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--served-as", "tools.example"]);
    let port = server.address.port();
    for host in ["localhost", "127.0.0.1", "[::1]", "tools.example"] {
        assert_eq!(server.status("/mcp", &format!("Host: {host}:{port}\r\n")), "200", "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "169.254.169.254"] {
        assert_eq!(server.status("/mcp", &format!("Host: {host}:{port}\r\n")), "403", "{host}");
    }
    for origin in ["http://evil.example", "null", "http://localhost:3000"] {
        let headers = format!("Host: localhost:{port}\r\nOrigin: {origin}\r\n");
        assert_eq!(server.status("/mcp", &headers), "403", "{origin}");
    }
    assert_eq!(server.status("/", &format!("Host: localhost:{port}\r\n")), "404");
}

#[test]
fn other_machines_are_served_only_when_that_is_said() {
    let sandbox = Sandbox::new();
    for addr in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let refused = command(&sandbox, &["--addr", addr]).output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("--expose"), "{said}");
    }
}
