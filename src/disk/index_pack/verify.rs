//! Checking a pack against the index that it has.

use std::path::Path;

use super::entries::PackRows;
use super::{IndexOptions, Indexed, Paths, about, open, report, resolve};
use crate::disk::files::malformed;
use crate::error::{Error, ErrorKind};
use crate::limits::Interrupt;
use crate::pack::index::PackIndex;
use crate::pack::index::write::{IndexWriter, Rows as _};

/// Resolves the pack in the file `pack` and holds its index against what was found: every
/// id, offset and checksum. Writes nothing.
///
/// # Errors
///
/// As [`index_pack`](super::index_pack)'s; `NotFound` when there is no index, `Corrupt`
/// when it does not fit.
pub fn verify_pack(
    pack: &Path,
    options: &IndexOptions,
    interrupt: &(dyn Interrupt + Sync),
) -> Result<Indexed, Error> {
    let path = Paths::of(pack, options)?.index;
    let data = open(pack)?;
    let index = PackIndex::parse(open(&path)?, options.format)
        .map_err(|error| Error::from(error).while_doing(path.display()))?;
    index.verify_checksum().map_err(|error| Error::from(error).while_doing(path.display()))?;
    let resolved = resolve(&data, options, interrupt).map_err(|error| about(pack, error))?;
    let rows = PackRows::new(&data, &resolved.entries, &[], options)?;
    let writer = IndexWriter::new(&rows, resolved.checksum, &options.budget)?;
    let differs = |what: &str| {
        let error = Error::from(malformed(&path, what));
        Error::new(ErrorKind::Corrupt, error.context()).with_source(error)
    };
    if index.pack_checksum() != resolved.checksum {
        return Err(differs("it was made for another pack"));
    }
    if index.len() != rows.len() {
        return Err(differs("it counts other objects than the pack has"));
    }
    for (place, entry) in (0_u32..).zip(writer.entries()) {
        let id = Some(rows.id(entry));
        let at = |place: Option<u32>| place.and_then(|place| index.id_at(place));
        // The same object twice may stand in either order.
        let twice = at(place.checked_sub(1)) == id || at(place.checked_add(1)) == id;
        let same_place = index.offset_at(place) == Some(rows.offset(entry))
            && index.crc32_at(place).is_none_or(|crc| crc == rows.crc32(entry));
        if at(Some(place)) != id || !(twice || same_place) {
            return Err(differs(&format!("it says something else of object {}", rows.id(entry))));
        }
    }
    Ok(report(&resolved.entries, 0, resolved.checksum, resolved.stats))
}
