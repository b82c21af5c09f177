//! Local repositories, read straight from disk: loose objects, packs, alternates, refs,
//! linked work trees. The working tree itself is not looked at, nothing is written but
//! the index of a pack, and nothing that a repository names is run.
//!
//! An object is looked for in all packs of all object folders, then among loose objects;
//! when it is nowhere, everything is listed once more, because git may have repacked
//! meanwhile. A damaged copy is passed over when there is a sound one elsewhere.
//! Objects are not hashed when read, as in git: sizes and zlib's checksums are verified.

mod alternates;
mod base_cache;
mod commit_graphs;
mod config;
mod discover;
mod files;
mod helpers;
mod index_pack;
mod local;
mod loose;
mod map;
mod multi_pack;
mod pack;
mod pack_view;
mod packed_refs;
mod packs;
mod peek;
mod ref_name;
mod refs;
mod settings;

pub use index_pack::{IndexOptions, Indexed, index_pack, index_stream, verify_pack};
pub use local::Local;
pub use settings::Setting;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bstr::BString;
use bytes::Bytes;

use crate::commit_graph::GraphCommit;
use crate::limits::{Budget, Limits};
use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};
use crate::pack::delta::DeltaSizes;
use crate::pack::entry::EntryForm;
use crate::store::unpack::{Chain, Link};
use crate::store::{
    CommitFacts, Header, IdPrefix, Object, Objects, PackView, PackedAs, PackedEntry, Ref, Refs,
    StoreError, through_tags,
};
use base_cache::BaseCache;
use commit_graphs::CommitGraphs;
use loose::LooseStore;
use pack::{EntryAt, Pack};
use packs::Packs;
use refs::{Peeled, RefFiles};

/// A repository on disk. A clone is the same one, with the same caches.
///
/// ```no_run
/// use std::path::Path;
/// use gitsip::disk::Repository;
/// use gitsip::store::{Objects, Refs};
/// use gitsip::{Budget, Limits};
///
/// let limits = Limits::default();
/// let repository =
///     Repository::open(Path::new("."), &limits, &Budget::new(limits.max_memory))?;
/// for one in repository.list(&["HEAD".into()])? {
///     if let Some(id) = one.target {
///         println!("{} {:?}", one.name, repository.header(&id)?);
///     }
/// }
/// # Ok::<(), gitsip::store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Repository(Arc<Shared>);

struct Shared {
    layout: discover::Layout,
    format: ObjectFormat,
    limits: Limits,
    budget: Budget,
    packs: Packs,
    /// Of each object folder, the repository's own first.
    loose: Vec<LooseStore>,
    graphs: CommitGraphs,
    refs: RefFiles,
    bases: Arc<Mutex<BaseCache>>,
}

impl Repository {
    /// Opens the repository at `path`: a work tree or a folder in one, a `.git` folder or
    /// file, or a bare repository. Reads are bounded by `limits`, their memory is spent
    /// from `budget`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoRepository`] when there is none, [`StoreError::Unsupported`] for
    /// formats that this build does not read (reftable, unknown extensions).
    pub fn open(path: &Path, limits: &Limits, budget: &Budget) -> Result<Self, StoreError> {
        let layout = discover::discover(path)?;
        let format = config::object_format(&layout.common_dir)?;
        let folders = alternates::object_dirs(&layout.common_dir.join("objects"))?;
        let pack_dirs = folders.iter().map(|dir| dir.join("pack")).collect();
        let packs = Packs::open(pack_dirs, format, budget)?;
        let graphs = CommitGraphs::new(&folders, format);
        let loose = folders.into_iter().map(|dir| LooseStore::new(dir, format)).collect();
        let refs = RefFiles::new(layout.clone(), format, limits, budget);
        let cache_bytes = (budget.limit_bytes() / 4).min(MAX_CACHE_BYTES);
        let bases = Arc::new(Mutex::new(BaseCache::new(cache_bytes)));
        let weak: Weak<Mutex<BaseCache>> = Arc::downgrade(&bases);
        budget.on_shortage(weak);
        Ok(Self(Arc::new(Shared {
            layout,
            format,
            limits: limits.clone(),
            budget: budget.clone(),
            packs,
            loose,
            graphs,
            refs,
            bases,
        })))
    }

    /// The folder with the repository's `HEAD`.
    pub fn git_dir(&self) -> &Path {
        &self.0.layout.git_dir
    }

