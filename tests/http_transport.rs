//! The native HTTP transport as a driver sees it: what goes over the wire, what comes
//! back, and what each kind of broken network is called.
//!
//! What a body does to the conversation that reads it is tested beside the pump.

#![cfg(feature = "http-client")]
#![allow(clippy::unwrap_used, reason = "a test that fails should stop")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use gitsip::client::conversation::{Context, Conversation, Outcome};
use gitsip::client::transport::{Method, Request, Transport};
use gitsip::transport::{HttpBody, HttpOptions, HttpTransport};
use gitsip::{Budget, ErrorKind, Limits};
use tokio::runtime::{Builder, Runtime};

#[path = "support/raw_server.rs"]
mod raw_server;
use raw_server::{read_head, serve, wait_for_close};

/// Far longer than anything here takes when it works.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_get_carries_the_callers_headers_and_asks_for_a_plain_body() {
    let (heads, seen) = mpsc::channel();
    let address = serve(move |mut stream| {
        heads.send(read_head(&mut stream).unwrap()).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let mut request = get(address);
    request.headers = vec![
        ("user-agent".into(), "git/gitsip-test".into()),
        ("git-protocol".into(), "version=2".into()),
        ("accept-encoding".into(), "br".into()),
    ];
    threads().block_on(transport().send(request)).unwrap();

    let head = seen.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("GET /repo.git/info/refs?service=git-upload-pack HTTP/1.1\r\n"));
    let lines: Vec<_> = head.lines().skip(1).collect();
    for wanted in
        ["user-agent: git/gitsip-test", "git-protocol: version=2", "accept-encoding: identity"]
    {
        assert_eq!(lines.iter().filter(|line| **line == wanted).count(), 1, "{head}");
    }
    for name in ["cookie", "authorization", "referer", "content-length"] {
        assert!(!lines.iter().any(|line| line.starts_with(name)), "{head}");
    }
    assert!(!head.contains("br\r\n"), "{head}");
}

#[test]
fn a_post_carries_its_body_and_its_length() {
    let (requests, seen) = mpsc::channel();
    let address = serve(move |mut stream| {
        let head = read_head(&mut stream).unwrap();
        let mut body = [0; 4];
        stream.read_exact(&mut body).unwrap();
        requests.send((head, body)).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let request =
        Request { method: Method::Post, body: Bytes::from_static(b"0000"), ..get(address) };
    threads().block_on(transport().send(request)).unwrap();
    let (head, body) = seen.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("POST "), "{head}");
    assert!(head.contains("content-length: 4"), "{head}");
    assert_eq!(&body, b"0000");
}

#[test]
fn every_status_is_an_answer_and_no_redirect_is_followed() {
    let answers = [
        ("301 Moved Permanently", "location: http://127.0.0.1:1/elsewhere"),
        ("401 Unauthorized", "www-authenticate: Basic realm=\"caf\u{e9}\""),
        ("404 Not Found", "x-answer: none"),
        ("503 Service Unavailable", "retry-after: 7"),
    ];
    for (status, header) in answers {
        let address = serve(move |mut stream| {
            read_head(&mut stream).unwrap();
            write!(stream, "HTTP/1.1 {status}\r\n{header}\r\nContent-Length: 0\r\n\r\n").unwrap();
        });
        let response = threads().block_on(transport().send(get(address))).unwrap();
        assert_eq!(response.status.to_string(), status[..3]);
        let (name, value) = header.split_once(": ").unwrap();
        assert_eq!(response.header(name), Some(value));
        assert_eq!(response.header("content-length"), Some("0"), "names are in lower case");
        assert_eq!(response.url, get(address).url);
    }
}

#[test]
fn a_conversation_is_fed_and_finished() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 11\r\n\r\nhello").unwrap();
        stream.write_all(b" world").unwrap();
        wait_for_close(&mut stream);
    });
    let (conversation, received) = converse(address, Conversation::text(&Context::default()));
    received.unwrap();
    assert_eq!(conversation.received_bytes(), 11);
    match conversation.into_outcome() {
        Some(Outcome::Text(text)) => assert_eq!(text, b"hello world"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_conversation_that_was_cut_is_not_finished() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n000eversion 2\n").unwrap();
    });
    let advertisement =
        Conversation::advertisement(&Limits::default(), &Budget::new(1 << 20), &Context::default());
    let (conversation, received) = converse(address, advertisement);
    assert_eq!(received.unwrap_err().code(), "cut");
    assert_eq!(conversation.received_bytes(), 14);
    assert!(conversation.into_outcome().is_none());
}

