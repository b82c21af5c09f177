//! Resolving deltas: one task, and the scheduler that runs it over a stack.
//!
//! A task ([`Task`]) is one child of a base, and through it the siblings that follow: who
//! takes it puts the siblings back first, so that another thread could take them. What
//! it works with ([`Work`]) belongs to one thread.
//! The scheduler goes depth first: a child is inflated only when it is taken, siblings
//! share one immutable base, and the last of them frees it before its own children are
//! gone down into, so a chain needs two buffers however long it is. No recursion.

use std::sync::Arc;

use bytes::Bytes;

use super::delta::{Delta, DeltaSizes};
use super::inflate::ExactInflater;
use super::ingest::{BaseLink, EntryStore, IngestStats, ResolvedEntry};
use super::table::Table;
use super::tree::{Base, DeltaTree, Record};
use super::{DeltaError, PackError};
use crate::limits::{
    Budget, Interrupt, Interrupted, LimitExceeded, Limits, Reservation, Which, check,
};
use crate::object::{Kind, hash_object};
use crate::oid::ObjectFormat;

/// Where an object stands in its chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) depth: u32,
    pub(super) chain_bytes: u64,
}

/// The caps on what a pack may resolve to.
#[derive(Debug)]
pub(super) struct Caps {
    max_object_bytes: u64,
    max_delta_depth: u32,
    max_chain_bytes: u64,
    max_resolved_bytes: u64,
    max_resolved_ratio: u64,
    resolved_allowance_bytes: u64,
}

impl Caps {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            max_object_bytes: limits.max_object_bytes,
            max_delta_depth: limits.max_delta_depth,
            max_chain_bytes: limits.max_chain_bytes,
            max_resolved_bytes: limits.max_resolved_bytes,
            max_resolved_ratio: limits.max_resolved_ratio,
            resolved_allowance_bytes: limits.resolved_allowance_bytes,
        }
    }

    /// Whether `resolved` bytes may come of a pack of which `received` bytes are here.
    pub(super) fn check_resolved(&self, resolved: u64, received: u64) -> Result<(), LimitExceeded> {
        let by_ratio = self
            .max_resolved_ratio
            .saturating_mul(received)
            .saturating_add(self.resolved_allowance_bytes);
        check(Which::ResolvedBytes, self.max_resolved_bytes.min(by_ratio), resolved)
    }

    /// Where a delta stands that makes `len` bytes from a base that stands at `base`.
    fn below(&self, base: Standing, len: u64) -> Result<Standing, LimitExceeded> {
        check(Which::ObjectBytes, self.max_object_bytes, len)?;
        let depth = base.depth.saturating_add(1);
        check(Which::DeltaDepth, u64::from(self.max_delta_depth), u64::from(depth))?;
        let chain_bytes = base.chain_bytes.saturating_add(len);
        check(Which::ChainBytes, self.max_chain_bytes, chain_bytes)?;
        Ok(Standing { depth, chain_bytes })
    }
}

/// A delta that fits its base and every cap, before a byte of its result exists.
pub(super) struct Proven<'d> {
    pub(super) delta: Delta<'d>,
    pub(super) standing: Standing,
}

/// Proves `delta` against a base. Caps are held against what it declares before its
/// instructions are read, the rest against what they make.
pub(super) fn prove<'d>(
    delta: &'d [u8],
    base_len: usize,
    base: Standing,
    caps: &Caps,
    offset: u64,
) -> Result<Proven<'d>, PackError> {
    let damaged = |error: DeltaError| PackError::BadDelta { offset, error };
    let sizes = DeltaSizes::parse(delta).map_err(damaged)?;
    let standing = caps.below(base, sizes.result)?;
    let delta = Delta::parse(delta, base_len).map_err(damaged)?;
    Ok(Proven { delta, standing })
}

/// Bytes whose capacity is reserved.
pub(super) struct Buffer {
    pub(super) bytes: Vec<u8>,
    held: Reservation,
}

impl Buffer {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { bytes: Vec::new(), held: budget.empty() }
    }

    /// Makes the capacity at least `len`, or gives most of it back when that is far less.
    /// What was in it may be gone.
    pub(super) fn prepare(&mut self, len: usize) -> Result<(), LimitExceeded> {
        let capacity = self.bytes.capacity();
        let oversized = capacity > KEEP_BYTES && len < capacity / 4;
        if capacity < len || oversized {
            self.bytes = Vec::new();
            self.held.resize(0)?;
            self.held.resize(len as u64)?;
            self.bytes.reserve_exact(len);
        }
        Ok(())
    }
}

