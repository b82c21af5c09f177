//! From a host's name to the addresses that may be connected to.
//!
//! The address policy is asked here, inside the resolver that each new connection uses: the
//! addresses that were judged are the ones connected to, whatever a name server says the
//! next time. Hosts written as addresses never come to a resolver and are judged before
//! the request is sent.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::Host;

use crate::client::policy::why_not_public;
use crate::error::{Error, ErrorKind};

type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Finds the addresses of a host. A clone is the same one.
///
/// ```
/// use std::net::IpAddr;
/// use gitsip::transport::{HttpOptions, Resolver};
///
/// let here = IpAddr::from([127, 0, 0, 1]);
/// let resolver = Resolver::new(move |host| match host {
///     "git.test" => Ok(vec![here]),
///     _ => Err(std::io::ErrorKind::NotFound.into()),
/// });
/// let options = HttpOptions { resolver, ..HttpOptions::default() };
/// # let _ = options;
/// ```
#[derive(Clone)]
pub struct Resolver(Arc<Lookup>);

impl Resolver {
    /// Asks `lookup`, on a thread that may block, before each new connection that goes
    /// through no proxy.
    pub fn new(lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }
}

impl Default for Resolver {
    /// The system's.
    fn default() -> Self {
        Self::new(|host| Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect()))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// A resolver that lets no address through that may not be connected to.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    resolver: Resolver,
    public_only: bool,
    /// Exempt from `public_only`.
    allowed: Arc<[Host]>,
}

impl Gate {
    /// # Errors
    /// `Usage` when one of `allowed` is no host.
    pub(super) fn new(resolver: Resolver, allowed: &[String]) -> Result<Self, Error> {
        let allowed = allowed.iter().map(|name| parse_host(name)).collect::<Result<_, _>>()?;
        Ok(Self { resolver, public_only: false, allowed })
    }

    /// The same for public addresses, and hosts that are allowed, only.
    pub(super) fn public_only(&self) -> Self {
        Self { public_only: true, ..self.clone() }
    }

    /// Judges the host of `url` if it is an address. A name is judged by what it resolves
    /// to.
    pub(super) fn judge(&self, url: &Url) -> Result<(), Forbidden> {
        match address_of(url) {
            Some(address) if !self.allowed.iter().any(|host| is_address(host, address)) => {
                self.judge_address(address)
            }
            _ => Ok(()),
        }
    }

    fn judge_address(&self, address: IpAddr) -> Result<(), Forbidden> {
        match why_not_public(address) {
            Some(why) if self.public_only => Err(Forbidden { address, why }),
            _ => Ok(()),
        }
    }

    fn resolve_now(
        &self,
        name: &str,
    ) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let addresses = (self.resolver.0)(name)?;
        let is_allowed = |host: &Host| matches!(host, Host::Domain(domain) if domain == name);
        if !self.allowed.iter().any(is_allowed) {
            // One bad address spoils the name: nobody honest lists both kinds.
            addresses.iter().try_for_each(|&address| self.judge_address(address))?;
        }
        Ok(addresses)
    }
}

impl Resolve for Gate {
    fn resolve(&self, name: Name) -> Resolving {
        let gate = self.clone();
        Box::pin(async move {
            let resolved =
                tokio::task::spawn_blocking(move || gate.resolve_now(name.as_str())).await?;
            // The port is that of the address; 0 says so.
            let sockets = resolved?.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}

/// The address that stands in place of a name in `url`.
pub(super) fn address_of(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}

/// An address that may not be connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {why}, not public")]
pub(super) struct Forbidden {
    pub(super) address: IpAddr,
    pub(super) why: &'static str,
}

fn is_address(host: &Host, address: IpAddr) -> bool {
    match host {
        Host::Domain(_) => false,
        Host::Ipv4(allowed) => address == *allowed,
        Host::Ipv6(allowed) => address == *allowed,
    }
}

fn parse_host(name: &str) -> Result<Host, Error> {
    Host::parse(name).or_else(|_| Host::parse(&format!("[{name}]"))).map_err(|error| {
        let text = format!("{name:?} is no host to allow ({error}): give a name or an address");
        Error::new(ErrorKind::Usage, text)
    })
}
