//! The work itself: one child of a base, and what a thread needs to make it.
//!
//! A [`Task`] is one child of a base, and through it the siblings that follow: who takes
//! it puts the siblings back first, so that another thread can take them. It names the
//! child and holds no bytes of it: a child is inflated only by the worker that took it.
//! Both schedulers run this file; it knows neither.

use std::sync::Arc;

use bytes::Bytes;

use super::{Done, Phase, Place, Queue};
use crate::limits::{Budget, Interrupt, LimitExceeded, Which};
use crate::object::Kind;
use crate::pack::PackError;
use crate::pack::buffers::{Buffer, Pool};
use crate::pack::inflate::ExactInflater;
use crate::pack::ingest::{BaseLink, EntryStore, Pace, ResolvedEntry, Streams as _};
use crate::pack::rules::Standing;
use crate::pack::tree::{Base, Record};

/// One child of a base, and through it the siblings that follow.
pub(super) struct Task {
    base: Arc<SharedBase>,
    child: u32,
}

/// An object that others are made from: immutable, shared by them, freed by the last.
struct SharedBase {
    bytes: BaseBytes,
    kind: Kind,
    standing: Standing,
    /// How entries that are made from it name it.
    link: BaseLink,
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

/// What one thread of work keeps: a decoder, room for a delta, a few buffers.
pub(super) struct Worker<'a, 'p, S: EntryStore> {
    phase: &'a Phase<'p, S>,
    interrupt: &'a dyn Interrupt,
    inflater: ExactInflater,
    delta: Buffer,
    pool: Pool<'a>,
    pace: Pace,
    done: Done,
}

impl<'a, 'p, S: EntryStore> Worker<'a, 'p, S> {
    pub(super) fn new(
        phase: &'a Phase<'p, S>,
        budget: &Budget,
        interrupt: &'a dyn Interrupt,
    ) -> Self {
        Self {
            phase,
            interrupt,
            inflater: ExactInflater::default(),
            delta: Buffer::new(budget),
            pool: Pool::new(budget, &phase.live),
            pace: Pace::default(),
            done: Done::default(),
        }
    }

    /// What it did so far.
    pub(super) fn done(&self) -> Done {
        self.done
    }

    /// Gives back what is kept for the next task; whether there was anything.
    pub(super) fn rest(&mut self) -> bool {
        self.pool.clear()
    }

    /// Begins below `place`: the task that goes on from there.
    pub(super) fn start(
        &mut self,
        place: Place,
        queue: &mut impl Queue,
    ) -> Result<Option<Task>, PackError> {
        match place {
            Place::Entry(entry) => self.start_below_entry(entry, queue),
            Place::Outside(group) => self.start_below_outside(group),
        }
    }

    /// Makes the task's child. What others can do meanwhile goes onto `queue`; the task
    /// that is returned goes on from the child, and whoever takes it has what it needs in
    /// hand.
    pub(super) fn run(
        &mut self,
        task: Task,
        queue: &mut impl Queue,
    ) -> Result<Option<Task>, PackError> {
        let Task { base, child } = task;
        if let Some(sibling) = self.phase.tree.next_sibling(child) {
            queue.push(Task { base: base.clone(), child: sibling })?;
        }
        let (content, standing, waiting) = self.make(child, &base, queue)?;
        let kind = base.kind;
        // The last child's base is free before anything is made from the child.
        if let Some(base) = Arc::into_inner(base) {
            self.recycle(base.bytes);
        }
        let children = self.phase.tree.take_children(child);
        let Some(first) = children.or(waiting) else {
            self.pool.give(content);
            return Ok(None);
        };
        let (bytes, link) = (BaseBytes::Made(content), BaseLink::Entry(child));
        let base = Arc::new(SharedBase { bytes, kind, standing, link });
        if let (Some(_), Some(child)) = (children, waiting) {
            queue.push(Task { base: base.clone(), child })?;
        }
        Ok(Some(Task { base, child: first }))
    }

    fn start_below_entry(
        &mut self,
        root: u32,
        queue: &mut impl Queue,
    ) -> Result<Option<Task>, PackError> {
        let record = self.phase.tree.record(root);
        let lent = if self.phase.lends { self.phase.store().content(root) } else { None };
        let bytes = match (lent, self.phase.tree.base(root)) {
            (Some(bytes), _) => BaseBytes::Stored(bytes),
            (None, Base::Entry(_)) => {
                self.phase.evicted().push(root)?;
                return Ok(None);
            }
            (None, _) => BaseBytes::Made(self.inflate_whole(root, record, queue)?),
        };
        self.pace.did(record.inflated_size, self.interrupt)?;
        let (Some(kind), Some(child)) = (record.kind(), self.phase.tree.take_children(root)) else {
            self.recycle(bytes);
            return Ok(None);
        };
        let (standing, link) = (record.standing(), BaseLink::Entry(root));
        let base = Arc::new(SharedBase { bytes, kind, standing, link });
        Ok(Some(Task { base, child }))
    }

