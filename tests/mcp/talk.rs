//! A conversation without the SDK: lines as they are.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::client::command;
use super::support::git::Sandbox;

/// A conversation without the SDK.
pub(crate) struct Talk {
    server: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Talk {
    /// Nothing is said yet.
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        let mut server =
            command(sandbox, &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = server.stdin.take();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        Self { server, input, lines }
    }

    /// The handshake is done.
    pub(crate) fn begin(sandbox: &Sandbox) -> Self {
        let mut talk = Self::start(sandbox);
        talk.say(&Self::first());
        assert_eq!(talk.hear()["id"], 1);
        talk.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        talk
    }

    /// What a client says first.
    pub(crate) fn first() -> Value {
        let parameters = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters})
    }

    pub(crate) fn say(&mut self, message: &Value) {
        self.say_line(&message.to_string());
    }

    pub(crate) fn say_line(&mut self, line: &str) {
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
    }

    /// Ends the input; whether the server then ended well.
    pub(crate) fn end(mut self) -> bool {
        self.input = None;
        self.server.wait().unwrap().success()
    }

    pub(crate) fn hear(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
    }
}
