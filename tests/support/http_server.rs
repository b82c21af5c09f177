//! An HTTP/1.1 server on the loopback over real repositories, by `git http-backend`. It
//! records every request and response, and misbehaves as its [`Behaviour`] says.
//!
//! A thread per connection, keep-alive, bodies by length or in chunks, and responses
//! streamed as git writes them. What is wrong on purpose comes from canned responses, from
//! packets that are changed on their way, and from bytes that are cut, held or delayed.
//! [`InProcess`] is the same server without the socket.

mod answer;
mod behaviour;
mod cgi;
mod gzip;
pub mod in_process;
mod knobs;
pub mod packets;
mod profiles;
mod recorded;
mod wire;

use std::collections::HashMap;
use std::io::{self, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use self::answer::{Answer, answer};
pub use self::behaviour::{Auth, Behaviour, CannedResponse, Hook, Rewrite, When};
pub use self::in_process::InProcess;
pub use self::knobs::Redirect;
pub use self::profiles::Profile;
pub use self::recorded::Recorded;
use self::wire::header;

/// A running server; it stops, and its connections end, on drop.
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Serves the repositories in `root` faithfully.
    pub fn start(root: impl Into<PathBuf>) -> Self {
        Self::start_with(root, Behaviour::default())
    }

    /// Serves the repositories in `root` as `behaviour` says.
    pub fn start_with(root: impl Into<PathBuf>, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            root: root.into(),
            behaviour: Mutex::new(Arc::new(behaviour)),
            requests: Mutex::default(),
            sockets: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let acceptor = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || accept(&listener, &shared))
        };
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// The address of a repository: `http://127.0.0.1:PORT/NAME`.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Behaves like this from the next request on.
    pub fn set_behaviour(&self, behaviour: Behaviour) {
        *lock(&self.shared.behaviour) = Arc::new(behaviour);
    }

    /// Every request so far, in the order they came.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.requests).iter().map(|request| lock(request).clone()).collect()
    }

    /// Forgets the requests so far. Numbers begin at 0 again.
    pub fn forget_requests(&self) {
        lock(&self.shared.requests).clear();
    }

    /// Bytes of all response bodies so far.
    pub fn response_bytes(&self) -> u64 {
        self.requests().iter().map(|request| request.response_bytes).sum()
    }

    /// The ids of all objects sent so far, each as often as it was sent.
    pub fn objects_sent(&self) -> Vec<String> {
        let packs = self.requests().into_iter().filter_map(|request| request.pack());
        packs.flat_map(|pack| super::git::ids_in_pack(&pack)).collect()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the acceptor, which then sees that it should stop.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

struct Shared {
    root: PathBuf,
    behaviour: Mutex<Arc<Behaviour>>,
    requests: Mutex<Vec<Arc<Mutex<Recorded>>>>,
    /// The connections that are open, by number, so that stopping can end them.
    sockets: Mutex<HashMap<usize, TcpStream>>,
    stopping: AtomicBool,
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    thread::scope(|scope| {
        for (number, socket) in listener.incoming().enumerate() {
            if shared.stopping.load(Ordering::SeqCst) {
                break;
            }
            let Ok(socket) = socket else { continue };
            let Ok(copy) = socket.try_clone() else { continue };
            lock(&shared.sockets).insert(number, copy);
            scope.spawn(move || {
                // An error here is a client that went away; what it got is recorded.
                drop(Connection { number, socket: &socket, shared }.serve());
                drop(socket.shutdown(Shutdown::Both));
                lock(&shared.sockets).remove(&number);
            });
        }
        for socket in lock(&shared.sockets).values() {
            drop(socket.shutdown(Shutdown::Both));
        }
    });
}

struct Connection<'a> {
    number: usize,
    socket: &'a TcpStream,
    shared: &'a Shared,
}

