//! The pump over real sockets: what reaches the consumer, what does not, and when the
//! connection ends.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::runtime::{Builder, Runtime};

use super::gzip::gzip;
use super::http::{HttpBody, HttpOptions, HttpTransport};
use super::pump::{finish, pump};
use crate::client::transport::{Method, Request, Transport};
use crate::error::{Error, ErrorKind, Result};

mod http2;
#[path = "../../tests/support/raw_server.rs"]
mod raw_server;
use raw_server::{read_head, serve, wait_for_close};

/// Far longer than anything here takes when it works.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_body_arrives_whole_and_in_order_on_both_kinds_of_runtime() {
    let body: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    for runtime in [threads(), Builder::new_current_thread().enable_all().build().unwrap()] {
        let sent = body.clone();
        let address = serve(move |mut stream| {
            read_head(&mut stream).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
            for chunk in sent.chunks(77_777) {
                write!(stream, "{:x}\r\n", chunk.len()).unwrap();
                stream.write_all(chunk).unwrap();
                stream.write_all(b"\r\n").unwrap();
            }
            stream.write_all(b"0\r\n\r\n").unwrap();
            wait_for_close(&mut stream);
        });
        let (received, outcome) =
            runtime.block_on(async { pump(get(address).await, Vec::new(), keep, PATIENCE).await });
        outcome.unwrap();
        assert!(received == body, "the bytes differ");
    }
}

#[test]
fn a_consumer_that_blocks_stops_the_sender() {
    const BODY_BYTES: usize = 96 << 20;
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let address = serve(move |mut stream| {
        read_head(&mut stream).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {BODY_BYTES}\r\n\r\n").unwrap();
        let block = vec![7; 64 << 10];
        while counter.load(Ordering::Relaxed) < BODY_BYTES {
            stream.write_all(&block).unwrap();
            counter.fetch_add(block.len(), Ordering::Relaxed);
        }
        wait_for_close(&mut stream);
    });
    struct Gated {
        gate: Option<mpsc::Receiver<()>>,
        bytes: usize,
    }
    fn push(gated: &mut Gated, chunk: &[u8]) -> Result<()> {
        if let Some(gate) = gated.gate.take() {
            gate.recv_timeout(PATIENCE).unwrap();
        }
        gated.bytes += chunk.len();
        Ok(())
    }

    let (open, gate) = mpsc::channel();
    let consumer = Gated { gate: Some(gate), bytes: 0 };
    let (consumer, outcome) = threads().block_on(async {
        let transfer =
            tokio::spawn(async move { pump(get(address).await, consumer, push, PATIENCE).await });
        let mut before = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = written.load(Ordering::Relaxed);
            if now > 0 && now == before {
                break;
            }
            before = now;
        }
        // What the kernel buffers on both sides of the loopback is most of this.
        assert!(before < BODY_BYTES / 4, "{before} bytes were taken in");
        open.send(()).unwrap();
        transfer.await.unwrap()
    });
    outcome.unwrap();
    assert_eq!(consumer.bytes, BODY_BYTES);
}

#[test]
fn a_connection_without_a_byte_is_a_stall_and_what_came_before_is_kept() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n0123456789").unwrap();
        wait_for_close(&mut stream);
    });
    let stall = Duration::from_millis(150);
    let (received, outcome) =
        threads().block_on(async { pump(get(address).await, Vec::new(), keep, stall).await });
    let error = outcome.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "stalled"));
    assert!(error.context().contains("nothing for 150 ms after 10 bytes"), "{error}");
    assert_eq!(received, b"0123456789");
}

#[test]
fn a_slow_consumer_is_no_stall() {
    let body_bytes = 6 << 20;
    let address = serve(move |mut stream| {
        read_head(&mut stream).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {body_bytes}\r\n\r\n").unwrap();
        stream.write_all(&vec![1; body_bytes]).unwrap();
        wait_for_close(&mut stream);
    });
    fn push(slow: &mut (usize, bool), chunk: &[u8]) -> Result<()> {
        slow.0 += chunk.len();
        if !slow.1 && slow.0 > 1 << 20 {
            slow.1 = true;
            thread::sleep(Duration::from_millis(1500));
        }
        Ok(())
    }
    let stall = Duration::from_millis(500);
    let (received, outcome) =
        threads().block_on(async { pump(get(address).await, (0, false), push, stall).await });
    outcome.unwrap();
    assert_eq!(received, (body_bytes, true));
}

