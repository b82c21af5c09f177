//! `gitsip serve`: from words to a server, its log, and its end.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};

use super::args::{LogFormat, Serve};
use super::exit::FOUND;
use super::failure;
use super::output::Output;
use super::run::{interrupted, runtime};
use crate::error::{Error, ErrorKind};
use crate::parallel::Pool;
use crate::server::http::listen::{ListenOptions, Listener, serve};
use crate::server::http::{AuthFile, Handled, Hosting, HostingOptions, ListedHosts};
use crate::text::escape_for_people;
use crate::transport::HttpOptions;

/// Serves until someone ends it; its exit status.
///
/// # Errors
/// What keeps it from serving.
pub(super) fn run(args: &Serve) -> Result<u8, Error> {
    let (out, form) = (Output::stdout(), args.log_format);
    let log = move |handled: &Handled| {
        let mut line = match form {
            LogFormat::Json => as_json(handled),
            LogFormat::Text => as_text(handled),
        };
        line.push('\n');
        // Whoever closed the log does not want it.
        drop(out.lock().write_through(line.as_bytes()));
    };
    let mut hosting = Hosting::new(options(args))?.with_listener(log);
    if let Some(path) = &args.auth_file {
        hosting = hosting.with_authorizer(AuthFile::open(path, |error| {
            failure::warn(&format!("the logins stay as they were: {error}"), false);
        })?);
    }
    if !args.proxy_allow.is_empty() {
        let hosts = ListedHosts::new(&args.proxy_allow, HttpOptions::default())?;
        hosting = hosting.with_listed_hosts(hosts);
    }
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let listener = match &args.unix {
            Some(path) => at_file(path)?,
            None => at_address(args.addr).await?,
        };
        serve(&hosting, listener, &ListenOptions::default(), asked_to_end()).await;
        Ok(FOUND)
    });
    if let Some(path) = &args.unix
        && served.is_ok()
    {
        // It is no use without a server.
        drop(std::fs::remove_file(path));
    }
    runtime.shutdown_background();
    served
}

fn options(args: &Serve) -> HostingOptions {
    let mut options = HostingOptions::new(&args.root);
    options.serve = args.access.options();
    options.cors.clone_from(&args.cors);
    // Nobody but programs of this machine connects, and of those a browser does it for pages.
    let is_open = args.auth_file.is_none() && args.unix.is_none() && args.addr.ip().is_loopback();
    let is_named = is_open || !args.served_as.is_empty();
    options.served_as = is_named.then(|| args.served_as.clone());
    options.workers = Pool::shared();
    options.limits.max_memory = args.max_memory.unwrap_or(options.limits.max_memory);
    options.max_requests = args.max_requests.unwrap_or(options.max_requests);
    options.max_wait = args.max_wait.unwrap_or(options.max_wait);
    options.max_stall = args.stall_timeout.unwrap_or(options.max_stall);
    options
}

async fn at_address(address: SocketAddr) -> Result<Listener, Error> {
    let cannot = |error| {
        let why = format!("cannot listen at {address}: {error}; name another --addr");
        Error::new(ErrorKind::Io, why).with_source(error)
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    failure::say(&format!("serving http://{address}/"));
    Ok(Listener::Tcp(listener))
}

fn at_file(path: &Path) -> Result<Listener, Error> {
    let listener = UnixListener::bind(path).map_err(|error| {
        let shown = path.display();
        let why = format!("cannot listen at {shown}: {error}; remove it, or name another --unix");
        Error::new(ErrorKind::Io, why).with_source(error)
    })?;
    failure::say(&format!("serving at {}", path.display()));
    Ok(Listener::Unix(listener))
}

/// Resolves when the user or the system wants an end.
async fn asked_to_end() {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return interrupted().await };
    tokio::select! {
        () = interrupted() => {}
        _ = terminated.recv() => {}
    }
}

fn as_json(handled: &Handled) -> String {
    let Handled { id, method, path, repository, kind, status, .. } = handled;
    json!({
        "id": id,
        "method": method,
        "path": path,
        "repository": repository,
        "principal": handled.principal,
        "kind": kind.code(),
        "status": status.map(|status| status.as_u16()),
        "outcome": handled.outcome.code(),
        "bytes_in": handled.bytes_in,
        "bytes_out": handled.bytes_out,
        "wants": handled.pack.wants,
        "entries_copied": handled.pack.copied,
        "entries_rebuilt": handled.pack.rebuilt,
        "entries_cached": handled.pack.cached,
        "work_ms": handled.worked.as_millis() as u64,
        "ms": handled.took.as_millis() as u64,
        "error": handled.error,
    })
    .to_string()
}

/// What a person looks for first stands first.
fn as_text(handled: &Handled) -> String {
    let status = handled.status.map_or("-".to_owned(), |status| status.as_u16().to_string());
    let error = handled.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
    let line = format!(
        "{status} {} {} {} {} bytes {} ms{error}",
        handled.method,
        handled.path,
        handled.outcome.code(),
        handled.bytes_out,
        handled.took.as_millis(),
    );
    escape_for_people(line.as_bytes()).to_string()
}
