//! Commit-graphs: trees, parents and times of commits, without reading any.
//!
//! Follows `gitformat-commit-graph`, version 1: one file, or a chain of them, each on top of
//! those before. Changed paths (Bloom filters) and corrected dates are not looked at.

use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::helper::{Chunk, Chunks, HelperError, check_header, nth_u32, verify_checksum};
use crate::pack::id_table::{IdTable, u32_at};

/// A commit-graph over the bytes `D` of its files.
#[derive(Clone, Debug)]
pub struct CommitGraph<D> {
    format: ObjectFormat,
    /// The lowest first.
    layers: Vec<Layer<D>>,
}

/// One file.
#[derive(Clone, Debug)]
struct Layer<D> {
    data: D,
    ids: IdTable,
    commits: Chunk,
    /// Parents of commits with more than two.
    edges: Chunk,
    /// Commits in the layers below.
    below: u32,
}

/// What a graph says of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphCommit {
    /// Its snapshot.
    pub tree: ObjectId,
    /// The commits before it, in order.
    pub parents: Vec<ObjectId>,
    /// One more than the highest of its parents, counted from 1; 0 where it was not computed.
    pub generation: u32,
    /// When it was made, in seconds since 1970: 34 bits of that.
    pub seconds: u64,
}

impl<D: AsRef<[u8]>> CommitGraph<D> {
    /// A graph of no commits, for a repository of `format`.
    pub fn new(format: ObjectFormat) -> Self {
        Self { format, layers: Vec::new() }
    }

    /// Adds a file on top, after checking its checksum, its tables, and that it was made for
    /// the files below.
    ///
    /// # Errors
    /// When it does not follow its format, or is for another hash or for other files. The
    /// graph is then as it was.
    pub fn add(&mut self, data: D) -> Result<(), HelperError> {
        let (bytes, format) = (data.as_ref(), self.format);
        check_header(bytes, *b"CGPH", format)?;
        verify_checksum(bytes, format)?;
        let [chunks, bases] =
            *bytes.get(6..).and_then(<[u8]>::first_chunk).ok_or(HelperError::Truncated)?;
        let chunks = Chunks::parse(bytes, HEADER_LEN, chunks, format)?;
        let ids = chunks.ids(bytes, format)?;
        let needed = (ids.len() as usize).checked_mul(format.raw_len() + COMMIT_BYTES);
        let commits = chunks.find(*b"CDAT").filter(|chunk| Some(chunk.len()) == needed);
        let commits = commits.ok_or(HelperError::Damaged("list of commits"))?;
        let edges = chunks.find(*b"EDGE").unwrap_or_default();
        let base = chunks.find(*b"BASE").unwrap_or_default();
        let below = self.layers.iter().flat_map(|layer| layer.checksum(format));
        let are_bases = self.layers.len() == usize::from(bases);
        if !are_bases || !below.copied().eq(base.of(bytes).iter().copied()) {
            return Err(HelperError::Damaged("list of files below"));
        }
        let below = self.layers.last().map_or(0, Layer::end);
        let end = below.checked_add(ids.len()).filter(|&end| end < NO_PARENT);
        end.ok_or(HelperError::Damaged("count of commits"))?;
        self.layers.push(Layer { ids, commits, edges, below, data });
        Ok(())
    }

    /// How many commits it has.
    pub fn len(&self) -> u32 {
        self.layers.last().map_or(0, Layer::end)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it says of the commit `id`; `None` when it is not there, or damaged.
    pub fn find(&self, id: &ObjectId) -> Option<GraphCommit> {
        let found = |layer: &Layer<D>| layer.ids.position(layer.data.as_ref(), id);
        let (layer, at) =
            self.layers.iter().rev().find_map(|layer| Some((layer, found(layer)?)))?;
        let width = self.format.raw_len();
        let row = layer.commits.of(layer.data.as_ref());
        let row = row.get(at as usize * (width + COMMIT_BYTES)..)?.get(..width + COMMIT_BYTES)?;
        let (tree, rest) = row.split_at_checked(width)?;
        let number = |at: usize| nth_u32(rest, at);
        let (first, second) = (number(0)?, number(1)?);
        let high = number(2)?;
        Some(GraphCommit {
            tree: ObjectId::from_raw(tree).ok()?,
            parents: self.parents(layer, first, second)?,
            generation: high >> 2,
            seconds: u64::from(high & 3) << 32 | u64::from(number(3)?),
        })
    }

    fn parents(&self, of: &Layer<D>, first: u32, second: u32) -> Option<Vec<ObjectId>> {
        let mut parents = Vec::new();
        if first == NO_PARENT {
            return (second == NO_PARENT).then_some(parents);
        }
        // What is below knows nothing of what is above.
        let id_at = |place: u32| (place < of.end()).then(|| self.id_at(place))?;
        parents.push(id_at(first)?);
        if second & IN_LIST == 0 {
            if second != NO_PARENT {
                parents.push(id_at(second)?);
            }
            return Some(parents);
        }
        let start = usize::try_from(u64::from(second & !IN_LIST) * 4).ok()?;
        let list = of.edges.of(of.data.as_ref()).get(start..)?;
        for at in 0..MAX_PARENTS {
            let edge = u32_at(list, at * 4)?;
            parents.push(id_at(edge & !IN_LIST)?);
            if edge & IN_LIST != 0 {
                return Some(parents);
            }
        }
        None
    }

    /// The commit at a place in all layers.
    fn id_at(&self, place: u32) -> Option<ObjectId> {
        let layer = self.layers.iter().rev().find(|layer| layer.below <= place)?;
        layer.ids.id_at(layer.data.as_ref(), place - layer.below)
    }
}

impl<D: AsRef<[u8]>> Layer<D> {
    /// Commits in this layer and below.
    fn end(&self) -> u32 {
        self.below + self.ids.len()
    }

    fn checksum(&self, format: ObjectFormat) -> &[u8] {
        let bytes = self.data.as_ref();
        bytes.get(bytes.len() - format.raw_len()..).unwrap_or_default()
    }
}

/// Magic, version, hash, chunks, files below.
const HEADER_LEN: usize = 8;
/// Of a commit, beside its tree: two parents, generation and time.
const COMMIT_BYTES: usize = 16;
const NO_PARENT: u32 = 0x7000_0000;
/// The other bits are a place in the list of edges; there, that it is the last.
const IN_LIST: u32 = 1 << 31;
/// Commits with more are read: a damaged list would else go on to the end of the file.
const MAX_PARENTS: usize = 4_096;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
