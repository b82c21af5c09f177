//! Our client and our server in one process, without a socket, a thread or a runtime.
//!
//! What the server says goes into the client's conversation piece by piece, while it is made:
//! no answer is there as a whole. All of it happens where the client's future is polled, and
//! nothing there ever waits, so that any executor will do, and one poll is enough.
//!
//! Time passes only where the client sleeps, so that a deadline never comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::client::Conversation;
use crate::client::transport::{Method, Request, Response, Transport};
use crate::error::{Error, ErrorKind};
use crate::limits::NeverInterrupt;
use crate::protocol::SERVICE_HEADER;
use crate::server::{Outlet, Served, Talk, converse};
use crate::store::{Objects, Refs};

/// The network to a server in the same process. A clone leads to the same one.
///
/// ```
/// use std::future::Future;
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
///
/// use gitsip::agent::{ReadAnswer, ReadOptions, Remote, RemoteOptions, Repo};
/// use gitsip::object::{Commit, Kind};
/// use gitsip::server::{ServeOptions, Served};
/// use gitsip::store::{MemoryStore, WithRefs};
/// use gitsip::transport::InProcess;
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// // A repository in memory: one commit with one file.
/// let (limits, budget) = (Limits::default(), Budget::new(16 << 20));
/// let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
/// let blob = store.insert(Kind::Blob, b"hello\n")?;
/// let tree = store.insert(Kind::Tree, &[b"100644 file\0", blob.as_bytes()].concat())?;
/// let mut commit = Vec::new();
/// Commit::new(tree).encode(&mut commit);
/// let commit = store.insert(Kind::Commit, &commit)?;
/// let repository = WithRefs::new(store);
/// repository.point("refs/heads/main", commit)?;
/// repository.point_to_ref("HEAD", "refs/heads/main");
///
/// // It is served, and read as any other host's.
/// let served = Served::new(repository, ServeOptions::default(), &limits, &budget);
/// let network = InProcess::new(served);
/// let read = pin!(async {
///     let remote = Remote::open(network, InProcess::<()>::ADDRESS, RemoteOptions::default());
///     let repo = Repo::new(remote.await?, limits);
///     let snapshot = repo.snapshot("HEAD").await?;
///     snapshot.read_path("file", ReadOptions::default()).await
/// });
/// match read.poll(&mut Context::from_waker(Waker::noop())) {
///     Poll::Ready(Ok(ReadAnswer::File(file))) => assert_eq!(file.bytes, "hello\n"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InProcess<S> {
    served: Arc<Served<S>>,
    max_version: u8,
    slept_nanos: Arc<AtomicU64>,
}

impl<S> InProcess<S> {
    /// What to open. Any other address with `http` leads to the same repository.
    pub const ADDRESS: &'static str = "http://in.process/repository";

    /// The way to `served`.
    pub fn new(served: impl Into<Arc<Served<S>>>) -> Self {
        Self { served: served.into(), max_version: 2, slept_nanos: Arc::default() }
    }

    /// The same to a server that speaks no version of the protocol above `version`.
    #[must_use]
    pub fn speaking(self, version: u8) -> Self {
        Self { max_version: version, ..self }
    }
}

impl<S> Clone for InProcess<S> {
    fn clone(&self) -> Self {
        let (served, slept_nanos) = (Arc::clone(&self.served), Arc::clone(&self.slept_nanos));
        Self { served, max_version: self.max_version, slept_nanos }
    }
}

/// A request, whose answer is made when it is received.
#[derive(Debug)]
pub struct Unanswered {
    talk: Talk,
    request: Bytes,
}

impl<S: Objects + Refs + Sync> Transport for InProcess<S> {
    type Body = Unanswered;

    async fn send(&self, request: Request) -> Result<Response<Unanswered>, Error> {
        let Request { method, url, headers, body, .. } = request;
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let asks_for_refs = path.ends_with("/info/refs") && query == "service=git-upload-pack";
        let (stateless, status) = match method {
            Method::Get if asks_for_refs => (false, 200),
            Method::Post if path.ends_with("/git-upload-pack") => (true, 200),
            Method::Get | Method::Options | Method::Post => (true, 404),
        };
        let asked = headers.iter().find(|(name, _)| name == "git-protocol");
        let asked = asked.map_or(0, |(_, value)| Talk::version_asked(value));
        let version = asked.min(self.max_version);
        let talk = Talk { version, stateless, advertise_only: !stateless };
        let kind = if stateless { "result" } else { "advertisement" };
        let kind = format!("application/x-git-upload-pack-{kind}");
        Ok(Response {
            status,
            headers: vec![("content-type".to_owned(), kind)],
            url,
            http_version: None,
            peer: None,
            body: Unanswered { talk, request: body },
        })
    }

    async fn receive(
        &self,
        body: Unanswered,
        conversation: Conversation,
    ) -> (Conversation, Result<(), Error>) {
        let Unanswered { talk, request } = body;
        let mut ear = Ear { conversation, refused: None };
        let header = match (talk.stateless, talk.version) {
            (false, 0 | 1) => ear.send(SERVICE_HEADER.to_vec()),
            _ => Ok(()),
        };
        let ended = header.and_then(|()| {
            converse(&self.served, talk, &mut &request[..], &mut ear, &NeverInterrupt).ended
        });
        let Ear { mut conversation, refused } = ear;
        let received = match (refused, ended) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(())) => conversation.finish(),
        };
        (conversation, received)
    }

    async fn sleep(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.slept_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.slept_nanos.load(Ordering::Relaxed))
    }
}

