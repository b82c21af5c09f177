//! The client under test, and what tests ask it and its server.

use std::collections::BTreeSet;

use gitsip::agent::{ReadAnswer, ReadOptions, Remote, RemoteOptions, Repo, Snapshot, Source};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::view::grep::{GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
use gitsip::{Error, Limits};

use super::support::git::{self, Sandbox};
use super::support::http_server::{HttpServer, Recorded};
pub(crate) use super::support::runtime::run;

pub(crate) type RemoteRepo = Repo<Remote<HttpTransport>>;
pub(crate) type RemoteSnapshot = Snapshot<Remote<HttpTransport>>;

pub(crate) async fn open(address: &str) -> Result<RemoteRepo, Error> {
    open_with(address, RemoteOptions::default()).await
}

pub(crate) async fn open_with(address: &str, options: RemoteOptions) -> Result<RemoteRepo, Error> {
    let transport = HttpTransport::new(HttpOptions::default())?;
    let limits = options.limits.clone();
    Ok(Repo::new(Remote::open(transport, address, options).await?, limits))
}

/// A repository that is there, under default limits.
pub(crate) async fn open_here(server: &HttpServer, name: &str) -> RemoteRepo {
    open(&server.url(name)).await.unwrap()
}

pub(crate) async fn head_of(server: &HttpServer, name: &str) -> (RemoteRepo, RemoteSnapshot) {
    let repo = open_here(server, name).await;
    let snapshot = repo.snapshot("HEAD").await.unwrap();
    (repo, snapshot)
}

pub(crate) fn limits(change: impl FnOnce(&mut Limits)) -> RemoteOptions {
    let mut limits = Limits::default();
    change(&mut limits);
    RemoteOptions { limits, ..RemoteOptions::default() }
}

pub(crate) async fn read<S: Source>(snapshot: &Snapshot<S>, path: &str) -> Result<String, Error> {
    match snapshot.read_path(path, ReadOptions::default()).await? {
        ReadAnswer::File(file) => Ok(String::from_utf8(file.bytes.to_vec()).unwrap()),
        ReadAnswer::Submodule(other) => panic!("{other:?}"),
    }
}

/// Hits as `path:number:line`, at most `most` of them.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    pub(crate) lines: Vec<String>,
    pub(crate) most: Option<usize>,
}

impl Sink for Hits {
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        let line = String::from_utf8_lossy(hit.line);
        self.lines.push(format!("{}:{}:{line}", hit.file.path, hit.line_number));
        Ok(self.most.is_none_or(|most| self.lines.len() < most))
    }
}

pub(crate) async fn grep<S: Source>(
    snapshot: &Snapshot<S>,
    text: &str,
) -> Result<Vec<String>, Error> {
    grep_with(snapshot, text, GrepOptions::default()).await
}

pub(crate) async fn grep_with<S: Source>(
    snapshot: &Snapshot<S>,
    text: &str,
    options: GrepOptions,
) -> Result<Vec<String>, Error> {
    let matcher = Matcher::new(&[PatternSpec::fixed(text)], &MatchOptions::default()).unwrap();
    let mut hits = Hits::default();
    snapshot.grep(matcher, options, &mut hits).await?;
    Ok(hits.lines)
}

pub(crate) async fn walk<S: Source>(snapshot: &Snapshot<S>) -> Result<Vec<String>, Error> {
    let mut paths = Vec::new();
    let options = gitsip::view::walk::WalkOptions::default();
    snapshot
        .walk(options, |entry| {
            paths.push(entry.path.to_string());
            true
        })
        .await?;
    Ok(paths)
}

/// Bytes that deflate cannot shrink, the same for the same `seed`.
pub(crate) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Printable, so that it is text.
        b'!' + (state >> 32) as u8 % 90
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

pub(crate) fn is_fetch(request: &Recorded) -> bool {
    request.body_text().contains("command=fetch")
}

pub(crate) fn fetches(server: &HttpServer) -> Vec<Recorded> {
    server.requests().into_iter().filter(is_fetch).collect()
}

/// Ids of all objects sent so far, each as often as it was sent, also in thin packs against
/// objects of `origin`.
pub(crate) fn objects_sent(
    server: &HttpServer,
    sandbox: &Sandbox,
    origin: &git::Repo,
) -> Vec<String> {
    let packs = server.requests().into_iter().filter_map(|request| request.pack());
    packs.flat_map(|pack| ids_in_thin_pack(sandbox, origin, &pack)).collect()
}

fn ids_in_thin_pack(sandbox: &Sandbox, origin: &git::Repo, pack: &[u8]) -> Vec<String> {
    let dir = tempfile::tempdir_in(sandbox.path()).unwrap();
    let format = origin.git().run(["rev-parse", "--show-object-format"]);
    let path = dir.path().to_str().unwrap();
    sandbox.git().run(["init", "-q", "--bare", &format!("--object-format={format}"), path]);
    let alternates = format!("{}\n", origin.path().join("objects").display());
    std::fs::write(dir.path().join("objects/info/alternates"), alternates).unwrap();
    let git = git::Git::new(dir.path(), sandbox.path());
    let name = git.bytes_with_input(["index-pack", "--stdin", "--fix-thin"], pack);
    let name = String::from_utf8(name).unwrap();
    let name = name.trim().split('\t').next_back().unwrap();
    let index = std::fs::read(dir.path().join(format!("objects/pack/pack-{name}.idx"))).unwrap();
    let listing =
        git.bytes_with_input(["show-index", &format!("--object-format={format}")], &index);
    // What was appended to complete the pack stands behind what was sent.
    let sent =
        |line: &&str| line.split(' ').next().unwrap().parse::<usize>().unwrap() < pack.len() - 20;
    let text = String::from_utf8(listing).unwrap();
    text.lines().filter(sent).map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
}

/// Fails when an id is there twice.
#[track_caller]
pub(crate) fn assert_each_once(ids: &[String]) {
    let mut seen = BTreeSet::new();
    for id in ids {
        assert!(seen.insert(id), "{id} was sent twice");
    }
}

/// All objects of a commit's snapshot: itself, its trees and blobs.
pub(crate) fn objects_of(origin: &git::Repo, commit: &str) -> BTreeSet<String> {
    let git = origin.git();
    let root = git.run(["rev-parse", &format!("{commit}^{{tree}}")]);
    let listing = git.run(["ls-tree", "-r", "-t", "--format=%(objecttype) %(objectname)", commit]);
    let below = listing.lines().filter(|line| !line.starts_with("commit"));
    let below = below.map(|line| line.split(' ').nth(1).unwrap().to_owned());
    below.chain([commit.to_owned(), root]).collect()
}

/// Bytes that git's own pack of exactly these objects takes.
pub(crate) fn packed_bytes(origin: &git::Repo, ids: impl IntoIterator<Item = String>) -> u64 {
    let list: String = ids.into_iter().map(|id| format!("{id}\n")).collect();
    let pack = origin.git().bytes_with_input(["pack-objects", "--stdout", "-q"], list.as_bytes());
    pack.len() as u64
}
