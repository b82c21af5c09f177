//! Lazy reads from real git that speaks protocol versions 0, 1 and 2, with filters and ids
//! allowed or not: the same answers as git's own, for as few requests.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

mod support;

#[path = "lazy_clone/client.rs"]
#[allow(dead_code)]
mod client;

use std::time::Duration;

use client::{Hits, noise, objects_of, read, run, walk};
use gitsip::agent::{CloneOptions, PrefetchOptions, Remote, RemoteOptions, Repo, Source};
use gitsip::client::Conversation;
use gitsip::client::transport::{Request, Response, Transport};
use gitsip::protocol::v0::{Features, Listing, decode_fetch, encode_fetch};
use gitsip::protocol::{Advertised, Advertisement, Deepen, FetchEvent, FetchRequest, Filter, v0};
use gitsip::store::Objects;
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::view::grep::{GrepOptions, MatchOptions, Matcher, PatternSpec};
use gitsip::{Budget, Error, ErrorKind, Limits, ObjectFormat, ObjectId};
use support::git::{self, File, Sandbox, ids_in_pack};
use support::http_server::{Behaviour, HttpServer};

/// A transport that asks for another version of the protocol than the client does, with a
/// clock that can be put forward.
#[derive(Clone)]
struct Speaking {
    inner: HttpTransport,
    version: u32,
    later: std::sync::Arc<std::sync::Mutex<Duration>>,
}

impl Transport for Speaking {
    type Body = <HttpTransport as Transport>::Body;

    async fn send(&self, mut request: Request) -> Result<Response<Self::Body>, Error> {
        for (name, value) in &mut request.headers {
            if &**name == "git-protocol" {
                *value = format!("version={}", self.version);
            }
        }
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
        self.inner.now() + *self.later.lock().unwrap()
    }
}

async fn open(server: &HttpServer, name: &str, version: u32) -> Repo<Remote<Speaking>> {
    let inner = HttpTransport::new(HttpOptions::default()).unwrap();
    let transport = Speaking { inner, version, later: Default::default() };
    let remote = Remote::open(transport, &server.url(name), RemoteOptions::default()).await;
    Repo::new(remote.unwrap(), Limits::default())
}

/// Two commits of some folders, the older one tagged.
fn project(sandbox: &Sandbox, name: &str) -> git::Repo {
    let repo = sandbox.bare(name);
    for round in 0..2_u64 {
        let mut files = vec![File::new("a/b.txt", format!("round {round}\n"))];
        for number in 0..9 {
            let text = format!("file {number} needle\n");
            files.push(File::new(format!("src/m{}/f{number}.txt", number % 3), text));
        }
        files.push(File::new("noise.txt", noise(round, 3000)));
        repo.commit("main", &files);
    }
    repo.git().run(["tag", "-a", "-m", "t", "v1", "main~1"]);
    repo
}

#[test]
fn case_21_every_version_gives_gits_answers_for_as_few_requests_whatever_is_allowed() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let git = origin.git();
    let paths = git.run(["ls-tree", "-r", "--name-only", "main"]);
    let hits = git.run(["grep", "-n", "needle", "main", "--"]).replace("main:", "");
    let server = HttpServer::start(sandbox.repos());
    for (version, filter, ids) in [
        (0, true, true),
        (0, true, false),
        (0, false, true),
        (0, false, false),
        (1, true, true),
        (1, false, false),
        (2, true, true),
        (2, true, false),
        (2, false, false),
    ] {
        git.run(["config", "uploadpack.allowFilter", &filter.to_string()]);
        git.run(["config", "uploadpack.allowAnySHA1InWant", &ids.to_string()]);
        let case = format!("version {version}, filter {filter}, ids {ids}");
        let listing = usize::from(version == 2);
        run(async {
            server.forget_requests();
            let repo = open(&server, "r.git", version).await;
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(server.requests().len(), 1 + listing, "{case}");
            assert_eq!(read(&snapshot, "a/b.txt").await.unwrap(), "round 1\n");
            let fetches = if filter { 2 } else { 1 };
            assert_eq!(server.requests().len(), 1 + listing + fetches, "{case}");
            assert_eq!(walk(&snapshot).await.unwrap().join("\n"), paths, "{case}");
            let folder = snapshot.ls("src").await.unwrap();
            assert_eq!(folder.entries.len(), 3, "{case}");
            let matcher =
                Matcher::new(&[PatternSpec::fixed("needle")], &MatchOptions::default()).unwrap();
            let mut found = Hits::default();
            snapshot.grep(matcher, GrepOptions::default(), &mut found).await.unwrap();
            assert_eq!(found.lines.join("\n"), hits, "{case}");
            let sent = server.objects_sent();
            client::assert_each_once(&sent);
            let all = objects_of(&origin, &snapshot.commit().to_string());
            assert!(sent.iter().all(|id| all.contains(id)), "{case}: history was sent");

            // A cold prefetch is one fetch, whatever the version.
            server.forget_requests();
            let repo = open(&server, "r.git", version).await;
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            let prefetched = snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
            assert_eq!((prefetched.blobs_held, prefetched.blobs_left_out), (11, 0), "{case}");
            assert_eq!(server.requests().len(), 2 + listing, "{case}");
            let told = repo.stats().fallbacks.join("\n");
            assert_eq!(told.contains("cannot filter"), !filter, "{case}: {told}");
            let old = format!("protocol version {version}");
            assert_eq!(told.contains(&old), version < 2, "{case}: {told}");
        });
    }
}

