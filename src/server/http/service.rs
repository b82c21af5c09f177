//! A [`Hosting`] as the kind of service that hyper-util, tower and axum take.
//!
//! With axum it is `Router::new().fallback_service(hosting)`, or below a path
//! `Router::new().nest_service("/git", hosting)`, which takes the path off before it asks.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::{Body, Hosting};

impl<B> Service<Request<B>> for Hosting
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display + Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    /// Always: what is too much is answered with 503.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let hosting = self.clone();
        Box::pin(async move { Ok(hosting.handle(request).await) })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::HostingOptions;
    use super::*;

    #[test]
    fn it_answers_whoever_brings_requests() {
        let root = tempfile::tempdir().unwrap();
        let hosting = Hosting::new(HostingOptions::new(root.path())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let status = |path: &str| {
            let request = Request::builder().uri(path).body(Body::whole("")).unwrap();
            runtime.block_on(hosting.clone().call(request)).unwrap().status()
        };
        assert_eq!(status("/readyz"), 200);
        assert_eq!(status("/absent/info/refs?service=git-upload-pack"), 404);
        drop(root);
        assert_eq!(status("/readyz"), 503);
    }
}
