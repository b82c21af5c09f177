//! The command behind a proxy, and before a host that a private authority vouches for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use super::net::sandbox;
use super::raw_server::{read_head, serve};
use super::support::git::{Sandbox, isolate};
use super::support::http_server::{Behaviour, CannedResponse, HttpServer};

/// A proxy that opens a tunnel to `target`, whatever host is asked for, and the first lines
/// of what it was asked.
pub(super) fn connect_proxy(target: SocketAddr) -> (String, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&asked);
    let address = serve(move |mut client| {
        let Some(head) = read_head(&mut client) else { return };
        record.lock().unwrap().push(head.lines().next().unwrap().to_owned());
        let mut host = TcpStream::connect(target).unwrap();
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), host.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut from, &mut to));
        drop(io::copy(&mut host, &mut client));
        drop(client.shutdown(std::net::Shutdown::Both));
    });
    (format!("http://{address}"), asked)
}

/// Speaks TLS as any of `names` and hands each request on to `server`; its certificate, too.
pub(super) fn tls_front(names: &[&str], server: SocketAddr) -> (SocketAddr, String) {
    let certified = rcgen::generate_simple_self_signed(
        names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
    )
    .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let address = serve(move |socket| {
        let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut client = rustls::StreamOwned::new(session, socket);
        // A client that does not trust the certificate goes away.
        let Some(request) = read_request(&mut client) else { return };
        let mut host = TcpStream::connect(server).unwrap();
        host.write_all(&request).unwrap();
        drop(io::copy(&mut host, &mut client));
        client.conn.send_close_notify();
        drop(client.flush());
    });
    (address, certified.cert.pem())
}

/// One request, changed to end its connection.
fn read_request(client: &mut impl Read) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    let head = String::from_utf8(request).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    client.read_exact(&mut body).ok()?;
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    Some([head.into_bytes(), body].concat())
}

fn refs(sandbox: &Sandbox, words: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.arg("refs").args(words).envs(variables.iter().copied());
    command.current_dir(sandbox.path()).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn assert_said(output: &Output, status: i32, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_private_authority_is_trusted_when_it_is_given_and_a_proxy_is_really_used() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let (front, pem) = tls_front(&["git.test"], server.address());
    let pem_file = sandbox.path().join("authority.pem");
    std::fs::write(&pem_file, pem).unwrap();
    let pem_file = pem_file.to_str().unwrap();
    let (proxy, asked) = connect_proxy(front);
    let through = [("HTTPS_PROXY", proxy.as_str())];

    // Nobody but the proxy knows where this name leads.
    let address = "https://git.test/r.git";
    let output = refs(&sandbox, &[address, "--cacert", pem_file], &through);
    assert_said(&output, 0, "");
    assert!(String::from_utf8_lossy(&output.stdout).contains("\trefs/heads/main"));
    let lines = asked.lock().unwrap().clone();
    assert!(!lines.is_empty() && lines.iter().all(|line| line == "CONNECT git.test:443 HTTP/1.1"));

    let by_variable = [through[0], ("SSL_CERT_FILE", pem_file)];
    assert_said(&refs(&sandbox, &[address], &by_variable), 0, "");
    let untrusted = refs(&sandbox, &[address], &through);
    assert_said(&untrusted, 5, "the certificate of 'git.test' is not trusted: add its issuer");
    assert_said(&untrusted, 5, "to trust it pass --cacert FILE");

    asked.lock().unwrap().clear();
    let exempt = [through[0], ("NO_PROXY", "git.test")];
    let output = refs(&sandbox, &[address, "--cacert", pem_file], &exempt);
    assert_said(&output, 5, "could not resolve host 'git.test'");
    assert!(asked.lock().unwrap().is_empty());

    let missing = refs(&sandbox, &[address, "--cacert", "no-such-file"], &[]);
    assert_said(&missing, 12, "--cacert: 'no-such-file' cannot be read");
}

#[test]
fn a_host_behind_a_proxy_leads_to_no_inner_address_unless_it_is_allowed() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let redirect = Some(("/moved/".to_owned(), "https://127.0.0.1/".to_owned()));
    server.set_behaviour(Behaviour { redirect, ..Behaviour::default() });
    let (front, pem) = tls_front(&["git.test"], server.address());
    let pem_file = sandbox.path().join("authority.pem");
    std::fs::write(&pem_file, pem).unwrap();
    let (proxy, asked) = connect_proxy(front);
    let variables = [("HTTPS_PROXY", proxy.as_str())];
    let words = ["https://git.test/moved/r.git", "--cacert", pem_file.to_str().unwrap()];
    let output = refs(&sandbox, &words, &variables);
    assert_said(&output, 5, "redirects to '127.0.0.1' at 127.0.0.1 (loopback)");
    assert_said(&output, 5, "--allow-host HOST");
    assert_eq!(asked.lock().unwrap().len(), 1);

    // Now it is connected to, and turns out to be somebody else.
    let words = [&words[..], &["--allow-host", "127.0.0.1"]].concat();
    assert_said(&refs(&sandbox, &words, &variables), 5, "is for another name");
    assert_eq!(asked.lock().unwrap().last().unwrap(), "CONNECT 127.0.0.1:443 HTTP/1.1");
}

#[test]
fn a_deadline_before_the_hosts_time_is_not_waited_for() {
    let sandbox = sandbox();
    let refusal = CannedResponse::new(429, "text/plain", "busy").with("Retry-After", "30");
    let hook: super::support::http_server::Hook = Box::new(move |_| Some(refusal.clone()));
    let behaviour = Behaviour { hook: Some(hook), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    let output = refs(&sandbox, &[&server.url("r.git"), "--timeout", "20s"], &[]);
    assert_said(
        &output,
        8,
        "('busy'): the host asks for patience; try again later (in 30 seconds)",
    );
    assert_eq!(server.requests().len(), 1);
}