/// Hands out buffers and takes them back, keeping two.
struct Pool {
    free: Vec<Buffer>,
    budget: Budget,
    live_bytes: u64,
    peak_live_bytes: u64,
}

impl Pool {
    fn new(budget: &Budget) -> Self {
        Self { free: Vec::new(), budget: budget.clone(), live_bytes: 0, peak_live_bytes: 0 }
    }

    fn take(&mut self, len: usize) -> Result<Buffer, LimitExceeded> {
        let mut buffer = self.free.pop().unwrap_or_else(|| Buffer::new(&self.budget));
        let before = buffer.bytes.capacity() as u64;
        buffer.prepare(len)?;
        self.live_bytes = self.live_bytes - before + buffer.bytes.capacity() as u64;
        self.peak_live_bytes = self.peak_live_bytes.max(self.live_bytes);
        Ok(buffer)
    }

    fn recycle(&mut self, bytes: BaseBytes) {
        let BaseBytes::Made(buffer) = bytes else { return };
        if self.free.len() < 2 {
            self.free.push(buffer);
        } else {
            self.live_bytes -= buffer.bytes.capacity() as u64;
        }
    }
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

/// One child of a base, and through it the siblings that follow.
struct Task {
    base: Arc<SharedBase>,
    child: u32,
}

/// The final phase: everything that arrival could not resolve.
pub(super) struct Resolver<'a, S> {
    pub(super) format: ObjectFormat,
    pub(super) tree: &'a mut DeltaTree,
    pub(super) store: &'a mut S,
    pub(super) caps: &'a Caps,
    pub(super) received: u64,
    pub(super) stats: &'a mut IngestStats,
    pub(super) budget: &'a Budget,
    pub(super) interrupt: &'a dyn Interrupt,
}

