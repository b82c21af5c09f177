//! Ingest: a pack goes in as chunks, its objects come out in a store.
//!
//! [`Ingest`] drives the parser, hashes what arrives, and resolves a delta at once when its
//! base's bytes are at hand. The others wait: `waiting` resolves them, when many have come
//! and in [`finish`](Ingest::finish). [`EntryStore`] is the seam to whoever keeps the
//! objects; `lean` is what leaves blobs out. Nothing here decides what becomes visible: a store
//! commits when `finish` gives it back, and is dropped when there was an error.

mod lean;
mod outcome;
mod pace;
mod seam;
mod waiting;

use std::sync::{Mutex, OnceLock, PoisonError};

use super::PackError;
use super::buffers::Buffer;
use super::entry::{EntryForm, EntryHeader};
use super::hash::Namer;
use super::inflate::deflate;
use super::rules::{Rules, Standing};
use super::stream::{Event, PackParser};
use super::tree::{Base, DeltaTree};
use crate::limits::{Budget, Interrupt, Limits, Workers};
use crate::object::Kind;
use crate::oid::{Hasher, ObjectFormat, ObjectId};

pub use self::lean::KeepBlobs;
use self::lean::Lean;
pub use self::outcome::{IngestStats, Progress, Resolved};
pub(super) use self::pace::Pace;
pub use self::seam::{BaseLink, EntryStore, ResolvedEntry, Streams};
use self::waiting::Backlog;
pub use self::waiting::EARLY_ROUND_BYTES;

/// Takes one pack in, chunk by chunk.
///
/// An error is final: every further call gives it again, and the store is dropped with
/// the ingest. Memory for tables, for the entry under way and for the objects being
/// resolved is spent from the budget; what the store keeps is the store's to spend.
///
/// ```
/// use gitsip::limits::NeverInterrupt;
/// use gitsip::object::Kind;
/// use gitsip::pack::{Ingest, write::PackWriter};
/// use gitsip::store::{MemoryStore, Objects, Staging};
/// use gitsip::{Budget, Limits, ObjectFormat};
///
/// let mut writer = PackWriter::new(ObjectFormat::Sha1, 1);
/// writer.whole(Kind::Blob, b"hello\n");
/// let pack = writer.finish()?;
///
/// let (limits, budget) = (Limits::default(), Budget::new(64 << 20));
/// let store = MemoryStore::new(ObjectFormat::Sha1, &budget, &limits);
/// let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, store.stage());
/// for chunk in pack.chunks(7) {
///     ingest.push(chunk, &NeverInterrupt)?;
/// }
/// let (staging, stats) = ingest.finish(&NeverInterrupt)?;
/// staging.commit()?;
/// assert_eq!(stats.objects, 1);
/// assert!(store.contains(&"ce013625030ba8dba906f756967f9e9ca394464a".parse()?)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ingest<S> {
    parser: PackParser,
    tree: DeltaTree,
    store: S,
    namer: Namer,
    rules: Rules,
    budget: Budget,
    /// Set when blobs are left out.
    lean: Option<Lean>,
    /// Set when deltas are resolved that wait while others arrive.
    backlog: Option<Backlog>,
    under_way: Option<UnderWay>,
    /// Where a delta is applied on arrival.
    result: Buffer,
    stats: IngestStats,
    pace: Pace,
    failed: Option<PackError>,
}

/// The entry whose stream arrives.
#[derive(Clone, Copy)]
struct UnderWay {
    header: EntryHeader,
    base: Base,
    /// Nobody will look at its content.
    skipped: bool,
}

impl<S: EntryStore> Ingest<S> {
    /// An ingest of a pack whose ids are of `format`, into `store`.
    pub fn new(format: ObjectFormat, limits: &Limits, budget: &Budget, store: S) -> Self {
        Self {
            parser: PackParser::new(format, limits, budget),
            tree: DeltaTree::new(format, budget),
            store,
            namer: Namer::new(format),
            rules: Rules::new(limits),
            budget: budget.clone(),
            lean: None,
            backlog: None,
            under_way: None,
            result: Buffer::new(budget),
            stats: IngestStats::default(),
            pace: Pace::default(),
            failed: None,
        }
    }

    /// The same, of whose blobs only some are kept. To be called before the first push.
    #[must_use]
    pub fn keeping(mut self, blobs: KeepBlobs) -> Self {
        self.lean = Lean::new(blobs, &self.budget);
        self
    }

