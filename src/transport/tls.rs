//! Whom this client's TLS trusts: the system's store, and certificates that a caller adds.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls_platform_verifier::Verifier;

use crate::error::{Error, ErrorKind};

/// Trusts what the system trusts, and the certificates in `pem`.
pub(super) fn system_verifier(pem: &[u8]) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let extra = match parsed {
        Ok(extra) if !extra.is_empty() || pem.is_empty() => extra,
        _ => return Err(unusable_pem("there is none in PEM form")),
    };
    if extra.is_empty() {
        return Verifier::new(Arc::new(ring::default_provider()))
            .map(|verifier| Arc::new(verifier) as _)
            .map_err(unusable_tls);
    }
    Verifier::new_with_extra_roots(extra, Arc::new(ring::default_provider()))
        .map(|verifier| Arc::new(verifier) as _)
        .map_err(|error| unusable_pem(&error.to_string()))
}

fn unusable_pem(why: &str) -> Error {
    Error::new(
        ErrorKind::Usage,
        format!("the certificates to trust cannot be read ({why}): give CERTIFICATE sections"),
    )
}

/// *ring*, and HTTP/2 before HTTP/1.1.
pub(super) fn tls_config(verifier: Arc<dyn ServerCertVerifier>) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable_tls)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn unusable_tls(error: rustls::Error) -> Error {
    let text = format!(
        "TLS could not be set up ({error}): install the system's certificates (the package \
         ca-certificates, or a file named in SSL_CERT_FILE)"
    );
    Error::new(ErrorKind::Unsupported, text).with_source(error)
}
