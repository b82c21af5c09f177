//! What can go wrong with a connection, in words that say what to do.
//!
//! Messages name the host and nothing else of the request: neither its path nor its
//! headers can leak through them.

use std::any::Any;
use std::error::Error as StdError;
use std::ffi::OsString;
use std::io;
use std::time::Duration;

use reqwest::header::HeaderValue;
use rustls::CertificateError;

use super::http::HttpOptions;
use super::resolve::Forbidden;
use crate::client::policy::AddressPolicy;
use crate::error::{Error, ErrorKind};
use crate::text::amounts::Count;

/// No head came for a request.
pub(super) fn sending(error: reqwest::Error, host: &str, options: &HttpOptions) -> Error {
    let error = error.without_url();
    if error.is_builder() {
        return Error::new(ErrorKind::Usage, format!("HTTP cannot ask '{host}' for this address"))
            .with_source(error);
    }
    if let Some(&why) = causes(&error).find_map(|cause| cause.downcast_ref()) {
        return forbidden(why, host, options);
    }
    let (code, text) = if let Some(tls) = causes(&error).find_map(tls_cause) {
        (if is_untrusted(tls) { "tls_untrusted" } else { "tls" }, tls_text(tls, host))
    } else if error.is_dns() {
        ("dns", format!("could not resolve host '{host}': check the address and the network"))
    } else if let Some(tunnel) =
        causes(&error).map(ToString::to_string).find(|text| text.starts_with("tunnel error"))
    {
        ("proxy", format!("the proxy opened no way to '{host}' ({tunnel}): check the proxy"))
    } else if is_refused(&error) {
        (
            "refused",
            format!("'{host}' refused the connection: check the port and that a server runs there"),
        )
    } else if error.is_connect() && error.is_timeout() {
        let seconds = seconds(options.connect_timeout);
        (
            "connect_timeout",
            format!("could not connect to '{host}' within {seconds}: check the address or wait"),
        )
    } else if causes(&error).any(|cause| cause.to_string() == "tls handshake eof") {
        ("tls", format!("'{host}' hung up on a TLS handshake: check the scheme and the port"))
    } else if error.is_connect() {
        let cause = innermost(&error);
        ("connect", format!("could not connect to '{host}' ({cause}): check the network"))
    } else if let Some(cause) =
        causes(&error).map(ToString::to_string).find(|cause| is_no_http(cause))
    {
        (
            "not_http",
            format!(
                "'{host}' does not answer in HTTP as it is read here ({cause}): check the port"
            ),
        )
    } else {
        let cause = innermost(&error);
        ("cut", format!("the connection to '{host}' ended before an answer ({cause}): try again"))
    };
    let hint = match proxy_variable(|name| std::env::var_os(name)) {
        Some(name) if code != "cut" => format!("; {name} is set: check that proxy too"),
        _ => String::new(),
    };
    Error::new(ErrorKind::Transport, text + &hint).with_code(code).with_source(error)
}

/// The address policy stands against the host.
pub(super) fn forbidden(why: Forbidden, host: &str, options: &HttpOptions) -> Error {
    let Forbidden { address, why: range } = why;
    let text = match options.address_policy {
        AddressPolicy::NoWayInside => format!(
            "a public host redirects to '{host}' at {address} ({range}): such a redirect is \
             followed only to hosts that are allowed by name"
        ),
        AddressPolicy::PublicOnly => format!(
            "'{host}' is at {address} ({range}), and only public addresses are read: allow the \
             host by name if it is meant"
        ),
    };
    Error::new(ErrorKind::Transport, text).with_code("forbidden_address").with_source(why)
}

/// The connection failed in the middle of a body.
pub(super) fn receiving(error: reqwest::Error, host: &str, received_bytes: u64) -> Error {
    let error = error.without_url();
    let text = format!(
        "the connection to '{host}' was cut after {} ({}): try again",
        Count(received_bytes, "byte"),
        innermost(&error)
    );
    Error::new(ErrorKind::Transport, text).with_code("cut").with_source(error)
}

