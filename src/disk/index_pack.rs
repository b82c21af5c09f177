//! Indexing packs: `.idx` and `.rev` beside a `.pack`, as `git index-pack` writes them.
//!
//! The pack is mapped, and its streams are read where they are: memory of this process
//! goes into tables of some 70 bytes an entry and into the objects under way, however
//! large the pack is. What is written appears under its name when it is whole, the index
//! last; an error leaves nothing behind. Objects are not judged by their content, as git
//! does not without `--strict`.

mod entries;
mod output;
mod thin;
mod verify;

use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use self::entries::{MappedEntries, PackRows};
use self::output::Output;
use super::Repository;
use super::files::io_error;
use super::map::map;
use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Interrupt, Limits, SharedWorkers};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::index::write::IndexWriter;
use crate::pack::{Entries, Ingest, IngestStats, PackError, Resolved};
use crate::store::StoreError;

pub use verify::verify_pack;

/// How packs are indexed.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// What the pack's ids are: SHA-1 unless said otherwise, since a pack does not say.
    pub format: ObjectFormat,
    /// Where the index is written: beside the pack, with `.idx` for `.pack`, unless said
    /// otherwise.
    pub index: Option<PathBuf>,
    /// Offsets above this go into the index's table of 64-bit offsets: 2 GiB, and less in
    /// tests.
    pub large_offsets_above: u64,
    /// Who resolves deltas: the caller's thread unless said otherwise.
    pub workers: SharedWorkers,
    /// The caps that hold. Those on the bytes of a whole pack do not by default: the file
    /// is here already.
    pub limits: Limits,
    /// What memory is spent from.
    pub budget: Budget,
}

impl Default for IndexOptions {
    fn default() -> Self {
        let limits = Limits {
            max_pack_bytes: u64::MAX,
            max_resolved_bytes: u64::MAX,
            max_resolved_ratio: u64::MAX,
            ..Limits::default()
        };
        Self {
            format: ObjectFormat::Sha1,
            index: None,
            large_offsets_above: u64::MAX,
            workers: SharedWorkers::default(),
            budget: Budget::new(limits.max_memory),
            limits,
        }
    }
}

/// What was found in a pack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Indexed {
    /// The pack's trailer.
    pub checksum: ObjectId,
    /// Entries of the pack, those that were added to it among them.
    pub objects: u32,
    /// Objects that were added, for deltas to stand on.
    pub added: u32,
    /// How many entries are at each distance from a whole object; whole ones come first.
    pub depths: Vec<u64>,
    /// What it took.
    pub stats: IngestStats,
}

/// Indexes the pack in the file `pack`.
///
/// # Errors
///
/// What is wrong with the pack, `Io` for files, `Limit`. Nothing is written then.
pub fn index_pack(
    pack: &Path,
    options: &IndexOptions,
    interrupt: &(dyn Interrupt + Sync),
) -> Result<Indexed, Error> {
    let paths = Paths::of(pack, options)?;
    let data = open(pack)?;
    let about = |error: PackError| about(pack, error);
    let resolved = resolve(&data, options, interrupt).map_err(about)?;
    let Resolved { entries, stats, checksum, .. } = resolved;
    paths.write(&PackRows::new(&data, &entries, &[], options)?, checksum, options)?;
    Ok(report(&entries, 0, checksum, stats))
}

