//! Clients over HTTP: the protocol's streamable transport at `/mcp`.
//!
//! There is no login, so everybody who can connect may ask. Meant are programs of this
//! machine: a request that a browser makes for a page is refused by its `Origin`, and one
//! that reached this machine by another name by its `Host`, so that no page can talk to the
//! server, not even one whose name server says that it lives here.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::Listen;
use super::server::Server;
use crate::error::{Error, ErrorKind};
use crate::server::http::connection::{Answer, AnyBody};
use crate::server::http::listen::{Door, ListenOptions, Listener};

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
    let options = ListenOptions {
        max_connections: MAX_CONNECTIONS,
        header_timeout: HEADER_TIMEOUT,
        ..ListenOptions::default()
    };
    let (_open, ended) = watch::channel(());
    Door::new(answering(service), &options, MAX_STALL, ended)
        .accept(&Listener::Tcp(listener))
        .await;
    Ok(())
}

/// The names in `Host` that mean this server.
fn hosts(address: SocketAddr, names: &[String]) -> Vec<String> {
    let local = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let own = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
    local.into_iter().chain(own).chain(names.iter().cloned()).collect()
}

fn answering(service: Service) -> Answer {
    Arc::new(move |request| {
        let service = service.clone();
        Box::pin(async move {
            if request.uri().path() != PATH {
                let mut response =
                    Response::new(Box::pin(Empty::new().map_err(Into::into)) as AnyBody);
                *response.status_mut() = StatusCode::NOT_FOUND;
                return response;
            }
            service.handle(request).await.map(|body| Box::pin(body.map_err(Into::into)) as AnyBody)
        })
    })
}

/// Where the protocol is.
const PATH: &str = "/mcp";
/// Each client has one or two, and each stream of answers one.
const MAX_CONNECTIONS: u32 = 256;
/// For the head of a request, from the first byte of a connection on.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// While bytes wait for a client that takes next to none.
const MAX_STALL: Duration = Duration::from_secs(60);
