//! What is asked of each host, and what git itself says to it.

use std::collections::BTreeSet;

use gitsip::agent::{CloneOptions, ReadAnswer, Remote, RemoteOptions, Repo, Snapshot, Source as _};
use gitsip::client::transport::Transport;
use gitsip::object::CommitRef;
use gitsip::protocol::Filter;
use gitsip::store::Objects as _;
use gitsip::view::grep::{GrepOptions, Hit, MatchOptions, Matcher, PatternSpec, Sink};
use gitsip::{Error, Limits, ObjectId};

use super::support::git::{self, File, Sandbox};

/// A question to a host. Each is asked by a client that knows nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Refs,
    Ls,
    Cat,
    Glob,
    Grep,
    Prefetch,
    History,
}

impl Operation {
    pub(crate) const ALL: [Self; 7] =
        [Self::Refs, Self::Ls, Self::Cat, Self::Glob, Self::Grep, Self::Prefetch, Self::History];

    /// git's own answer.
    pub(crate) fn expected(self, origin: &git::Repo) -> Vec<String> {
        let git = origin.git();
        let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<_>>();
        match self {
            Self::Refs => {
                let listing = git.run(["ls-remote", "."]).replace('\t', " ");
                lines(listing)
            }
            Self::Ls => {
                let names = lines(git.run(["ls-tree", "--name-only", "HEAD:src"]));
                names.into_iter().map(|name| format!("src/{name}")).collect()
            }
            Self::Cat => vec![git.run(["cat-file", "-p", "HEAD:src/lib.rs"]) + "\n"],
            Self::Glob => {
                let all = lines(git.run(["ls-tree", "-r", "--name-only", "HEAD"]));
                all.into_iter().filter(|path| path.ends_with(".rs")).collect()
            }
            Self::Grep => {
                let hits = git.run(["grep", "-n", "needle", "HEAD"]);
                lines(hits.replace("HEAD:", ""))
            }
            Self::Prefetch => {
                let ids = lines(git.run(["ls-tree", "-r", "--format=%(objectname)", "HEAD"]));
                let distinct: BTreeSet<_> = ids.into_iter().collect();
                vec![format!("{} blobs", distinct.len())]
            }
            Self::History => lines(git.run(["rev-list", "HEAD"])),
        }
    }

    /// The client's answer.
    pub(crate) async fn ask<T: Transport>(
        self,
        transport: T,
        address: &str,
        options: RemoteOptions,
    ) -> Result<Vec<String>, Error> {
        let remote = Remote::open(transport, address, options).await?;
        let repo = Repo::new(remote, Limits::default());
        if self == Self::Refs {
            return refs(&repo).await;
        }
        let snapshot = repo.snapshot("HEAD").await?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let paths = |entries: Vec<gitsip::agent::Entry>| {
            entries.into_iter().map(|entry| entry.path.to_string()).collect()
        };
        match self {
            Self::Refs | Self::Ls => Ok(paths(snapshot.ls("src").await?.entries)),
            Self::Cat => match snapshot.read_path("src/lib.rs", Default::default()).await? {
                ReadAnswer::File(file) => Ok(vec![text(&file.bytes)]),
                other => panic!("{other:?}"),
            },
            Self::Glob => Ok(paths(snapshot.glob("**/*.rs").await?)),
            Self::Grep => grep(&snapshot).await,
            Self::Prefetch => {
                let prefetched = snapshot.prefetch(&Default::default()).await?;
                assert_eq!(prefetched.blobs_left_out, 0);
                let before = repo.stats().requests;
                snapshot.read_path("src/lib.rs", Default::default()).await?;
                assert_eq!(repo.stats().requests, before, "nothing is left to be fetched");
                Ok(vec![format!("{} blobs", prefetched.blobs_held)])
            }
            Self::History => history(&repo, snapshot.commit()).await,
        }
    }
}

async fn refs<T: Transport>(repo: &Repo<Remote<T>>) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for item in repo.refs(&[]).await? {
        if let Some(id) = item.target {
            lines.push(format!("{id} {}", item.name));
        }
        if let Some(id) = item.peeled {
            lines.push(format!("{id} {}^{{}}", item.name));
        }
    }
    Ok(lines)
}

/// The commits from `tip` to the root, which all came in one clone without files.
async fn history<T: Transport>(
    repo: &Repo<Remote<T>>,
    tip: ObjectId,
) -> Result<Vec<String>, Error> {
    let options = CloneOptions { filter: Some(Filter::BlobNone), ..CloneOptions::default() };
    let cloned = repo.source().clone_history(&[tip], &options).await?;
    assert_eq!(cloned.shallow, [], "none is left out");
    let (mut commits, mut next) = (Vec::new(), Some(tip));
    while let Some(id) = next {
        let object = repo.source().store().read(&id)?.unwrap();
        let commit = CommitRef::parse(&object.bytes, id.format()).unwrap();
        commits.push(id.to_string());
        next = commit.parents().next();
    }
    Ok(commits)
}

async fn grep<T: Transport>(snapshot: &Snapshot<Remote<T>>) -> Result<Vec<String>, Error> {
    let matcher = Matcher::new(&[PatternSpec::fixed("needle")], &MatchOptions::default()).unwrap();
    let mut hits = Hits::default();
    snapshot.grep(matcher, GrepOptions::default(), &mut hits).await?;
    Ok(hits.0)
}

#[derive(Default)]
struct Hits(Vec<String>);

impl Sink for Hits {
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        let line = String::from_utf8_lossy(hit.line);
        self.0.push(format!("{}:{}:{line}", hit.file.path, hit.line_number));
        Ok(true)
    }
}

/// The repository that every host has, with history, two branches and an annotated tag.
pub(crate) fn origin(sandbox: &Sandbox) -> git::Repo {
    let origin = sandbox.bare("r.git");
    let old = [File::new("README", "old\n"), File::new("src/lib.rs", "fn old() {}\n")];
    origin.commit("main", &old);
    origin.git().run(["tag", "-a", "-m", "first", "v1", "main"]);
    origin.git().run(["branch", "other", "main"]);
    origin.commit(
        "main",
        &[
            File::new("README", "a needle here\n"),
            File::new("src/lib.rs", "fn needle() {}\n\nfn other() {} // needle\n"),
            File::new("src/deep/er/mod.rs", "// nothing\n"),
            File::new("src/deep/er/copy.rs", "// nothing\n"),
            File::executable("run.sh", "#!/bin/sh\nneedle\n"),
            File::symlink("link", "src/lib.rs"),
        ],
    );
    origin
}
