//! Standard output: data only, in large writes, and quiet once nobody reads it any more.
//!
//! It is shared between the task that answers and whoever ends that task early, so that
//! what was found before a deadline is still printed, up to a whole line.

use std::io::{self, IsTerminal as _, Write};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::quote::push_quoted;
use super::screen;
use crate::error::{Error, ErrorKind};

/// Buffered standard output. A clone is the same one.
#[derive(Clone)]
pub(super) struct Output(Arc<Mutex<Buffer>>);

/// The buffer, locked for one or more whole lines.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    to: Box<dyn Write + Send>,
    /// A person is watching: lines are shown when they are found.
    live: bool,
    /// The reader has gone away.
    closed: bool,
}

impl Output {
    /// The process's standard output.
    pub(super) fn stdout() -> Self {
        let stdout = io::stdout();
        let live = stdout.is_terminal();
        Self::new(Box::new(stdout), live)
    }

    pub(super) fn new(to: Box<dyn Write + Send>, live: bool) -> Self {
        let bytes = Vec::with_capacity(FLUSH_BYTES + FLUSH_BYTES / 4);
        Self(Arc::new(Mutex::new(Buffer { bytes, to, live, closed: false })))
    }

    /// Writes what is there and takes nothing more: for whoever ends a command early. A
    /// write that hangs because nobody reads is not waited for.
    pub(super) fn finish_early(&self) {
        let output = self.clone();
        let (finished, end) = channel();
        std::thread::spawn(move || {
            let mut buffer = output.lock();
            // The command has an error to report already.
            drop(buffer.flush());
            buffer.closed = true;
            // Nobody may wait any more.
            let _ = finished.send(());
        });
        let _ = end.recv_timeout(FINISH_WITHIN);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Buffer {
    /// Where lines are appended; [`settle`](Self::settle) follows.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Writes what was appended when there is enough of it, or when a person is watching.
    /// Whether anybody still reads.
    pub(super) fn settle(&mut self) -> Result<bool, Error> {
        if self.live || self.bytes.len() >= FLUSH_BYTES { self.flush() } else { Ok(!self.closed) }
    }

    /// Writes all that was appended, in pieces of whole lines that a pipe takes whole or
    /// not at all, so that no half line is left when the process is ended in between.
    /// Whether anybody still reads.
    pub(super) fn flush(&mut self) -> Result<bool, Error> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = &bytes[..];
        let mut written = Ok(!self.closed);
        while let (Ok(true), false) = (&written, rest.is_empty()) {
            let (piece, after) = rest.split_at(whole_lines(rest));
            written = self.write(piece);
            rest = after;
        }
        self.bytes = bytes;
        self.bytes.clear();
        written
    }

    /// Writes `content`, after what was appended before. Whether anybody still reads.
    pub(super) fn write_through(&mut self, content: &[u8]) -> Result<bool, Error> {
        Ok(self.flush()? && self.write(content)?)
    }

    fn write(&mut self, content: &[u8]) -> Result<bool, Error> {
        if self.closed {
            return Ok(false);
        }
        let to = &mut self.to;
        let mut write = || to.write_all(content).and_then(|()| to.flush());
        match if self.live { screen::undisturbed(write) } else { write() } {
            Ok(()) => Ok(true),
            Err(error) => {
                // Nothing more is tried, whatever the reason.
                self.closed = true;
                match error.kind() {
                    io::ErrorKind::BrokenPipe => Ok(false),
                    _ => Err(unwritable(error)),
                }
            }
        }
    }
}

/// Bytes of the next piece of `text`: as many whole lines as a pipe takes at once, or one
/// line that is longer.
fn whole_lines(text: &[u8]) -> usize {
    let end = |at| at + 1;
    let fits = &text[..text.len().min(ATOMIC_BYTES)];
    let last = memchr::memrchr(b'\n', fits).or_else(|| memchr::memchr(b'\n', text));
    last.map_or(text.len(), end)
}

/// What is said of a standard output that cannot be written.
pub(super) fn unwritable(error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("standard output cannot be written: {error}"))
        .with_source(error)
}

/// Appends `text`.
pub(super) fn push_fmt(bytes: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    drop(bytes.write_fmt(text));
}

/// How names of files are shown, and what ends or separates them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Quoted as git does, one a line.
    Quoted,
    /// As they are, with a NUL after each.
    Raw,
}

impl Names {
    pub(super) fn from_null_flag(null: bool) -> Self {
        if null { Self::Raw } else { Self::Quoted }
    }

    /// Appends `path` alone.
    pub(super) fn push(self, out: &mut Vec<u8>, path: &[u8]) {
        match self {
            Self::Quoted => push_quoted(out, path),
            Self::Raw => out.extend_from_slice(path),
        }
    }

    /// What ends a name that nothing follows.
    pub(super) fn end(self) -> u8 {
        match self {
            Self::Quoted => b'\n',
            Self::Raw => 0,
        }
    }

