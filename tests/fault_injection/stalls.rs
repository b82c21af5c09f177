//! The same over a real socket that goes silent: the client gives up when nothing has
//! come for as long as it was told to wait.

use std::sync::Arc;
use std::time::Duration;

use gitsip::agent::{ReadAnswer, Remote, RemoteOptions, Repo};
use gitsip::transport::{HttpOptions, HttpTransport};
use gitsip::{Budget, Error, ErrorKind, Limits};

use super::VERSIONS;
use super::recording::{Recording, TEXT};
use super::support::http_server::{Behaviour, HttpServer};
use super::support::runtime::run;

/// Short, so that many fit into a test; a loaded machine may need as long for an honest
/// answer, which is then a stall as well.
const STALL: Duration = Duration::from_millis(60);

/// Conversations at a time: they wait, most of the time.
const TOGETHER: usize = 48;

#[test]
fn case_32_a_conversation_that_goes_silent_at_any_byte_is_an_error_and_no_hang() {
    for version in VERSIONS {
        goes_silent(Recording::new(version));
    }
}

fn goes_silent(recording: Recording) {
    let cases: Vec<_> = recording
        .answers
        .iter()
        .enumerate()
        .flat_map(|(request, answer)| (0..answer.len()).map(move |at| (request, at)))
        .collect();
    let recording = Arc::new(recording);
    run(async {
        for together in cases.chunks(TOGETHER) {
            let tasks: Vec<_> = together
                .iter()
                .map(|&(request, at)| tokio::spawn(stalled(Arc::clone(&recording), request, at)))
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        }
    });
}

async fn stalled(recording: Arc<Recording>, request: usize, at: usize) {
    let behaviour = Behaviour {
        faults_when: Some(Box::new(move |seen| seen.number == request)),
        stall_after: Some(at as u64),
        ..recording.faithful()
    };
    let server = HttpServer::start_with(recording.root(), behaviour);
    let budget = Budget::new(16 << 20);
    let error = read(&server, &budget, STALL).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::Transport, "stalled"),
        "answer {request} silent at byte {at}: {error}"
    );
    assert_eq!(budget.used_bytes(), 0, "answer {request} silent at byte {at}");
    server.set_behaviour(recording.faithful());
    assert_eq!(read(&server, &budget, Duration::from_secs(30)).await.unwrap(), TEXT);
    // Ending it takes a while, which is no business of the other tasks.
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
}

async fn read(server: &HttpServer, budget: &Budget, stall: Duration) -> Result<String, Error> {
    let options = HttpOptions { stall_timeout: stall, ..HttpOptions::default() };
    let transport = HttpTransport::new(options)?;
    let options = RemoteOptions { budget: Some(budget.clone()), ..RemoteOptions::default() };
    let remote = Remote::open(transport, &server.url("r.git"), options).await?;
    let snapshot = Repo::new(remote, Limits::default()).snapshot("HEAD").await?;
    match snapshot.read_path("a", Default::default()).await? {
        ReadAnswer::File(file) => Ok(String::from_utf8(file.bytes.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    }
}