fn converse(
    address: SocketAddr,
    conversation: Conversation,
) -> (Conversation, Result<(), gitsip::Error>) {
    let transport = transport();
    threads().block_on(async {
        let response = transport.send(get(address)).await.unwrap();
        transport.receive(response.body, conversation).await
    })
}

#[test]
fn a_closed_port_says_that_it_refused() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    let error = failure(transport(), get(address));
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "refused"));
    assert!(error.context().starts_with(&format!("'{address}' refused the connection")), "{error}");
}

#[test]
fn a_name_that_does_not_resolve_says_so() {
    let mut request = get(([127, 0, 0, 1], 1).into());
    request.url = "http://name.invalid/repo.git".into();
    let error = failure(transport(), request);
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "dns"));
    assert!(error.context().starts_with("could not resolve host 'name.invalid'"), "{error}");
}

#[test]
fn a_host_that_never_answers_is_a_stall() {
    let address = serve(|mut stream| wait_for_close(&mut stream));
    let options = HttpOptions { stall_timeout: Duration::from_millis(150), ..Default::default() };
    let error = failure(HttpTransport::new(options).unwrap(), get(address));
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "stalled"));
    assert!(error.context().contains("has not answered for 150 ms"), "{error}");
}

#[test]
fn a_handshake_that_never_ends_is_a_connect_timeout() {
    let address = serve(|mut stream| wait_for_close(&mut stream));
    let options = HttpOptions { connect_timeout: Duration::from_millis(150), ..Default::default() };
    let error = failure(HttpTransport::new(options).unwrap(), tls(address));
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "connect_timeout"));
    assert!(error.context().contains("within 150 ms"), "{error}");
}

#[test]
fn a_host_that_hangs_up_before_an_answer_is_a_cut() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
    });
    let error = failure(transport(), get(address));
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "cut"));
    assert!(error.context().contains("ended before an answer"), "{error}");
}

#[test]
fn plain_http_where_tls_was_expected_says_to_check_scheme_and_port() {
    let address = serve(|mut stream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        wait_for_close(&mut stream);
    });
    let error = failure(transport(), tls(address));
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "tls"));
    assert!(error.context().contains("does not speak TLS"), "{error}");
}

#[test]
fn http_2_is_offered_before_http_1_1() {
    let (offers, seen) = mpsc::channel();
    let address = serve(move |mut stream| {
        let mut acceptor = rustls::server::Acceptor::default();
        let accepted = loop {
            acceptor.read_tls(&mut stream).unwrap();
            if let Some(accepted) = acceptor.accept().ok().unwrap() {
                break accepted;
            }
        };
        let hello = accepted.client_hello();
        let alpn: Vec<_> = hello.alpn().unwrap().map(<[u8]>::to_vec).collect();
        offers.send((alpn, hello.server_name().map(str::to_owned))).unwrap();
    });
    failure(transport(), tls(address));
    let (alpn, name) = seen.recv_timeout(PATIENCE).unwrap();
    assert_eq!(alpn, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    assert_eq!(name.as_deref(), Some("localhost"));
}

#[test]
fn a_certificate_nobody_vouches_for_is_not_trusted() {
    let (address, _) = tls_server("localhost", 4000);
    let error = failure(transport(), tls(address));
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "tls_untrusted"));
    assert!(error.context().contains("is not trusted: add its issuer"), "{error}");
}

#[test]
fn a_certificate_that_was_given_is_trusted_beside_the_systems() {
    let (address, pem) = tls_server("localhost", 4000);
    let trusting = |pem: &str| {
        HttpTransport::new(HttpOptions { trusted_pem: pem.into(), ..HttpOptions::default() })
    };
    let response = threads().block_on(trusting(&pem).unwrap().send(tls(address))).unwrap();
    assert_eq!(response.status, 200);
    let (_, other) = tls_server("localhost", 4000);
    assert_eq!(failure(trusting(&other).unwrap(), tls(address)).code(), "tls");
    for bad in ["no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    {
        assert_eq!(trusting(bad).map(|_| ()).unwrap_err().kind(), ErrorKind::Usage);
    }
}

