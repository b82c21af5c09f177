//! What does it cost to read a repository over HTTP, beside git's own clone?
//!
//! A server over `git http-backend` on the loopback answers both, in turn and in the same
//! run. Measured as whole processes: prefetch and grep beside `git clone --bare --depth 1`
//! (CPU of the client, wall time, peak memory), and a cold `cat` beside a blobless clone
//! (requests, bytes). Measured inside the library: the time from the last byte until the
//! snapshot can be searched. Medians of several rounds.
//!
//! ```text
//! cargo bench --bench remote                                      a generated repository
//! GITSIP_BENCH_REPO=x.git GITSIP_BENCH_FILE=README.md cargo bench --bench remote
//! ```
//!
//! Run as a test (`cargo test --benches`) it does one round and only checks results.

#![allow(clippy::unwrap_used, missing_docs)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use gitsip::Limits;
use gitsip::agent::{PrefetchOptions, Remote, RemoteOptions, Repo};
use gitsip::client::progress::{Phase, ProgressListener};
use gitsip::transport::{HttpOptions, HttpTransport};
use support::git::Sandbox;
use support::http_server::{Behaviour, HttpServer};

const GITSIP: &str = env!("CARGO_BIN_EXE_gitsip");

fn main() {
    let measured = std::env::args().any(|arg| arg == "--bench");
    let rounds = if measured { 5 } else { 1 };
    let bench = Bench::start();

    let mut clones = Vec::new();
    let mut greps = Vec::new();
    let mut ready = Vec::new();
    for round in 0..rounds {
        clones.push(bench.clone(&format!("clone{round}.git")));
        greps.push(bench.grep());
        ready.push(bench.last_byte_to_ready_ms());
    }
    let cat = bench.cat();
    let blobless = bench.blobless_clone_and_blob_bytes();
    assert!(cat.requests <= 4, "a cold cat took {} requests", cat.requests);

    if !measured {
        println!("every answer as git gives it");
        return;
    }
    let row = |what: &str, ours: f64, peer: f64, unit: &str| {
        println!(
            "{what:<34} {ours:>10.1} {unit:<6} git {peer:>10.1} {unit:<6} {:.2} x",
            ours / peer
        );
    };
    let of = |runs: &[Process], figure: fn(&Process) -> f64| median(runs.iter().map(figure));
    row(
        "prefetch and grep, client CPU",
        of(&greps, Process::cpu_ms),
        of(&clones, Process::cpu_ms),
        "ms",
    );
    row("prefetch and grep, wall", of(&greps, |p| p.wall_ms), of(&clones, |p| p.wall_ms), "ms");
    row(
        "prefetch and grep, peak memory",
        of(&greps, |p| p.peak_mib),
        of(&clones, |p| p.peak_mib),
        "MiB",
    );
    println!("{:<34} {:>10.1} ms", "last byte to ready", median(ready.into_iter()));
    println!("{:<34} {:>10}", "cold cat, requests", cat.requests);
    row("cold cat, bytes", cat.bytes as f64, blobless as f64, "bytes");
}

struct Bench {
    sandbox: Sandbox,
    server: HttpServer,
    url: String,
    /// A file to read, and its content.
    file: String,
    content: Vec<u8>,
    /// What the search prints.
    hits: Vec<u8>,
}

const PATTERN: &str = "TODO";

impl Bench {
    fn start() -> Self {
        let sandbox = Sandbox::new();
        let path = match std::env::var_os("GITSIP_BENCH_REPO") {
            Some(path) => std::fs::canonicalize(path).unwrap(),
            None => {
                let repo = sandbox.bare("bench.git");
                repo.commit("main", &support::corpus::sources(1_500, 6_000, 7));
                repo.repack();
                repo.path().to_owned()
            }
        };
        let root = path.parent().unwrap().to_owned();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let server =
            HttpServer::start_with(root, Behaviour { forget_bodies: true, ..Behaviour::default() });
        let url = server.url(&name);
        let git = |args: &[&str]| {
            let dir = ["-C", path.to_str().unwrap()];
            sandbox.git().bytes(dir.iter().chain(args))
        };
        let file = std::env::var("GITSIP_BENCH_FILE").unwrap_or_else(|_| {
            let names = String::from_utf8(git(&["ls-tree", "-r", "--name-only", "HEAD"])).unwrap();
            names.lines().next().unwrap().to_owned()
        });
        let content = git(&["cat-file", "blob", &format!("HEAD:{file}")]);
        let hits = git(&["--no-pager", "grep", "-n", "-I", "-E", PATTERN, "HEAD"]);
        let hits = hits
            .split_inclusive(|&byte| byte == b'\n')
            .flat_map(|line| line.strip_prefix(b"HEAD:").unwrap().to_vec())
            .collect();
        Self { sandbox, server, url, file, content, hits }
    }

