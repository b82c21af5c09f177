//! `gitsip mcp`: from words to a server, and its end.

use super::args::Mcp;
use super::exit::{FOUND, INTERRUPTED};
use super::failure;
use super::run::{interrupted, runtime};
use crate::client::address::RepoUrl;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::live::{Live, LiveOptions};
use crate::mcp::{self, Listen, ServerOptions};

/// Serves until its input ends or the user interrupts it; its exit status.
///
/// # Errors
/// What keeps it from serving, and an output that fails.
pub(super) fn run(args: &Mcp) -> Result<u8, Error> {
    let listen = listen(args)?;
    let mut limits = Limits::default();
    limits.max_memory = args.max_memory.unwrap_or(limits.max_memory);
    let options = LiveOptions {
        limits,
        max_repos: args.max_repos,
        token_env: args.token_env.clone(),
        token_origins: token_origins(&args.token_hosts)?,
        cache: args.cache.open(|text| failure::warn(text, false)),
    };
    let live = Live::new(args.network.public_transport()?, options);
    let kept = live.clone();
    let options = ServerOptions { timeout: args.timeout, max_reply_bytes: args.max_reply };
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        let serving = async {
            match listen {
                None => mcp::serve_stdio(live, options).await,
                Some(listen) => {
                    let ready = |address| failure::say(&format!("serving http://{address}/mcp"));
                    mcp::serve_http(live, options, listen, ready).await
                }
            }
        };
        tokio::select! {
            served = serving => served.map(|()| FOUND),
            () = interrupted() => Ok(INTERRUPTED),
        }
    });
    kept.save_all();
    // A search may take a moment to hear of its end.
    runtime.shutdown_background();
    ended
}

/// Where to listen, unless the client is on standard input and output.
fn listen(args: &Mcp) -> Result<Option<Listen>, Error> {
    let Some(address) = args.addr else { return Ok(None) };
    if !address.ip().is_loopback() && !args.expose {
        let why = format!(
            "--addr {address} can be reached from other machines, and there is no login; take \
             127.0.0.1, or pass --expose"
        );
        return Err(Error::new(ErrorKind::Usage, why));
    }
    Ok(Some(Listen { address, names: args.names.clone() }))
}

/// The origins that a token may be sent to.
fn token_origins(hosts: &[String]) -> Result<Vec<String>, Error> {
    let default = [DEFAULT_TOKEN_HOST.to_owned()];
    let hosts = if hosts.is_empty() { &default } else { hosts };
    let origin = |host: &String| {
        let address = match host.contains("://") {
            true => host.clone(),
            false => format!("https://{host}"),
        };
        RepoUrl::parse(&address)
            .map(|(repo, _)| repo.origin_text())
            .map_err(|error| error.while_doing("--token-host"))
    };
    hosts.iter().map(origin).collect()
}

/// Where `owner/repo` is looked for.
const DEFAULT_TOKEN_HOST: &str = "github.com";
