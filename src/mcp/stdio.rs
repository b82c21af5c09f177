//! Messages of one client as lines of JSON on standard input and output.
//!
//! The SDK's own transport passes over lines that are no JSON. Here each gets one error, so
//! that whoever wrote it hears of it, and the lines behind it are read as ever.

use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server};
use rmcp::transport::{Transport, stdio_pipes};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::server::Server;
use crate::error::{Error, ErrorKind};
use crate::text::escape_for_people;

/// Serves the client on standard input and output until the input ends, or nobody reads the
/// output any more.
///
/// # Errors
/// `Malformed` when it does not begin as the protocol wants it, and `Io` when the output
/// cannot be written.
pub(super) async fn serve(server: Server) -> Result<(), Error> {
    let (input, output) = stdio_pipes();
    let lines = Lines::new(input, output);
    let failure = Arc::clone(&lines.failure);
    let ended = match serve_server(server, lines).await {
        Ok(running) => {
            // How it ended is the client's affair.
            drop(running.waiting().await);
            Ok(())
        }
        // A client that goes before it has said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => {
            let why = escape_for_people(error.to_string().as_bytes()).to_string();
            Err(Error::new(ErrorKind::Malformed, why).with_source(error))
        }
    };
    match failure.get() {
        // Nobody was told anything, whatever was to be said.
        Some(why) => {
            let why = format!("standard output cannot be written: {why}");
            Err(Error::new(ErrorKind::Io, why))
        }
        None => ended,
    }
}

/// Messages, a line each.
struct Lines<R> {
    input: BufReader<R>,
    /// What has come of the line that is being read.
    line: Vec<u8>,
    /// Whether that line has no room, and is passed over.
    is_too_long: bool,
    /// The error for the line before, until it is on its way.
    refusal: Option<Vec<u8>>,
    output: Option<mpsc::Sender<Vec<u8>>>,
    writer: Option<JoinHandle<()>>,
    /// Why nothing more can be written, where it is not that nobody reads.
    failure: Arc<OnceLock<io::Error>>,
}

impl<R: AsyncRead + Send + Unpin> Lines<R> {
    fn new<W: AsyncWrite + Send + Unpin + 'static>(input: R, output: W) -> Self {
        let (sender, lines) = mpsc::channel(WAITING_LINES);
        let failure = Arc::new(OnceLock::new());
        let writer = tokio::spawn(write(output, lines, Arc::clone(&failure)));
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            is_too_long: false,
            refusal: None,
            output: Some(sender),
            writer: Some(writer),
            failure,
        }
    }

    /// The next line is whole in `self.line`, or too long; `false` at the end. Dropping the
    /// future loses nothing.
    async fn read_line(&mut self) -> bool {
        loop {
            // Whatever is wrong with the input, there is no more of it.
            let Ok(bytes) = self.input.fill_buf().await else { return false };
            if bytes.is_empty() {
                return false;
            }
            let end = memchr::memchr(b'\n', bytes);
            let taken = end.map_or(bytes.len(), |at| at + 1);
            self.is_too_long |= self.line.len().saturating_add(taken) > MAX_LINE_BYTES;
            if !self.is_too_long {
                self.line.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            }
            self.input.consume(taken);
            if end.is_some() {
                return true;
            }
        }
    }

    /// The message on the line that was read, if there is one.
    fn take_message(&mut self) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Refusal> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let why = format!("a message has at most {MAX_LINE_BYTES} bytes");
            return Err(Refusal { id: None, error: ErrorData::invalid_request(why, None) });
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(line).map(Some).map_err(|_| Refusal::of(line))
    }
}

/// The error for what is no message.
struct Refusal {
    id: Option<RequestId>,
    error: ErrorData,
}

impl Refusal {
    fn of(line: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(line) {
            Ok(value) => {
                let id = value.get("id").cloned();
                let id = id.and_then(|id| serde_json::from_value(id).ok());
                let why =
                    "this is no message of the protocol: look at jsonrpc, id, method and params";
                Self { id, error: ErrorData::invalid_request(why, None) }
            }
            Err(error) => {
                let why = format!("this is no JSON: {error}");
                Self { id: None, error: ErrorData::parse_error(why, None) }
            }
        }
    }

    fn line(self) -> Vec<u8> {
        let message: TxJsonRpcMessage<RoleServer> = JsonRpcMessage::error(self.error, self.id);
        line_of(&message).unwrap_or_default()
    }
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let line = line_of(&message)?;
            let output = output.ok_or(io::ErrorKind::NotConnected)?;
            output.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.refusal.is_some() {
                let room = self.output.as_ref()?.reserve().await.ok()?;
                room.send(self.refusal.take().unwrap_or_default());
            }
            let output = self.output.clone()?;
            let has_line = tokio::select! {
                has_line = self.read_line() => has_line,
                // There is no point in asking who cannot be answered.
                () = output.closed() => false,
            };
            if !has_line {
                return None;
            }
            match self.take_message() {
                Ok(None) => {}
                Ok(message) => return message,
                Err(refusal) => self.refusal = Some(refusal.line()),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output = None;
        if let Some(writer) = self.writer.take() {
            drop(writer.await);
        }
        Ok(())
    }
}

fn line_of(message: &TxJsonRpcMessage<RoleServer>) -> Result<Vec<u8>, io::Error> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Writes whole lines, one after the other, until nobody can send more or reads them.
async fn write<W: AsyncWrite + Unpin>(
    mut output: W,
    mut lines: mpsc::Receiver<Vec<u8>>,
    failure: Arc<OnceLock<io::Error>>,
) {
    while let Some(line) = lines.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            if error.kind() != io::ErrorKind::BrokenPipe {
                // Set once, here.
                drop(failure.set(error));
            }
            return;
        }
    }
}

/// Bytes of a message: a question has a few hundred, and one with 1,000 patterns some
/// hundred thousand.
const MAX_LINE_BYTES: usize = 4 << 20;
/// Lines that wait for a client that does not read; whoever writes more waits too.
const WAITING_LINES: usize = 16;
