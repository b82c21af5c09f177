//! Resolving deltas: one task, and the scheduler that runs it over a stack.
//!
//! A [`Task`] is one child of a base, and through it the siblings that follow: who takes
//! it puts the siblings back first, so that another thread could take them. A [`Worker`]
//! makes the child; it sees the record, the stream, the base and the rules, none of which
//! it changes, and keeps what it works with to itself. Only the scheduler touches the
//! tree and the store.
//!
//! The scheduler goes depth first: a child is inflated only when it is taken, siblings
//! share one immutable base, and the last of them frees it before its own children are
//! gone down into, so a chain needs two buffers however long it is. No recursion.

use std::sync::Arc;

use bytes::Bytes;

use super::PackError;
use super::buffers::{Buffer, Pool};
use super::inflate::ExactInflater;
use super::ingest::{BaseLink, EntryStore, IngestStats, ResolvedEntry};
use super::rules::{Rules, Standing};
use super::table::Table;
use super::tree::{Base, DeltaTree, Record};
use crate::limits::{Budget, Interrupt, Interrupted, LimitExceeded, Which};
use crate::object::{Kind, hash_object};
use crate::oid::{ObjectFormat, ObjectId};

/// One child of a base, and through it the siblings that follow.
struct Task {
    base: Arc<SharedBase>,
    child: u32,
}

/// An object that others are made from: immutable, shared by them, freed by the last.
struct SharedBase {
    bytes: BaseBytes,
    kind: Kind,
    standing: Standing,
    /// How entries that are made from it name it.
    base: Base,
}

enum BaseBytes {
    /// Made here.
    Made(Buffer),
    /// Lent by the store.
    Stored(Bytes),
}

impl BaseBytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Made(buffer) => &buffer.bytes,
            Self::Stored(bytes) => bytes,
        }
    }
}

/// What every worker sees and none changes, except for the count within the rules.
struct Shared<'a> {
    format: ObjectFormat,
    rules: &'a Rules,
    received: u64,
}

/// What a worker made of a delta.
struct Made {
    content: Buffer,
    standing: Standing,
    /// Of an object that has none yet.
    id: Option<ObjectId>,
}

/// What one thread of work keeps: a decoder, room for a delta, a few buffers.
struct Worker {
    inflater: ExactInflater,
    delta: Buffer,
    pool: Pool,
    pace: Pace,
    inflated_bytes: u64,
}

impl Worker {
    fn new(budget: &Budget) -> Self {
        Self {
            inflater: ExactInflater::default(),
            delta: Buffer::new(budget),
            pool: Pool::new(budget),
            pace: Pace::default(),
            inflated_bytes: 0,
        }
    }

    /// The task: inflates a delta's stream, proves it, applies it, and hashes what came
    /// of it unless that was done before (`again`).
    fn make(
        &mut self,
        record: &Record,
        stream: &[u8],
        base: &SharedBase,
        again: bool,
        shared: &Shared<'_>,
    ) -> Result<Made, PackError> {
        let Record { offset, inflated_size, .. } = *record;
        self.delta.prepare(in_memory(inflated_size)?)?;
        inflate(&mut self.inflater, stream, &mut self.delta.bytes, record)?;
        self.inflated_bytes += inflated_size;

        let from = base.bytes.as_slice();
        let proven = shared.rules.prove(&self.delta.bytes, from.len(), base.standing, offset)?;
        let len = proven.delta.result_len();
        if !again {
            shared.rules.admit(len as u64, shared.received)?;
        }
        let mut content = self.pool.take(len)?;
        content.bytes.clear();
        proven.delta.apply(from, &mut content.bytes);
        let id = match again {
            true => None,
            false => Some(
                hash_object(shared.format, base.kind, &content.bytes)
                    .map_err(|collision| PackError::Collision { offset, collision })?,
            ),
        };
        Ok(Made { content, standing: proven.standing, id })
    }

    /// The content of a whole object whose stream was proven on arrival.
    fn inflate_whole(&mut self, record: &Record, stream: &[u8]) -> Result<Buffer, PackError> {
        let mut content = self.pool.take(in_memory(record.inflated_size)?)?;
        inflate(&mut self.inflater, stream, &mut content.bytes, record)?;
        self.inflated_bytes += record.inflated_size;
        Ok(content)
    }