#[test]
fn case_34_a_tag_is_wanted_by_its_own_id_and_read_as_its_commit() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    let (tag, commit) =
        (origin.git().run(["rev-parse", "v1"]), origin.git().run(["rev-parse", "v1^{}"]));
    for filter in ["true", "false"] {
        origin.git().run(["config", "uploadpack.allowFilter", filter]);
        server.forget_requests();
        run(async {
            let repo = open(&server, "r.git", 0).await;
            let snapshot = repo.snapshot("v1").await.unwrap();
            assert_eq!(snapshot.commit().to_string(), commit);
            assert_eq!(read(&snapshot, "a/b.txt").await.unwrap(), "round 0\n");
        });
        let wants = server.requests()[1].body_text();
        assert!(wants.contains(&format!("want {tag}")), "{wants}");
        assert!(!wants.contains(&format!("want {commit}")), "{wants}");
        assert!(wants.contains("multi_ack_detailed"), "{wants}");
    }
}

#[test]
fn a_branch_that_moved_is_listed_again_and_only_what_changed_is_sent() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open(&server, "r.git", 0).await;
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        read(&snapshot, "a/b.txt").await.unwrap();
        let new = origin.commit("main", &[File::new("a/b.txt", "new\n"), File::new("x", "x\n")]);
        server.forget_requests();
        let snapshot = repo.snapshot("main").await.unwrap();
        assert_eq!(snapshot.commit().to_string(), new);
        assert_eq!(read(&snapshot, "a/b.txt").await.unwrap(), "new\n");
        let requests = server.requests();
        assert_eq!(requests.len(), 3, "refs, a commit with its trees, a blob");
        assert!(requests[1].body_text().contains("have "));
        assert!(requests.iter().all(|request| request.header("git-protocol").is_none()));
        // A commit, two trees, a blob.
        assert_eq!(client::objects_sent(&server, &sandbox, &origin).len(), 4);
    });
}

#[test]
fn a_listing_is_not_given_out_long_after_it_came() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let later = std::sync::Arc::default();
        let inner = HttpTransport::new(HttpOptions::default()).unwrap();
        let transport = Speaking { inner, version: 0, later: std::sync::Arc::clone(&later) };
        let remote = Remote::open(transport, &server.url("r.git"), RemoteOptions::default()).await;
        let repo = Repo::new(remote.unwrap(), Limits::default());
        let new = origin.commit("main", &[File::new("x", "x\n")]);
        *later.lock().unwrap() = Duration::from_secs(60);
        let snapshot = repo.snapshot("main").await.unwrap();
        assert_eq!(snapshot.commit().to_string(), new);
        assert_eq!(server.requests().len(), 2);
    });
}

#[test]
fn an_empty_repository_and_one_of_sha256_are_read_in_every_version() {
    let sandbox = Sandbox::new();
    sandbox.strict_bare("empty.git", &[]);
    let other = sandbox.strict_bare("sha256.git", &["--object-format=sha256"]);
    other.commit("main", &[File::new("a", "a\n")]);
    let server = HttpServer::start(sandbox.repos());
    run(async {
        for version in 0..3 {
            let empty = open(&server, "empty.git", version).await;
            let error = empty.snapshot("main").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{version}: {error}");
            let repo = open(&server, "sha256.git", version).await;
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            assert_eq!(read(&snapshot, "a").await.unwrap(), "a\n");
        }
    });
}

#[test]
fn case_34_a_shallow_servers_boundary_is_kept() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    origin.commit("main", &[File::new("a/b.txt", "third\n")]);
    let from = format!("file://{}", origin.path().display());
    let to = sandbox.repos().join("shallow.git");
    sandbox.git().run(["clone", "-q", "--bare", "--depth=2", &from, to.to_str().unwrap()]);
    let boundary: ObjectId = origin.git().run(["rev-parse", "main~1"]).parse().unwrap();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        for version in 0..3 {
            let repo = open(&server, "shallow.git", version).await;
            let tip = repo.snapshot("HEAD").await.unwrap().commit();
            let cloned =
                repo.source().clone_history(&[tip], &CloneOptions::default()).await.unwrap();
            assert_eq!(cloned.shallow, [boundary], "version {version}");
            assert!(repo.source().store().contains(&boundary).unwrap());
        }
    });
}