    /// Every folder that is read: the repository's own, what it shares with other work trees,
    /// and what it borrows objects from. There may be symbolic links in the paths.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        let discover::Layout { git_dir, common_dir } = &self.0.layout;
        let objects = self.0.loose.iter().map(LooseStore::folder);
        [&**git_dir, &**common_dir].into_iter().chain(objects)
    }

    /// The folder that the `.git` file at `path` names, if it is a repository's.
    pub fn named_by(path: &Path) -> Option<PathBuf> {
        Some(discover::read_git_file(path).ok()??.git_dir)
    }

    /// The commits whose parents are not here, as in a clone of limited depth.
    ///
    /// # Errors
    /// When the file that names them is damaged or cannot be read.
    pub fn shallow(&self) -> Result<Vec<ObjectId>, StoreError> {
        let path = self.0.layout.common_dir.join("shallow");
        let bytes = files::read_small(&path, self.0.limits.max_ref_bytes)?.unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let ids = lines.map(|line| {
            let id = ObjectId::from_hex(line).ok().filter(|id| id.format() == self.0.format);
            id.ok_or_else(|| files::malformed(&path, "a line is no id"))
        });
        ids.collect()
    }

    /// Asks every place that has `id`, in order, until one answers soundly.
    fn look<T>(
        &self,
        id: &ObjectId,
        packed: impl Fn(&Pack, u64) -> Result<T, StoreError>,
        loose: impl Fn(&LooseStore) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let shared = &*self.0;
        if id.format() != shared.format {
            return Err(StoreError::Format { id: *id, format: shared.format });
        }
        let mut damaged = None;
        for look in 0..MAX_LOOKS {
            if look > 0 {
                // What was still loose when packs were listed may be packed, and its file gone,
                // before it is looked for: packs have the last word.
                let is_over = look > 1 && !shared.packs.may_have_changed();
                if is_over || (!shared.packs.refresh()? && look > 1) {
                    break;
                }
                let first_byte = id.as_bytes().first().copied().unwrap_or(0);
                shared.loose.iter().for_each(|store| store.forget(first_byte));
            }
            let listing = shared.packs.listing();
            for (pack, offset) in shared.packs.with(&listing, id, look > 0) {
                match packed(pack, offset) {
                    Ok(found) => {
                        shared.packs.answered(pack);
                        return Ok(Some(found));
                    }
                    Err(StoreError::Limit(limit)) => return Err(limit.into()),
                    Err(error) => _ = damaged.get_or_insert(error),
                }
            }
            for store in &shared.loose {
                if !store.contains(id, &shared.budget)? {
                    continue;
                }
                match loose(store) {
                    Ok(Some(found)) => return Ok(Some(found)),
                    Ok(None) => {}
                    Err(StoreError::Limit(limit)) => return Err(limit.into()),
                    Err(error) => _ = damaged.get_or_insert(error),
                }
            }
        }
        damaged.map_or(Ok(None), Err)
    }

    fn read_packed(&self, id: &ObjectId, pack: &Pack, offset: u64) -> Result<Object, StoreError> {
        let shared = &*self.0;
        let known = |offset| self.bases().find((pack.number, offset));
        let (entries, base) = pack::chain(pack, offset, &shared.limits, known)?;
        let (kind, base) = match (base, entries.last()) {
            (Some((kind, bytes)), _) => (kind, Some(bytes)),
            (None, Some(EntryAt { header, .. })) => match header.form {
                EntryForm::Whole(kind) => (kind, None),
                _ => return Err(pack.damaged(offset, "the delta's chain has no end")),
            },
            (None, None) => return Err(pack.damaged(offset, "there is no entry")),
        };
        let links = entries.iter().map(|entry| {
            let stream = pack.stream_and_after(entry)?;
            Ok(Link { stream, inflated_size: entry.header.inflated_size, size: None })
        });
        let links = links.collect::<Result<_, StoreError>>()?;
        let mut made = |number: usize, bytes: &Bytes| {
            if let Some(entry) = entries.get(number) {
                self.bases().insert((pack.number, entry.offset), kind, bytes.clone());
            }
        };
        let mut reserve = |len: usize| shared.budget.reserve(len as u64);
        let bytes = Chain { links, base }.unpack(id, &shared.limits, &mut reserve, &mut made)?;
        Ok(Object { kind, bytes })
    }

    fn packed_header(&self, pack: &Pack, offset: u64) -> Result<Header, StoreError> {
        let shared = &*self.0;
        let known = |offset| self.bases().find((pack.number, offset));
        let (entries, base) = pack::chain(pack, offset, &shared.limits, known)?;
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            let (kind, bytes) = base.ok_or(pack.damaged(offset, "there is no entry"))?;
            return Ok(Header { kind, size: bytes.len() as u64 });
        };
        let kind = match (base, last.header.form) {
            (Some((kind, _)), _) | (None, EntryForm::Whole(kind)) => kind,
            _ => return Err(pack.damaged(offset, "the delta's chain has no end")),
        };
        let declared = first.header.inflated_size;
        let size = match first.header.form {
            EntryForm::Whole(_) => Some(declared),
            _ => {
                let stream = pack.stream_and_after(first)?;
                peek::peek(&stream, declared, MAX_DELTA_SIZES_LEN, &shared.budget, |bytes| {
                    DeltaSizes::parse(bytes).ok()
                })?
                .map(|sizes| sizes.result)
            }
        };
        let size =
            size.ok_or_else(|| pack.damaged(offset, "the delta does not begin with sizes"))?;
        Ok(Header { kind, size })
    }

    fn packed_entry(&self, pack: &Pack, offset: u64) -> Result<PackedEntry, StoreError> {
        let budget = &self.0.budget;
        let entry = pack.entry(offset)?;
        let form = match (entry.header.form, pack.base_of(&entry)?) {
            (EntryForm::Whole(kind), _) => PackedAs::Whole(kind),
            (EntryForm::RefDelta { base }, _) => PackedAs::DeltaOf(base),
            (EntryForm::OfsDelta { .. }, Some(base)) => {
                PackedAs::DeltaOf(pack.id_at(base, budget)?)
            }
            (EntryForm::OfsDelta { .. }, None) => {
                return Err(pack.damaged(offset, "the delta's base is not there"));
            }
        };
        let stream = pack.stream(&entry, budget)?;
        Ok(PackedEntry { form, inflated_size: entry.header.inflated_size, stream })
    }

    /// What a tag finally points to; `None` when `id` is no tag, or what is needed to
    /// tell is not there.
    fn peel(&self, id: &ObjectId) -> Result<Option<ObjectId>, StoreError> {
        let mut last = None;
        for step in through_tags(self, *id) {
            last = match step {
                Ok((at, kind)) => kind.and(Some(at)),
                // One damaged tag does not keep the other refs from being listed.
                Err(StoreError::Corrupt { .. } | StoreError::Missing { .. }) => None,
                Err(error) => return Err(error),
            }
        }
        Ok(last.filter(|at| at != id))
    }

    fn bases(&self) -> MutexGuard<'_, BaseCache> {
        self.0.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Objects for Repository {
    fn format(&self) -> ObjectFormat {
        self.0.format
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        if *id == self.0.format.empty_tree() {
            return Ok(Some(Header { kind: Kind::Tree, size: 0 }));
        }
        let packed = |pack: &Pack, offset| self.packed_header(pack, offset);
        self.look(id, packed, |store| store.header(id, &self.0.budget))
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        if *id == self.0.format.empty_tree() {
            return Ok(Some(Object { kind: Kind::Tree, bytes: Bytes::new() }));
        }
        let packed = |pack: &Pack, offset| self.read_packed(id, pack, offset);
        let Shared { limits, budget, .. } = &*self.0;
        let loose = |store: &LooseStore| store.read(id, limits, budget);
        match self.look(id, packed, loose)? {
            Some(object) => Ok(Some(object)),
            // Whoever misses an object wants to know of a pack that could not be used.
            None => self.0.packs.listing().trouble().map_or(Ok(None), Err),
        }
    }

    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        let empty_tree = *id == self.0.format.empty_tree();
        Ok(empty_tree || self.look(id, |_, _| Ok(()), |_| Ok(Some(())))?.is_some())
    }

    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        let packed = |pack: &Pack, offset| self.packed_entry(pack, offset).map(Some);
        // A loose object's stream holds its header too: it is no packed form.
        Ok(self.look(id, packed, |_| Ok(Some(None)))?.flatten())
    }

    fn known_commit(&self, id: &ObjectId) -> Result<Option<CommitFacts>, StoreError> {
        let shared = &*self.0;
        let Some(GraphCommit { tree, parents, seconds, .. }) = shared.graphs.find(id) else {
            return Ok(None);
        };
        let listing = shared.packs.listing();
        let is_held = shared.packs.with(&listing, id, false).next().is_some();
        Ok(is_held.then_some(CommitFacts { tree, parents, seconds }))
    }

    fn packs(&self) -> Vec<Arc<dyn PackView>> {
        // Whoever asks begins something new.
        self.0.graphs.doubt();
        self.0.packs.views()
    }

    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError> {
        let Some(parsed) = IdPrefix::parse(prefix) else { return Ok(Vec::new()) };
        let shared = &*self.0;
        let mut found = Vec::new();
        for pack in shared.packs.listing().iter() {
            let places = pack.index.prefix_range(prefix);
            found.extend(places.take(limit).filter_map(|at| pack.index.id_at(at)));
        }
        for store in &shared.loose {
            store.forget(parsed.first_byte());
            store.ids_with_prefix(&parsed, &shared.budget, &mut found)?;
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(limit);
        Ok(found)
    }
}

impl Refs for Repository {
    fn list(&self, prefixes: &[BString]) -> Result<Vec<Ref>, StoreError> {
        let resolved = self.0.refs.list(prefixes)?;
        let peeled = |(name, found): (BString, refs::Resolved)| {
            let peeled = match (found.peeled, found.target) {
                (Peeled::To(id), _) => Some(id),
                (Peeled::Unknown, Some(id)) => self.peel(&id)?,
                (Peeled::Itself, _) | (Peeled::Unknown, None) => None,
            };
            let refs::Resolved { target, symref_target, .. } = found;
            Ok(Ref { name, target, peeled, symref_target })
        };
        resolved.into_iter().map(peeled).collect()
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Repository").field(&self.0.layout).field(&self.0.format).finish()
    }
}

/// How often an object is looked for: in what is known, in what is there, and while others
/// pack it, again.
const MAX_LOOKS: usize = 5;
/// git's own `core.deltaBaseCacheLimit`.
const MAX_CACHE_BYTES: u64 = 96 << 20;
/// Two numbers of ten bytes.
const MAX_DELTA_SIZES_LEN: usize = 20;