/// Takes a pack from `input`, writes it to the file `pack`, and indexes it. Objects that
/// deltas stand on and that are only in `thin_base` are added to the pack.
///
/// # Errors
///
/// As [`index_pack`]'s; the file `pack` is not written either then.
pub fn index_stream(
    input: &mut dyn Read,
    pack: &Path,
    thin_base: Option<&Repository>,
    options: &IndexOptions,
    interrupt: &(dyn Interrupt + Sync),
) -> Result<Indexed, Error> {
    let paths = Paths::of(pack, options)?;
    let mut output = Output::beside(pack)?;
    let about = |error: PackError| about(pack, error);
    let store = MappedEntries::arriving(options.format, thin_base.cloned());
    let mut ingest = Ingest::new(options.format, &options.limits, &options.budget, store);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let len = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(io_error(Path::new("standard input"), error).into()),
        };
        let read = chunk.get(..len).unwrap_or_default();
        ingest.push(read, interrupt).map_err(about)?;
        output.write(read)?;
    }
    output.flush()?;
    ingest.store_mut().complete(open(output.path())?);
    let resolved = ingest.finish_on(&options.workers, interrupt).map_err(about)?;
    let Resolved { store, entries, stats, checksum } = resolved;
    // What is mapped is not written to.
    drop(store);
    let completed = match thin_base {
        Some(base) => thin::complete(&mut output, &entries, checksum, base, options)?,
        None => thin::Completed::as_it_is(open(output.path())?, checksum),
    };
    let thin::Completed { data, added, checksum } = completed;
    let rows = PackRows::new(&data, &entries, &added, options)?;
    output.persist_as(pack)?;
    let written = paths.write(&rows, checksum, options);
    if written.is_err() {
        // It was promised that nothing stays.
        drop(std::fs::remove_file(pack));
    }
    written?;
    Ok(report(&entries, added.len() as u32, checksum, stats))
}

fn resolve(
    data: &Bytes,
    options: &IndexOptions,
    interrupt: &(dyn Interrupt + Sync),
) -> Result<Resolved<MappedEntries>, PackError> {
    let store = MappedEntries::of(data.clone(), options.format);
    let mut ingest = Ingest::new(options.format, &options.limits, &options.budget, store);
    ingest.push_whole(data, &options.workers, interrupt)?;
    ingest.finish_on(&options.workers, interrupt)
}

fn report(entries: &Entries, added: u32, checksum: ObjectId, stats: IngestStats) -> Indexed {
    let mut depths = vec![u64::from(added)];
    for entry in 0..entries.len() {
        let depth = entries.depth(entry) as usize;
        if depths.len() <= depth {
            depths.resize(depth + 1, 0);
        }
        if let Some(count) = depths.get_mut(depth) {
            *count += 1;
        }
    }
    Indexed { checksum, objects: entries.len() + added, added, depths, stats }
}

/// Where the files go.
struct Paths {
    index: PathBuf,
    reverse: PathBuf,
}

impl Paths {
    fn of(pack: &Path, options: &IndexOptions) -> Result<Self, Error> {
        let index = match &options.index {
            Some(index) if has_extension(index, "idx") => index.clone(),
            Some(index) => {
                return Err(usage(format!("the index '{}' must end in .idx", index.display())));
            }
            None if has_extension(pack, "pack") => pack.with_extension("idx"),
            None => {
                let what = "does not end in .pack: name the index with -o";
                return Err(usage(format!("'{}' {what}", pack.display())));
            }
        };
        let reverse = index.with_extension("rev");
        Ok(Self { index, reverse })
    }

    /// Writes both, and makes both appear only when both are whole; the index last, since
    /// a pack without one is ignored.
    fn write(
        &self,
        rows: &PackRows<'_>,
        checksum: ObjectId,
        options: &IndexOptions,
    ) -> Result<(), Error> {
        let writer = IndexWriter::new(rows, checksum, &options.budget)?
            .with_large_offsets_above(options.large_offsets_above);
        let mut index = Output::beside(&self.index)?;
        writer.index(&mut |piece| index.write(piece))?;
        let mut reverse = Output::beside(&self.reverse)?;
        writer.reverse_index(&options.budget, &mut |piece| reverse.write(piece))?;
        index.flush()?;
        reverse.flush()?;
        reverse.persist_as(&self.reverse)?;
        if let Err(error) = index.persist_as(&self.index) {
            drop(std::fs::remove_file(&self.reverse));
            return Err(error);
        }
        Ok(())
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// The bytes of the file at `path`.
fn open(path: &Path) -> Result<Bytes, Error> {
    map(path)?.ok_or_else(|| {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = StoreError::Io { path: path.display().to_string(), source: missing };
        Error::new(ErrorKind::NotFound, error.to_string()).with_source(error)
    })
}

fn about(pack: &Path, error: PackError) -> Error {
    Error::from(error).while_doing(pack.display())
}

fn usage(what: String) -> Error {
    Error::new(ErrorKind::Usage, what)
}

/// What is read at once; the interrupt is asked more often.
const CHUNK_BYTES: usize = 1 << 20;
