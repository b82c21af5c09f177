//! What a repository tells of its requests: its statistics, and its traces. Both are
//! complete, bounded, and keep secrets.

#![allow(clippy::unwrap_used)]

mod support;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Waker};
use std::time::Duration;

use gitsip::agent::{
    Ask as _, CloneOptions, Exchange, PrefetchOptions, ReadOptions, ReadQuery, Remote,
    RemoteOptions, Repo, Snapshot, Source as _, Stats, Stop,
};
use gitsip::client::Conversation;
use gitsip::client::credentials::{Asked, Auth, AuthSource};
use gitsip::client::journal::MAX_EXCHANGES;
use gitsip::client::transport::{Request, Response, Transport};
use gitsip::{Error, Limits};
use support::git::{File, Sandbox};
use support::http_server::in_process::run;
use support::http_server::{self, Behaviour, InProcess};
use tracing::field::{Field, Visit};
use tracing::span;

const SECRET: &str = "s3cret-t0ken";

#[test]
fn each_request_is_told_with_what_it_asked_for_and_what_it_took() {
    let (_sandbox, server) = served(Behaviour { chunk_delay: millis(5), ..Behaviour::default() });
    let (repo, snapshot) = head_of(&server);
    read(&snapshot, "a");
    let stats = repo.stats();
    assert_eq!(kinds(&stats), ["capabilities", "refs", "commits", "blobs"]);
    let requests = server.requests();
    for (exchange, request) in stats.exchanges.iter().zip(&requests) {
        assert_eq!(exchange.bytes, request.response_bytes, "{exchange:?}");
        assert_eq!((exchange.status, exchange.error), (Some(200), None));
        assert_eq!((exchange.is_open, exchange.ms), (false, 5), "one piece each: {exchange:?}");
    }
    let sum: u64 = stats.exchanges.iter().map(|exchange| exchange.bytes).sum();
    assert_eq!((stats.bytes_received, stats.requests), (sum, 4));
    assert_eq!((stats.protocol, stats.retries), (Some(2), 0));
    assert_eq!(stats.exchanges[2].first, Some(snapshot.commit()));
    assert_eq!(stats.exchanges[2].objects, 1);
    assert!(stats.memory.used_bytes > 0 && stats.memory.peak_bytes >= stats.memory.used_bytes);
    assert_eq!(stats.memory.max_bytes, Limits::default().max_memory);

    // What is held is read again without a request, and that is told too.
    read(&snapshot, "a");
    let again = repo.stats();
    assert_eq!(again.requests, 4);
    assert!(again.cache_hits > stats.cache_hits, "{again:?}");
}

#[test]
fn snapshots_and_history_are_told_apart() {
    let (_sandbox, server) = served(Behaviour::default());
    let (repo, snapshot) = head_of(&server);
    run(snapshot.prefetch(&PrefetchOptions::default())).unwrap();
    run(repo.source().clone_history(&[snapshot.commit()], &CloneOptions::default())).unwrap();
    assert_eq!(kinds(&repo.stats()), ["capabilities", "refs", "snapshot", "history"]);

    // A host that cannot filter sends files along with every commit.
    let (_sandbox, server) = served(Behaviour::default().without_filter());
    let (repo, snapshot) = head_of(&server);
    read(&snapshot, "a");
    assert_eq!(kinds(&repo.stats()), ["capabilities", "refs", "snapshot"]);
    assert_eq!(repo.stats().fallbacks.len(), 1);
}

#[test]
fn the_version_of_an_old_host_is_told_and_its_refs_cost_no_request() {
    for version in [0, 1] {
        let (_sandbox, server) = served(Behaviour::default().speaking(version));
        let (repo, snapshot) = head_of(&server);
        read(&snapshot, "a");
        assert_eq!(repo.stats().protocol, Some(version));
        assert_eq!(kinds(&repo.stats())[..2], ["capabilities", "commits"]);
    }
}

