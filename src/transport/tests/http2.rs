//! The pump over HTTP/2, where many responses share a connection and its windows.

use std::future::poll_fn;
use std::sync::atomic::AtomicU64;

use h2::SendStream;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

const BODY_BYTES: u64 = 3 << 20;

#[test]
fn responses_share_one_connection_and_arrive_whole() {
    threads().block_on(async {
        let (server, transport) = start().await;
        let first = server.get(&transport, "finite").await;
        assert_eq!(first.unwrap(), BODY_BYTES);
        let transfers: Vec<_> = (0..8)
            .map(|_| {
                let (server, transport) = (server.clone(), transport.clone());
                tokio::spawn(async move { server.get(&transport, "finite").await })
            })
            .collect();
        for transfer in transfers {
            assert_eq!(transfer.await.unwrap().unwrap(), BODY_BYTES);
        }
        assert_eq!(server.connections.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_refused_chunk_resets_its_stream_and_spares_the_connection() {
    fn push(seen: &mut u64, chunk: &[u8]) -> Result<()> {
        *seen += chunk.len() as u64;
        if *seen > 1 << 20 { Err(refusal()) } else { Ok(()) }
    }
    threads().block_on(async {
        let (server, transport) = start().await;
        let body = server.send(&transport, "endless").await;
        let (_, outcome) = pump(body, 0, push, PATIENCE).await;
        assert_eq!(outcome.unwrap_err().context(), "enough");
        server.wait_for_resets(1).await;
        assert_eq!(server.get(&transport, "finite").await.unwrap(), BODY_BYTES);
        assert_eq!(server.connections.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn blocked_conversations_hold_up_no_other_on_their_connection() {
    const BLOCKED: usize = 6;
    fn push(gate: &mut mpsc::Receiver<()>, _: &[u8]) -> Result<()> {
        gate.recv_timeout(PATIENCE).map_err(|_| refusal())
    }
    threads().block_on(async {
        let (server, transport) = start().await;
        assert_eq!(server.get(&transport, "finite").await.unwrap(), BODY_BYTES);
        let mut gates = Vec::new();
        let mut transfers = Vec::new();
        for _ in 0..BLOCKED {
            let (open, gate) = mpsc::channel();
            gates.push(open);
            let body = server.send(&transport, "endless").await;
            transfers.push(tokio::spawn(async move { pump(body, gate, push, PATIENCE).await.1 }));
        }
        server.wait_until_quiet().await;

        assert_eq!(server.get(&transport, "finite").await.unwrap(), BODY_BYTES);
        assert_eq!(server.connections.load(Ordering::Relaxed), 1);
        drop(gates);
        for transfer in transfers {
            assert_eq!(transfer.await.unwrap().unwrap_err().context(), "enough");
        }
        server.wait_for_resets(BLOCKED).await;
    });
}

/// An HTTP/2 server with a certificate of its own, and what it has counted.
#[derive(Clone)]
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    resets: Arc<AtomicUsize>,
    sent_bytes: Arc<AtomicU64>,
}

/// A server, and a transport that trusts it.
async fn start() -> (Server, HttpTransport) {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate =
        rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];

    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let verifier =
        rustls::client::WebPkiServerVerifier::builder_with_provider(roots.into(), provider)
            .build()
            .unwrap();
    let transport = HttpTransport::with_verifier(HttpOptions::default(), verifier).unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server {
        port: listener.local_addr().unwrap().port(),
        connections: Arc::default(),
        resets: Arc::default(),
        sent_bytes: Arc::default(),
    };
    tokio::spawn(server.clone().accept(listener, TlsAcceptor::from(Arc::new(config))));
    (server, transport)
}

impl Server {
    async fn accept(self, listener: TcpListener, acceptor: TlsAcceptor) {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            self.connections.fetch_add(1, Ordering::Relaxed);
            let stream = acceptor.accept(stream).await.unwrap();
            let server = self.clone();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let body_bytes =
                        if request.uri().path() == "/finite" { BODY_BYTES } else { u64::MAX };
                    let body = respond.send_response(http::Response::new(()), false).unwrap();
                    tokio::spawn(server.clone().answer(body, body_bytes));
                }
            });
        }
    }

    async fn answer(self, mut body: SendStream<Bytes>, mut left: u64) {
        while left > 0 {
            body.reserve_capacity(left.min(64 << 10) as usize);
            let Some(Ok(granted)) = poll_fn(|context| body.poll_capacity(context)).await else {
                self.resets.fetch_add(1, Ordering::Relaxed);
                return;
            };
            left -= granted as u64;
            body.send_data(Bytes::from(vec![3; granted]), left == 0).unwrap();
            self.sent_bytes.fetch_add(granted as u64, Ordering::Relaxed);
        }
    }

    async fn send(&self, transport: &HttpTransport, path: &str) -> HttpBody {
        let url = format!("https://localhost:{}/{path}", self.port);
        let request = Request { url, ..request(([127, 0, 0, 1], self.port).into()) };
        transport.send(request).await.unwrap().body
    }

    /// The bytes of a whole body.
    async fn get(&self, transport: &HttpTransport, path: &str) -> Result<u64> {
        fn push(seen: &mut u64, chunk: &[u8]) -> Result<()> {
            *seen += chunk.len() as u64;
            Ok(())
        }
        let body = self.send(transport, path).await;
        // Less than the patience of those who block.
        let (seen, outcome) = pump(body, 0, push, PATIENCE / 4).await;
        outcome.map(|()| seen)
    }

    async fn wait_for_resets(&self, wanted: usize) {
        tokio::time::timeout(PATIENCE, async {
            while self.resets.load(Ordering::Relaxed) < wanted {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .unwrap();
    }

    /// Waits until every window is used up.
    async fn wait_until_quiet(&self) {
        let mut before = 0;
        loop {
            tokio::time::sleep(Duration::from_millis(200)).await;
            let now = self.sent_bytes.load(Ordering::Relaxed);
            if now == before {
                return;
            }
            before = now;
        }
    }
}
