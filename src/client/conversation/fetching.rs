//! The answer to a fetch while it arrives: its lines are kept, its pack is taken in.
//!
//! Where the pack's objects go is the type's parameter: into a store, or into a sample that
//! is only looked at.

use bstr::BString;

use super::Context;
use crate::client::sample::{Sample, Sampled};
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Interrupt, LimitExceeded, Limits, Reservation, Which};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::{EntryStore, Ingest, IngestStats, Resolved};
use crate::protocol::{FetchEvent, FetchRequest, FetchResponse, ProtocolError, v0};
use crate::store::{Committed, MemoryStaging, Staging as _};

/// What a fetch brought, after it became visible in the store.
#[derive(Debug)]
pub struct Fetched {
    /// The objects that came.
    pub committed: Committed,
    /// Commits whose parents the host left out.
    pub shallow: Vec<ObjectId>,
    /// Commits whose parents are no longer left out.
    pub unshallow: Vec<ObjectId>,
    /// Refs that were wanted by name.
    pub wanted_refs: Vec<(ObjectId, BString)>,
    /// What resolving the pack took.
    pub stats: IngestStats,
    _lines_paid: Reservation,
}

#[derive(Debug)]
pub(super) struct FetchState<S> {
    response: Answer,
    ingest: Ingest<S>,
    shallow: Vec<ObjectId>,
    unshallow: Vec<ObjectId>,
    wanted_refs: Vec<(ObjectId, BString)>,
    /// Pays for the lines kept above: a host may send any number of them.
    lines_paid: Reservation,
}

/// The answer to a fetch, in the version that the host speaks.
#[derive(Debug)]
pub(super) enum Answer {
    V2(FetchResponse),
    V0(v0::FetchResponse),
}

impl Answer {
    pub(super) fn v0(
        request: &FetchRequest,
        features: &v0::Features,
        format: ObjectFormat,
        limits: &Limits,
    ) -> Self {
        Self::V0(v0::FetchResponse::new(format, request, features).with_limits(limits))
    }

    pub(super) fn v2(format: ObjectFormat, limits: &Limits) -> Self {
        Self::V2(FetchResponse::new(format).with_limits(limits))
    }

    fn push<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<FetchEvent<'a>>, ProtocolError> {
        match self {
            Self::V2(response) => response.push(input),
            Self::V0(response) => response.push(input),
        }
    }

    fn finish(&self) -> Result<(), ProtocolError> {
        match self {
            Self::V2(response) => response.finish(),
            Self::V0(response) => response.finish(),
        }
    }

    fn has_packfile(&self) -> bool {
        match self {
            Self::V2(response) => response.has_packfile(),
            Self::V0(response) => response.has_packfile(),
        }
    }
}

impl<S: EntryStore> FetchState<S> {
    pub(super) fn new(response: Answer, ingest: Ingest<S>, budget: &Budget) -> Self {
        Self {
            response,
            ingest,
            shallow: Vec::new(),
            unshallow: Vec::new(),
            wanted_refs: Vec::new(),
            lines_paid: budget.empty(),
        }
    }

    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<(), Error> {
        let pushed = self.take(chunk, interrupt);
        pushed.map_err(|error| with_need(error, self.objects(), self.total_objects()))
    }

    fn take(&mut self, mut chunk: &[u8], interrupt: &(dyn Interrupt + Sync)) -> Result<(), Error> {
        while let Some(event) = self.response.push(&mut chunk)? {
            match event {
                FetchEvent::PackData(data) => self.ingest.push(data, interrupt)?,
                FetchEvent::Shallow(id) => {
                    self.lines_paid.grow(size_of::<ObjectId>() as u64)?;
                    self.shallow.push(id);
                }
                FetchEvent::Unshallow(id) => {
                    self.lines_paid.grow(size_of::<ObjectId>() as u64)?;
                    self.unshallow.push(id);
                }
                FetchEvent::WantedRef { id, name } => {
                    let bytes = size_of::<(ObjectId, BString)>() + name.len();
                    self.lines_paid.grow(bytes as u64)?;
                    self.wanted_refs.push((id, name));
                }
                // Without negotiation these say nothing new, and progress text is for
                // terminals, which have their own.
                FetchEvent::Acknowledged(_)
                | FetchEvent::Nak
                | FetchEvent::Progress(_)
                | FetchEvent::Ready => {}
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), Error> {
        self.response.finish()?;
        if !self.response.has_packfile() {
            let why = "the host answered without a pack: it may not send what was asked for";
            return Err(Error::new(ErrorKind::Malformed, why).with_code("empty_answer"));
        }
        Ok(())
    }

    pub(super) fn objects(&self) -> u64 {
        self.ingest.progress().objects
    }

    pub(super) fn total_objects(&self) -> Option<u64> {
        self.ingest.progress().total_objects
    }
}

/// Says of a lack of memory how far a pack came, and what all of it may take.
fn with_need(error: Error, came: u64, total: Option<u64>) -> Error {
    match (error.limit(), total) {
        (Some(LimitExceeded { which: Which::Memory, seen, .. }), Some(total)) => {
            let all = u128::from(seen) * u128::from(total.max(came)) / u128::from(came.max(1));
            let needed = all.div_ceil(1 << 20);
            error.while_doing(format!(
                "{came} of the {total} objects of a pack fit, and all may take about {needed} MiB"
            ))
        }
        _ => error,
    }
}

impl FetchState<MemoryStaging> {
    pub(super) fn finish(self, context: &Context) -> Result<Fetched, Error> {
        let (came, total) = (self.objects(), self.total_objects());
        self.keep(context).map_err(|error| with_need(error, came, total))
    }

    fn keep(self, context: &Context) -> Result<Fetched, Error> {
        self.check_end()?;
        let resolved = self.ingest.finish_on(&context.workers, &context.cancel)?;
        let Resolved { store: staging, stats, entries, .. } = resolved;
        // Committing needs memory of its own.
        drop(entries);
        Ok(Fetched {
            committed: staging.commit()?,
            shallow: self.shallow,
            unshallow: self.unshallow,
            wanted_refs: self.wanted_refs,
            stats,
            _lines_paid: self.lines_paid,
        })
    }
}

impl FetchState<Sample> {
    pub(super) fn so_far(&self) -> Sampled {
        Sampled {
            declared: self.total_objects(),
            objects: self.ingest.store().objects().to_vec(),
            shallow: self.shallow.clone(),
        }
    }

    pub(super) fn finish_sample(
        self,
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<Sampled, Error> {
        self.check_end()?;
        let declared = self.total_objects();
        let (sample, _) = self.ingest.finish(interrupt)?;
        let objects = sample.objects().to_vec();
        Ok(Sampled { declared, objects, shallow: self.shallow })
    }
}