#[test]
fn every_try_of_a_busy_host_is_told() {
    let (_sandbox, server) = served(Behaviour::default().busy(429, "7", 2));
    let (repo, _) = head_of(&server);
    let stats = repo.stats();
    let statuses: Vec<_> = stats.exchanges.iter().map(|exchange| exchange.status).collect();
    assert_eq!(statuses, [Some(429), Some(429), Some(200), Some(200)]);
    assert_eq!((stats.retries, stats.requests), (2, 4));
    assert_eq!(stats.exchanges[0].ms, 0, "waiting is not the request's time");
}

#[test]
fn how_a_request_failed_is_told() {
    let (_sandbox, server) = served(Behaviour::default());
    let (repo, snapshot) = head_of(&server);
    server.set_behaviour(Behaviour { cut_after: Some(30), ..Behaviour::default() });
    run(snapshot.read_path("a", ReadOptions::default())).unwrap_err();
    server.set_behaviour(Behaviour::default().failing(500, "the tea is cold"));
    run(repo.refs(&[])).unwrap_err();
    let stats = repo.stats();
    let [cut, failed] = &stats.exchanges[2..] else { panic!("{stats:?}") };
    assert_eq!((cut.status, cut.bytes, cut.error), (Some(200), 30, Some("cut")));
    assert_eq!((failed.kind, failed.status), ("refs", Some(500)));
    assert!(failed.error.is_some());
}

#[test]
fn a_request_that_nobody_waits_for_any_more_is_told_as_cancelled() {
    let (_sandbox, server) = served(Behaviour::default());
    let deaf = Deaf { inner: server, hears: Arc::default() };
    *deaf.hears.lock().unwrap() = 1;
    let remote =
        run(Remote::open(deaf.clone(), &deaf.inner.url("r.git"), RemoteOptions::default()));
    let repo = Repo::new(remote.unwrap(), Limits::default());
    {
        let mut future = pin!(repo.snapshot("HEAD"));
        let poll = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll.is_pending());
        let under_way = repo.stats().exchanges.pop().unwrap();
        assert_eq!((under_way.is_open, under_way.status), (true, None));
    }
    let cancelled = repo.stats().exchanges.pop().unwrap();
    assert_eq!((cancelled.is_open, cancelled.error), (false, Some("cancelled")));
}

#[test]
fn a_long_session_is_told_of_its_newest_requests() {
    let (_sandbox, server) = served(Behaviour::default());
    let (repo, _) = head_of(&server);
    for _ in 0..MAX_EXCHANGES {
        run(repo.refs(&[])).unwrap();
    }
    let stats = repo.stats();
    assert_eq!(stats.requests, MAX_EXCHANGES as u64 + 2);
    assert_eq!(stats.exchanges.len(), MAX_EXCHANGES);
    assert!(kinds(&stats).iter().all(|kind| *kind == "refs"), "the first is forgotten");
}

#[test]
fn every_span_and_event_is_documented_and_every_documented_one_is_there() {
    let seen = trace_everything();
    let mut real: BTreeMap<&str, (BTreeSet<String>, BTreeSet<&str>)> = BTreeMap::new();
    for seen in &seen {
        let (levels, fields) = real.entry(seen.name).or_default();
        levels.insert(seen.level.to_lowercase());
        fields.extend(&seen.fields);
    }
    let documented = documented();
    assert_eq!(real.keys().collect::<Vec<_>>(), documented.keys().collect::<Vec<_>>());
    for (name, (levels, fields)) in &real {
        let (documented_levels, documented_fields) = &documented[*name];
        assert_eq!(levels, documented_levels, "{name}");
        let fields: BTreeSet<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        assert_eq!(&fields, documented_fields, "{name}");
    }
}

#[test]
fn what_is_asked_of_a_host_is_told_in_words() {
    let (_sandbox, server) = served(Behaviour::default());
    let seen = traced(|| {
        let (_, snapshot) = head_of(&server);
        read(&snapshot, "a");
    });
    let said: Vec<&str> = seen
        .iter()
        .filter(|seen| seen.name == "gitsip.request")
        .map(|seen| seen.text.split(": ").next().unwrap())
        .collect();
    let [able, refs, commit, file] = said[..] else { panic!("{said:?}") };
    assert_eq!((able, refs), ("asked for what the host can do", "asked for refs"));
    assert!(commit.ends_with(" and its trees") && file.starts_with("asked for file "), "{said:?}");
}

