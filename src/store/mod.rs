//! The traits that everything above reads through, and the values they speak.
//!
//! A store answers about what it holds *now*: absence is `None`, never an error and
//! never a fetch. `view` turns an absence into a [`MissingSet`]; someone above fetches
//! it and asks again.

mod arena;
mod commit_facts;
#[doc(hidden)]
pub mod conformance;
mod entries;
mod families;
mod file_table;
pub(crate) mod held;
mod inner;
mod kept;
mod memory;
mod pack_view;
mod packed;
mod prefix;
mod raw_cache;
mod recent;
mod room;
pub mod saved;
mod segments;
mod staging;
mod through_tags;
pub(crate) mod unpack;
mod with_refs;

use std::fmt;
use std::sync::Arc;

use bstr::BString;
use bytes::Bytes;

use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, LimitExceeded, Reservation};
use crate::object::Kind;
use crate::oid::{Collision, ObjectFormat, ObjectId};
use crate::pack;

pub use arena::is_binary;
pub use commit_facts::CommitFacts;
pub use file_table::{FileTable, Layout, Located};
pub use kept::Kept;
pub use memory::{MemoryStore, StoreStats};
pub use pack_view::{PackView, Reachability, ViewedEntry, ViewedForm};
pub use prefix::IdPrefix;
pub use staging::{MemoryStaging, StagedStreams};
pub(crate) use through_tags::through_tags;
pub use with_refs::WithRefs;

/// Kind and size of an object, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// Bytes of its content.
    pub size: u64,
}

/// An object's content; a clone shares the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Its content, without git's header.
    pub bytes: Bytes,
}

/// What a packed entry's deflate stream means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedAs {
    /// The object's content.
    Whole(Kind),
    /// A delta against another object of the same store.
    DeltaOf(ObjectId),
}

/// An object in packed form, as some git wrote it.
#[derive(Clone, Debug)]
pub struct PackedEntry {
    /// What the stream means.
    pub form: PackedAs,
    /// Bytes the stream inflates to (of the delta, for a delta).
    pub inflated_size: u64,
    /// The zlib stream, without the pack entry's header.
    pub stream: Bytes,
}

/// Objects by id.
///
/// Implementations share themselves: `&self` reads may fill caches.
pub trait Objects {
    /// Which hash names the objects here.
    fn format(&self) -> ObjectFormat;

    /// Kind and size, when held.
    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError>;

    /// The content, when held.
    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError>;

    /// The entry as it is packed, when it is held in packed form.
    fn packed(&self, id: &ObjectId) -> Result<Option<PackedEntry>, StoreError>;

    /// Whether the object is held.
    fn contains(&self, id: &ObjectId) -> Result<bool, StoreError> {
        Ok(self.header(id)?.is_some())
    }

    /// What is known of the commit `id`, which is held, without reading it; `None` where that
    /// takes a read.
    fn known_commit(&self, id: &ObjectId) -> Result<Option<CommitFacts>, StoreError> {
        let _ = id;
        Ok(None)
    }

    /// The packs whose entries can be copied, as they are now, in the order they are asked; none
    /// in a store that keeps its objects in another way.
    fn packs(&self) -> Vec<Arc<dyn PackView>> {
        Vec::new()
    }

    /// Where raw text stands side by side, in a store that keeps it so.
    fn text_arena(&self) -> Option<&dyn TextArena> {
        None
    }

    /// The ids held that begin with `prefix` (hexadecimal digits, at least four), at
    /// most `limit` of them, each once.
    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>, StoreError>;
}

/// A store's raw text blobs side by side, for searches in one pass.
pub trait TextArena {
    /// What tables are paid from.
    fn budget(&self) -> &Budget;

    /// The files of `tree`, if a search made that table before and it is still kept.
    fn table(&self, tree: &ObjectId) -> Option<Arc<FileTable>>;

    /// Keeps a table for searches to come, while memory allows.
    fn keep_table(&self, table: &Arc<FileTable>);

    /// Where the blobs of a table that is kept stand now: `None` when it is not, or memory
    /// is short. It holds them in memory until it is dropped.
    fn layout(&self, table: &FileTable) -> Option<Arc<Layout>>;
}

/// One ref of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ref {
    /// Its full name, `HEAD` or `refs/...`.
    pub name: BString,
    /// What it points to; `None` for a branch that has no commit yet.
    pub target: Option<ObjectId>,
    /// For an annotated tag, what the tag finally points to.
    pub peeled: Option<ObjectId>,
    /// For a symbolic ref, the name it points to.
    pub symref_target: Option<BString>,
}

/// Refs by name.
pub trait Refs {
    /// The refs whose names begin with one of `prefixes` (all of them when there is
    /// none), sorted by name, `HEAD` first, peeled.
    fn list(&self, prefixes: &[BString]) -> Result<Vec<Ref>, StoreError>;
}

