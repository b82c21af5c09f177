//! What git answered once to a client that opens a repository and reads a file of it, and
//! a client that does that again step by step.

use std::sync::Arc;

use gitsip::agent::{ReadAnswer, Remote, RemoteOptions, Repo, Snapshot};
use gitsip::{Budget, Error, Limits};

use super::support::git::{File, Sandbox};
use super::support::http_server::in_process::run;
use super::support::http_server::{Behaviour, CannedResponse, InProcess, Recorded};

/// What the file holds.
pub(crate) const TEXT: &str = "to be read\n";

/// The answers, in the order of the requests, and what was held after each.
pub(crate) struct Recording {
    pub(crate) answers: Vec<Vec<u8>>,
    requests: Arc<Vec<Recorded>>,
    held: Vec<(u64, u64)>,
    version: u8,
    sandbox: Sandbox,
}

impl Recording {
    /// With a host of this version of the protocol.
    pub(crate) fn new(version: u8) -> Self {
        let sandbox = Sandbox::new();
        let files = [File::new("a", TEXT), File::new("src/b", "b\n")];
        sandbox.bare("r.git").commit("main", &files);
        let mut client =
            Client::new(InProcess::new(sandbox.repos(), Behaviour::default().speaking(version)));
        let mut held = vec![(0, 0)];
        run(async {
            while client.step().await.unwrap().is_none() {
                // A step that asked for nothing changes nothing.
                held.resize(client.requests() + 1, (0, 0));
                held[client.requests()] = (client.objects(), client.budget().used_bytes());
            }
        });
        let requests = client.host.requests();
        let answers = requests.iter().map(|request| request.response_body.clone()).collect();
        Self { answers, requests: Arc::new(requests), held, version, sandbox }
    }

    /// The first answer with a pack.
    pub(crate) fn first_fetch(&self) -> usize {
        let is_fetch = |request: &Recorded| request.body_text().contains("want ");
        self.requests.iter().position(is_fetch).unwrap()
    }

    /// Objects and bytes that a client holds whose last of `requests` requests failed.
    pub(crate) fn held_before(&self, requests: usize) -> (u64, u64) {
        self.held[requests - 1]
    }

    /// The answers as they were.
    pub(crate) fn faithful(&self) -> Behaviour {
        self.replaying(|_, answer| answer)
    }

    /// The answers, of which one ends early and looks as if it were whole.
    pub(crate) fn shortened(&self, request: usize, end: usize) -> Behaviour {
        self.replaying(move |number, mut answer| {
            if number == request {
                answer.truncate(end);
            }
            answer
        })
    }

    /// The answers, of which one has a byte that was not sent.
    pub(crate) fn changed(&self, request: usize, at: usize) -> Behaviour {
        self.replaying(move |number, mut answer| {
            if number == request {
                answer[at] ^= 4;
            }
            answer
        })
    }

    pub(crate) fn host(&self, behaviour: Behaviour) -> InProcess {
        InProcess::new(self.sandbox.repos(), behaviour)
    }

    #[cfg(feature = "http-client")]
    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.sandbox.repos()
    }

    fn replaying(
        &self,
        change: impl Fn(usize, Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Behaviour {
        let requests = Arc::clone(&self.requests);
        Behaviour::default().speaking(self.version).answering_first(move |seen| {
            let same = |old: &&Recorded| (&old.method, &old.body) == (&seen.method, &seen.body);
            // What was never asked, git answers.
            let old = requests.iter().find(same)?;
            let kind = if seen.method == "GET" { "advertisement" } else { "result" };
            let content_type = format!("application/x-git-upload-pack-{kind}");
            let body = change(seen.number, old.response_body.clone());
            Some(CannedResponse::new(200, &content_type, body))
        })
    }
}

/// A client that reads the file in steps of one request at most each.
pub(crate) struct Client {
    host: InProcess,
    budget: Budget,
    repo: Option<Repo<Remote<InProcess>>>,
    snapshot: Option<Snapshot<Remote<InProcess>>>,
    listed: bool,
}

impl Client {
    pub(crate) fn new(host: InProcess) -> Self {
        let budget = Budget::new(16 << 20);
        Self { host, budget, repo: None, snapshot: None, listed: false }
    }

    /// Goes on from where it is until the file is read.
    pub(crate) async fn read(&mut self) -> Result<String, Error> {
        loop {
            if let Some(text) = self.step().await? {
                return Ok(text);
            }
        }
    }

    async fn step(&mut self) -> Result<Option<String>, Error> {
        let Some(repo) = &self.repo else {
            let options =
                RemoteOptions { budget: Some(self.budget.clone()), ..RemoteOptions::default() };
            let address = self.host.url("r.git");
            let remote = Remote::open(self.host.clone(), &address, options).await?;
            self.repo = Some(Repo::new(remote, Limits::default()));
            return Ok(None);
        };
        let Some(snapshot) = &self.snapshot else {
            self.snapshot = Some(repo.snapshot("HEAD").await?);
            return Ok(None);
        };
        if !self.listed {
            snapshot.stat("a").await?;
            self.listed = true;
            return Ok(None);
        }
        match snapshot.read_path("a", Default::default()).await? {
            ReadAnswer::File(file) => Ok(Some(String::from_utf8(file.bytes.to_vec()).unwrap())),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn heal(&mut self, behaviour: Behaviour) {
        self.host.set_behaviour(behaviour);
    }

    pub(crate) fn objects(&self) -> u64 {
        self.repo.as_ref().map_or(0, |repo| repo.stats().objects)
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    pub(crate) fn requests(&self) -> usize {
        self.host.requests().len()
    }
}
