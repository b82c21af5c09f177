//! `git http-backend` run as a CGI program: one process a request, its output handed on
//! as it comes.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use super::super::git;
use super::wire::{header, percent_decode};
use super::{Behaviour, Recorded};

/// A running `git http-backend` whose head has been read.
pub struct Cgi {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    child: Child,
    stdout: BufReader<ChildStdout>,
    feeder: Option<JoinHandle<()>>,
}

impl Cgi {
    /// Starts it for `request` over the repositories in `root`, configured and told the
    /// protocol version as `behaviour` says.
    pub fn start(root: &Path, request: &Recorded, behaviour: &Behaviour) -> io::Result<Self> {
        let mut command = Command::new("git");
        git::isolate(&mut command, root);
        for (key, value) in &behaviour.git_config {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", path_info(&request.path))
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("SERVER_PROTOCOL", "HTTP/1.1")
            .env("GATEWAY_INTERFACE", "CGI/1.1");
        let copied = [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("accept-encoding", "HTTP_ACCEPT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ];
        for (name, variable) in copied {
            if let Some(value) = header(&request.headers, name)
                && !(behaviour.version_0_only && name == "git-protocol")
            {
                command.env(variable, value);
            }
        }
        if let Some(version) = behaviour.git_protocol {
            command.env("GIT_PROTOCOL", version);
        }
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;

        // Fed from a thread of its own, so that neither pipe can block the other.
        let feeder = child.stdin.take().map(|mut stdin| {
            let body = request.body.clone();
            std::thread::spawn(move || drop(stdin.write_all(&body)))
        });
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut cgi = Self {
            status: 200,
            headers: Vec::new(),
            child,
            stdout: BufReader::with_capacity(64 << 10, stdout),
            feeder,
        };
        cgi.read_head()?;
        Ok(cgi)
    }

    /// The next bytes of the response's body; none at its end.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stdout.read(buffer)
    }

    /// Appends all that is left of the response's body.
    pub fn read_to_end(&mut self, body: &mut Vec<u8>) -> io::Result<usize> {
        self.stdout.read_to_end(body)
    }

    fn read_head(&mut self) -> io::Result<()> {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(io::Error::other("git http-backend gave no response"));
            }
            let line = line.trim_end();
            if line.is_empty() {
                return Ok(());
            }
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            if name.eq_ignore_ascii_case("status") {
                let digits = value.trim().split(' ').next().unwrap_or_default();
                self.status = digits.parse().map_err(io::Error::other)?;
            } else {
                self.headers.push((name.to_owned(), value.trim().to_owned()));
            }
        }
    }
}

impl Drop for Cgi {
    fn drop(&mut self) {
        // After a whole response this finds a process that has ended; after half of one,
        // because the client went away, it ends what nobody waits for.
        drop(self.child.kill());
        drop(self.child.wait());
        if let Some(feeder) = self.feeder.take() {
            drop(feeder.join());
        }
    }
}

fn path_info(path: &str) -> std::ffi::OsString {
    use std::os::unix::ffi::OsStringExt as _;

    std::ffi::OsString::from_vec(percent_decode(path))
}
