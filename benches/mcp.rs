//! What does a call over MCP cost beside the same question put to the library?
//!
//! The same repository is held by both, and the questions name a commit, so that neither
//! asks the host again. The library is asked in this process; MCP is the command as a child,
//! over pipes, with the SDK's client. In turn and in the same run, medians. The difference is
//! at most 1 ms.
//!
//! ```text
//! cargo bench --bench mcp
//! ```
//!
//! Run as a test (`cargo test --benches`) it does one round and only checks results.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::Command;
use std::time::Instant;

use gitsip::Limits;
use gitsip::agent::{AnyAnswer, Query, Remote, RemoteOptions, Repo, Stop};
use gitsip::transport::{HttpOptions, HttpTransport};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use support::git::{File, Sandbox, isolate};
use support::http_server::HttpServer;
use support::runtime;

/// What a call may take beyond the library's.
const MOST_OVERHEAD_MS: f64 = 1.0;

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let rounds = if measured { 501 } else { 1 };
    runtime::run(compare(rounds, measured));
}

async fn compare(rounds: usize, measured: bool) {
    let sandbox = Sandbox::new();
    let files: Vec<File> = (0..500)
        .map(|n| File::new(format!("src/{n}.c"), format!("int needle_{n}(void);\n").repeat(100)))
        .collect();
    let commit = sandbox.bare("r.git").commit("main", &files);
    let server = HttpServer::start(sandbox.repos());
    let url = server.url("r.git");

    let transport = HttpTransport::new(HttpOptions::default()).unwrap();
    let remote = Remote::open(transport, &url, RemoteOptions::default()).await.unwrap();
    let library = Repo::new(remote, Limits::default());
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.args(["mcp", "--allow-host", "127.0.0.1"]);
    let child = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    let client = ().serve(child).await.unwrap();

    for (tool, method, params) in [
        ("git_read", "read", json!({"paths": ["src/7.c"]})),
        ("git_glob", "glob", json!({"patterns": ["*7.c"]})),
        ("git_grep", "grep", json!({"patterns": ["needle_7\\b"]})),
    ] {
        let mut params = params;
        params["ref"] = commit.clone().into();
        let mut arguments = params.clone();
        arguments["repo"] = url.clone().into();
        if method == "grep" {
            params["output_mode"] = "files".into();
        }
        let query: Query =
            serde_json::from_value(json!({"method": method, "params": params})).unwrap();
        let (mut by_library, mut by_mcp) = (Vec::new(), Vec::new());
        for _ in 0..=rounds {
            let start = Instant::now();
            let answer = library.ask(&query, &Stop::default()).await.unwrap();
            by_library.push(start.elapsed().as_secs_f64() * 1e3);
            let arguments = arguments.as_object().unwrap().clone();
            let asked = CallToolRequestParams::new(tool).with_arguments(arguments);
            let start = Instant::now();
            let reply = client.call_tool(asked).await.unwrap();
            by_mcp.push(start.elapsed().as_secs_f64() * 1e3);
            assert_eq!(items(&reply.structured_content.unwrap()), expected(&answer), "{tool}");
        }
        // The first of each fetched.
        let (library, mcp) = (median(&by_library[1..]), median(&by_mcp[1..]));
        if measured {
            let over = mcp - library;
            println!(
                "{tool:<9} library {library:>7.3} ms   MCP {mcp:>7.3} ms   over {over:>7.3} ms"
            );
            assert!(over <= MOST_OVERHEAD_MS, "{tool} takes {over:.3} ms more");
        }
    }
    if !measured {
        println!("every answer as the library gives it");
    }
    client.cancel().await.unwrap();
}

/// What was found.
fn items(answer: &Value) -> Value {
    answer["items"].clone()
}

fn expected(answer: &AnyAnswer) -> Value {
    items(&serde_json::to_value(answer).unwrap())
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