#[test]
fn a_question_is_told_with_what_it_came_to() {
    let (_sandbox, server) = served(Behaviour::default());
    let (repo, _) = head_of(&server);
    let seen = traced(|| {
        let stop = Stop::default();
        let cut = ReadQuery { limit: Some(1), ..read_query(&["a", "b/c"]) };
        run(cut.ask(&repo, &stop)).unwrap();
        run(read_query(&["a", "b/c"]).stream(&repo, &stop, |_| Ok(true))).unwrap();
        stop.cancel();
        run(read_query(&["a"]).ask(&repo, &stop)).unwrap_err();
    });
    let questions: Vec<&str> = seen
        .iter()
        .filter(|seen| seen.name == "gitsip.question")
        .map(|seen| seen.text.split("r.git\" ").last().unwrap())
        .collect();
    let stats = repo.stats();
    let bytes: Vec<u64> = stats.exchanges.iter().map(|exchange| exchange.bytes).collect();
    assert_eq!(kinds(&stats)[2..], ["refs", "commits", "blobs", "refs"]);
    let first: u64 = bytes[2..5].iter().sum();
    assert_eq!(
        questions,
        [
            format!("items=1 requests=3 bytes={first} truncated=\"limit\""),
            format!("items=2 requests=1 bytes={}", bytes[5]),
            "items=0 error=\"cancelled\"".to_owned(),
        ]
    );
}

#[test]
fn neither_tells_a_secret() {
    let seen = trace_everything();
    assert!(!seen.is_empty());
    for seen in &seen {
        assert!(!seen.text.contains(SECRET), "{seen:?}");
        assert!(!seen.text.contains("s3cret"), "{seen:?}");
    }
    let (_sandbox, server) = served(Behaviour::default());
    let address = server.url("r.git").replace("://", &format!("://me:{SECRET}@"));
    let address = format!("{address}?private_token={SECRET}#{SECRET}");
    let traced = traced(|| {
        let options = RemoteOptions { auth: Some(basic(SECRET)), ..RemoteOptions::default() };
        let repo = run(Remote::open(server.clone(), &address, options)).unwrap();
        assert!(!format!("{:?}", repo.stats()).contains("s3cret"));
    });
    assert!(traced.iter().all(|seen| !seen.text.contains("s3cret")), "{traced:?}");
}

/// Makes everything happen that is traced, with a secret wherever there may be one.
fn trace_everything() -> Vec<Seen> {
    let (_sandbox, server) = served(
        Behaviour {
            auth: Some(http_server::Auth::Basic { user: "me".into(), password: SECRET.into() }),
            redirect: Some(("/old".into(), format!("http://in.process/r.git?a={SECRET}&b="))),
            ..Behaviour::default()
        }
        .busy(503, "1", 1)
        .without_filter(),
    );
    let source = AuthSource::new(|_, asked| match asked {
        Asked::First => None,
        Asked::Refused | Asked::Wanted => Some(basic(SECRET)),
    });
    let mut seen = traced(|| {
        let options = RemoteOptions { auth_source: source.clone(), ..RemoteOptions::default() };
        let remote = run(Remote::open(server.clone(), &server.url("r.git"), options)).unwrap();
        let repo = Repo::new(remote, Limits::default());
        run(read_query(&[SECRET, "a"]).ask(&repo, &Stop::default())).unwrap();
    });
    server.set_behaviour(Behaviour {
        redirect: Some(("/old.git".into(), "http://in.process/r.git".into())),
        ..Behaviour::default().speaking(0)
    });
    seen.extend(traced(|| {
        let url = server.url("old.git");
        drop(run(Remote::open(server.clone(), &url, RemoteOptions::default())).unwrap());
    }));
    seen
}

/// The names of the table in the documentation of `agent`, with levels and fields.
fn documented() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let mut documented = BTreeMap::new();
    for line in include_str!("../src/agent/mod.rs").lines() {
        let cells: Vec<&str> = line.trim_start_matches("//!").split('|').map(str::trim).collect();
        let [_, name, _, levels, fields, _] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            continue;
        };
        let levels = levels.split(" or ").map(str::to_owned).collect();
        let fields = fields.split(", ").map(|field| field.trim_matches('`').to_owned());
        let fields = fields.filter(|field| !field.is_empty()).collect();
        documented.insert(name.to_owned(), (levels, fields));
    }
    documented
}

