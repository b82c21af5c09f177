//! A folder of repositories, and the answer to each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::auth::{Authorizer, Presented, Principal};
use super::body::{Body, StopOnDrop};
use super::metrics::Metrics;
use super::options::HostingOptions;
use super::page::{Line, page};
use super::problem::{Problem, TEXT};
use super::proxy::{Asked, Flow, PassOn};
use super::read::Question;
use super::record::{Handled, Kind, Listener, Record};
use super::repositories::{Hosted, Repositories};
use super::request_body::RequestBody;
use super::route::{Route, query_value};
use super::{cors, git, host, proxy, work};
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
    metrics: Arc<Metrics>,
    listener: Option<Listener>,
    authorizer: Option<Arc<dyn Authorizer>>,
    proxy: Option<Arc<dyn PassOn>>,
}

impl Hosting {
    /// Serves what `options` name, to everybody.
    ///
    /// # Errors
    /// `NotFound` when there is no such folder.
    pub fn new(options: HostingOptions) -> Result<Self, Error> {
        let budget = Budget::new(options.limits.max_memory);
        Ok(Self(Arc::new(Shared {
            repositories: Repositories::new(&options.root, &budget)?,
            budget,
            requests: Arc::new(Semaphore::new(options.max_requests.max(1))),
            next_id: AtomicU64::new(1),
            is_ending: AtomicBool::new(false),
            stop: Stop::default(),
            metrics: Arc::default(),
            listener: None,
            authorizer: None,
            proxy: None,
            options,
        })))
    }

    /// The same, to those whom `authorizer` lets read. To be called before the first request.
    #[must_use]
    pub fn with_authorizer(self, authorizer: impl Authorizer + 'static) -> Self {
        self.with(|shared| shared.authorizer = Some(Arc::new(authorizer)))
    }

    /// The same, calling `listener` with each request that is over. It is called on any thread,
    /// and must not block for long. To be called before the first request.
    #[must_use]
    pub fn with_listener(self, listener: impl Fn(&Handled) + Send + Sync + 'static) -> Self {
        self.with(|shared| shared.listener = Some(Arc::new(listener)))
    }

    /// The same, passing on to others what `proxy` knows.
    #[cfg_attr(not(feature = "http-client"), expect(dead_code, reason = "nobody is connected to"))]
    pub(super) fn with_passing(self, proxy: impl PassOn + 'static) -> Self {
        self.with(|shared| shared.proxy = Some(Arc::new(proxy)))
    }

