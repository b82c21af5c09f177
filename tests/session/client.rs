//! A client of a session: writes lines, and sorts what comes back by id.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::git::{Sandbox, isolate};

/// Longer than anything here takes on a machine that does much else.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Session {
    pub(super) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Lines that came while another one was waited for.
    early: Vec<Value>,
    last_id: u64,
}

impl Session {
    pub(super) fn start<S: AsRef<OsStr>>(
        sandbox: &Sandbox,
        words: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut child = command(sandbox, words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.unwrap();
                let value =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, early: Vec::new(), last_id: 0 }
    }

    /// Writes bytes as they are.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(super) fn send(&mut self, request: &Value) {
        self.write(format!("{request}\n").as_bytes());
    }

    /// Sends a request under a new id, which is given.
    pub(super) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// The next line, whosever it is.
    #[track_caller]
    pub(super) fn line(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("nothing is said"),
            Err(RecvTimeoutError::Disconnected) => panic!("the session has ended"),
        }
    }

    /// All lines of `id`, of which the last is an answer or an error.
    #[track_caller]
    pub(super) fn lines_of(&mut self, id: impl Into<Value>) -> Vec<Value> {
        let id = id.into();
        let mine = |line: &Value| line["id"] == id;
        let mut found: Vec<Value> = self.early.iter().filter(|line| mine(line)).cloned().collect();
        self.early.retain(|line| !mine(line));
        while !found.last().is_some_and(is_last) {
            let line = self.line();
            if mine(&line) { found.push(line) } else { self.early.push(line) }
        }
        found
    }

    /// The last line of `id`.
    #[track_caller]
    pub(super) fn end_of(&mut self, id: impl Into<Value>) -> Value {
        self.lines_of(id).pop().unwrap()
    }

    #[track_caller]
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let end = self.end_of(id);
        assert!(end["answer"].is_object(), "{end}");
        end["answer"].clone()
    }

    #[track_caller]
    pub(super) fn fail(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let end = self.end_of(id);
        assert!(end["error"].is_object(), "{end}");
        end["error"].clone()
    }

    /// Ends the input; the lines that are still to come, how it ended and what it said.
    pub(super) fn finish(mut self) -> (Vec<Value>, ExitStatus, String) {
        drop(self.input.take());
        let mut rest = std::mem::take(&mut self.early);
        rest.extend(self.lines.iter());
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (rest, self.child.wait().unwrap(), said)
    }

    /// The same for one that has nothing left to say, and nothing to complain of.
    #[track_caller]
    pub(super) fn finish_quietly(self) {
        let (rest, status, said) = self.finish();
        assert_eq!((rest, status.code(), said), (Vec::new(), Some(0), String::new()));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(super) fn is_last(line: &Value) -> bool {
    line.get("answer").is_some() || line.get("error").is_some()
}

pub(super) fn command<S: AsRef<OsStr>>(
    sandbox: &Sandbox,
    words: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gitsip"));
    isolate(&mut command, sandbox.path());
    command.arg("session").args(words).current_dir(sandbox.path());
    command
}