    /// What stands between a name, a number and a text: `visible`, or a NUL.
    pub(super) fn separator(self, visible: u8) -> u8 {
        match self {
            Self::Quoted => visible,
            Self::Raw => 0,
        }
    }
}

/// How much is gathered before it is written: a pipe's capacity on Linux.
const FLUSH_BYTES: usize = 64 << 10;
/// What a pipe takes whole or not at all: `PIPE_BUF` on Linux, and never below 512.
const ATOMIC_BYTES: usize = 4 << 10;
/// How long [`Output::finish_early`] waits for a reader.
const FINISH_WITHIN: Duration = Duration::from_millis(30);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Takes `room` bytes and then fails with `then`.
    struct Narrow {
        room: usize,
        then: io::ErrorKind,
        taken: Arc<Mutex<Vec<u8>>>,
        writes: Arc<Mutex<u32>>,
    }

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            *self.writes.lock().unwrap() += 1;
            let mut taken = self.taken.lock().unwrap();
            let fits = bytes.len().min(self.room - taken.len());
            if fits == 0 {
                return Err(self.then.into());
            }
            taken.extend_from_slice(&bytes[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    type Shared<T> = Arc<Mutex<T>>;

    fn narrow(
        room: usize,
        then: io::ErrorKind,
        live: bool,
    ) -> (Output, Shared<Vec<u8>>, Shared<u32>) {
        let (taken, writes) = (Shared::<Vec<u8>>::default(), Shared::<u32>::default());
        let to = Narrow { room, then, taken: Arc::clone(&taken), writes: Arc::clone(&writes) };
        (Output::new(Box::new(to), live), taken, writes)
    }

    fn line(output: &Output, text: &[u8]) -> Result<bool, Error> {
        let mut buffer = output.lock();
        buffer.bytes().extend_from_slice(text);
        buffer.settle()
    }

    #[test]
    fn many_lines_are_few_writes() {
        let (output, taken, writes) = narrow(usize::MAX, io::ErrorKind::Other, false);
        for _ in 0..100_000 {
            assert!(line(&output, b"path:1:text\n").unwrap());
        }
        assert!(output.lock().flush().unwrap());
        assert_eq!(taken.lock().unwrap().len(), 1_200_000);
        let fit = ATOMIC_BYTES / 12 * 12;
        assert!(*writes.lock().unwrap() <= 1_200_000_usize.div_ceil(fit) as u32 + 20);
    }

    #[test]
    fn a_person_sees_each_line_at_once() {
        let (output, taken, _) = narrow(usize::MAX, io::ErrorKind::Other, true);
        line(&output, b"a\n").unwrap();
        assert_eq!(taken.lock().unwrap().as_slice(), b"a\n");
    }

    #[test]
    fn a_closed_pipe_ends_it_quietly() {
        let (output, _, writes) = narrow(10, io::ErrorKind::BrokenPipe, false);
        assert!(!output.lock().write_through(&[b'x'; 11]).unwrap());
        let before = *writes.lock().unwrap();
        assert!(!line(&output, b"more\n").unwrap());
        assert!(!output.lock().flush().unwrap());
        assert_eq!(*writes.lock().unwrap(), before, "nothing is tried again");
    }

    #[test]
    fn a_full_disk_is_said_once() {
        let (output, _, _) = narrow(10, io::ErrorKind::StorageFull, false);
        let error = output.lock().write_through(&[b'x'; 11]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().starts_with("io: standard output"), "{error}");
        assert!(!output.lock().flush().unwrap());
    }

    #[test]
    fn pieces_are_whole_lines_that_a_pipe_takes_at_once() {
        let long = [&b"short\n"[..], &[b'x'; ATOMIC_BYTES], b"\nend\n"].concat();
        for (text, bytes) in [
            (&b"a\nb\n"[..], 4),
            (b"no end", 6),
            (b"a\nno end", 2),
            (&long, 6),
            (&long[6..], ATOMIC_BYTES + 1),
            (&[b'x'; 2 * ATOMIC_BYTES], 2 * ATOMIC_BYTES),
            (&b"1234567\n".repeat(ATOMIC_BYTES / 4), ATOMIC_BYTES),
            (&b"123456\n".repeat(ATOMIC_BYTES / 4), ATOMIC_BYTES / 7 * 7),
        ] {
            assert_eq!(whole_lines(text), bytes, "{} bytes", text.len());
        }
    }

    #[test]
    fn large_content_keeps_its_place() {
        let (output, taken, _) = narrow(usize::MAX, io::ErrorKind::Other, false);
        line(&output, b"first\n").unwrap();
        output.lock().write_through(b"second\n").unwrap();
        line(&output, b"third\n").unwrap();
        output.lock().flush().unwrap();
        assert_eq!(taken.lock().unwrap().as_slice(), b"first\nsecond\nthird\n");
    }
}
