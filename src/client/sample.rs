//! The beginning of a pack, looked at and thrown away: which objects came, as far as it
//! was read.
//!
//! For probes, which are cut off after a few bytes and conclude from what came until then.
//! Whole objects are hashed, so what is in a sample did come; what is not may have been
//! about to. Contents are kept of commits, trees and tags only. Nothing here reaches a
//! store.

use bytes::Bytes;

use crate::limits::{Budget, LimitExceeded, Reservation};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::pack::{EntryStore, ResolvedEntry, Streams};

/// What is kept of a pack while it arrives.
#[derive(Debug)]
pub struct Sample {
    streams: Vec<u8>,
    /// Where each entry's stream begins; the last has ended or is under way.
    starts: Vec<usize>,
    objects: Vec<SampledObject>,
    /// By entry: which of `objects` it is.
    by_entry: Vec<Option<usize>>,
    paid: Reservation,
}

/// An object that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledObject {
    /// Its id, by its own hash.
    pub id: ObjectId,
    /// What it is.
    pub kind: Kind,
    /// Bytes of its content.
    pub size: u64,
    /// Its content, unless it is a file.
    pub content: Option<Bytes>,
}

/// What came of an answer to a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Objects that the pack says it has; `None` when no pack began.
    pub declared: Option<u64>,
    /// Those that came whole.
    pub objects: Vec<SampledObject>,
    /// Where the host says that it cuts history.
    pub shallow: Vec<ObjectId>,
}

impl Sampled {
    /// The object called `id`, if it came.
    pub fn find(&self, id: &ObjectId) -> Option<&SampledObject> {
        self.objects.iter().find(|object| object.id == *id)
    }

    /// How many objects of `kind` came.
    pub fn count(&self, kind: Kind) -> usize {
        self.objects.iter().filter(|object| object.kind == kind).count()
    }
}

impl Sample {
    /// Nothing yet; what is kept is spent from `budget`.
    pub fn new(budget: &Budget) -> Self {
        Self {
            streams: Vec::new(),
            starts: Vec::new(),
            objects: Vec::new(),
            by_entry: Vec::new(),
            paid: budget.empty(),
        }
    }

    /// The objects so far.
    pub fn objects(&self) -> &[SampledObject] {
        &self.objects
    }
}

/// The streams of a sample, for whoever resolves deltas.
#[derive(Debug)]
pub struct SampleStreams {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Streams for SampleStreams {
    fn stream(&self, entry: u32, _offset: u64) -> &[u8] {
        let entry = entry as usize;
        let end = self.starts.get(entry + 1).copied().unwrap_or(self.bytes.len());
        let start = self.starts.get(entry).copied().unwrap_or(end);
        self.bytes.get(start..end).unwrap_or_default()
    }
}

impl EntryStore for Sample {
    type Streams = SampleStreams;

    fn begin(&mut self) -> Result<(), LimitExceeded> {
        self.paid.grow(2 * size_of::<usize>() as u64 + size_of::<Option<usize>>() as u64)?;
        self.starts.push(self.streams.len());
        self.by_entry.push(None);
        Ok(())
    }

    fn append(&mut self, stream: &[u8]) -> Result<(), LimitExceeded> {
        self.paid.grow(2 * stream.len() as u64)?;
        self.streams.extend_from_slice(stream);
        Ok(())
    }

    fn end(&mut self) -> Result<(), LimitExceeded> {
        Ok(())
    }

    fn lend_streams(&mut self) -> SampleStreams {
        let (bytes, starts) = (std::mem::take(&mut self.streams), std::mem::take(&mut self.starts));
        SampleStreams { bytes, starts }
    }

    fn take_streams_back(&mut self, streams: SampleStreams) {
        (self.streams, self.starts) = (streams.bytes, streams.starts);
    }

    fn resolved(&mut self, entry: ResolvedEntry<'_>) -> Result<(), LimitExceeded> {
        let is_kept = entry.kind != Kind::Blob;
        let kept_bytes = if is_kept { entry.content.len() } else { 0 };
        self.paid.grow((2 * size_of::<SampledObject>() + kept_bytes) as u64)?;
        if let Some(place) = self.by_entry.get_mut(entry.entry as usize) {
            *place = Some(self.objects.len());
        }
        self.objects.push(SampledObject {
            id: entry.id,
            kind: entry.kind,
            size: entry.content.len() as u64,
            content: is_kept.then(|| Bytes::copy_from_slice(entry.content)),
        });
        Ok(())
    }

    fn content(&self, entry: u32) -> Option<Bytes> {
        let place = self.by_entry.get(entry as usize).copied().flatten()?;
        self.objects.get(place)?.content.clone()
    }

    fn external(&self, _: &ObjectId) -> Option<(Kind, Bytes)> {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::limits::{Limits, NeverInterrupt};
    use crate::oid::ObjectFormat;
    use crate::pack::{Ingest, write::PackWriter};

    #[test]
    fn what_came_before_the_cut_is_told_and_paid_for_until_it_is_dropped() {
        let mut writer = PackWriter::new(ObjectFormat::Sha1, 2);
        writer.whole(Kind::Tree, b"");
        writer.whole(Kind::Blob, &[7; 5000]);
        let pack = writer.finish().unwrap();
        let budget = Budget::new(1 << 20);
        for cut in [pack.len(), pack.len() - 20, 30] {
            let sample = Sample::new(&budget);
            let limits = Limits::default();
            let mut ingest = Ingest::new(ObjectFormat::Sha1, &limits, &budget, sample);
            ingest.push(&pack[..cut], &NeverInterrupt).unwrap();
            let objects = ingest.store().objects();
            let kinds: Vec<_> = objects.iter().map(|o| (o.kind, o.size)).collect();
            let all = [(Kind::Tree, 0), (Kind::Blob, 5000)];
            assert_eq!(kinds, all[..if cut == 30 { 1 } else { 2 }]);
            assert_eq!(objects[0].content.as_deref(), Some(&b""[..]));
            assert_eq!(ingest.progress().total_objects, Some(2));
        }
        assert_eq!(budget.used_bytes(), 0);
    }
}
