//! Clients over HTTP: the protocol's streamable transport at `/mcp`.
//!
//! There is no login, so everybody who can connect may ask. Meant are programs of this
//! machine: a request that a browser makes for a page is refused by its `Origin`, and one
//! that reached this machine by another name by its `Host`, so that no page can talk to the
//! server, not even one whose name server says that it lives here.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use super::Listen;
use super::server::Server;
use crate::error::{Error, ErrorKind};

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Serves whoever connects until it is dropped.
///
/// # Errors
/// `Io` when nobody can listen there.
pub(super) async fn serve(
    server: Server,
    listen: Listen,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let cannot = |error| {
        let why = format!("cannot listen at {}: {error}; name another --addr", listen.address);
        Error::new(ErrorKind::Io, why).with_source(error)
    };
    let listener = TcpListener::bind(listen.address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts(address, &listen.names))
        .enforce_origin_validation();
    let service = StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
    ready(address);
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Nobody closes it.
        let Ok(room) = Arc::clone(&connections).acquire_owned().await else { return Ok(()) };
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(connection(stream, service.clone(), room))),
            // One connection that failed is no reason; a machine without files left is slow.
            Err(_) => sleep(AFTER_FAILURE).await,
        }
    }
}

/// The names in `Host` that mean this server.
fn hosts(address: SocketAddr, names: &[String]) -> Vec<String> {
    let local = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
    local.into_iter().chain(own).chain(names.iter().cloned()).collect()
}

async fn connection(stream: TcpStream, service: Service, _room: OwnedSemaphorePermit) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let service = service.clone();
        async move {
            if request.uri().path() != PATH {
                let mut response = Response::default();
                *response.status_mut() = StatusCode::NOT_FOUND;
                return Ok::<_, Infallible>(response);
            }
            Ok(service.handle(request).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    // A client that breaks off says so to itself.
    drop(served);
}

/// Where the protocol is.
const PATH: &str = "/mcp";
/// Each client has one or two, and each stream of answers one.
const MAX_CONNECTIONS: usize = 256;
/// For the head of a request, from the first byte of a connection on.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
const AFTER_FAILURE: Duration = Duration::from_millis(50);
