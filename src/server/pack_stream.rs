//! The pack that a client gets, piece by piece: entries are copied as they are packed
//! wherever that is possible.
//!
//! An entry is copied when it is whole, or a delta against something that is sent before it
//! or, in a thin pack, against something the client has. What is left is read and compressed
//! anew: after a shallow clone's cut most files are deltas against versions that are not
//! sent. Those are made in the order they lie in the pack, so that what several chains share
//! is resolved once by the store's cache.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::encoded::{Encoded, EncodedCache};
use super::placed::Placed;
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Reservation, SharedWorkers, Workers as _};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::entry::{EntryForm, EntryHeader};
use crate::pack::inflate::deflate;
use crate::pack::write::PackWriter;
use crate::store::{Objects, PackedAs, StoreError, ViewedForm};

/// What the client can read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Forms {
    /// Deltas that name their base by distance.
    pub(super) ofs_delta: bool,
    /// Deltas against what it has.
    pub(super) thin: bool,
}

/// What was done for a pack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackWork {
    /// What the client wanted by id or name, each once.
    pub wants: u64,
    /// Entries that were sent as they were packed.
    pub copied: u64,
    /// Entries that were read and compressed anew.
    pub rebuilt: u64,
    /// Entries that had been compressed anew for someone before.
    pub cached: u64,
    /// Bytes of the pack so far.
    pub bytes: u64,
}

impl std::ops::Add for PackWork {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            wants: self.wants + more.wants,
            copied: self.copied + more.copied,
            rebuilt: self.rebuilt + more.rebuilt,
            cached: self.cached + more.cached,
            bytes: self.bytes + more.bytes,
        }
    }
}

/// What every pack of a server has in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means<'a> {
    /// Where entries that are compressed anew are kept.
    pub(super) encoded: &'a EncodedCache,
    pub(super) workers: &'a SharedWorkers,
    pub(super) budget: &'a Budget,
}

/// Writes a pack, a piece at a time; nothing of it is kept.
pub(super) struct PackStream<'a, S: ?Sized> {
    store: &'a S,
    objects: Arc<Placed>,
    forms: Forms,
    /// Whether the client has an object.
    had: Box<dyn Fn(&ObjectId) -> bool + Send + 'a>,
    means: Means<'a>,
    /// `None` when the trailer was given out.
    writer: Option<PackWriter>,
    /// Where each entry that was written begins, 0 for the others: a list for each pack of
    /// the set, and one for what is in none.
    starts: Vec<Vec<u64>>,
    _paid: Reservation,
    /// What is written next.
    next: Place,
    work: PackWork,
}

/// An object of the set: in which list of [`PackStream::starts`], and where there. Objects
/// are written in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    part: usize,
    at: u32,
}

/// How an entry is written.
enum Form {
    Whole(Kind, u64, Bytes),
    Delta(Base, u64, Bytes),
    /// To be read and compressed.
    Rebuilt(ObjectId),
}

/// What a delta is against, in the words that say so.
enum Base {
    /// An object that is written before, by its distance.
    Before(Place),
    /// By its id: one that is written later, or that the client has.
    Named(ObjectId),
}

impl<'a, S: Objects + Sync + ?Sized> PackStream<'a, S> {
    /// The pack of `objects`, for a client that has what `had` says.
    ///
    /// # Errors
    /// When there is no memory for the table of where entries begin, or there are more
    /// objects than a pack can have.
    pub(super) fn new(
        store: &'a S,
        objects: Arc<Placed>,
        forms: Forms,
        had: Box<dyn Fn(&ObjectId) -> bool + Send + 'a>,
        means: Means<'a>,
    ) -> Result<Self, Error> {
        let count = u32::try_from(objects.len()).map_err(|_| {
            Error::new(ErrorKind::Limit, "a pack has at most 4,294,967,295 objects")
        })?;
        let lens = objects.packs().iter().map(|part| part.pack.count() as usize);
        let lens: Vec<usize> = lens.chain([objects.others().len()]).collect();
        let rows = lens.iter().sum::<usize>() * size_of::<u64>();
        let paid = means.budget.reserve(rows as u64)?;
        Ok(Self {
            store,
            forms,
            had,
            means,
            writer: Some(PackWriter::new(store.format(), count)),
            starts: lens.iter().map(|&len| vec![0; len]).collect(),
            _paid: paid,
            next: Place { part: 0, at: 0 },
            work: PackWork::default(),
            objects,
        })
    }

    /// The same, for a client with so many wants.
    pub(super) fn for_wants(mut self, wants: usize) -> Self {
        self.work.wants = wants as u64;
        self
    }