impl<S: EntryStore> Resolver<'_, S> {
    /// Resolves every delta whose base is in the pack or held by the store.
    pub(super) fn run(mut self) -> Result<(), PackError> {
        let mut work = Work {
            inflater: ExactInflater::default(),
            delta: Buffer::new(self.budget),
            pool: Pool::new(self.budget),
            stack: Table::new(self.budget),
            pace: Pace::default(),
        };
        let roots = self.roots()?;
        self.tree.put_heaviest_last()?;
        for &root in roots.iter() {
            self.resolve_below(root, &mut work)?;
        }
        for group in 0..self.tree.groups() {
            self.resolve_thin(group, &mut work)?;
        }
        self.stats.peak_live_bytes = work.pool.peak_live_bytes;
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

    /// Marks the way up from a resolved `entry` to where its content can be had, and
    /// returns that place, unless the way was marked before.
    fn climb(&mut self, entry: u32) -> Option<u32> {
        let mut at = entry;
        while self.tree.mark_rebuild(at) {
            match self.tree.record(at).base {
                Base::Entry(base) if self.store.content(at).is_none() => at = base,
                _ => return Some(at),
            }
        }
        None
    }

    fn resolve_below(&mut self, root: u32, work: &mut Work) -> Result<(), PackError> {
        let mut root = root;
        self.tree.take_rebuild(root);
        let bytes = loop {
            if let Some(bytes) = self.store.content(root) {
                break BaseBytes::Stored(bytes);
            }
            let record = *self.tree.record(root);
            let Base::Entry(base) = record.base else {
                break BaseBytes::Made(self.inflate_whole(root, work)?);
            };
            // Evicted since the way was marked: begin further up.
            self.tree.mark_rebuild(root);
            root = base;
            self.tree.take_rebuild(root);
        };
        let record = *self.tree.record(root);
        let (Some(kind), Some(child)) = (record.kind, self.tree.first_needed_child(root)) else {
            return Ok(());
        };
        let standing = Standing { depth: record.depth, chain_bytes: record.chain_bytes };
        let base = Arc::new(SharedBase { bytes, kind, standing, base: Base::Entry(root) });
        self.descend(Task { base, child }, work)
    }

    fn resolve_thin(&mut self, group: u32, work: &mut Work) -> Result<(), PackError> {
        let Some(id) = self.tree.group_waits_for(group) else { return Ok(()) };
        let Some((kind, bytes)) = self.store.external(&id) else { return Ok(()) };
        let Some(child) = self.tree.take_group(group) else { return Ok(()) };
        let standing = Standing { depth: 0, chain_bytes: bytes.len() as u64 };
        let bytes = BaseBytes::Stored(bytes);
        let base = Arc::new(SharedBase { bytes, kind, standing, base: Base::Waiting(group) });
        self.descend(Task { base, child }, work)
    }

    fn inflate_whole(&mut self, entry: u32, work: &mut Work) -> Result<Buffer, PackError> {
        let record = *self.tree.record(entry);
        let size = in_memory(record.inflated_size)?;
        let mut buffer = work.pool.take(size)?;
        let stream = self.store.stream(entry);
        inflate(&mut work.inflater, stream, &mut buffer.bytes, &record)?;
        self.stats.inflated_bytes += record.inflated_size;
        work.pace.did(record.inflated_size, self.interrupt)?;
        Ok(buffer)
    }

    /// Runs `task` and everything below it.
    fn descend(&mut self, task: Task, work: &mut Work) -> Result<(), PackError> {
        work.stack.push(task)?;
        while let Some(Task { base, child }) = work.stack.pop() {
            if let Some(sibling) = self.tree.next_needed_sibling(child) {
                work.stack.push(Task { base: base.clone(), child: sibling })?;
            }
            let kind = base.kind;
            let (bytes, standing) = self.take(child, &base, work)?;
            // The last child's base is free before anything is made from the child.
            if let Some(base) = Arc::into_inner(base) {
                work.pool.recycle(base.bytes);
            }
            match self.tree.first_needed_child(child) {
                Some(grandchild) => {
                    let base = Base::Entry(child);
                    let base = Arc::new(SharedBase { bytes, kind, standing, base });
                    work.stack.push(Task { base, child: grandchild })?;
                }
                None => work.pool.recycle(bytes),
            }
        }
        Ok(())
    }

    /// The content of `child`, made from its base; handed to the store unless that was
    /// done on arrival.
    fn take(
        &mut self,
        child: u32,
        base: &SharedBase,
        work: &mut Work,
    ) -> Result<(BaseBytes, Standing), PackError> {
        let again = self.tree.take_rebuild(child);
        let record = *self.tree.record(child);
        if again && let Some(bytes) = self.store.content(child) {
            let Record { depth, chain_bytes, .. } = record;
            return Ok((BaseBytes::Stored(bytes), Standing { depth, chain_bytes }));
        }
        let size = in_memory(record.inflated_size)?;
        work.delta.prepare(size)?;
        let stream = self.store.stream(child);
        inflate(&mut work.inflater, stream, &mut work.delta.bytes, &record)?;
        self.stats.inflated_bytes += record.inflated_size;

        let from = base.bytes.as_slice();
        let proven = prove(&work.delta.bytes, from.len(), base.standing, self.caps, record.offset)?;
        let len = proven.delta.result_len();
        if !again {
            let resolved = self.stats.resolved_bytes.saturating_add(len as u64);
            self.caps.check_resolved(resolved, self.received)?;
            self.stats.resolved_bytes = resolved;
        }
        let mut made = work.pool.take(len)?;
        made.bytes.clear();
        proven.delta.apply(from, &mut made.bytes);
        let standing = proven.standing;
        if !again {
            self.hand_over(child, base, standing, &made.bytes)?;
        }
        work.pace.did(record.inflated_size + len as u64, self.interrupt)?;
        Ok((BaseBytes::Made(made), standing))
    }

    fn hand_over(
        &mut self,
        entry: u32,
        base: &SharedBase,
        standing: Standing,
        content: &[u8],
    ) -> Result<(), PackError> {
        let record = *self.tree.record(entry);
        let id = hash_object(self.format, base.kind, content)
            .map_err(|collision| PackError::Collision { offset: record.offset, collision })?;
        let Standing { depth, chain_bytes } = standing;
        self.tree.resolve(entry, base.kind, &id, base.base, depth, chain_bytes)?;
        let link = match base.base {
            Base::Entry(base) => Some(BaseLink::Entry(base)),
            Base::Waiting(group) => Some(BaseLink::External(self.tree.group_id(group))),
            Base::None => None,
        };
        self.stats.deltas_deferred += 1;
        self.store.resolved(ResolvedEntry {
            entry,
            kind: base.kind,
            id,
            base: link,
            inflated_size: record.inflated_size,
            content,
        })?;
        Ok(())
    }
}

/// What one thread of work has in hand.
struct Work {
    inflater: ExactInflater,
    delta: Buffer,
    pool: Pool,
    stack: Table<Task>,
    pace: Pace,
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

/// Buffers above this are given back when far less is needed.
const KEEP_BYTES: usize = 1 << 20;
const CHECK_BYTES: u64 = 64 << 10;
const CHECK_OBJECTS: u32 = 256;
