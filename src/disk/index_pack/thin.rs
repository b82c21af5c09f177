//! Completing a thin pack: the objects its deltas stand on are appended to it, and its
//! count and trailer are made to fit.

use std::io::{Seek as _, SeekFrom, Write as _};

use bytes::Bytes;

use super::output::Output;
use super::{IndexOptions, open};
use crate::disk::Repository;
use crate::disk::files::io_error;
use crate::error::{Error, ErrorKind};
use crate::oid::{Hasher, ObjectId};
use crate::pack::Entries;
use crate::pack::entry::{EntryForm, EntryHeader};
use crate::pack::inflate::deflate;
use crate::store::Objects as _;

/// An object that was appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Added {
    pub(super) id: ObjectId,
    pub(super) offset: u64,
}

/// A pack that stands on its own.
pub(super) struct Completed {
    pub(super) data: Bytes,
    pub(super) added: Vec<Added>,
    pub(super) checksum: ObjectId,
}

impl Completed {
    /// One that nothing needs to be added to.
    pub(super) fn as_it_is(data: Bytes, checksum: ObjectId) -> Self {
        Self { data, added: Vec::new(), checksum }
    }
}

/// Appends to the pack in `output` what its deltas were made against in `base`.
pub(super) fn complete(
    output: &mut Output,
    entries: &Entries,
    checksum: ObjectId,
    base: &Repository,
    options: &IndexOptions,
) -> Result<Completed, Error> {
    let data = open(output.path())?;
    let outside: Vec<ObjectId> = entries.outside_bases().collect();
    if outside.is_empty() {
        return Ok(Completed::as_it_is(data, checksum));
    }
    let mut end = data.len().saturating_sub(options.format.raw_len()) as u64;
    drop(data);
    let mut added = Vec::new();
    seek(output, end)?;
    for id in outside {
        let Some(object) = base.read(&id)? else {
            let what = format!("object {id} has vanished from the base repository");
            return Err(Error::new(ErrorKind::Conflict, what));
        };
        let form = EntryForm::Whole(object.kind);
        let mut entry = Vec::new();
        EntryHeader { form, inflated_size: object.bytes.len() as u64 }.encode(&mut entry);
        entry.extend(deflate(&object.bytes, LEVEL));
        output.write(&entry)?;
        added.push(Added { id, offset: end });
        end += entry.len() as u64;
    }
    let objects = entries.len() + added.len() as u32;
    seek(output, COUNT_AT)?;
    output.write(&objects.to_be_bytes())?;
    let checksum = seal(output, end, options)?;
    Ok(Completed { data: open(output.path())?, added, checksum })
}

/// Puts the trailer that fits behind the first `end` bytes.
fn seal(output: &mut Output, end: u64, options: &IndexOptions) -> Result<ObjectId, Error> {
    let mut hasher = Hasher::new(options.format);
    let data = open(output.path())?;
    for piece in data.get(..end as usize).unwrap_or_default().chunks(super::CHUNK_BYTES) {
        hasher.update(piece);
    }
    drop(data);
    let checksum = hasher.finish()?;
    seek(output, end)?;
    output.write(checksum.as_bytes())?;
    let length = end + checksum.as_bytes().len() as u64;
    let cut = output.file().set_len(length);
    cut.map_err(|error| io_error(output.path(), error))?;
    output.flush()?;
    Ok(checksum)
}

fn seek(output: &mut Output, to: u64) -> Result<(), Error> {
    let file = output.file();
    let sought = file.flush().and_then(|()| file.seek(SeekFrom::Start(to)));
    sought.map(drop).map_err(|error| io_error(output.path(), error).into())
}

/// zlib's own default, and git's.
const LEVEL: u8 = 6;
/// Where a pack's header has the count of its entries.
const COUNT_AT: u64 = 8;
