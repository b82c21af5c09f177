//! What was asked of a host, request by request, and what all of it took.
//!
//! A journal is for people and programs that wonder where time and bytes went. It keeps
//! numbers, kinds and ids only: no address, header or body, so no credential can show
//! through it. Time comes in as an argument.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::object::Kind;
use crate::oid::ObjectId;
use crate::text::amounts::{Bytes, Count, Time};

/// Requests that a journal remembers, the newest ones: some 10 KB. A command makes fewer
/// than ten; a session of days is told of its last minutes. Totals count all.
pub const MAX_EXCHANGES: usize = 100;

/// Digits of an id in words for people.
const SHORT_HEX: usize = 7;

/// What kind of thing a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestKind {
    /// Files by id.
    Blobs,
    /// What the host is and can do. A host of protocol v0 or v1 adds its refs.
    #[default]
    Capabilities,
    /// Commits or tags with all trees and no files.
    Commits,
    /// Commits with their history.
    History,
    /// Refs.
    Refs,
    /// Commits with trees and files, perhaps only files up to a size.
    Snapshot,
    /// Sizes of files by id.
    Sizes,
    /// Trees by id.
    Trees,
}

impl RequestKind {
    /// The kind of a request for objects of `kind` by id; what may be a commit is one.
    pub fn of(kind: Option<Kind>) -> Self {
        match kind {
            Some(Kind::Blob) => Self::Blobs,
            Some(Kind::Tree) => Self::Trees,
            Some(Kind::Commit | Kind::Tag) | None => Self::Commits,
        }
    }

    /// Whether objects inside of commits are asked for by id.
    pub const fn is_by_id(self) -> bool {
        matches!(self, Self::Blobs | Self::Trees)
    }

    /// A stable lower-case word for machines.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Blobs => "blobs",
            Self::Capabilities => "capabilities",
            Self::Commits => "commits",
            Self::History => "history",
            Self::Refs => "refs",
            Self::Snapshot => "snapshot",
            Self::Sizes => "sizes",
            Self::Trees => "trees",
        }
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Purpose {
    /// Of which kind.
    pub kind: RequestKind,
    /// How many objects are asked for by id.
    pub objects: u64,
    /// The first of them.
    pub first: Option<ObjectId>,
}

impl Purpose {
    /// Something that has no ids.
    pub const fn of(kind: RequestKind) -> Self {
        Self { kind, objects: 0, first: None }
    }

    /// The objects `ids`.
    pub fn objects(kind: RequestKind, ids: &[ObjectId]) -> Self {
        Self { kind, objects: ids.len() as u64, first: ids.first().copied() }
    }
}

impl fmt::Display for Purpose {
    /// In words: `12 trees`, `commit 3f2a91c and its trees`, `refs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, many, with) = match self.kind {
            RequestKind::Capabilities => return f.write_str("what the host can do"),
            RequestKind::Refs => return f.write_str("refs"),
            RequestKind::Sizes => {
                return write!(f, "{}", Count(self.objects, "size"));
            }
            RequestKind::Blobs => ("file", "files", ""),
            RequestKind::Commits => ("commit", "commits", "its trees"),
            RequestKind::History => ("commit", "commits", "its history"),
            RequestKind::Snapshot => ("commit", "commits", "its trees and files"),
            RequestKind::Trees => ("tree", "trees", ""),
        };
        match (self.objects, self.first) {
            (1, Some(id)) => {
                write!(f, "{one} {:.SHORT_HEX$}", id.to_string())?;
                if with.is_empty() { Ok(()) } else { write!(f, " and {with}") }
            }
            (count, _) => {
                write!(f, "{count} {many}")?;
                if with.is_empty() {
                    Ok(())
                } else {
                    write!(f, " and {}", with.replacen("its", "their", 1))
                }
            }
        }
    }
}

/// One request, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What it asks for.
    pub purpose: Purpose,
    /// The HTTP status; `None` as long as there is none.
    pub status: Option<u16>,
    /// Bytes of body taken.
    pub bytes: u64,
    /// From sending it to the end of its answer, or until now.
    pub took: Duration,
    /// The [code](crate::Error::code) of the error that it ended with.
    pub error: Option<&'static str>,
    /// Whether it has ended, in whichever way.
    pub is_over: bool,
}

impl fmt::Display for Exchange {
    /// In words: `asked for 12 trees: 200, 34 kB in 80 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asked for {}: ", self.purpose)?;
        match self.status {
            Some(status) => write!(f, "{status}")?,
            None => f.write_str("no answer")?,
        }
        write!(f, ", {} in {}", Bytes(self.bytes), Time(self.took))?;
        match self.error {
            Some(error) => write!(f, " ({error})"),
            None => Ok(()),
        }
    }
}

/// All requests of a repository. A clone is the same journal.
///
/// Bytes are counted as they are taken, so a transfer that failed or was cancelled is in
/// the count as far as it came.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    bytes_received: AtomicU64,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    /// Requests begun so far; the next one has this number.
    begun: u64,
    retries: u64,
    newest: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    exchange: Exchange,
    began: Duration,
    received: Received,
    /// What earlier requests of the same purpose had received.
    received_before: u64,
}

impl Journal {
    /// Requests sent so far.
    pub fn requests(&self) -> u64 {
        self.log().begun
    }

    /// How many of them repeat one that was cut, or refused for the time being.
    pub fn retries(&self) -> u64 {
        self.log().retries
    }

    /// Bytes of response bodies taken so far.
    pub fn bytes_received(&self) -> u64 {
        self.0.bytes_received.load(Ordering::Relaxed)
    }

