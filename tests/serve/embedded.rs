//! The server within a program, with limits of its own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gitsip::server::http::listen::{ListenOptions, Listener, serve};
use gitsip::server::http::{Hosting, HostingOptions};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::support::git::Sandbox;
use super::support::runtime;

/// What the server sends until it closes the connection, after `said`.
fn until_closed(address: SocketAddr, said: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(said.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn connections_that_say_nothing_are_closed() {
    let sandbox = Sandbox::new();
    let hosting = Hosting::new(HostingOptions::new(sandbox.repos())).unwrap();
    let options =
        ListenOptions { header_timeout: Duration::from_millis(200), ..ListenOptions::default() };
    let runtime = runtime::threads();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let server = runtime.spawn(async move {
        serve(&hosting, Listener::Tcp(listener), &options, async { _ = ended.await }).await;
    });
    assert!(!until_closed(address, "").contains("200"));
    assert!(!until_closed(address, "GET /healthz HT").contains("200"));
    let idle = until_closed(address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(idle.starts_with("HTTP/1.1 200") && idle.contains("ok\n"), "{idle}");
    end.send(()).unwrap();
    runtime.block_on(server).unwrap();
}
