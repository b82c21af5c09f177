//! Requests that a server passes on for its clients: over the same connections as the
//! client's own, with bodies that nobody here reads.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::http::{HttpBody, HttpTransport, host_label};
use super::pump;
use crate::error::Error;

impl HttpTransport {
    /// Sends `request` to a public address, or to one that is allowed by name. How long it may
    /// take is the caller's to say.
    ///
    /// # Errors
    /// `Transport`, whose words name the host and nothing else.
    pub(crate) async fn pass_on(
        &self,
        request: reqwest::Request,
    ) -> Result<(http::StatusCode, http::HeaderMap, HttpBody), Error> {
        let host = host_label(request.url());
        let mut response = self.execute(request, true).await?;
        let headers = std::mem::take(response.headers_mut());
        Ok((response.status(), headers, HttpBody { response, host }))
    }
}

impl HttpBody {
    /// Hands everything to `pieces` as it comes, until nobody takes it any more.
    ///
    /// # Errors
    /// `Transport` when it ends early, or nothing comes for as long as `stall`.
    pub(crate) async fn pour<P: From<Bytes>>(
        mut self,
        pieces: &mpsc::Sender<P>,
        stall: Duration,
    ) -> Result<(), Error> {
        pump::read(&mut self, pieces, stall).await
    }
}