#[test]
fn a_connection_cut_in_the_middle_says_after_how_many_bytes() {
    for head in ["content-length: 1000", "transfer-encoding: chunked"] {
        let address = serve(move |mut stream| {
            read_head(&mut stream).unwrap();
            write!(stream, "HTTP/1.1 200 OK\r\n{head}\r\n\r\n").unwrap();
            if head.starts_with("transfer") {
                stream.write_all(b"3e8\r\n").unwrap();
            }
            stream.write_all(&[b'x'; 300]).unwrap();
        });
        let (received, outcome) = threads()
            .block_on(async { pump(get(address).await, Vec::new(), keep, PATIENCE).await });
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Transport, "cut"));
        assert!(error.context().contains("was cut after 300 bytes"), "{error}");
        assert_eq!(received, [b'x'; 300]);
    }
}

#[test]
fn a_refused_chunk_ends_an_endless_transfer() {
    let (closed, server_saw_the_end) = mpsc::channel();
    let address = serve(endless(closed));
    fn push(seen: &mut usize, chunk: &[u8]) -> Result<()> {
        *seen += chunk.len();
        if *seen > 1 << 20 { Err(refusal()) } else { Ok(()) }
    }
    let (seen, outcome) =
        threads().block_on(async { pump(get(address).await, 0, push, PATIENCE).await });
    assert_eq!(outcome.unwrap_err().context(), "enough");
    assert!(seen > 1 << 20);
    server_saw_the_end.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_refused_chunk_is_reported_at_once_though_the_host_has_gone_silent() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nERR").unwrap();
        wait_for_close(&mut stream);
    });
    let started = Instant::now();
    let ((), outcome) = threads()
        .block_on(async { pump(get(address).await, (), |_, _| Err(refusal()), PATIENCE).await });
    assert_eq!(outcome.unwrap_err().context(), "enough");
    assert!(started.elapsed() < PATIENCE / 2);
}

#[test]
fn a_refusal_is_heard_though_the_connection_was_cut_as_well() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nERR").unwrap();
    });
    fn push((): &mut (), _: &[u8]) -> Result<()> {
        // By now the async side has met the cut.
        thread::sleep(Duration::from_millis(200));
        Err(refusal())
    }
    let ((), outcome) =
        threads().block_on(async { pump(get(address).await, (), push, PATIENCE).await });
    assert_eq!(outcome.unwrap_err().context(), "enough");
}

#[test]
fn a_panic_on_the_blocking_thread_is_an_error_and_the_consumer_comes_back() {
    let (closed, server_saw_the_end) = mpsc::channel();
    let address = serve(endless(closed));
    fn push(seen: &mut usize, _: &[u8]) -> Result<()> {
        *seen += 1;
        assert!(*seen < 3, "the third chunk is too many");
        Ok(())
    }
    let (seen, outcome) =
        threads().block_on(async { pump(get(address).await, 0, push, PATIENCE).await });
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), "panicked");
    assert!(error.context().contains("the third chunk is too many"), "{error}");
    assert_eq!(seen, 3);
    server_saw_the_end.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn a_panic_at_the_end_is_an_error_and_the_consumer_comes_back() {
    let (seen, outcome) =
        threads().block_on(finish(7, |seen| panic!("{seen} is a bad number"), "host"));
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), "panicked");
    assert!(error.context().contains("7 is a bad number"), "{error}");
    assert_eq!(seen, 7);
}

#[test]
fn dropping_the_future_ends_the_transfer_and_drops_the_consumer() {
    struct Watched {
        chunks: mpsc::Sender<&'static str>,
    }
    impl Drop for Watched {
        fn drop(&mut self) {
            self.chunks.send("dropped").unwrap();
        }
    }
    fn push(watched: &mut Watched, _: &[u8]) -> Result<()> {
        watched.chunks.send("chunk").unwrap();
        thread::sleep(Duration::from_millis(50));
        Ok(())
    }

    let (closed, server_saw_the_end) = mpsc::channel();
    let address = serve(endless(closed));
    let (chunks, events) = mpsc::channel();
    let runtime = threads();
    let transfer = runtime
        .spawn(async move { pump(get(address).await, Watched { chunks }, push, PATIENCE).await.1 });
    assert_eq!(events.recv_timeout(PATIENCE).unwrap(), "chunk");
    transfer.abort();
    server_saw_the_end.recv_timeout(PATIENCE).unwrap();

    // Queued chunks are not worked off for nobody: at most the one under way follows.
    let after: Vec<_> = events.iter().collect();
    assert_eq!(after.last(), Some(&"dropped"));
    assert!(after.len() <= 4, "{after:?}");
}

#[test]
fn a_body_encoded_in_an_unknown_way_is_refused_but_its_status_is_told() {
    let address = serve(|mut stream| {
        read_head(&mut stream).unwrap();
        stream
            .write_all(b"HTTP/1.1 404 Not Found\r\ncontent-encoding: br\r\n\r\n\x1f\x8b")
            .unwrap();
    });
    let (received, outcome) = threads().block_on(async {
        let response = transport().send(request(address)).await.unwrap();
        assert_eq!(response.status, 404);
        pump(response.body, Vec::new(), keep, PATIENCE).await
    });
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.context().contains("content-encoding \"br\""), "{error}");
    assert!(received.is_empty());
}