    /// Takes the next bytes of the pack.
    pub fn push(
        &mut self,
        chunk: &[u8],
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<(), PackError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let result = self.take(chunk, interrupt);
        self.failed = result.err();
        result
    }

    /// Takes a pack that is all there, as the first and only call: its checksum is
    /// computed beside it where `workers` has a second thread.
    pub fn push_whole(
        &mut self,
        pack: &[u8],
        workers: &dyn Workers,
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<(), PackError> {
        let body = pack.len().checked_sub(self.namer.format().raw_len());
        let Some(body) = body.and_then(|len| pack.get(..len)) else {
            return self.push(pack, interrupt);
        };
        if workers.threads() <= 1 {
            return self.push(pack, interrupt);
        }
        let format = self.namer.format();
        self.parser.leave_checksum();
        let (ingest, checksum) = (Mutex::new((&mut *self, Ok(()))), OnceLock::new());
        workers.run(2, &|part| match part {
            0 => {
                let mut ingest = ingest.lock().unwrap_or_else(PoisonError::into_inner);
                ingest.1 = ingest.0.push(pack, interrupt);
            }
            _ => {
                let mut hasher = Hasher::new(format);
                hasher.update(body);
                let _ = checksum.set(hasher.finish());
            }
        });
        let (_, pushed) = ingest.into_inner().unwrap_or_else(PoisonError::into_inner);
        pushed?;
        let checked = match (self.parser.finish(), checksum.into_inner()) {
            // It is cut off, as `finish` will say.
            (Err(_), _) | (_, None) => Ok(()),
            (Ok(expected), Some(Ok(actual))) if expected == actual => Ok(()),
            (Ok(expected), Some(Ok(actual))) => Err(PackError::Trailer { expected, actual }),
            (Ok(_), Some(Err(collision))) => {
                Err(PackError::Collision { offset: body.len() as u64, collision })
            }
        };
        self.failed = checked.err();
        checked
    }

    /// The store, as far as it is filled.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        Progress {
            objects: u64::from(self.parser.completed()),
            total_objects: self.parser.objects().map(u64::from),
            deltas_resolved: self.stats.deltas_on_arrival + self.stats.deltas_deferred,
            received_bytes: self.parser.offset(),
        }
    }

    /// What the store was given so far. Nothing of it is proven before
    /// [`finish`](Self::finish).
    pub fn store(&self) -> &S {
        &self.store
    }

    fn take(&mut self, chunk: &[u8], interrupt: &(dyn Interrupt + Sync)) -> Result<(), PackError> {
        let mut rest = chunk;
        loop {
            let step = self.parser.step(rest)?;
            rest = &rest[step.consumed..];
            match step.event {
                Event::NeedInput => return Ok(()),
                Event::Header { .. } | Event::Finished { .. } => {}
                Event::Entry { offset, header } => self.begin(offset, header)?,
                Event::Stream { bytes, complete } => {
                    if self.under_way.is_some_and(|entry| !entry.skipped) {
                        self.store.append(bytes)?;
                    }
                    if complete {
                        self.complete()?;
                        self.catch_up(interrupt)?;
                    }
                    self.pace.did(self.parser.inflated().len() as u64, interrupt)?;
                }
            }
        }
    }

    fn begin(&mut self, offset: u64, header: EntryHeader) -> Result<(), PackError> {
        if let EntryForm::Whole(_) = header.form {
            self.rules.admit(header.inflated_size, self.parser.offset())?;
        }
        self.tree.push(offset, header.inflated_size)?;
        self.store.begin()?;
        let base = match header.form {
            EntryForm::Whole(_) => Base::None,
            EntryForm::OfsDelta { distance } => offset
                .checked_sub(distance)
                .filter(|_| distance > 0)
                .and_then(|base| self.tree.at_offset(base))
                .map(Base::Entry)
                .ok_or(PackError::BadBaseOffset { offset, distance })?,
            EntryForm::RefDelta { base } => self.tree.base_called(&base)?,
        };
        let skipped = self.lean.as_ref().is_some_and(|it| it.skips(&header, base, &self.tree));
        if skipped {
            self.parser.skip_content();
        }
        self.under_way = Some(UnderWay { header, base, skipped });
        Ok(())
    }

    fn complete(&mut self) -> Result<(), PackError> {
        let Some(UnderWay { header, base, skipped }) = self.under_way.take() else { return Ok(()) };
        let entry = self.tree.len() - 1;
        self.stats.inflated_bytes += header.inflated_size;
        self.stats.minimum_inflated_bytes += header.inflated_size;
        if skipped {
            return self.leave_out(entry);
        }
        if let EntryForm::Whole(kind) = header.form {
            return self.whole(entry, kind, header.inflated_size);
        }
        if let Base::Entry(base) = base
            && let Some(kind) = self.tree.record(base).kind()
        {
            match self.store.content(base) {
                Some(bytes) => return self.delta(entry, header.inflated_size, base, kind, &bytes),
                // It cannot be made again.
                None if self.tree.record(base).is_left_out() => return self.leave_out(entry),
                None => {}
            }
        }
        self.store.end()?;
        self.tree.hang_below(entry, base);
        if let Some(backlog) = &mut self.backlog {
            backlog.add(self.parser.inflated());
        }
        Ok(())
    }

    fn whole(&mut self, entry: u32, kind: Kind, size: u64) -> Result<(), PackError> {
        let content = self.parser.inflated();
        let id = self.hash(entry, kind, content)?;
        let standing = Standing { depth: 0, chain_bytes: size };
        let is_kept = self.lean.as_ref().is_none_or(|lean| lean.keeps(kind, &id));
        if !is_kept {
            self.store.abandon();
        }
        self.store.end()?;
        self.tree.resolve(entry, kind, &id, Base::None, standing)?;
        if !is_kept {
            self.tree.left_out_named(entry);
            self.stats.left_out += 1;
        }
        let inflated_size = size;
        self.store.resolved(ResolvedEntry {
            entry,
            kind,
            id,
            base: None,
            inflated_size,
            content,
        })?;
        Ok(())
    }

    /// Resolves a delta on arrival.
    fn delta(
        &mut self,
        entry: u32,
        mut inflated_size: u64,
        base: u32,
        kind: Kind,
        bytes: &[u8],
    ) -> Result<(), PackError> {
        let above = self.tree.record(base).standing();
        let offset = self.tree.record(entry).offset;
        let proven = self.rules.prove(self.parser.inflated(), bytes.len(), above, offset)?;
        let len = proven.delta.result_len();
        if self.lean.as_ref().is_some_and(|lean| lean.is_too_large(kind, len as u64)) {
            return self.leave_out(entry);
        }
        self.rules.admit(len as u64, self.parser.offset())?;
        self.result.prepare(len)?;
        self.result.bytes.clear();
        proven.delta.apply(bytes, &mut self.result.bytes);
        let content = &self.result.bytes;
        let id = self.hash(entry, kind, content)?;
        let mut link = Some(base);
        let is_kept = self.lean.as_ref().is_none_or(|lean| lean.keeps(kind, &id));
        if !is_kept {
            self.store.abandon();
            link = None;
        } else if self.tree.record(base).is_left_out() {
            // It stands alone from now on.
            let _paid = self.budget.reserve(len as u64)?;
            self.store.abandon();
            self.store.append(&deflate(content, REPACK_LEVEL))?;
            inflated_size = len as u64;
            self.tree.stands_alone(entry, inflated_size);
            link = None;
        }
        self.store.end()?;
        let base = link.map_or(Base::None, Base::Entry);
        self.tree.resolve(entry, kind, &id, base, proven.standing)?;
        if !is_kept {
            self.tree.left_out_named(entry);
            self.stats.left_out += 1;
        }
        self.stats.deltas_on_arrival += 1;
        let base = link.map(BaseLink::Entry);
        self.store.resolved(ResolvedEntry { entry, kind, id, base, inflated_size, content })?;
        Ok(())
    }

    fn hash(&self, entry: u32, kind: Kind, content: &[u8]) -> Result<ObjectId, PackError> {
        self.namer.name_one(kind, content).map_err(|collision| PackError::Collision {
            offset: self.tree.record(entry).offset,
            collision,
        })
    }
}

impl<S> std::fmt::Debug for Ingest<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ingest")
            .field("parser", &self.parser)
            .field("stats", &self.stats)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// Of a delta that is kept without its base: zlib's fastest.
const REPACK_LEVEL: u8 = 1;