/// Where a pack's entries wait until it is proven.
///
/// Nothing is visible in the store before [`commit`](Self::commit), and dropping a
/// staging abandons what it holds: the store is as it was.
pub trait Staging: pack::EntryStore {
    /// Makes everything resolved so far visible, all at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::Limit`] when memory is spent; the store is then unchanged.
    fn commit(self) -> Result<Committed, StoreError>;
}

/// What a [`Staging`] brought.
#[derive(Debug)]
pub struct Committed {
    /// Every object received, each once, whether or not it was held before.
    pub ids: Vec<ObjectId>,
    /// How many of them the store did not have.
    pub new_objects: u64,
    /// Packed bytes of those.
    pub bytes: u64,
    /// What came stays while this lives.
    pub kept: Kept,
    _paid: Reservation,
}

/// An object that a question needs and the store lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Missing {
    /// Its id.
    pub id: ObjectId,
    /// Its kind where the asker knows it from a tree or a commit.
    pub kind: Option<Kind>,
}

/// What one step of a question lacks: unique, ordered as found, capped.
///
/// ```
/// use gitsip::object::Kind;
/// use gitsip::store::MissingSet;
/// use gitsip::ObjectFormat;
///
/// let mut missing = MissingSet::default();
/// let id = ObjectFormat::Sha1.empty_tree();
/// missing.insert(id, Some(Kind::Tree));
/// missing.insert(id, Some(Kind::Tree));
/// assert_eq!(missing.len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MissingSet {
    items: Vec<Missing>,
    known: hashbrown::HashSet<ObjectId>,
}

impl MissingSet {
    /// Blobs asked for at once, unless a batch overflowed the budget.
    pub const MAX_BLOBS: usize = 512;

    /// A set of one.
    pub fn of(id: ObjectId, kind: Option<Kind>) -> Self {
        let mut set = Self::default();
        set.insert(id, kind);
        set
    }

    /// Adds an object unless it is there already; whether it was added.
    pub fn insert(&mut self, id: ObjectId, kind: Option<Kind>) -> bool {
        let new = self.known.insert(id);
        if new {
            self.items.push(Missing { id, kind });
        }
        new
    }

    /// Adds everything of `other`.
    pub fn extend(&mut self, other: &Self) {
        for item in &other.items {
            self.insert(item.id, item.kind);
        }
    }

    /// Whether `id` is in the set.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.known.contains(id)
    }

    /// In the order they were found.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Missing> {
        self.items.iter()
    }

    /// How many objects.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// What a read over a store came to.
#[derive(Clone, Debug)]
#[must_use]
pub enum Lookup<T> {
    /// The answer.
    Ready(T),
    /// Fetch these, then ask again.
    Missing(MissingSet),
}

impl<T> Lookup<T> {
    /// The answer changed by `f`.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Lookup<U> {
        match self {
            Self::Ready(value) => Lookup::Ready(f(value)),
            Self::Missing(missing) => Lookup::Missing(missing),
        }
    }
}

/// Why a store could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An id of the other hash was asked for.
    #[error("{id} is no {format} id, and this repository uses {format}")]
    Format {
        /// The id.
        id: ObjectId,
        /// What the store holds.
        format: ObjectFormat,
    },
    /// A stored object's bytes do not match its id, size or checksum.
    #[error("object {id} is damaged: {what}")]
    Corrupt {
        /// The object.
        id: ObjectId,
        /// In which way.
        what: &'static str,
    },
    /// An object's hash shows a collision attack.
    #[error(transparent)]
    Collision(#[from] Collision),
    /// A local file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A repository file does not follow its format.
    #[error("{path}: {what}")]
    Malformed {
        /// The file.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// An object that what is held names, and that must be held for the answer, is not.
    #[error("object {id} is missing")]
    Missing {
        /// The object.
        id: ObjectId,
    },
    /// There is no repository there.
    #[error("no git repository at '{path}' or above it")]
    NoRepository {
        /// Where one was looked for.
        path: String,
    },
    /// A packed entry could not be read.
    #[error(transparent)]
    Pack(#[from] pack::PackError),
    /// The repository uses something this build does not know.
    #[error("{0}")]
    Unsupported(String),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match error {
            StoreError::Limit(limit) => return limit.into(),
            StoreError::Collision(collision) => return collision.into(),
            StoreError::Pack(error) => return error.into(),
            StoreError::Missing { .. } => {
                return Self::new(ErrorKind::Corrupt, error.to_string())
                    .with_code("object_missing")
                    .with_source(error);
            }
            StoreError::Corrupt { .. } => ErrorKind::Corrupt,
            StoreError::Format { .. } => ErrorKind::Usage,
            StoreError::Io { .. } => ErrorKind::Io,
            StoreError::Malformed { .. } => ErrorKind::Malformed,
            StoreError::NoRepository { .. } => ErrorKind::NotFound,
            StoreError::Unsupported(_) => ErrorKind::Unsupported,
        };
        Self::new(kind, error.to_string()).with_source(error)
    }
}

impl fmt::Display for PackedAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(kind) => write!(f, "{kind}"),
            Self::DeltaOf(base) => write!(f, "delta of {base}"),
        }
    }
}
