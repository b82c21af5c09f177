//! Loose objects: one zlib stream a file, `<kind> <size> NUL` and the content.
//!
//! Follows `gitrepository-layout`, "objects/[0-9a-f][0-9a-f]". A fan-out folder is listed
//! when first asked for, so that absent objects cost no failed opens; whoever misses an
//! object lists it [again](LooseStore::forget) once. Objects are not hashed when read, as
//! in git; size and zlib's checksum are verified, and nothing may follow the stream.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bstr::ByteSlice as _;
use bytes::Bytes;

use super::files::list;
use super::map::map;
use super::peek::peek;
use crate::limits::{Budget, Limits, Reservation};
use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::inflate::inflate_exact;
use crate::store::held::held;
use crate::store::{Header, IdPrefix, Object, StoreError};

/// The loose objects of one object folder.
#[derive(Debug)]
pub(super) struct LooseStore {
    folder: PathBuf,
    format: ObjectFormat,
    fan_out: Mutex<Vec<Option<Listing>>>,
}

/// The ids in one fan-out folder, sorted.
#[derive(Debug)]
struct Listing {
    ids: Vec<ObjectId>,
    _paid: Reservation,
}

impl LooseStore {
    pub(super) fn new(folder: PathBuf, format: ObjectFormat) -> Self {
        let fan_out = Mutex::new((0..256).map(|_| None).collect());
        Self { folder, format, fan_out }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn contains(&self, id: &ObjectId, budget: &Budget) -> Result<bool, StoreError> {
        let byte = id.as_bytes().first().copied().unwrap_or(0);
        self.with_listing(byte, budget, |ids| ids.binary_search(id).is_ok())
    }

    /// Adds the ids that begin with `prefix` to `found`.
    pub(super) fn ids_with_prefix(
        &self,
        prefix: &IdPrefix,
        budget: &Budget,
        found: &mut Vec<ObjectId>,
    ) -> Result<(), StoreError> {
        self.with_listing(prefix.first_byte(), budget, |ids| {
            found.extend(ids.iter().filter(|id| prefix.matches(id.as_bytes())));
        })
    }

    /// Lists the folder that `id` would be in anew when next asked for it.
    pub(super) fn forget(&self, first_byte: u8) {
        let mut fan_out = self.fan_out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = fan_out.get_mut(usize::from(first_byte)) {
            *listing = None;
        }
    }

    /// Kind and size; `None` when there is no such file.
    pub(super) fn header(
        &self,
        id: &ObjectId,
        budget: &Budget,
    ) -> Result<Option<Header>, StoreError> {
        let Some(file) = map(&self.path_of(id))? else { return Ok(None) };
        let (header, _) = self.read_header(id, &file, budget)?;
        Ok(Some(header))
    }

    /// The object; `None` when there is no such file.
    pub(super) fn read(
        &self,
        id: &ObjectId,
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Option<Object>, StoreError> {
        let Some(file) = map(&self.path_of(id))? else { return Ok(None) };
        let (header, header_len) = self.read_header(id, &file, budget)?;
        limits.check_object_bytes(header.size)?;
        let damaged = |what| StoreError::Corrupt { id: *id, what };
        let len = usize::try_from(header.size).ok().and_then(|size| size.checked_add(header_len));
        let len = len.ok_or(damaged("its size is no size of memory"))?;
        let paid = budget.reserve(len as u64)?;
        let mut bytes = Vec::new();
        let used = inflate_exact(&file, len, &mut bytes)
            .map_err(|_| damaged("its file does not inflate to the size it declares"))?;
        if used != file.len() {
            return Err(damaged("bytes follow it in its file"));
        }
        let bytes = held(bytes, paid);
        Ok(Some(Object { kind: header.kind, bytes: bytes.slice(header_len.min(bytes.len())..) }))
    }

    /// What the file of an object says of it, and how many bytes say it.
    fn read_header(
        &self,
        id: &ObjectId,
        file: &Bytes,
        budget: &Budget,
    ) -> Result<(Header, usize), StoreError> {
        let damaged =
            StoreError::Corrupt { id: *id, what: "its file does not begin with a header" };
        // The true size is what is to be found out.
        peek(file, u64::MAX, MAX_HEADER_LEN, budget, parse_header)?.ok_or(damaged)
    }

    fn with_listing<T>(
        &self,
        byte: u8,
        budget: &Budget,
        answer: impl FnOnce(&[ObjectId]) -> T,
    ) -> Result<T, StoreError> {
        let mut fan_out = self.fan_out.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = fan_out.get_mut(usize::from(byte)) else { return Ok(answer(&[])) };
        if slot.is_none() {
            *slot = Some(self.list(byte, budget)?);
        }
        Ok(answer(slot.as_ref().map_or(&[], |listing| &listing.ids)))
    }

    fn list(&self, byte: u8, budget: &Budget) -> Result<Listing, StoreError> {
        let fan = format!("{byte:02x}");
        let mut ids = Vec::new();
        let mut paid = budget.empty();
        for entry in list(&self.folder.join(&fan))? {
            let name = entry.file_name();
            let Some(rest) = <[u8]>::from_os_str(&name) else { continue };
            let hex = [fan.as_bytes(), rest].concat();
            let id = ObjectId::from_hex(&hex).ok().filter(|id| id.format() == self.format);
            if let Some(id) = id {
                paid.grow(size_of::<ObjectId>() as u64)?;
                ids.push(id);
            }
        }
        ids.sort_unstable();
        Ok(Listing { ids, _paid: paid })
    }

    fn path_of(&self, id: &ObjectId) -> PathBuf {
        let hex = id.to_string();
        let (fan, rest) = hex.split_at(2);
        self.folder.join(fan).join(rest)
    }
}

fn parse_header(bytes: &[u8]) -> Option<(Header, usize)> {
    let end = bytes.iter().take(MAX_HEADER_LEN).position(|&byte| byte == 0)?;
    let (kind, size) = bytes[..end].split_once_str(b" ")?;
    let canonical = !size.starts_with(b"0") || size == b"0";
    let digits = canonical && size.iter().all(u8::is_ascii_digit);
    let size = digits.then(|| std::str::from_utf8(size).ok()?.parse().ok())??;
    Some((Header { kind: Kind::from_name(kind)?, size }, end + 1))
}

/// git's own bound: a kind, a space, and a number of 64 bits fit.
const MAX_HEADER_LEN: usize = 32;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::hash_object;
    use crate::pack::inflate::deflate;

    fn store_with(file: &[u8]) -> (tempfile::TempDir, LooseStore, ObjectId) {
        let dir = tempfile::tempdir().unwrap();
        let store = LooseStore::new(dir.path().to_owned(), ObjectFormat::Sha1);
        let id = hash_object(ObjectFormat::Sha1, Kind::Blob, b"any").unwrap();
        let path = store.path_of(&id);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
        (dir, store, id)
    }

    fn read(store: &LooseStore, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        let budget = Budget::new(1 << 20);
        store.read(id, &Limits::default(), &budget)
    }

    #[test]
    fn damaged_files_are_told_from_absent_ones() {
        let zeros = vec![0; 500_000];
        let bomb = [&b"blob 10\0"[..], &zeros].concat();
        for (file, what) in [
            (deflate(b"blob 4\0any", 6), "inflate"),
            (deflate(b"blob 2\0any", 6), "inflate"),
            (deflate(&bomb, 9), "inflate"),
            (deflate(b"blob 99999999999999999999\0any", 6), "header"),
            (deflate(b"blob 03\0any", 6), "header"),
            (deflate(b"blob +3\0any", 6), "header"),
            (deflate(b"blot 3\0any", 6), "header"),
            (deflate(b"blob", 6), "header"),
            (deflate(&zeros, 9), "header"),
            (b"".to_vec(), "header"),
            (b"junk that is no stream".to_vec(), "header"),
            ([deflate(b"blob 3\0any", 6), b"!".to_vec()].concat(), "follow"),
        ] {
            let (_dir, store, id) = store_with(&file);
            let error = read(&store, &id).unwrap_err().to_string();
            assert!(error.contains(what), "{what}: {error}");
        }
        let (_dir, store, id) = store_with(&deflate(b"blob 3\0any", 6));
        assert_eq!(&read(&store, &id).unwrap().unwrap().bytes[..], b"any");
        let absent = ObjectId::null(ObjectFormat::Sha1);
        assert_eq!(read(&store, &absent).unwrap(), None);
    }

    #[test]
    fn too_little_memory_is_a_limit_and_no_damage() {
        let (_dir, store, id) = store_with(&deflate(b"blob 3\0any", 6));
        let refused = store.read(&id, &Limits::default(), &Budget::new(8)).unwrap_err();
        assert!(matches!(refused, StoreError::Limit(_)), "{refused}");
    }

    #[test]
    fn a_declared_size_over_the_cap_is_a_limit() {
        let (_dir, store, id) = store_with(&deflate(b"blob 1099511627776\0any", 6));
        let error = read(&store, &id).unwrap_err();
        assert!(matches!(error, StoreError::Limit(_)), "{error}");
    }

    #[test]
    fn a_listing_is_made_once_and_again_when_forgotten() {
        let (dir, store, id) = store_with(b"");
        let budget = Budget::new(1 << 20);
        assert!(store.contains(&id, &budget).unwrap());
        std::fs::remove_file(store.path_of(&id)).unwrap();
        assert!(store.contains(&id, &budget).unwrap());
        store.forget(id.as_bytes()[0]);
        assert!(!store.contains(&id, &budget).unwrap());
        drop((store, dir));
        assert_eq!(budget.used_bytes(), 0);
    }
}