/// Answers with `body` as a gzip'd one, in chunks of `size` bytes.
fn serve_gzip(body: Vec<u8>, size: usize) -> SocketAddr {
    serve(move |mut stream| {
        read_head(&mut stream).unwrap();
        let head =
            "HTTP/1.1 200 OK\r\ncontent-encoding: GZip\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for chunk in body.chunks(size) {
            // A client that has had enough has hung up.
            let _ = write!(stream, "{:x}\r\n", chunk.len())
                .and_then(|()| stream.write_all(chunk))
                .and_then(|()| stream.write_all(b"\r\n"));
        }
        let _ = stream.write_all(b"0\r\n\r\n");
        wait_for_close(&mut stream);
    })
}

#[test]
fn a_gzipped_body_arrives_inflated_however_it_is_cut() {
    let content: Vec<u8> = (0..20_000_u32).flat_map(|n| (n * n % 1009).to_le_bytes()).collect();
    // Two members in a row are one body.
    let body = [gzip(&content[..30_000]), gzip(&content[30_000..])].concat();
    for size in [1, 7, 4096, usize::MAX] {
        let address = serve_gzip(body.clone(), size);
        let (received, outcome) = threads()
            .block_on(async { pump(get(address).await, Vec::new(), keep, PATIENCE).await });
        outcome.unwrap();
        assert!(received == content, "in chunks of {size}");
    }
}

#[test]
fn a_gzipped_body_that_is_cut_or_damaged_is_an_error() {
    let body = gzip(&(0..9000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    let mut flipped = body.clone();
    let checksum = flipped.len() - 8;
    flipped[checksum] ^= 1;
    let cuts = [1, 9, 200, body.len() - 9, body.len() - 1].map(|length| body[..length].to_vec());
    for bad in cuts.into_iter().chain([flipped, b"plain text".to_vec(), [&body[..], b"x"].concat()])
    {
        let address = serve_gzip(bad, 1000);
        let (_, outcome) = threads()
            .block_on(async { pump(get(address).await, Vec::new(), keep, PATIENCE).await });
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.context().contains("gzip'd answer"), "{error}");
    }
}

#[test]
fn a_gzip_bomb_is_stopped_by_whoever_reads_it_and_comes_in_small_pieces() {
    let bomb = gzip(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100 << 10);
    fn push(seen: &mut (usize, usize), bytes: &[u8]) -> Result<()> {
        *seen = (seen.0 + bytes.len(), seen.1.max(bytes.len()));
        if seen.0 > 1 << 20 { Err(refusal()) } else { Ok(()) }
    }
    let address = serve_gzip(bomb, usize::MAX);
    let (seen, outcome) =
        threads().block_on(async { pump(get(address).await, (0, 0), push, PATIENCE).await });
    assert_eq!(outcome.unwrap_err().context(), "enough");
    assert!(seen.0 < 2 << 20 && seen.1 <= 128 << 10, "{seen:?}");
}

#[test]
fn a_connection_is_used_again_and_replaced_when_it_has_died() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let address = serve(move |mut stream| {
        counter.fetch_add(1, Ordering::Relaxed);
        for _ in 0..2 {
            read_head(&mut stream).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
        }
    });
    let transport = transport();
    threads().block_on(async {
        for done in 1..=6_usize {
            let body = transport.send(request(address)).await.unwrap().body;
            let (received, outcome) = pump(body, Vec::new(), keep, PATIENCE).await;
            outcome.unwrap();
            assert_eq!(received, b"ok");
            assert_eq!(connections.load(Ordering::Relaxed), done.div_ceil(2));
            // A request that crosses the server's goodbye on the wire is lost, as the host may
            // have acted on it. This is about one that is sent later.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    });
}

fn threads() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn transport() -> HttpTransport {
    HttpTransport::new(HttpOptions::default()).unwrap()
}

fn request(address: SocketAddr) -> Request {
    Request {
        method: Method::Get,
        url: format!("http://{address}/"),
        headers: Vec::new(),
        body: Bytes::new(),
        public_only: false,
    }
}

async fn get(address: SocketAddr) -> HttpBody {
    transport().send(request(address)).await.unwrap().body
}

/// An answer that never ends by itself, and a message once the client hung up.
fn endless(closed: mpsc::Sender<()>) -> impl Fn(TcpStream) + Send + Sync + 'static {
    move |mut stream| {
        read_head(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while stream.write_all(&[9; 16 << 10]).is_ok() {}
        closed.send(()).unwrap();
    }
}

fn keep(kept: &mut Vec<u8>, chunk: &[u8]) -> Result<()> {
    kept.extend_from_slice(chunk);
    Ok(())
}

fn refusal() -> Error {
    Error::new(ErrorKind::Malformed, "enough")
}
