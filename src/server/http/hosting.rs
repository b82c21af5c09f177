//! A folder of repositories, and the answer to each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::sync::Semaphore;

use super::body::Body;
use super::git;
use super::options::HostingOptions;
use super::problem::Problem;
use super::record::{Handled, Listener, Record};
use super::repositories::{Hosted, Repositories};
use super::request_body::RequestBody;
use super::route::{Route, query_value};
use super::work;
use crate::agent::Stop;
use crate::error::{Error, ErrorKind};
use crate::limits::Budget;

/// A folder of repositories over HTTP. A clone is the same one, with the same caches.
#[derive(Clone)]
pub struct Hosting(Arc<Shared>);

struct Shared {
    options: HostingOptions,
    budget: Budget,
    repositories: Repositories,
    requests: Arc<Semaphore>,
    next_id: AtomicU64,
    is_ending: AtomicBool,
    /// Ends all work at once.
    stop: Stop,
    listener: Option<Listener>,
}

impl Hosting {
    /// Serves what `options` name.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder.
    pub fn new(options: HostingOptions) -> Result<Self, Error> {
        Self::build(options, None)
    }

    /// The same, calling `listener` with each request that is over. It is called on any thread,
    /// and must not block for long.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn with_listener(
        options: HostingOptions,
        listener: impl Fn(&Handled) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::build(options, Some(Arc::new(listener)))
    }

    fn build(options: HostingOptions, listener: Option<Listener>) -> Result<Self, Error> {
        Ok(Self(Arc::new(Shared {
            budget: Budget::new(options.limits.max_memory),
            repositories: Repositories::new(&options.root)?,
            requests: Arc::new(Semaphore::new(options.max_requests.max(1))),
            next_id: AtomicU64::new(1),
            is_ending: AtomicBool::new(false),
            stop: Stop::default(),
            listener,
            options,
        })))
    }

    /// From now on the server is not ready: what is under way goes on.
    pub fn begin_end(&self) {
        self.0.is_ending.store(true, Ordering::Relaxed);
    }

    /// Ends all that is under way.
    pub fn end_at_once(&self) {
        self.begin_end();
        self.0.stop.cancel();
    }

    /// How it was made.
    pub fn options(&self) -> &HostingOptions {
        &self.0.options
    }

    /// Answers `request`. To be called within a runtime of tokio that has time and threads.
    ///
    /// Dropping the future, or the body of its answer, ends the work for it.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: std::fmt::Display,
    {
        let shared = &*self.0;
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let (head, body) = request.into_parts();
        let listener = shared.listener.clone();
        let record = Record::begin(id, &head.method, head.uri.path(), listener);
        let answered = self.answer(&head, body, &record).await;
        let response = answered.unwrap_or_else(|problem| refused(problem, &record));
        record.note().status = Some(response.status());
        response.map(|body| body.noted(record))
    }

    async fn answer<B>(
        &self,
        head: &http::request::Parts,
        body: B,
        record: &Record,
    ) -> Result<Response<Body>, Problem>
    where
        B: http_body::Body,
        B::Error: std::fmt::Display,
    {
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        match Route::parse(head.uri.path()) {
            Route::Health if reads => Ok(text("ok\n")),
            Route::Ready if reads => self.ready(),
            Route::InfoRefs(name) if reads => {
                let service = query_value(head.uri.query(), "service");
                git::check_service(service.as_deref().map(|service| &service[..]))?;
                let version = git::version(&head.headers);
                let hosted = self.find(name, "refs", record).await?;
                let body = self.work(record, git::advertise(hosted, version)).await?;
                Ok(git::response(body, git::ADVERTISEMENT))
            }
            Route::UploadPack(name) if head.method == Method::POST => {
                git::check_content_type(&head.headers)?;
                let hosted = self.find(name, "fetch", record).await?;
                let options = &self.0.options;
                let body = RequestBody::take(&head.headers, body, options, &self.0.budget).await?;
                record.note().bytes_in = body.len();
                let version = git::version(&head.headers);
                let job = git::upload_pack(hosted, version, body, options.max_inflated_bytes);
                let body = self.work(record, job).await?;
                Ok(git::response(body, git::RESULT))
            }
            Route::ReceivePack(_) => Err(git::no_pushes()),
            Route::UploadPack(_) => Err(Problem::method("POST")),
            Route::InfoRefs(_) | Route::Health | Route::Ready => Err(Problem::method("GET")),
            Route::Nothing => Err(Problem::not_found()),
        }
    }

    fn ready(&self) -> Result<Response<Body>, Problem> {
        let shared = &self.0;
        if shared.is_ending.load(Ordering::Relaxed) || !shared.repositories.is_readable() {
            return Err(Problem::overloaded());
        }
        Ok(text("ready\n"))
    }

    /// The repository called `name`.
    async fn find(
        &self,
        name: String,
        kind: &'static str,
        record: &Record,
    ) -> Result<Hosted, Problem> {
        {
            let mut now = record.note();
            now.kind = kind;
            now.repository = Some(name.clone());
        }
        let shared = Arc::clone(&self.0);
        let found = tokio::task::spawn_blocking(move || {
            shared.repositories.find(&name, &shared.options, &shared.budget)
        });
        match found.await {
            Ok(Ok(Some(hosted))) => Ok(hosted),
            Ok(Ok(None)) => Err(Problem::not_found()),
            Ok(Err(error)) => Err(Problem::internal(&error)),
            Err(failed) => Err(Problem::internal(&Error::new(ErrorKind::Io, failed.to_string()))),
        }
    }

    /// Does `job` when there is room.
    async fn work(&self, record: &Record, job: work::Job) -> Result<Body, Problem> {
        let options = &self.0.options;
        let room = work::room(&self.0.requests, options.max_wait).await?;
        work::answer(options, &self.0.stop, record, room, job).await
    }
}

impl std::fmt::Debug for Hosting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hosting").field("options", &self.0.options).finish_non_exhaustive()
    }
}

fn text(text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    let plain = HeaderValue::from_static(TEXT);
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

fn refused(problem: Problem, record: &Record) -> Response<Body> {
    let Problem { status, words, retry_after, error } = problem;
    {
        let mut now = record.note();
        let why = error.unwrap_or_else(|| words.clone());
        if status != StatusCode::NOT_FOUND {
            now.error.get_or_insert(why);
        }
    }
    let mut response = Response::new(Body::whole(words + "\n"));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT));
    if let Some(after) = retry_after {
        headers.insert(header::RETRY_AFTER, after.as_secs().into());
    }
    response
}

const TEXT: &str = "text/plain; charset=utf-8";