#[test]
fn a_hundred_thousand_refs_are_listed_within_the_budget() {
    let sandbox = Sandbox::new();
    let origin = project(&sandbox, "r.git");
    let id = origin.git().run(["rev-parse", "main"]);
    let mut packed = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for number in 0..100_000 {
        packed.push_str(&format!("{id} refs/heads/b{number:06}\n"));
    }
    packed.push_str(&format!("{id} refs/heads/main\n"));
    std::fs::write(origin.path().join("packed-refs"), packed).unwrap();
    std::fs::remove_file(origin.path().join("refs/heads/main")).unwrap();
    let behaviour = Behaviour { forget_bodies: true, version_0_only: true, ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), behaviour);
    run(async {
        let inner = HttpTransport::new(HttpOptions::default()).unwrap();
        let limits = Limits { max_memory: 64 << 20, ..Limits::default() };
        let options = RemoteOptions { limits: limits.clone(), ..RemoteOptions::default() };
        let remote = Remote::open(inner, &server.url("r.git"), options).await.unwrap();
        assert!(remote.stats().memory.used_bytes > 100_000 * 100, "the listing is paid for");
        let repo = Repo::new(remote, limits);
        let snapshot = repo.snapshot("b099999").await.unwrap();
        assert_eq!(snapshot.commit().to_string(), id);
        assert!(repo.stats().memory.used_bytes < 1 << 20, "it is given back");
        assert_eq!(server.requests().len(), 1);
    });
}

/// Runs `git upload-pack` of version 0 with `input`.
fn upload_pack(repo: &git::Repo, option: &str, input: &[u8]) -> Vec<u8> {
    repo.git().bytes_with_input(["upload-pack", option, repo.path().to_str().unwrap()], input)
}

fn listing(repo: &git::Repo) -> Listing {
    let answer = upload_pack(repo, "--http-backend-info-refs", b"");
    let mut advertisement = Advertisement::new(&Budget::new(1 << 20));
    answer.chunks(3).for_each(|piece| advertisement.push(piece).unwrap());
    match advertisement.finish().unwrap() {
        Advertised::Listing(listing) => listing,
        Advertised::Capabilities(other) => panic!("{other:?}"),
    }
}

#[test]
fn git_sends_what_a_request_of_version_0_asks_for_on_every_carriage() {
    for format in [ObjectFormat::Sha1, ObjectFormat::Sha256] {
        let sandbox = Sandbox::new();
        let option = format!("--object-format={format}");
        let repo = sandbox.strict_bare("r.git", &[&option]);
        repo.git().run(["config", "uploadpack.allowFilter", "true"]);
        let old: ObjectId = repo.commit("main", &[File::new("a", "a\n")]).parse().unwrap();
        let files = [File::new("a", "a\n"), File::new("b", "b\n")];
        let new: ObjectId = repo.commit("main", &files).parse().unwrap();
        let advertised = listing(&repo);
        assert_eq!(advertised.capabilities.object_format, format);
        assert_eq!(advertised.refs[0].symref_target, Some("refs/heads/main".into()));
        assert_eq!(advertised.refs[0].target, Some(new));
        let all = advertised.features;
        assert!(all.multi_ack_detailed && all.side_band_64k && all.shallow && all.no_done);

        let base = FetchRequest { wants: vec![new], done: true, ..FetchRequest::default() };
        let depth = Deepen::Depth(1);
        let bounded = Deepen::Bounded { since: Some(1), not: vec!["refs/heads/old".into()] };
        repo.git().run(["update-ref", "refs/heads/old", &old.to_string()]);
        let banded = |side_band, side_band_64k| Features { side_band, side_band_64k, ..all };
        let quiet = Features { multi_ack_detailed: false, multi_ack: false, ..all };
        for (request, features, objects, shallow) in [
            (base.clone(), all, 6, 0),
            (base.clone(), banded(true, false), 6, 0),
            (base.clone(), banded(false, false), 6, 0),
            (FetchRequest { deepen: depth, ..base.clone() }, all, 4, 1),
            (FetchRequest { deepen: bounded, ..base.clone() }, all, 4, 1),
            (FetchRequest { filter: Some(Filter::BlobNone), ..base.clone() }, all, 4, 0),
            (FetchRequest { haves: vec![old], ..base.clone() }, all, 3, 0),
            (FetchRequest { haves: vec![old], ..base.clone() }, quiet, 3, 0),
        ] {
            let mut body = Vec::new();
            encode_fetch(&request, &features, "git/x", format, &mut body).unwrap();
            assert_eq!(decode_fetch(&body, format, &Limits::default()).unwrap().0, request);
            let answer = upload_pack(&repo, "--stateless-rpc", &body);
            let mut response = v0::FetchResponse::new(format, &request, &features);
            let (mut pack, mut cut) = (Vec::new(), 0);
            for mut piece in answer.chunks(7) {
                while let Some(event) = response.push(&mut piece).unwrap() {
                    match event {
                        FetchEvent::PackData(bytes) => pack.extend_from_slice(bytes),
                        FetchEvent::Shallow(id) => {
                            assert_eq!(id, new);
                            cut += 1;
                        }
                        _ => {}
                    }
                }
            }
            response.finish().unwrap();
            assert_eq!((pack[8..12].to_vec(), cut), (vec![0, 0, 0, objects], shallow));
            if format == ObjectFormat::Sha1 && request.haves.is_empty() {
                assert_eq!(ids_in_pack(&pack).len(), usize::from(objects));
            }
        }
    }
}