    /// Objects that are in it.
    pub(super) fn len(&self) -> u64 {
        self.objects.len()
    }

    /// What was done so far.
    pub(super) fn work(&self) -> PackWork {
        self.work
    }

    /// The next piece of the pack, some 64 KiB unless an entry is larger; `None` after its
    /// end.
    ///
    /// # Errors
    /// When an object cannot be read; the pack ends there and is of no use.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        while self.writer.as_ref().is_some_and(|writer| writer.pending() < PIECE_BYTES) {
            let batch = self.take_batch();
            if batch.is_empty() {
                let Some(writer) = self.writer.take() else { break };
                let rest = writer.finish()?;
                self.work.bytes += rest.len() as u64;
                return Ok(Some(rest));
            }
            self.write(&batch)?;
        }
        let piece = self.writer.as_mut().map(PackWriter::take);
        self.work.bytes += piece.as_ref().map_or(0, Vec::len) as u64;
        Ok(piece)
    }

    /// The next objects, as many as are looked at together.
    fn take_batch(&mut self) -> Vec<Place> {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH {
            let Place { part, at } = self.next;
            let found = match self.objects.packs().get(part) {
                Some(in_pack) => in_pack.next(at),
                None if (at as usize) < self.objects.others().len() => Some(at),
                None => break,
            };
            match found {
                Some(at) => {
                    batch.push(Place { part, at });
                    self.next.at = at + 1;
                }
                None => self.next = Place { part: part + 1, at: 0 },
            }
        }
        batch
    }

    /// Writes objects in their order, after what has to be compressed of them was, all at
    /// once.
    fn write(&mut self, batch: &[Place]) -> Result<(), Error> {
        let forms = batch.iter().map(|place| self.form(*place)).collect::<Result<Vec<_>, _>>()?;
        let to_make = forms.iter().filter_map(|form| match form {
            Form::Rebuilt(id) => Some(*id),
            Form::Whole(..) | Form::Delta(..) => None,
        });
        let mut made = self.encode(&to_make.collect::<Vec<_>>())?.into_iter();
        for (place, form) in batch.iter().zip(forms) {
            let (form, inflated_size, stream) = match form {
                Form::Whole(kind, size, stream) => (EntryForm::Whole(kind), size, stream),
                Form::Delta(base, size, stream) => (self.delta_form(&base), size, stream),
                Form::Rebuilt(_) => {
                    let made = made.next().ok_or_else(no_place)?;
                    (EntryForm::Whole(made.kind), made.size, made.stream)
                }
            };
            let Some(writer) = &mut self.writer else { return Ok(()) };
            let start = writer.packed(EntryHeader { form, inflated_size }, &stream);
            if let Some(of_place) =
                self.starts.get_mut(place.part).and_then(|list| list.get_mut(place.at as usize))
            {
                *of_place = start;
            }
        }
        Ok(())
    }

    /// How the object at `place` is sent.
    fn form(&mut self, place: Place) -> Result<Form, Error> {
        let form = match self.objects.packs().get(place.part) {
            Some(_) => self.form_in_pack(place)?,
            None => self.form_of_other(place)?,
        };
        match form {
            Form::Rebuilt(_) => {}
            Form::Whole(..) | Form::Delta(..) => self.work.copied += 1,
        }
        Ok(form)
    }

    fn form_in_pack(&self, place: Place) -> Result<Form, Error> {
        let Some(in_pack) = self.objects.packs().get(place.part) else {
            return Err(Error::new(ErrorKind::Corrupt, "a pack has vanished"));
        };
        let entry = in_pack.pack.entry_at(place.at)?;
        let base_at = match entry.form {
            ViewedForm::Whole(kind) => {
                return Ok(Form::Whole(kind, entry.inflated_size, entry.stream));
            }
            ViewedForm::DeltaOf { base } => base,
        };
        let base_place = Place { part: place.part, at: base_at };
        let base = if in_pack.has(base_at) {
            Some(self.sent_base(place, base_place, || Ok(in_pack.pack.id_at(base_at)?))?)
        } else {
            self.base_elsewhere(place, in_pack.pack.id_at(base_at)?)?
        };
        match base {
            Some(base) => Ok(Form::Delta(base, entry.inflated_size, entry.stream)),
            None => Ok(Form::Rebuilt(in_pack.pack.id_at(place.at)?)),
        }
    }

    fn form_of_other(&self, place: Place) -> Result<Form, Error> {
        let id = self.objects.others().id(place.at);
        let Some(entry) = self.store.packed(&id)? else { return Ok(Form::Rebuilt(id)) };
        let base_id = match entry.form {
            PackedAs::Whole(kind) => {
                return Ok(Form::Whole(kind, entry.inflated_size, entry.stream));
            }
            PackedAs::DeltaOf(base) => base,
        };
        // One store's own deltas are no cycle, so the base may also come later.
        let base = match self.objects.others().find(&base_id) {
            Some(at) => {
                let base_place = Place { part: place.part, at };
                Some(self.sent_base(place, base_place, || Ok(base_id))?)
            }
            None => self.base_elsewhere(place, base_id)?,
        };
        match base {
            Some(base) => Ok(Form::Delta(base, entry.inflated_size, entry.stream)),
            None => Ok(Form::Rebuilt(id)),
        }
    }

    /// A base that is part of the set. Where distances say it, nobody asks for its id.
    fn sent_base(
        &self,
        of: Place,
        base: Place,
        id: impl FnOnce() -> Result<ObjectId, Error>,
    ) -> Result<Base, Error> {
        if self.forms.ofs_delta && base < of {
            Ok(Base::Before(base))
        } else {
            id().map(Base::Named)
        }
    }

    /// The base `id` of what is at `place`, if it is sent before that from another pack, or
    /// the client has it. (A base that is sent later could be a delta against this.)
    fn base_elsewhere(&self, place: Place, id: ObjectId) -> Result<Option<Base>, Error> {
        for (part, in_pack) in self.objects.packs().iter().enumerate().take(place.part) {
            if let Some(at) = in_pack.pack.position(&id)?.filter(|&at| in_pack.has(at)) {
                return self.sent_base(place, Place { part, at }, || Ok(id)).map(Some);
            }
        }
        Ok((self.forms.thin && (self.had)(&id)).then_some(Base::Named(id)))
    }

    fn delta_form(&self, base: &Base) -> EntryForm {
        match base {
            Base::Before(Place { part, at }) => {
                let start = self.starts.get(*part).and_then(|list| list.get(*at as usize));
                let here = self.writer.as_ref().map_or(0, PackWriter::offset);
                EntryForm::OfsDelta { distance: here - start.copied().unwrap_or(0) }
            }
            Base::Named(id) => EntryForm::RefDelta { base: *id },
        }
    }

    /// The objects `ids` as whole entries, from the cache or compressed now.
    fn encode(&mut self, ids: &[ObjectId]) -> Result<Vec<Encoded>, Error> {
        let mut encoded: Vec<Option<Encoded>> =
            ids.iter().map(|id| self.means.encoded.find(id)).collect();
        let absent: Vec<usize> = (0..ids.len())
            .filter(|&number| encoded.get(number).is_some_and(Option::is_none))
            .collect();
        self.work.cached += (ids.len() - absent.len()) as u64;
        self.work.rebuilt += absent.len() as u64;
        // A few for each thread, so that no more than those are in memory at once.
        for some in absent.chunks(REBUILT_EACH * self.means.workers.threads()) {
            let made: Vec<OnceLock<Result<Encoded, Error>>> =
                some.iter().map(|_| OnceLock::new()).collect();
            let (store, cache) = (self.store, self.means.encoded);
            self.means.workers.run(some.len(), &|part| {
                let id = some.get(part).and_then(|&number| ids.get(number));
                if let (Some(place), Some(id)) = (made.get(part), id) {
                    _ = place.set(encode(store, cache, id));
                }
            });
            for (&number, made) in some.iter().zip(made) {
                let made = made.into_inner().ok_or_else(no_place)??;
                if let Some(place) = encoded.get_mut(number) {
                    *place = Some(made);
                }
            }
        }
        encoded.into_iter().map(|made| made.ok_or_else(no_place)).collect()
    }
}

fn encode<S: Objects + ?Sized>(
    store: &S,
    cache: &EncodedCache,
    id: &ObjectId,
) -> Result<Encoded, Error> {
    let object = store.read(id)?.ok_or(StoreError::Missing { id: *id })?;
    let stream = deflate(&object.bytes, LEVEL);
    Ok(cache.keep(*id, object.kind, object.bytes.len() as u64, stream))
}

/// A place that was counted and is not there: a bug, which ends the pack and not the server.
fn no_place() -> Error {
    Error::new(ErrorKind::Corrupt, "an object of the pack has no place in it")
}

/// A packet of the sideband holds 65,515 bytes.
const PIECE_BYTES: usize = 64 << 10;
/// Objects that are looked at together.
const BATCH: usize = 64;
/// Objects that each thread compresses in one go.
const REBUILT_EACH: usize = 8;
/// Of a depth-1 pack of git.git, level 4 makes 4% more than zlib's 6 in half of the time.
const LEVEL: u8 = 4;