    /// The newest [`MAX_EXCHANGES`] requests, the oldest of them first, as they are `now`
    /// on the transport's clock.
    pub fn newest(&self, now: Duration) -> Vec<Exchange> {
        self.log().newest.iter().map(|entry| entry.at(now)).collect()
    }

    /// Notes a request that is about to be sent; its number.
    pub(crate) fn begin(&self, purpose: Purpose, received: &Received, now: Duration) -> u64 {
        let mut log = self.log();
        let number = log.begun;
        log.begun += 1;
        if log.newest.len() == MAX_EXCHANGES {
            log.newest.pop_front();
        }
        let (status, error, is_over) = (None, None, false);
        let exchange = Exchange { purpose, status, bytes: 0, took: Duration::ZERO, error, is_over };
        let received_before = received.bytes();
        let received = received.clone();
        log.newest.push_back(Entry { exchange, began: now, received, received_before });
        number
    }

    /// Notes the status of request `number`.
    pub(crate) fn answered(&self, number: u64, status: u16) {
        if let Some(entry) = self.log().entry(number) {
            entry.exchange.status = Some(status);
        }
    }

    /// Notes that request `number` has ended, with the code of its error; how it went,
    /// unless it is forgotten already.
    pub(crate) fn end(
        &self,
        number: u64,
        error: Option<&'static str>,
        now: Duration,
    ) -> Option<Exchange> {
        let mut log = self.log();
        let entry = log.entry(number)?;
        entry.exchange = Exchange { error, is_over: true, ..entry.at(now) };
        Some(entry.exchange.clone())
    }

    pub(crate) fn count_retry(&self) {
        self.log().retries += 1;
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let oldest = self.begun.saturating_sub(self.newest.len() as u64);
        let at = usize::try_from(number.checked_sub(oldest)?).ok()?;
        self.newest.get_mut(at)
    }
}

impl Entry {
    fn at(&self, now: Duration) -> Exchange {
        if self.exchange.is_over {
            return self.exchange.clone();
        }
        Exchange {
            bytes: self.received.bytes().saturating_sub(self.received_before),
            took: now.saturating_sub(self.began),
            ..self.exchange.clone()
        }
    }
}

/// Bytes taken of all answers to one question. A clone is the same count.
#[derive(Clone, Debug, Default)]
pub struct Received(Arc<AtomicU64>);

impl Received {
    /// So far.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts `bytes` here and in `journal`.
    pub(crate) fn count(&self, bytes: u64, journal: &Journal) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        journal.0.bytes_received.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::oid::ObjectFormat;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_request_is_told_while_it_is_under_way_and_after() {
        let (journal, received) = (Journal::default(), Received::default());
        let refs = Purpose::of(RequestKind::Refs);
        let first = journal.begin(refs, &received, millis(100));
        received.count(10, &journal);
        assert_eq!(
            journal.newest(millis(130))[0].to_string(),
            "asked for refs: no answer, 10 B in 30 ms"
        );
        journal.answered(first, 429);
        let ended = journal.end(first, None, millis(180)).unwrap();
        assert_eq!(ended.to_string(), "asked for refs: 429, 10 B in 80 ms");

        // Sent again: its bytes are its own.
        let second = journal.begin(refs, &received, millis(200));
        received.count(34_000, &journal);
        journal.answered(second, 200);
        journal.end(second, Some("corrupt"), millis(250)).unwrap();
        let told: Vec<_> = journal.newest(millis(900)).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["asked for refs: 429, 10 B in 80 ms", "asked for refs: 200, 34 kB in 50 ms (corrupt)"]
        );
        assert_eq!((journal.requests(), journal.bytes_received()), (2, 34_010));
    }

    #[test]
    fn only_the_newest_are_kept_and_all_are_counted() {
        let (journal, received) = (Journal::default(), Received::default());
        for number in 0..MAX_EXCHANGES as u64 + 5 {
            let purpose = Purpose { objects: number, ..Purpose::of(RequestKind::Blobs) };
            assert_eq!(journal.begin(purpose, &received, millis(0)), number);
        }
        assert_eq!(journal.end(4, None, millis(1)), None, "forgotten");
        assert_eq!(journal.end(5, None, millis(1)).unwrap().purpose.objects, 5);
        assert_eq!(journal.end(9_999, None, millis(1)), None, "never begun");
        let newest = journal.newest(millis(2));
        assert_eq!((newest.len(), newest[0].purpose.objects), (MAX_EXCHANGES, 5));
        assert_eq!(journal.requests(), MAX_EXCHANGES as u64 + 5);
    }

    #[test]
    fn purposes_are_told_in_words() {
        let id = ObjectFormat::Sha1.empty_tree();
        for (kind, one, many) in [
            (RequestKind::Blobs, "file 4b825dc", "2 files"),
            (RequestKind::Capabilities, "what the host can do", "what the host can do"),
            (RequestKind::Commits, "commit 4b825dc and its trees", "2 commits and their trees"),
            (RequestKind::History, "commit 4b825dc and its history", "2 commits and their history"),
            (RequestKind::Refs, "refs", "refs"),
            (
                RequestKind::Snapshot,
                "commit 4b825dc and its trees and files",
                "2 commits and their trees and files",
            ),
            (RequestKind::Sizes, "1 size", "2 sizes"),
            (RequestKind::Trees, "tree 4b825dc", "2 trees"),
        ] {
            assert_eq!(Purpose::objects(kind, &[id]).to_string(), one);
            assert_eq!(Purpose::objects(kind, &[id, id]).to_string(), many);
        }
    }
}
