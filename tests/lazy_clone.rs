//! A lazy clone against real git over HTTP: what is asked for, how often, and what comes
//! back.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "http-client")]

#[path = "support/mod.rs"]
mod support;

use gitsip::agent::{PrefetchOptions, ReadAnswer, ReadOptions, Remote, RemoteOptions, Repo};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::{Error, Limits};
use support::git::{File, Sandbox};
use support::http_server::HttpServer;

type RemoteRepo = Repo<Remote<HttpTransport>>;

async fn open(address: &str) -> Result<RemoteRepo, Error> {
    let transport = HttpTransport::new(HttpOptions::default())?;
    let remote = Remote::open(transport, address, RemoteOptions::default()).await?;
    Ok(Repo::new(remote, Limits::default()))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn one_file_costs_four_requests_and_no_history() {
    let sandbox = Sandbox::new();
    let repo = sandbox.bare("r.git");
    for round in 0..3 {
        repo.commit(
            "main",
            &[File::new("a/b.txt", format!("round {round}\n")), File::new("c", "c")],
        );
    }
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let repo = open(&server.url("r.git")).await.unwrap();
        let snapshot = repo.snapshot("HEAD").await.unwrap();
        assert_eq!(server.objects_sent().len(), 0);
        let answer = snapshot.read_path("a/b.txt", ReadOptions::default()).await.unwrap();
        let ReadAnswer::File(file) = answer else { panic!("{answer:?}") };
        assert_eq!(&file.bytes[..], b"round 2\n");
        assert_eq!(server.requests().len(), 4);
        // One commit, two trees, one blob.
        assert_eq!(server.objects_sent().len(), 4);
        snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
    });
}