    fn clone(&self, name: &str) -> Process {
        let target = self.sandbox.path().join(name);
        let mut git = self.sandbox.git().command();
        git.args(["clone", "--quiet", "--bare", "--depth", "1", &self.url]).arg(&target);
        let process = Process::run(&git);
        let count =
            self.sandbox.git().run(["-C", target.to_str().unwrap(), "rev-list", "--count", "HEAD"]);
        assert_eq!(count.trim(), "1");
        std::fs::remove_dir_all(target).unwrap();
        process
    }

    fn grep(&self) -> Process {
        let mut gitsip = Command::new(GITSIP);
        gitsip.args(["grep", &self.url, PATTERN]);
        let process = Process::run(&gitsip);
        assert!(process.stdout == self.hits, "not what git grep prints");
        process
    }

    fn cat(&self) -> Cost {
        self.server.forget_requests();
        let output = Command::new(GITSIP).args(["cat", &self.url, &self.file]).output().unwrap();
        assert!(output.status.success() && output.stdout == self.content, "not the file");
        Cost { requests: self.server.requests().len(), bytes: self.server.response_bytes() }
    }

    /// Bytes of what git transfers for the same answer.
    fn blobless_clone_and_blob_bytes(&self) -> u64 {
        self.server.forget_requests();
        let target = self.sandbox.path().join("blobless.git");
        let git = self.sandbox.git();
        git.run([
            "clone".as_ref(),
            "--quiet".as_ref(),
            "--bare".as_ref(),
            "--depth=1".as_ref(),
            "--filter=blob:none".as_ref(),
            self.url.as_ref(),
            target.as_os_str(),
        ]);
        let file = format!("HEAD:{}", self.file);
        let content = git.bytes(["-C", target.to_str().unwrap(), "cat-file", "blob", &file]);
        assert!(content == self.content);
        self.server.response_bytes()
    }

    /// Milliseconds from the last chunk of the pack until the prefetch has returned.
    fn last_byte_to_ready_ms(&self) -> f64 {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let last_byte = Arc::new(Mutex::new(Instant::now()));
            let noted = Arc::clone(&last_byte);
            let progress = ProgressListener::new(move |progress| {
                if progress.phase == Phase::Receiving {
                    *noted.lock().unwrap() = Instant::now();
                }
            });
            let transport = HttpTransport::new(HttpOptions::default()).unwrap();
            let options = RemoteOptions { progress, ..RemoteOptions::default() };
            let remote = Remote::open(transport, &self.url, options).await.unwrap();
            let repo = Repo::new(remote, Limits::default());
            let snapshot = repo.snapshot("HEAD").await.unwrap();
            snapshot.prefetch(&PrefetchOptions::default()).await.unwrap();
            let ready = Instant::now();
            let last_byte = *last_byte.lock().unwrap();
            ready.duration_since(last_byte).as_secs_f64() * 1e3
        })
    }
}

struct Cost {
    requests: usize,
    bytes: u64,
}

/// What a process and its children took.
struct Process {
    stdout: Vec<u8>,
    wall_ms: f64,
    user_ms: f64,
    system_ms: f64,
    peak_mib: f64,
}

impl Process {
    /// Runs `command` under GNU time, which is told to append its line to a file.
    fn run(command: &Command) -> Self {
        let report = tempfile::NamedTempFile::new().unwrap();
        let mut timed = Command::new("time");
        timed.args(["-f", "%U %S %M", "-o"]).arg(report.path()).arg(command.get_program());
        timed.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => timed.env(name, value),
                None => timed.env_remove(name),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            timed.current_dir(dir);
        }
        let start = Instant::now();
        let output = timed.output().expect("GNU time is needed to measure");
        let wall_ms = start.elapsed().as_secs_f64() * 1e3;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = std::fs::read_to_string(report.path()).unwrap();
        let figures: Vec<f64> =
            report.split_whitespace().map(|word| word.parse().unwrap()).collect();
        Self {
            stdout: output.stdout,
            wall_ms,
            user_ms: figures[0] * 1e3,
            system_ms: figures[1] * 1e3,
            peak_mib: figures[2] / 1024.0,
        }
    }

    fn cpu_ms(&self) -> f64 {
        self.user_ms + self.system_ms
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
