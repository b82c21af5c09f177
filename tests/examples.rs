//! The examples do what they say, over HTTP, against the real git.
//!
//! `cargo test` builds them; a run of this file alone needs `cargo build --examples` first.

#![cfg(feature = "http-client")]
#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;

use support::git::{File, Sandbox};
use support::http_server::HttpServer;

#[test]
fn read_path_prints_a_file() {
    let (_sandbox, server) = served();
    let printed = run("read_path", &[&server.url("a.git"), "src/main.rs"]);
    assert_eq!(printed, "fn main() {}\n");
}

#[test]
fn agent_session_reports_every_step_on_a_line() {
    let (_sandbox, server) = served();
    let printed = run("agent_session", &[&server.url("a.git"), "fn main", "no such thing"]);
    let lines: Vec<serde_json::Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let steps: Vec<_> = lines.iter().map(|line| line["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["prefetch", "grep", "grep", "memory"]);
    assert!(lines[0]["ms"].as_f64().unwrap() > 0.0);
    let received = lines[0]["bytes_received"].as_u64().unwrap();
    assert!((100..=server.response_bytes()).contains(&received), "{received}");
    let hits: Vec<_> = lines[1..3].iter().map(|line| line["hits"].as_u64().unwrap()).collect();
    assert_eq!(hits, [2, 0]);
    assert_eq!(lines[1]["pattern"], "fn main");
    for line in &lines[1..3] {
        assert!(line["grep_cold_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{line}");
        assert!(line["grep_median_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{line}");
    }
    if cfg!(target_os = "linux") {
        assert!(lines[3]["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
}

#[cfg(feature = "cli")]
#[test]
fn session_asks_for_all_patterns_at_once() {
    let (_sandbox, server) = served();
    let words = [env!("CARGO_BIN_EXE_gitsip"), &server.url("a.git"), "fn", "no such thing", "("];
    let printed = run("session", &words);
    let lines: Vec<&str> = printed.lines().collect();
    let found = ["fn: examples/other.rs:1: fn main() {}", "no such thing: nowhere"];
    assert_eq!(lines[..2], found);
    assert!(lines[2].starts_with("(: usage: "), "{printed}");
}

fn served() -> (Sandbox, HttpServer) {
    let sandbox = Sandbox::new();
    let main = "fn main() {}\n";
    let files = [File::new("src/main.rs", main), File::new("examples/other.rs", main)];
    sandbox.bare("a.git").commit("main", &files);
    let server = HttpServer::start(sandbox.repos());
    (sandbox, server)
}

/// Runs an example that stands where cargo puts it, and gives what it printed.
fn run(name: &str, args: &[&str]) -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap().join("examples");
    let program = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{name} is not built: cargo build --examples");
    let output = Command::new(program).args(args).env("NO_PROXY", "*").output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