/// The client's side of a conversation, as the server sees it.
struct Ear {
    conversation: Conversation,
    /// Why the client heard no more.
    refused: Option<Error>,
}

impl Outlet for Ear {
    fn send(&mut self, piece: Vec<u8>) -> Result<(), Error> {
        self.conversation.push(&piece).map_err(|error| {
            self.refused = Some(error);
            Error::new(ErrorKind::Cancelled, "the client has heard enough")
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::agent::{ReadAnswer, ReadOptions, Remote, RemoteOptions, Repo, Snapshot};
    use crate::limits::{Budget, Limits};
    use crate::object::{Commit, Kind};
    use crate::oid::{ObjectFormat, ObjectId};
    use crate::server::ServeOptions;
    use crate::store::{MemoryStore, WithRefs};

    type Host = InProcess<WithRefs<MemoryStore>>;

    /// Nothing that is waited for is not there.
    fn run<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the future waits for something that never comes"),
        }
    }

    /// Two commits of a file and a folder, and a tag of the first.
    fn host(options: ServeOptions) -> (Host, ObjectId, Vec<ObjectId>) {
        let (limits, budget) = (Limits::default(), Budget::new(32 << 20));
        let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
        let repository = WithRefs::new(store.clone());
        let commits: Vec<ObjectId> = ["old\n", "new\n"]
            .iter()
            .scan(Vec::new(), |parents, text| {
                let blob = store.insert(Kind::Blob, text.as_bytes()).unwrap();
                let line = |mode: &str, name: &str, id: &ObjectId| {
                    [format!("{mode} {name}\0").as_bytes(), id.as_bytes()].concat()
                };
                let deep = store.insert(Kind::Tree, &line("100644", "deep", &blob)).unwrap();
                let tree = [line("40000", "folder", &deep), line("100644", "top", &blob)].concat();
                let mut commit = Commit::new(store.insert(Kind::Tree, &tree).unwrap());
                commit.parents.clone_from(parents);
                commit.push_header(b"committer", b"A <a@b.c> 1 +0000");
                let mut bytes = Vec::new();
                commit.encode(&mut bytes);
                *parents = vec![store.insert(Kind::Commit, &bytes).unwrap()];
                Some(parents[0])
            })
            .collect();
        let empty = store.insert(Kind::Tree, b"").unwrap();
        let lonely = format!("tree {empty}\ncommitter A <a@b.c> 1 +0000\n\nno ref leads here\n");
        let lonely = store.insert(Kind::Commit, lonely.as_bytes()).unwrap();
        let tag = format!("object {}\ntype commit\ntag v1\n\nwords\n", commits[0]);
        repository.point("refs/tags/v1", store.insert(Kind::Tag, tag.as_bytes()).unwrap()).unwrap();
        repository.point("refs/heads/main", commits[1]).unwrap();
        repository.point_to_ref("HEAD", "refs/heads/main");
        let served = Served::new(repository, options, &limits, &budget);
        (InProcess::new(served), lonely, commits)
    }

    fn open(host: &Host) -> Repo<Remote<Host>> {
        let opened = Remote::open(host.clone(), Host::ADDRESS, RemoteOptions::default());
        Repo::new(run(opened).unwrap(), Limits::default())
    }

    fn text(snapshot: &Snapshot<Remote<Host>>, path: &str) -> String {
        let read = run(snapshot.read_path(path, ReadOptions::default())).unwrap();
        let ReadAnswer::File(file) = read else { panic!("{read:?}") };
        String::from_utf8(file.bytes.to_vec()).unwrap()
    }

    #[test]
    fn a_store_in_memory_is_read_lazily_in_every_version() {
        let (host, _, commits) = host(ServeOptions::default());
        for version in 0..=2 {
            let repo = open(&host.clone().speaking(version));
            let head = run(repo.snapshot("HEAD")).unwrap();
            let first = run(repo.snapshot("v1")).unwrap();
            assert_eq!([first.commit(), head.commit()], [commits[0], commits[1]], "{version}");
            for (snapshot, is) in [(&first, "old\n"), (&head, "new\n")] {
                let read = [text(snapshot, "top"), text(snapshot, "folder/deep")];
                assert_eq!(read, [is, is], "{version}");
            }
        }
    }

    #[test]
    fn what_the_server_refuses_is_heard() {
        let read = |allow_any_want| {
            let (host, lonely, _) = host(ServeOptions { allow_any_want, ..Default::default() });
            let snapshot = run(open(&host).snapshot(lonely.to_string())).unwrap();
            run(snapshot.read_path("absent", ReadOptions::default())).unwrap_err()
        };
        let refused = read(false).to_string();
        assert!(refused.contains("has no commit"), "{refused}");
        let absent = read(true).to_string();
        assert!(absent.contains("'absent'") && !absent.contains("has no commit"), "{absent}");
    }

    #[test]
    fn no_other_endpoint_is_there() {
        let (host, ..) = host(ServeOptions::default());
        let ask = |method, path: &str| {
            let url = format!("{}/{path}", Host::ADDRESS);
            let (headers, body) = (Vec::new(), Bytes::new());
            let request = Request { method, url, headers, body, public_only: false };
            run(host.send(request)).unwrap().status
        };
        assert_eq!(ask(Method::Get, "info/refs?service=git-upload-pack"), 200);
        for (method, path) in [
            (Method::Get, "info/refs"),
            (Method::Get, "info/refs?service=git-receive-pack"),
            (Method::Get, "git-upload-pack"),
            (Method::Post, "git-receive-pack"),
            (Method::Options, "git-upload-pack"),
        ] {
            assert_eq!(ask(method, path), 404, "{path}");
        }
    }
}