    fn with(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        // A clone goes on as it was made.
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            change(shared);
        }
        self
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
        let record = Record::begin(id, &head.method, head.uri.path(), &shared.metrics, listener);
        let answered = self.answer(&head, body, &record).await;
        let mut response = answered.unwrap_or_else(|problem| problem.answer(&record));
        cors::allow(&shared.options.cors, &head.headers, &mut response);
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
        let route = Route::parse(head.uri.path());
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        let options = &self.0.options;
        if let Some(names) = &options.served_as {
            host::check(head, names)?;
        }
        let asked = self.0.proxy.as_ref().and_then(|proxy| Some((proxy, proxy.asked(head)?)));
        let is_for_pages =
            matches!(route, Route::InfoRefs(_) | Route::UploadPack(_) | Route::Read(..));
        let is_preflight = head.method == Method::OPTIONS && !options.cors.is_empty();
        if is_preflight && (is_for_pages || asked.is_some()) {
            return Ok(cors::preflight());
        }
        if let Some((proxy, asked)) = asked {
            return self.pass_on(&**proxy, asked, head, body, record).await;
        }
        match route {
            Route::Health if reads => self.status(record, true, "ok\n"),
            Route::Ready if reads => self.status(record, self.is_ready(), "ready\n"),
            Route::Metrics if reads => self.metrics(head, record).await,
            Route::Index if reads => self.index(head, record).await,
            Route::InfoRefs(name) if reads => {
                let service = query_value(head.uri.query(), "service");
                git::check_service(service.as_deref().map(|service| &service[..]))?;
                let version = git::version(&head.headers);
                let hosted = self.find(head, &name, Kind::Refs, record).await?;
                let body = self.work(record, git::advertise(hosted, version)).await?;
                Ok(git::response(body, git::ADVERTISEMENT))
            }
            Route::UploadPack(name) if head.method == Method::POST => {
                git::check_content_type(&head.headers)?;
                let hosted = self.find(head, &name, Kind::Fetch, record).await?;
                let body = RequestBody::take(&head.headers, body, options, &self.0.budget).await?;
                record.note().bytes_in = body.len();
                let version = git::version(&head.headers);
                let job = git::upload_pack(hosted, version, body, options.max_inflated_bytes);
                let body = self.work(record, job).await?;
                Ok(git::response(body, git::RESULT))
            }
            Route::Read(name, what, rest) if reads => {
                let hosted = self.find(head, &name, what.kind(), record).await?;
                let question = Question::new(what, rest, head.uri.query(), &head.headers);
                self.read(question, hosted, name, record).await
            }
            Route::ReceivePack(_) => Err(git::no_pushes()),
            Route::UploadPack(_) => Err(Problem::method("POST")),
            Route::Nothing => Err(Problem::not_found()),
            _ => Err(Problem::method("GET")),
        }
    }

    fn status(
        &self,
        record: &Record,
        is_well: bool,
        words: &'static str,
    ) -> Result<Response<Body>, Problem> {
        record.note().kind = Kind::Status;
        if is_well { Ok(text(words)) } else { Err(Problem::overloaded()) }
    }

    fn is_ready(&self) -> bool {
        !self.0.is_ending.load(Ordering::Relaxed) && self.0.repositories.is_readable()
    }

    /// Counters, for everybody who is known where logins are.
    async fn metrics(
        &self,
        head: &http::request::Parts,
        record: &Record,
    ) -> Result<Response<Body>, Problem> {
        record.note().kind = Kind::Status;
        let who = self.identify(&head.headers, record).await?;
        if self.0.authorizer.is_some() && who.name.is_none() {
            return Err(Problem::unknown_caller());
        }
        let shared = &self.0;
        let now = [
            ("gitsip_memory_bytes", shared.budget.used_bytes()),
            ("gitsip_memory_limit_bytes", shared.budget.limit_bytes()),
            ("gitsip_repositories_open", shared.repositories.open() as u64),
        ];
        Ok(text(shared.metrics.text(&now)))
    }

    /// Who sent `headers`.
    async fn identify(&self, headers: &HeaderMap, record: &Record) -> Result<Principal, Problem> {
        let Some(authorizer) = &self.0.authorizer else { return Ok(Principal::default()) };
        let presented = Presented::read(headers)?;
        let who = match authorizer.identify(presented.as_ref()).await {
            Ok(Some(who)) => who,
            Ok(None) => return Err(Problem::unknown_caller()),
            Err(error) if error.kind() == ErrorKind::RateLimited => {
                return Err(Problem::overloaded());
            }
            Err(error) => return Err(Problem::internal(&error)),
        };
        record.note().principal.clone_from(&who.name);
        Ok(who)
    }

    async fn may_read(&self, who: &Principal, name: &str) -> bool {
        match &self.0.authorizer {
            None => true,
            Some(authorizer) => {
                authorizer.may_read(who, name.strip_suffix(".git").unwrap_or(name)).await
            }
        }
    }

    async fn check_may_read(&self, who: &Principal, name: &str) -> Result<(), Problem> {
        match (self.may_read(who, name).await, &who.name) {
            (true, _) => Ok(()),
            (false, None) => Err(Problem::unknown_caller()),
            (false, Some(_)) => Err(Problem::not_found()),
        }
    }

    /// The repository called `name`, if whoever sent `head` may read it. Nobody is told more.
    async fn find(
        &self,
        head: &http::request::Parts,
        name: &str,
        kind: Kind,
        record: &Record,
    ) -> Result<Hosted, Problem> {
        {
            let mut now = record.note();
            now.kind = kind;
            now.repository = Some(name.to_owned());
        }
        let who = self.identify(&head.headers, record).await?;
        self.check_may_read(&who, name).await?;
        let (shared, name) = (Arc::clone(&self.0), name.to_owned());
        let find = move || shared.repositories.find(&name, &shared.options, &shared.budget);
        let found = work::blocking(find).await?.map_err(|error| Problem::internal(&error))?;
        found.ok_or_else(Problem::not_found)
    }

    /// Lets another host answer.
    async fn pass_on<B>(
        &self,
        proxy: &dyn PassOn,
        asked: Result<Asked, Problem>,
        head: &http::request::Parts,
        body: B,
        record: &Record,
    ) -> Result<Response<Body>, Problem>
    where
        B: http_body::Body,
        B::Error: std::fmt::Display,
    {
        let name = asked.as_ref().ok().map(|asked| asked.name.clone());
        {
            let mut now = record.note();
            now.kind = Kind::Proxy;
            // As it came, there may be a password in it.
            now.path = format!("/{}", name.as_deref().unwrap_or(proxy::FOLDER));
            now.repository.clone_from(&name);
        }
        let asked = asked?;
        asked.check(head)?;
        let who = self.identify(&proxy::own_headers(&head.headers), record).await?;
        self.check_may_read(&who, &asked.name).await?;
        let room = work::room(&self.0.requests, self.0.options.max_wait).await?;
        let Shared { options, stop, .. } = &*self.0;
        let (stop, record, max_stall) = (stop.clone(), record.clone(), options.max_stall);
        let flow = Flow { stop, max_stall, record, _room: room };
        proxy::pass_on(proxy, asked, head.headers.clone(), body, options, flow).await
    }

    /// A page of what the caller may read.
    async fn index(
        &self,
        head: &http::request::Parts,
        record: &Record,
    ) -> Result<Response<Body>, Problem> {
        record.note().kind = Kind::Page;
        let who = self.identify(&head.headers, record).await?;
        let room = work::room(&self.0.requests, self.0.options.max_wait).await?;
        let shared = Arc::clone(&self.0);
        let names = work::blocking(move || shared.repositories.names()).await?;
        let after = query_value(head.uri.query(), "after").unwrap_or_default();
        let mut shown = Vec::new();
        for name in names.into_iter().filter(|name| name.as_bytes() > &after[..]) {
            if self.may_read(&who, &name).await {
                shown.push(name);
            }
            if shown.len() > PAGE_LINES {
                break;
            }
        }
        if shown.is_empty() && who.name.is_none() && self.0.authorizer.is_some() {
            return Err(Problem::unknown_caller());
        }
        let is_more = shown.len() > PAGE_LINES;
        shown.truncate(PAGE_LINES);
        let shared = Arc::clone(&self.0);
        let lines = work::blocking(move || {
            let _room = room;
            let line = |name: String| {
                let found = shared.repositories.find(&name, &shared.options, &shared.budget);
                Some(Line::of(name, &*found.ok()??))
            };
            shown.into_iter().filter_map(line).collect::<Vec<_>>()
        });
        let lines = lines.await?;
        let next = lines.last().filter(|_| is_more).map(|line| line.name.as_str());
        Ok(page(&lines, next, &head.headers))
    }

    async fn read(
        &self,
        question: Question,
        hosted: Hosted,
        name: String,
        record: &Record,
    ) -> Result<Response<Body>, Problem> {
        let shared = Arc::clone(&self.0);
        let room = work::room(&shared.requests, shared.options.max_wait).await?;
        let guard = StopOnDrop::default();
        let (stop, runtime) = (guard.0.clone(), Handle::current());
        let record = record.clone();
        work::blocking(move || {
            let _room = room;
            let begun = Instant::now();
            let Shared { options, budget, .. } = &*shared;
            let answer = question.answer(&hosted, &name, options, budget, &stop, &runtime);
            record.note().worked = begun.elapsed();
            answer
        })
        .await?
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

fn text(text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    let plain = HeaderValue::from_static(TEXT);
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Repositories of one page.
const PAGE_LINES: usize = 100;