    fn recycle(&mut self, bytes: BaseBytes) {
        if let BaseBytes::Made(buffer) = bytes {
            self.pool.give(buffer);
        }
    }
}

/// The final phase: everything that arrival could not resolve.
pub(super) struct Resolver<'a, S> {
    pub(super) format: ObjectFormat,
    pub(super) tree: &'a mut DeltaTree,
    pub(super) store: &'a mut S,
    pub(super) rules: &'a Rules,
    pub(super) stats: &'a mut IngestStats,
    pub(super) budget: &'a Budget,
    pub(super) interrupt: &'a dyn Interrupt,
}

impl<S: EntryStore> Resolver<'_, S> {
    /// Resolves every delta whose base is in the pack or held by the store.
    pub(super) fn run(mut self) -> Result<(), PackError> {
        let mut worker = Worker::new(self.budget);
        let mut stack = Table::new(self.budget);
        let roots = self.roots()?;
        self.tree.put_heaviest_last()?;
        for &root in roots.iter() {
            if let Some(task) = self.below_entry(root, &mut worker)? {
                self.descend(task, &mut stack, &mut worker)?;
            }
        }
        for group in 0..self.tree.groups() {
            if let Some(task) = self.below_outside(group) {
                self.descend(task, &mut stack, &mut worker)?;
            }
        }
        self.stats.inflated_bytes += worker.inflated_bytes;
        self.stats.peak_live_bytes = worker.pool.peak_live_bytes();
        Ok(())
    }

    /// The entries to begin from: those below which something waits, or, where their
    /// content is not kept, the nearest entry above them whose content is kept or whole.
    fn roots(&mut self) -> Result<Table<u32>, LimitExceeded> {
        let mut roots = Table::new(self.budget);
        for entry in 0..self.tree.len() {
            let record = self.tree.record(entry);
            if let (None, Base::Entry(base)) = (record.kind, record.base)
                && self.tree.record(base).kind.is_some()
                && let Some(root) = self.climb(base)
            {
                roots.push(root)?;
            }
        }
        Ok(roots)
    }

    /// Hangs a resolved `entry` and what is above it below their bases, up to where the
    /// content can be had, and returns that place; nothing if the way is hung already.
    fn climb(&mut self, entry: u32) -> Option<u32> {
        let mut at = entry;
        while self.tree.mark_rebuild(at) {
            match self.tree.record(at).base {
                Base::Entry(base) if self.store.content(at).is_none() => {
                    self.tree.hang_below(at, Base::Entry(base));
                    at = base;
                }
                _ => return Some(at),
            }
        }
        None
    }

    /// The work below `root`, where there is still some.
    fn below_entry(&mut self, root: u32, worker: &mut Worker) -> Result<Option<Task>, PackError> {
        let mut root = root;
        let bytes = loop {
            self.tree.take_rebuild(root);
            if let Some(bytes) = self.store.content(root) {
                break BaseBytes::Stored(bytes);
            }
            let record = self.tree.record(root);
            let Base::Entry(_) = record.base else {
                break BaseBytes::Made(worker.inflate_whole(record, self.store.stream(root))?);
            };
            // Evicted since the way was hung: begin further up, or let a root to come
            // pass here.
            let Some(further_up) = self.climb(root) else { return Ok(None) };
            root = further_up;
        };
        let child = self.tree.take_children(root);
        let record = self.tree.record(root);
        let (Some(kind), Some(child)) = (record.kind, child) else {
            worker.recycle(bytes);
            return Ok(None);
        };
        let standing = Standing { depth: record.depth, chain_bytes: record.chain_bytes };
        let base = Arc::new(SharedBase { bytes, kind, standing, base: Base::Entry(root) });
        worker.pace.did(record.inflated_size, self.interrupt)?;
        Ok(Some(Task { base, child }))
    }

    /// The work that waits for an object which the store has from elsewhere.
    fn below_outside(&mut self, group: u32) -> Option<Task> {
        let id = self.tree.group_waits_for(group)?;
        let (kind, bytes) = self.store.external(&id)?;
        let child = self.tree.take_group(group)?;
        let standing = Standing { depth: 0, chain_bytes: bytes.len() as u64 };
        let bytes = BaseBytes::Stored(bytes);
        let base = Arc::new(SharedBase { bytes, kind, standing, base: Base::Waiting(group) });
        Some(Task { base, child })
    }

    /// Runs `task` and everything below it.
    fn descend(
        &mut self,
        task: Task,
        stack: &mut Table<Task>,
        worker: &mut Worker,
    ) -> Result<(), PackError> {
        stack.push(task)?;
        while let Some(Task { base, child }) = stack.pop() {
            if let Some(sibling) = self.tree.next_sibling(child) {
                stack.push(Task { base: base.clone(), child: sibling })?;
            }
            let kind = base.kind;
            let Made { content, standing, .. } = self.take(child, &base, worker)?;
            // The last child's base is free before anything is made from the child.
            if let Some(base) = Arc::into_inner(base) {
                worker.recycle(base.bytes);
            }
            match self.tree.take_children(child) {
                Some(grandchild) => {
                    let (bytes, base) = (BaseBytes::Made(content), Base::Entry(child));
                    let base = Arc::new(SharedBase { bytes, kind, standing, base });
                    stack.push(Task { base, child: grandchild })?;
                }
                None => worker.pool.give(content),
            }
        }
        Ok(())
    }

    /// Has `child` made, and hands it to the store unless that was done on arrival.
    fn take(
        &mut self,
        child: u32,
        base: &SharedBase,
        worker: &mut Worker,
    ) -> Result<Made, PackError> {
        let again = self.tree.take_rebuild(child);
        let record = self.tree.record(child);
        let inflated_size = record.inflated_size;
        let shared =
            Shared { format: self.format, rules: self.rules, received: self.stats.received_bytes };
        let made = worker.make(record, self.store.stream(child), base, again, &shared)?;
        let content = &made.content.bytes;
        if let Some(id) = made.id {
            self.tree.resolve(child, base.kind, &id, base.base, made.standing)?;
            self.stats.deltas_deferred += 1;
            let kind = base.kind;
            let base = self.link(base.base);
            let entry = ResolvedEntry { entry: child, kind, id, base, inflated_size, content };
            self.store.resolved(entry)?;
        }
        worker.pace.did(inflated_size + content.len() as u64, self.interrupt)?;
        Ok(made)
    }

    fn link(&self, base: Base) -> Option<BaseLink> {
        match base {
            Base::Entry(base) => Some(BaseLink::Entry(base)),
            Base::Waiting(group) => Some(BaseLink::External(self.tree.group_id(group))),
            Base::None => None,
        }
    }
}

