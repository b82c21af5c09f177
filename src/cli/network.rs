//! How the command reaches a host: whom it trusts, where redirects may lead, how patient
//! it is.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args::parse_time;
use crate::client::policy::AddressPolicy;
use crate::client::retry::RetryOptions;
use crate::client::transport::Transport as _;
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;
use crate::transport::{HttpOptions, HttpTransport};

/// The flags that are about the network.
#[derive(Clone, Debug, Args)]
pub(super) struct Network {
    /// Certificates (PEM) to trust beside the system's
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Host in a private network that redirects may lead to
    #[arg(long = "allow-host", value_name = "HOST")]
    allow_hosts: Vec<String>,
    /// Give up on a host that is silent for so long [30s]
    #[arg(long, value_name = "T", value_parser = parse_time)]
    stall_timeout: Option<Duration>,
}

impl Network {
    pub(super) fn transport(&self) -> Result<HttpTransport, Error> {
        self.transport_within(AddressPolicy::NoWayInside)
    }

    /// For addresses that others choose.
    #[cfg(feature = "mcp")]
    pub(super) fn public_transport(&self) -> Result<HttpTransport, Error> {
        self.transport_within(AddressPolicy::PublicOnly)
    }

    fn transport_within(&self, address_policy: AddressPolicy) -> Result<HttpTransport, Error> {
        let trusted_pem = match &self.cacert {
            None => Vec::new(),
            Some(path) => std::fs::read(path).map_err(|error| {
                let shown = escape_for_people(path.as_os_str().as_encoded_bytes());
                Error::new(ErrorKind::Io, format!("--cacert: '{shown}' cannot be read: {error}"))
                    .with_source(error)
            })?,
        };
        let allowed_hosts = self.allow_hosts.clone();
        let defaults = HttpOptions::default();
        let stall_timeout = self.stall_timeout.unwrap_or(defaults.stall_timeout);
        HttpTransport::new(HttpOptions {
            address_policy,
            trusted_pem,
            allowed_hosts,
            stall_timeout,
            ..defaults
        })
    }
}

/// Waits no longer than the command may take.
pub(super) fn patience(transport: &HttpTransport, timeout: Option<Duration>) -> RetryOptions {
    let deadline = timeout.map(|timeout| transport.now().saturating_add(timeout));
    RetryOptions { deadline, ..RetryOptions::default() }
}

/// Says with which words of this command a redirect is followed, a certificate trusted, or
/// a host waited for, all the same.
pub(super) fn with_advice(error: Error) -> Error {
    let advice = match error.code() {
        "forbidden_address" => "to allow it pass --allow-host HOST",
        "stalled" => "for that pass --stall-timeout TIME",
        "tls_untrusted" => "to trust it pass --cacert FILE",
        "too_slow" => "for that pass --timeout TIME",
        _ => return error,
    };
    let context = format!("{}; {advice}", error.context());
    Error::new(error.kind(), context).with_code(error.code()).with_source(error)
}