impl Connection<'_> {
    /// Answers requests until one of both sides closes.
    fn serve(&self) -> io::Result<()> {
        self.socket.set_nodelay(true)?;
        let mut input = BufReader::new(self.socket);
        while let Some(head) = wire::read_head(&mut input)? {
            if header(&head.headers, "expect").is_some_and(|v| v.contains("100-continue")) {
                (&mut &*self.socket).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            }
            let body = wire::read_body(&mut input, &head)?;
            let behaviour = Arc::clone(&lock(&self.shared.behaviour));
            let wants_close = header(&head.headers, "connection")
                .is_some_and(|value| value.eq_ignore_ascii_case("close"));
            let close = behaviour.close || wants_close || !head.http_1_1;
            let request = Recorded {
                connection: self.number,
                method: head.method,
                path: head.path,
                query: head.query,
                headers: head.headers,
                body,
                ..Recorded::default()
            };
            let request = self.record(request);
            let seen = lock(&request).clone();
            let faulty = behaviour.faults_when.as_ref().is_none_or(|when| when(&seen));
            let faithful = Behaviour::default();
            let mut response = Response {
                connection: self,
                request: &request,
                faults: if faulty { &behaviour } else { &faithful },
                keep_body: !behaviour.forget_bodies,
                chunked: false,
                close,
            };
            response.answer(&seen, &behaviour)?;
            if close {
                return Ok(());
            }
        }
        Ok(())
    }

    fn record(&self, mut request: Recorded) -> Arc<Mutex<Recorded>> {
        let mut requests = lock(&self.shared.requests);
        request.number = requests.len();
        let request = Arc::new(Mutex::new(request));
        requests.push(Arc::clone(&request));
        request
    }

    /// Waits in small steps, as long as the server runs and the client is there.
    fn wait_for_the_client_to_leave(&self) -> io::Result<()> {
        self.socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        while !self.shared.stopping.load(Ordering::SeqCst) {
            match self.socket.peek(&mut [0]) {
                Ok(0) => break,
                Ok(_) => thread::sleep(Duration::from_millis(20)),
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

/// One response under way.
struct Response<'a> {
    connection: &'a Connection<'a>,
    request: &'a Mutex<Recorded>,
    faults: &'a Behaviour,
    keep_body: bool,
    chunked: bool,
    close: bool,
}

impl Response<'_> {
    fn answer(&mut self, seen: &Recorded, behaviour: &Behaviour) -> io::Result<()> {
        thread::sleep(self.faults.delay);
        if self.faults.silent {
            self.connection.wait_for_the_client_to_leave()?;
        }
        let mut cgi = match answer(&self.connection.shared.root, seen, behaviour) {
            Answer::Whole(canned) => return self.send_canned(&canned, &seen.method),
            Answer::Git(cgi) => cgi,
        };
        let mut headers = std::mem::take(&mut cgi.headers);
        let no_body = seen.method == "HEAD";
        self.chunked = !self.close && !no_body;
        if self.chunked {
            headers.push(("Transfer-Encoding".into(), "chunked".into()));
        }
        self.send_head(cgi.status, headers)?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = cgi.read(&mut buffer)?;
            if length == 0 || no_body {
                break;
            }
            self.send_body(&buffer[..length])?;
        }
        self.finish()
    }

    fn send_canned(&mut self, canned: &CannedResponse, method: &str) -> io::Result<()> {
        let mut headers = canned.headers.clone();
        let framed = header(&headers, "content-length").is_some()
            || header(&headers, "transfer-encoding").is_some();
        if !framed {
            headers.push(("Content-Length".into(), canned.body.len().to_string()));
        }
        self.send_head(canned.status, headers)?;
        if method != "HEAD" {
            self.send_body(&canned.body)?;
        }
        self.finish()
    }

    fn send_head(&mut self, status: u16, mut headers: Vec<(String, String)>) -> io::Result<()> {
        if self.close {
            headers.push(("Connection".into(), "close".into()));
        }
        lock(self.request).status = status;
        let mut socket = self.connection.socket;
        wire::write_head(&mut socket, status, &headers)
    }

    /// Sends a piece of the body, up to where a fault says otherwise.
    fn send_body(&mut self, piece: &[u8]) -> io::Result<()> {
        let most = self.faults.max_chunk_bytes.unwrap_or(usize::MAX).max(1);
        for piece in piece.chunks(most) {
            let sent = lock(self.request).response_bytes;
            let end = self.faults.cut_after.into_iter().chain(self.faults.stall_after).min();
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(sent));
            let now = &piece[..piece.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            self.send_piece(now)?;
            if now.len() < piece.len() {
                if self.faults.stall_after == end {
                    self.connection.wait_for_the_client_to_leave()?;
                }
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            thread::sleep(self.faults.chunk_delay);
        }
        Ok(())
    }

    fn send_piece(&mut self, piece: &[u8]) -> io::Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        // Recorded first: a client that has the bytes may look at the record at once.
        {
            let mut request = lock(self.request);
            request.response_bytes += piece.len() as u64;
            if self.keep_body {
                request.response_body.extend_from_slice(piece);
            }
        }
        let mut socket = self.connection.socket;
        if self.chunked {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            socket.write_all(&chunk)
        } else {
            socket.write_all(piece)
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        lock(self.request).complete = true;
        let mut socket = self.connection.socket;
        if self.chunked { socket.write_all(b"0\r\n\r\n") } else { Ok(()) }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A test that panicked while it held a lock has been reported; the others go on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
