//! `gitsip serve` as a process, and bare requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::support::git::{Git, Sandbox, isolate};

/// A running server; it is killed on drop.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves the repositories of `sandbox`.
    pub(crate) fn start(sandbox: &Sandbox, options: &[&str]) -> Self {
        Self::of(sandbox, &sandbox.repos(), options)
    }

    /// Serves `root`.
    pub(crate) fn of(sandbox: &Sandbox, root: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
        isolate(&mut command, &sandbox.path().join("home"));
        command.arg("serve").arg(root).args(["--addr", "127.0.0.1:0", "--log-format", "json"]);
        command.args(options).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("gitsip: serving http://").unwrap_or_else(|| {
            panic!("{line}");
        });
        let address = address.trim_end_matches('/').parse().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kept = Arc::clone(&log);
        thread::spawn(move || lines.for_each(|line| kept.lock().unwrap().push(line.unwrap())));
        Self { child, address, log }
    }

    /// The address of a repository.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// What was logged so far.
    pub(crate) fn log(&self) -> Vec<Value> {
        let log = self.log.lock().unwrap();
        log.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The first line of the log that `is` the one, which comes within 10 seconds.
    #[track_caller]
    pub(crate) fn logged(&self, is: impl Fn(&Value) -> bool) -> Value {
        let found = within(Duration::from_secs(10), || self.log().into_iter().find(|it| is(it)));
        found.unwrap_or_else(|| panic!("{:?}", self.log()))
    }

    /// A connection that gives up after 20 seconds without a byte.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// The answer to a request that is sent as it is, whose connection closes after it.
    #[track_caller]
    pub(crate) fn ask(&self, request: impl AsRef<[u8]>) -> Response {
        let mut stream = self.connect();
        // A server that has heard enough may close before it has read all.
        _ = stream.write_all(request.as_ref());
        let mut answer = Vec::new();
        _ = stream.read_to_end(&mut answer);
        Response::parse(&answer)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str, headers: &[&str]) -> Response {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let host = "Host: localhost\r\nConnection: close";
        self.ask(format!("GET {path} HTTP/1.1\r\n{host}\r\n{headers}\r\n"))
    }

    /// A request to upload-pack in version 2.
    #[track_caller]
    pub(crate) fn post(&self, repo: &str, body: &[u8], headers: &[&str]) -> Response {
        let mut request = format!(
            "POST /{repo}/git-upload-pack HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Git-Protocol: version=2\r\nContent-Length: {}\r\n",
            body.len()
        );
        for header in headers {
            request.push_str(&format!("{header}\r\n"));
        }
        if !headers.iter().any(|header| header.starts_with("Content-Type")) {
            request.push_str("Content-Type: application/x-git-upload-pack-request\r\n");
        }
        self.ask([request.as_bytes(), b"\r\n", body].concat())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// An answer over HTTP, taken apart.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The body came to its own end.
    pub(crate) is_whole: bool,
}

impl Response {
    #[track_caller]
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let rest = &bytes[end + 4..];
        let (body, is_whole) = match head.contains("transfer-encoding: chunked") {
            true => unchunk(rest),
            false => (rest.to_vec(), true),
        };
        Self { status, head, body, is_whole }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(at) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&rest[..at]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let chunk = &rest[at + 2..];
        body.extend_from_slice(&chunk[..size.min(chunk.len())]);
        rest = chunk.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

/// What `look` finds within `time`.
pub(crate) fn within<T>(time: Duration, look: impl Fn() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match look() {
            Some(found) => return Some(found),
            None if begun.elapsed() > time => return None,
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// `git clone` of `url` with `options`, in protocol `version`.
#[track_caller]
pub(crate) fn clone(sandbox: &Sandbox, version: u8, options: &[&str], url: &str, to: &Path) -> Git {
    let mut command = sandbox.git().command();
    command.arg("-c").arg(format!("protocol.version={version}"));
    command.args(["clone", "--quiet", "--bare"]).args(options).arg(url).arg(to);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Git::new(to, sandbox.path().join("home"))
}

/// Packets with `lines` in them; `0000` and `0001` are themselves.
pub(crate) fn packets(lines: &[&str]) -> Vec<u8> {
    let packet = |line: &&str| match *line {
        "0000" | "0001" => line.as_bytes().to_vec(),
        line => format!("{:04x}{line}", 4 + line.len()).into_bytes(),
    };
    lines.iter().flat_map(packet).collect()
}