#[test]
fn the_certificate_of_an_authority_is_not_taken_for_a_hosts_and_nobody_is_told_to_trust_it() {
    let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let (address, pem) = tls_server_with(parameters);
    let trusting = HttpOptions { trusted_pem: pem.into(), ..HttpOptions::default() };
    for transport in [transport(), HttpTransport::new(trusting).unwrap()] {
        let error = failure(transport, tls(address));
        assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "tls"));
        assert!(error.context().contains("is one to issue others with"), "{error}");
    }
}

/// Not a test of its own: what the tests below run in a process with another
/// environment.
#[test]
fn probe() {
    let Ok(url) = std::env::var("GITSIP_TEST_PROBE") else { return };
    let request = Request { url, ..get(([127, 0, 0, 1], 1).into()) };
    match threads().block_on(transport().send(request)) {
        Ok(response) => println!("PROBE status {}", response.status),
        Err(error) => println!("PROBE {} {error} {error:?}", error.code()),
    }
}

fn run_probe(url: &str, variables: &[(&str, &str)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "probe", "--nocapture"])
        .envs(variables.iter().copied())
        .env("GITSIP_TEST_PROBE", url)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let start = text.find("PROBE ").unwrap_or_else(|| panic!("{text}")) + "PROBE ".len();
    text[start..].lines().next().unwrap().to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn the_systems_trust_store_decides_about_certificates() {
    let cases = [
        ("localhost", 4000, "status 200"),
        ("elsewhere.test", 4000, "is for another name"),
        ("localhost", 2000, "has expired"),
    ];
    for (name, last_year, wanted) in cases {
        let (address, pem) = tls_server(name, last_year);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, pem).unwrap();
        let outcome =
            run_probe(&tls(address).url, &[("SSL_CERT_FILE", file.path().to_str().unwrap())]);
        assert!(outcome.contains(wanted), "{wanted}: {outcome}");
    }
}

#[cfg(unix)]
#[test]
fn the_systems_proxy_is_used_unless_the_host_is_exempt() {
    let (heads, seen) = mpsc::channel();
    let proxy = serve(move |mut stream| {
        heads.send(read_head(&mut stream).unwrap()).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let proxy = format!("http://{proxy}");
    assert_eq!(run_probe("http://name.invalid/x", &[("http_proxy", &proxy)]), "status 200");
    let head = seen.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("GET http://name.invalid/x HTTP/1.1\r\n"), "{head}");

    let exempt = [("http_proxy", proxy.as_str()), ("no_proxy", "name.invalid")];
    assert!(run_probe("http://name.invalid/x", &exempt).starts_with("dns "));
}

#[cfg(unix)]
#[test]
fn a_proxy_that_refuses_is_named_without_its_password() {
    let proxy = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap();
    });
    let proxy = format!("http://me:sesame@{proxy}");
    let outcome = run_probe("https://name.invalid/x", &[("https_proxy", &proxy)]);
    assert!(outcome.starts_with("proxy "), "{outcome}");
    assert!(outcome.contains("'name.invalid'"), "{outcome}");
    assert!(outcome.contains("https_proxy is set"), "{outcome}");
    assert!(!outcome.contains("sesame"), "{outcome}");
}

#[test]
fn what_http_cannot_carry_is_a_usage_error_that_shows_no_secret() {
    let address = ([127, 0, 0, 1], 1).into();
    let requests = [
        Request { url: "https://me:sesame@host/repo.git".into(), ..get(address) },
        Request { url: "https://sesame@host/repo.git".into(), ..get(address) },
        Request { url: "file:///sesame".into(), ..get(address) },
        Request { url: "sesame".into(), ..get(address) },
        Request {
            headers: vec![("authorization".into(), "Bearer sesame\r\nx: y".into())],
            ..get(address)
        },
    ];
    for request in requests {
        let error = failure(transport(), request);
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(!format!("{error} {error:?}").contains("sesame"), "{error:?}");
    }
}

#[test]
fn a_failed_request_shows_neither_its_headers_nor_its_path() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
    });
    let mut request = get(address);
    request.url = format!("http://{address}/secret-path?secret-query");
    request.headers = vec![("authorization".into(), "Basic secret-header".into())];
    let error = failure(transport(), request);
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}