/// Asks the interrupt at a steady pace.
#[derive(Debug, Default)]
pub(super) struct Pace {
    bytes: u64,
    objects: u32,
}

impl Pace {
    /// One more object, or a part of one, of `bytes` bytes was worked on.
    pub(super) fn did(&mut self, bytes: u64, interrupt: &dyn Interrupt) -> Result<(), Interrupted> {
        self.bytes += bytes;
        self.objects += 1;
        if self.bytes >= CHECK_BYTES || self.objects >= CHECK_OBJECTS {
            *self = Self::default();
            interrupt.check()?;
        }
        Ok(())
    }
}

/// Inflates a stream that was proven once into `out`.
fn inflate(
    inflater: &mut ExactInflater,
    stream: &[u8],
    out: &mut Vec<u8>,
    record: &Record,
) -> Result<(), PackError> {
    let (offset, declared) = (record.offset, record.inflated_size);
    match inflater.inflate(stream, in_memory(declared)?, out) {
        Ok(_) => Ok(()),
        Err(error) => Err(PackError::from_inflate(error, offset, declared)),
    }
}

/// A size that passed its cap, as this machine counts.
fn in_memory(size: u64) -> Result<usize, LimitExceeded> {
    usize::try_from(size).map_err(|_| LimitExceeded {
        which: Which::ObjectBytes,
        allowed: usize::MAX as u64,
        seen: size,
    })
}

const CHECK_BYTES: u64 = 64 << 10;
const CHECK_OBJECTS: u32 = 256;
