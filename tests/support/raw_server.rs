//! A server made of bare sockets, for answers that no honest HTTP server gives: cut,
//! stalled, endless. It parses nothing and never closes by itself.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Listens on a free port of the loopback and hands each connection to `answer` on a
/// thread of its own.
pub(crate) fn serve(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    address
}

/// The next request's head, up to and without its empty line; `None` when the client
/// closed the connection instead.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    head.truncate(head.len() - 4);
    Some(String::from_utf8(head).unwrap())
}

/// Blocks until the client has closed the connection.
pub(crate) fn wait_for_close(stream: &mut TcpStream) {
    let mut rest = [0; 4096];
    while matches!(stream.read(&mut rest), Ok(n) if n > 0) {}
}
