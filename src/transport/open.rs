//! The short way from an address to a repository.

use super::{HttpOptions, HttpTransport};
use crate::agent::{Remote, RemoteOptions, Repo};
use crate::error::Error;

/// A remote repository over HTTP.
pub type HttpRepo = Repo<Remote<HttpTransport>>;

/// Opens the repository at `address` with a connection pool of its own: one request, no
/// object. To share a pool among many repositories, or to set its timeouts, give an
/// [`HttpTransport`] to [`Remote::open`].
///
/// Needs a tokio runtime with time and I/O.
///
/// ```no_run
/// use gitsip::agent::{ReadAnswer, ReadOptions, RemoteOptions};
///
/// # async fn example() -> Result<(), gitsip::Error> {
/// let repo = gitsip::open("https://github.com/git/git", RemoteOptions::default()).await?;
/// let snapshot = repo.snapshot("HEAD").await?;
/// if let ReadAnswer::File(file) = snapshot.read_path("Makefile", ReadOptions::default()).await? {
///     println!("{} bytes at {}", file.bytes.len(), file.commit);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// Those of [`Remote::open`], and `Unsupported` when the system has no certificates to
/// trust.
pub async fn open(address: &str, options: RemoteOptions) -> Result<HttpRepo, Error> {
    let transport = HttpTransport::new(HttpOptions::default())?;
    let limits = options.limits.clone();
    Ok(Repo::new(Remote::open(transport, address, options).await?, limits))
}
