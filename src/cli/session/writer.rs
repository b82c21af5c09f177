//! Standard output: whole lines of JSON, written by one thread in the order they were
//! said, and shown as soon as no other line waits.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde::Serialize;
use tokio::sync::oneshot;

use super::request::Id;
use crate::cli::output::Output;
use crate::error::Error;

/// Where lines go. A clone writes to the same place.
#[derive(Clone)]
pub(super) struct Writer(SyncSender<Vec<u8>>);

/// How writing ended: when nobody can say more, reads any more, or nothing can be written.
pub(super) type Written = oneshot::Receiver<Result<(), Error>>;

/// A line: whose it is and what is said.
#[derive(Clone, Copy, Debug)]
pub(super) enum Word {
    Answer,
    Error,
    Item,
    Progress,
}

impl Writer {
    pub(super) fn start(out: Output) -> (Self, Written) {
        let (sender, lines) = sync_channel(WAITING_LINES);
        let (end, written) = oneshot::channel();
        thread::spawn(move || {
            let result = write(&lines, &out);
            // From now on saying something fails.
            drop(lines);
            // Nobody may wait any more.
            drop(end.send(result));
        });
        (Self(sender), written)
    }

    /// Says `content`, which is JSON, about `id`, waiting for the reader when it is slow.
    /// Whether anybody still reads.
    pub(super) fn say(&self, id: Option<&Id>, word: Word, content: &str) -> bool {
        self.0.send(line(id, word, content)).is_ok()
    }

    /// The same for what is not worth waiting for.
    pub(super) fn mention(&self, id: &Id, word: Word, content: &str) {
        // Nobody misses it.
        drop(self.0.try_send(line(Some(id), word, content)));
    }
}

/// The JSON of what is of the one format, which always has some.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// `{"id": .., "answer": ..}` and the like.
fn line(id: Option<&Id>, word: Word, content: &str) -> Vec<u8> {
    let id = id.map_or("null", Id::json);
    let word = match word {
        Word::Answer => "answer",
        Word::Error => "error",
        Word::Item => "item",
        Word::Progress => "progress",
    };
    [r#"{"id":"#, id, ",\"", word, "\":", content, "}\n"].concat().into_bytes()
}

fn write(lines: &Receiver<Vec<u8>>, out: &Output) -> Result<(), Error> {
    while let Ok(line) = lines.recv() {
        let mut buffer = out.lock();
        buffer.bytes().extend_from_slice(&line);
        while buffer.bytes().len() < GATHERED_BYTES
            && let Ok(line) = lines.try_recv()
        {
            buffer.bytes().extend_from_slice(&line);
        }
        if !buffer.flush()? {
            break;
        }
    }
    Ok(())
}

/// Lines that wait for a reader that is slow. An answer has some MB at most, and whoever
/// says more waits.
const WAITING_LINES: usize = 4;
/// Bytes that are written together when many lines wait.
const GATHERED_BYTES: usize = 64 << 10;