#[test]
fn requests_run_side_by_side() {
    const REQUESTS: usize = 24;
    let all_there = Arc::new(Barrier::new(REQUESTS));
    let address = serve(move |mut stream| {
        read_head(&mut stream).unwrap();
        all_there.wait();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let transport = transport();
    threads().block_on(async {
        let requests: Vec<_> = (0..REQUESTS)
            .map(|_| {
                let transport = transport.clone();
                tokio::spawn(async move { transport.send(get(address)).await.unwrap().status })
            })
            .collect();
        for request in requests {
            assert_eq!(request.await.unwrap(), 200);
        }
    });
}

#[test]
fn dropping_an_unanswered_request_closes_its_connection() {
    let (events, seen) = mpsc::channel();
    let address = serve(move |mut stream| {
        read_head(&mut stream).unwrap();
        events.send("asked").unwrap();
        wait_for_close(&mut stream);
        events.send("closed").unwrap();
    });
    let runtime = threads();
    let request = runtime.spawn(async move { transport().send(get(address)).await.map(|_| ()) });
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), "asked");
    request.abort();
    assert_eq!(seen.recv_timeout(PATIENCE).unwrap(), "closed");
}

#[test]
fn computing_works_wherever_it_is_called_from() {
    let transport = transport();
    assert_eq!(transport.compute(|| 1), 1);
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(single.block_on(async { transport.compute(|| 2) }), 2);

    let workers = threads();
    let local = tokio::task::LocalSet::new();
    assert_eq!(local.block_on(&workers, async { transport.compute(|| 3) }), 3);

    // One worker: were it blocked, nobody could run the task that is waited for.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let computed = runtime.spawn(async move {
        let (done, answer) = mpsc::channel();
        tokio::spawn(async move { done.send(4).unwrap() });
        transport.compute(|| answer.recv_timeout(PATIENCE).unwrap())
    });
    assert_eq!(runtime.block_on(computed).unwrap(), 4);
}

#[test]
fn the_clock_runs_while_it_sleeps() {
    let transport = transport();
    let before = transport.now();
    let started = Instant::now();
    threads().block_on(transport.sleep(Duration::from_millis(60)));
    let slept = transport.now() - before;
    assert!(slept >= Duration::from_millis(60));
    assert!(slept <= started.elapsed() + Duration::from_millis(50));
}

/// Proven by the compiler: a task that runs these may move between threads at each await.
const _: () = {
    const fn send<T: Send>(_: &T) {}
    const fn send_sync<T: Send + Sync>() {}
    #[allow(dead_code, reason = "compiling it is the test")]
    fn futures(transport: &HttpTransport, body: HttpBody, conversation: Conversation) {
        send_sync::<HttpTransport>();
        send(&transport.send(get(([127, 0, 0, 1], 1).into())));
        send(&transport.receive(body, conversation));
        send(&transport.sleep(Duration::ZERO));
    }
};

fn threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn transport() -> HttpTransport {
    HttpTransport::new(HttpOptions::default()).unwrap()
}

fn get(address: SocketAddr) -> Request {
    Request {
        method: Method::Get,
        url: format!("http://{address}/repo.git/info/refs?service=git-upload-pack"),
        headers: Vec::new(),
        body: Bytes::new(),
        public_only: false,
    }
}

/// The same over TLS, by the name `localhost`.
fn tls(address: SocketAddr) -> Request {
    Request { url: format!("https://localhost:{}/repo.git", address.port()), ..get(address) }
}

fn failure(transport: HttpTransport, request: Request) -> gitsip::Error {
    let error = threads().block_on(transport.send(request)).map(|_| ()).unwrap_err();
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

/// A TLS server that answers every request with an empty 200, and its certificate.
fn tls_server(name: &str, last_year: i32) -> (SocketAddr, String) {
    let mut parameters = rcgen::CertificateParams::new([name.to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    tls_server_with(parameters)
}

fn tls_server_with(parameters: rcgen::CertificateParams) -> (SocketAddr, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    let config = Arc::new(config);
    let address = serve(move |stream: TcpStream| {
        let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = rustls::StreamOwned::new(session, stream);
        let mut request = [0; 4096];
        if matches!(stream.read(&mut request), Ok(n) if n > 0) {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
        wait_for_close(&mut stream.sock);
    });
    (address, certificate.pem())
}