/// Nothing came for `waited`.
pub(super) fn stalled(host: &str, waited: Duration, received_bytes: u64) -> Error {
    let waited = seconds(waited);
    let text = if received_bytes == 0 {
        format!("'{host}' has not answered for {waited}: try again or allow a longer stall")
    } else {
        format!(
            "'{host}' sent nothing for {waited} after {}: try again or allow a longer stall",
            Count(received_bytes, "byte")
        )
    };
    Error::new(ErrorKind::Transport, text).with_code("stalled")
}

/// The body cannot be read as it was sent.
pub(super) fn encoded(encoding: &HeaderValue, host: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "'{host}' sent its answer with content-encoding {encoding:?} although a plain one was \
             asked for: check for a proxy in between"
        ),
    )
}

/// Nobody can finish the transfer any more.
pub(super) fn shut_down(host: &str) -> Error {
    Error::new(
        ErrorKind::Cancelled,
        format!("the runtime shut down while '{host}' was answering: keep it until the end"),
    )
}

/// The code that read a response panicked: a defect, and never the reader's.
pub(super) fn panicked(panic: &(dyn Any + Send), host: &str) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(
        ErrorKind::Unsupported,
        format!("reading the answer of '{host}' hit a defect ({message}): please report it"),
    )
    .with_code("panicked")
}

fn tls_text(error: &rustls::Error, host: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => format!(
                "the certificate of '{host}' has expired: check this machine's clock, or tell \
                 whoever runs the host"
            ),
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the certificate of '{host}' is not valid yet: check this machine's clock")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate of '{host}' is for another name: check the address")
            }
            CertificateError::UnknownIssuer => format!(
                "the certificate of '{host}' is not trusted: add its issuer to the system's \
                 trust store, or name a file with it in SSL_CERT_FILE"
            ),
            other if is_of_an_issuer(other) => format!(
                "the certificate of '{host}' is one to issue others with, and no trust makes it \
                 one of a host: tell whoever runs the host to issue one with it"
            ),
            other => format!(
                "the certificate of '{host}' is not accepted ({other}): tell whoever runs the host"
            ),
        },
        rustls::Error::InvalidMessage(_) => {
            format!("'{host}' does not speak TLS on this port: check the scheme and the port")
        }
        other => format!(
            "no TLS connection with '{host}' came about ({other}): check the address, and what \
             stands in between"
        ),
    }
}

/// Whether a host shows the certificate of an authority as its own. The verifier's own type
/// for this is hidden in what `other` wraps, under a name that it also prints.
fn is_of_an_issuer(other: &CertificateError) -> bool {
    matches!(other, CertificateError::Other(why) if why.to_string().contains("CaUsedAsEndEntity"))
}

/// Whether more trust would help.
fn is_untrusted(error: &rustls::Error) -> bool {
    matches!(error, rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer))
}

/// Whether this is what hyper says of bytes that are no HTTP, or more of a head than it
/// reads.
fn is_no_http(cause: &str) -> bool {
    cause.starts_with("invalid HTTP ") || cause.starts_with("message head is too large")
}

fn is_refused(error: &reqwest::Error) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|io| io.kind() == io::ErrorKind::ConnectionRefused)
}

fn tls_cause<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    cause.downcast_ref()
}

/// The error and all beneath it. What an [`io::Error`] wraps is not its `source`, but the
/// TLS error is found only there.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn StdError + 'static)),
            None => error.source(),
        }
    })
}

fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// The first variable that may have sent the request to a proxy; its value may hold a
/// password and is never shown.
fn proxy_variable(lookup: impl Fn(&str) -> Option<OsString>) -> Option<&'static str> {
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .find(|name| lookup(name).is_some_and(|value| !value.is_empty()))
}

/// Whole seconds where the duration has some, for messages.
fn seconds(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}