    /// The work that waits for an object which the store has from elsewhere.
    fn start_below_outside(&mut self, group: u32) -> Result<Option<Task>, PackError> {
        let Some(id) = self.phase.tree.groups().waits_for(group) else { return Ok(None) };
        let Some((kind, bytes)) = self.phase.store().external(&id) else { return Ok(None) };
        let Some(child) = self.phase.tree.groups().take_outside(group) else { return Ok(None) };
        let standing = Standing { depth: 0, chain_bytes: bytes.len() as u64 };
        let (bytes, link) = (BaseBytes::Stored(bytes), BaseLink::External(id));
        let base = Arc::new(SharedBase { bytes, kind, standing, link });
        Ok(Some(Task { base, child }))
    }

    /// Inflates a delta's stream, proves it, applies it, and hashes and hands over what
    /// came of it unless that was done on arrival. The content, where it stands, and the
    /// first of those that waited for its id.
    fn make(
        &mut self,
        child: u32,
        base: &SharedBase,
        queue: &mut impl Queue,
    ) -> Result<(Buffer, Standing, Option<u32>), PackError> {
        let phase = self.phase;
        let record = phase.tree.record(child);
        let Record { offset, inflated_size, .. } = *record;
        self.inflate_delta(child, record, queue)?;

        let from = base.bytes.as_slice();
        let delta = std::mem::take(&mut self.delta.bytes);
        let proven = phase.rules.prove(&delta, from.len(), base.standing, offset)?;
        let len = proven.delta.result_len();
        let is_new = record.kind().is_none();
        if is_new {
            phase.rules.admit(len as u64, phase.received_bytes)?;
        }
        let mut content = self.take_buffer(len, queue)?;
        content.bytes.clear();
        proven.delta.apply(from, &mut content.bytes);
        let standing = proven.standing;
        self.delta.bytes = delta;

        let mut waiting = None;
        if is_new {
            let (kind, content) = (base.kind, &content.bytes[..]);
            let id = phase
                .namer
                .name_one(kind, content)
                .map_err(|collision| PackError::Collision { offset, collision })?;
            phase.tree.made(child, kind, &id, standing);
            let base = Some(base.link);
            let entry = ResolvedEntry { entry: child, kind, id, base, inflated_size, content };
            phase.store().resolved(entry)?;
            // Not before the store knows the object, which is their base.
            waiting = phase.tree.take_waiting(&id, child);
            self.done.deltas += 1;
        }
        self.pace.did(inflated_size + len as u64, self.interrupt)?;
        Ok((content, standing, waiting))
    }

    fn inflate_delta(
        &mut self,
        entry: u32,
        record: &Record,
        queue: &mut impl Queue,
    ) -> Result<(), PackError> {
        let size = in_memory(record.inflated_size)?;
        while let Err(refused) = self.delta.prepare(size) {
            if !self.can_make_do(refused, queue) {
                self.delta.prepare(size)?;
            }
        }
        let stream = self.phase.streams.stream(entry, record.offset);
        inflate(&mut self.inflater, stream, &mut self.delta.bytes, record)?;
        self.done.inflated_bytes += record.inflated_size;
        Ok(())
    }

    /// The content of a whole object whose stream was proven on arrival.
    fn inflate_whole(
        &mut self,
        entry: u32,
        record: &Record,
        queue: &mut impl Queue,
    ) -> Result<Buffer, PackError> {
        let mut content = self.take_buffer(in_memory(record.inflated_size)?, queue)?;
        let stream = self.phase.streams.stream(entry, record.offset);
        inflate(&mut self.inflater, stream, &mut content.bytes, record)?;
        self.done.inflated_bytes += record.inflated_size;
        Ok(content)
    }

    /// A buffer for `len` bytes, waiting for others to give some back where there are any.
    fn take_buffer(&mut self, len: usize, queue: &mut impl Queue) -> Result<Buffer, PackError> {
        loop {
            match self.pool.take(len) {
                Ok(buffer) => return Ok(buffer),
                Err(refused) if self.can_make_do(refused, queue) => {}
                // Whoever worked until just now may have left some.
                Err(_) => return Ok(self.pool.take(len)?),
            }
        }
    }

    /// Memory was refused: gives up what is kept, or waits for others; whether either may
    /// have helped.
    fn can_make_do(&mut self, refused: LimitExceeded, queue: &mut impl Queue) -> bool {
        refused.which == Which::Memory && (self.rest() || queue.wait_for_memory())
    }

    fn recycle(&mut self, bytes: BaseBytes) {
        if let BaseBytes::Made(buffer) = bytes {
            self.pool.give(buffer);
        }
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