/// A span or event that was seen.
#[derive(Debug)]
struct Seen {
    name: &'static str,
    level: &'static str,
    /// The names of its fields, the message left out.
    fields: Vec<&'static str>,
    /// Its message, then every value.
    text: String,
}

thread_local! {
    /// What was seen on this thread. Each test is one, and so is its server.
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

/// What is seen while `act` runs.
fn traced(act: impl FnOnce()) -> Vec<Seen> {
    SEEN.take();
    act();
    SEEN.take()
}

/// Listens for the whole process, because whether anybody listens is remembered for each
/// place that traces. To be called before anything is traced.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Recorder).unwrap());
}

struct Recorder;

impl Recorder {
    fn note(&self, metadata: &'static tracing::Metadata<'static>, text: String) {
        assert_eq!(metadata.target(), "gitsip");
        let fields = metadata.fields().iter().map(|field| field.name());
        let fields = fields.filter(|name| *name != "message").collect();
        let (name, level) = (metadata.name(), metadata.level().as_str());
        SEEN.with_borrow_mut(|seen| seen.push(Seen { name, level, fields, text }));
    }
}

impl tracing::Subscriber for Recorder {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("gitsip")
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        let mut text = Text::default();
        span.record(&mut text);
        self.note(span.metadata(), text.0);
        span::Id::from_u64(SEEN.with_borrow(Vec::len) as u64)
    }

    fn record(&self, span: &span::Id, values: &span::Record<'_>) {
        let mut text = Text::default();
        values.record(&mut text);
        SEEN.with_borrow_mut(|seen| seen[span.into_u64() as usize - 1].text += &text.0);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        self.note(event.metadata(), text.0);
    }

    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?} {}", self.0);
        } else {
            self.0.push_str(&format!(" {}={value:?}", field.name()));
        }
    }
}

/// Hears so many answers, and then never again.
#[derive(Clone)]
struct Deaf {
    inner: InProcess,
    hears: Arc<Mutex<u32>>,
}

impl Transport for Deaf {
    type Body = <InProcess as Transport>::Body;

    async fn send(&self, request: Request) -> Result<Response<Self::Body>, Error> {
        let left = self.hears.lock().unwrap().checked_sub(1);
        let Some(left) = left else { return std::future::pending().await };
        *self.hears.lock().unwrap() = left;
        self.inner.send(request).await
    }

    async fn receive(
        &self,
        body: Self::Body,
        conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        self.inner.receive(body, conversation).await
    }

    async fn sleep(&self, duration: Duration) {
        self.inner.sleep(duration).await;
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }
}

fn served(behaviour: Behaviour) -> (Sandbox, InProcess) {
    listen();
    let sandbox = Sandbox::new();
    sandbox.bare("r.git").commit("main", &[File::new("a", "a\n"), File::new("b/c", "c\n")]);
    let server = InProcess::new(sandbox.repos(), behaviour);
    (sandbox, server)
}

fn head_of(server: &InProcess) -> (Repo<Remote<InProcess>>, Snapshot<Remote<InProcess>>) {
    run(async {
        let options = RemoteOptions::default();
        let remote = Remote::open(server.clone(), &server.url("r.git"), options).await.unwrap();
        let repo = Repo::new(remote, Limits::default());
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        (repo, snapshot)
    })
}

fn read(snapshot: &Snapshot<Remote<InProcess>>, path: &str) {
    run(snapshot.read_path(path, ReadOptions::default())).unwrap();
}

fn read_query(paths: &[&str]) -> ReadQuery {
    let paths = paths.iter().map(|path| (*path).into()).collect();
    ReadQuery { paths, ..ReadQuery::default() }
}

fn kinds(stats: &Stats) -> Vec<&'static str> {
    stats.exchanges.iter().map(|Exchange { kind, .. }| *kind).collect()
}

fn basic(password: &str) -> Auth {
    Auth::Basic { user: "me".to_owned(), password: password.to_owned() }
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
