//! Calls that take a while: how far they are, how they end early, and that many at once cost
//! what one does.

use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{call, code, connect, request, structured, text};
use super::support::git::{File, Sandbox};
use super::support::http_server::{Behaviour, HttpServer};
use super::support::runtime::run;
use super::talk::Talk;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let files: Vec<File> =
        (0..50).map(|n| File::new(format!("src/{n}.c"), format!("needle {n}\n"))).collect();
    sandbox.bare("r.git").commit("main", &files);
    sandbox
}

#[test]
fn many_calls_at_once_fetch_nothing_twice_and_are_all_right() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        let calls: Vec<_> = (0..32)
            .map(|n| {
                let peer = client.peer().clone();
                let arguments = json!({
                    "repo": server.url("r.git"),
                    "patterns": [format!("needle {n}$")],
                });
                tokio::spawn(async move { peer.call_tool(request("git_grep", arguments)).await })
            })
            .collect();
        for (n, call) in calls.into_iter().enumerate() {
            let result = call.await.unwrap().unwrap();
            let items = structured(&result)["items"].as_array().unwrap();
            assert_eq!(items.len(), 1, "{}", text(&result));
            assert_eq!(items[0]["path"]["text"], format!("src/{n}.c"));
        }
        let sent = server.objects_sent();
        let mut distinct = sent.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!(sent.len(), distinct.len(), "an object came twice");
        let asked = |needle: &str| {
            server.requests().iter().filter(|request| request.body_text().contains(needle)).count()
        };
        assert_eq!(asked("command=fetch"), 1, "one prefetch");
        let opened = server.requests().iter().filter(|seen| seen.body_text().is_empty()).count();
        assert_eq!(opened, 1, "it is opened once");
    });
}

#[test]
fn who_waits_for_a_repository_that_is_not_there_hears_so_with_the_others() {
    let sandbox = sandbox();
    let slow = Behaviour { delay: Duration::from_secs(1), ..Behaviour::default() };
    let server = HttpServer::start_with(sandbox.repos(), slow);
    run(async {
        let client = connect(&sandbox, &[]).await;
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let peer = client.peer().clone();
                let asked = request("git_ls", json!({"repo": server.url("none.git")}));
                tokio::spawn(async move { peer.call_tool(asked).await })
            })
            .collect();
        for call in calls {
            assert_eq!(code(&call.await.unwrap().unwrap()), "no_repository");
        }
        assert_eq!(server.requests().len(), 1);
    });
}

#[test]
fn ten_searches_and_five_reads_cost_one_fetch() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &[]).await;
        let repo = server.url("r.git");
        for n in 0..10 {
            let arguments = json!({"repo": repo, "patterns": [format!("needle {n}$")]});
            assert_eq!(
                structured(&call(&client, "git_grep", arguments).await)["items"]
                    .as_array()
                    .unwrap()
                    .len(),
                1
            );
        }
        for n in 0..5 {
            let arguments = json!({"repo": repo, "paths": [format!("src/{n}.c")]});
            let result = call(&client, "git_read", arguments).await;
            assert!(text(&result).contains(&format!("     1\tneedle {n}\n")), "{}", text(&result));
        }
        let fetches = server
            .requests()
            .iter()
            .filter(|seen| seen.body_text().contains("command=fetch"))
            .count();
        assert_eq!(fetches, 1);
    });
}

#[test]
fn who_asks_for_progress_is_told_more_and_more() {
    let sandbox = sandbox();
    let slow = Behaviour {
        max_chunk_bytes: Some(200),
        chunk_delay: Duration::from_millis(20),
        ..Behaviour::default()
    };
    let server = HttpServer::start_with(sandbox.repos(), slow);
    run(async {
        let client = connect(&sandbox, &[]).await;
        // The SDK's client asks for progress with every request.
        let arguments = json!({"repo": server.url("r.git"), "patterns": ["needle"]});
        call(&client, "git_grep", arguments).await;
        let told = client.service().0.lock().unwrap().clone();
        assert!(told.len() > 1, "{told:?}");
        assert!(told.windows(2).all(|two| two[0].progress < two[1].progress), "{told:?}");
        let words: Vec<_> = told.iter().filter_map(|told| told.message.as_deref()).collect();
        assert!(words.iter().any(|words| words.starts_with("received ")), "{words:?}");
    });
}

#[test]
fn who_does_not_ask_for_progress_is_told_nothing() {
    let sandbox = sandbox();
    let server = HttpServer::start(sandbox.repos());
    let mut talk = Talk::begin(&sandbox);
    let arguments = json!({"repo": server.url("r.git"), "patterns": ["needle"]});
    talk.say(&called(2, arguments));
    // The first line that comes is the answer.
    assert_eq!(talk.hear()["id"], 2);
}

#[test]
fn a_cancelled_call_lets_go_of_its_host_at_once_and_the_server_goes_on() {
    let sandbox = sandbox();
    // It takes the question and never answers.
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let repo = format!("http://{}/r.git", host.local_addr().unwrap());
    let mut talk = Talk::begin(&sandbox);
    let waits: Vec<Duration> = (2..7)
        .map(|id| {
            talk.say(&called(id, json!({"repo": repo, "patterns": ["x"]})));
            let (mut connection, _) = host.accept().unwrap();
            let mut head = [0; 4096];
            assert!(connection.read(&mut head).unwrap() > 0);
            let cancel = json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": id},
            });
            let start = Instant::now();
            talk.say(&cancel);
            while connection.read(&mut head).unwrap_or(0) > 0 {}
            start.elapsed()
        })
        .collect();
    // The best of five: others use this machine too.
    assert!(waits.iter().min().unwrap() < &Duration::from_millis(100), "{waits:?}");
    talk.say(&json!({"jsonrpc": "2.0", "id": 99, "method": "ping"}));
    assert_eq!(talk.hear()["id"], 99, "a cancelled call is not answered");
}

#[test]
fn a_call_that_takes_too_long_says_so() {
    let sandbox = sandbox();
    let server =
        HttpServer::start_with(sandbox.repos(), Behaviour { silent: true, ..Behaviour::default() });
    run(async {
        let client = connect(&sandbox, &["--timeout", "300ms"]).await;
        let result = call(&client, "git_ls", json!({"repo": server.url("r.git")})).await;
        assert_eq!(code(&result), "deadline");
    });
}

#[test]
fn repositories_share_one_memory_limit_and_the_idle_one_goes() {
    let sandbox = Sandbox::new();
    let mut state = 1_u64;
    for name in ["a.git", "b.git", "c.git"] {
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            b'a' + (state >> 59) as u8 % 26
        })
        .take(3 << 20)
        .collect();
        sandbox.bare(name).commit("main", &[File::new("noise", noise), File::new("x", "needle\n")]);
    }
    let server = HttpServer::start(sandbox.repos());
    run(async {
        let client = connect(&sandbox, &["--max-memory", "8M"]).await;
        for name in ["a.git", "b.git", "c.git", "a.git"] {
            let arguments = json!({"repo": server.url(name), "paths": ["noise", "x"], "limit": 1});
            let result = call(&client, "git_read", arguments).await;
            assert_eq!(result.is_error, Some(false), "{name}: {}", text(&result));
        }
        let opened = |name: &str| {
            let path = format!("/{name}/info/refs");
            server.requests().iter().filter(|seen| seen.path == path).count()
        };
        assert_eq!(["a.git", "b.git", "c.git"].map(opened), [2, 1, 1], "the first one went");
    });
}

fn called(id: u64, arguments: Value) -> Value {
    let parameters = json!({"name": "git_grep", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": parameters})
}
