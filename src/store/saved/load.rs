//! Reading: as distrustful of a file as of a host.

use super::{
    CHECKSUM_LEN, FIXED_LEN, MAGIC, MAX_STATE_BYTES, SavedError, SavedState, VERSION, checksum,
    number_of,
};
use crate::limits::{Budget, Interrupt, LimitExceeded, Limits, Reservation, Workers};
use crate::object::Kind;
use crate::oid::ObjectFormat;
use crate::pack::Ingest;
use crate::store::memory::MemoryStore;
use crate::store::staging::MemoryStaging;
use crate::store::{Objects as _, Staging as _};

/// Takes a saved file in, chunk by chunk, into a store that may hold something already.
///
/// Nothing is visible before [`finish`](Self::finish), and nothing at all when it fails.
/// Memory is the store's budget's. An error is final.
pub struct Loading {
    store: MemoryStore,
    limits: Limits,
    budget: Budget,
    part: Part,
}

/// What came of a file that was taken in whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What is known of the host. Commits and refs of what is not held are left out of it.
    pub state: SavedState,
    /// Objects in the file.
    pub objects: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

enum Part {
    Head {
        bytes: Vec<u8>,
        paid: Reservation,
    },
    Pack {
        head_bytes: u64,
        state: SavedState,
        ingest: Box<Ingest<MemoryStaging>>,
        paid: Reservation,
    },
    Failed,
}

impl Loading {
    /// Loads into `store`, within `limits`.
    pub fn new(store: &MemoryStore, limits: &Limits) -> Self {
        let budget = store.budget().clone();
        let part = Part::Head { bytes: Vec::new(), paid: budget.empty() };
        Self { store: store.clone(), limits: limits.clone(), budget, part }
    }

    /// Takes the next bytes of the file.
    ///
    /// # Errors
    /// [`SavedError`], as soon as the bytes show that the file is to be refused.
    pub fn push(
        &mut self,
        chunk: &[u8],
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<(), SavedError> {
        self.part = match std::mem::replace(&mut self.part, Part::Failed) {
            Part::Head { bytes, paid } => self.push_head(bytes, paid, chunk, interrupt)?,
            Part::Pack { head_bytes, state, mut ingest, paid } => {
                ingest.push(chunk, interrupt)?;
                Part::Pack { head_bytes, state, ingest, paid }
            }
            Part::Failed => return Err(SavedError::Failed),
        };
        Ok(())
    }

    /// The file is complete: proves its pack on `workers` and shows its objects.
    ///
    /// # Errors
    /// [`SavedError`]; the store is as it was then.
    pub fn finish(
        self,
        workers: &dyn Workers,
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<Loaded, SavedError> {
        let (head_bytes, mut state, ingest, _paid) = match self.part {
            Part::Head { .. } => return Err(SavedError::Truncated),
            Part::Pack { head_bytes, state, ingest, paid } => (head_bytes, state, ingest, paid),
            Part::Failed => return Err(SavedError::Failed),
        };
        let resolved = ingest.finish_on(workers, interrupt)?;
        resolved.store.commit()?;
        let store = &self.store;
        let has = |id| matches!(store.contains(&id), Ok(true));
        let is_commit =
            |id| matches!(store.header(&id), Ok(Some(header)) if header.kind == Kind::Commit);
        state.commits.retain(|commit| is_commit(commit.id));
        state.left_out = state.left_out.filter(|&(commit, _)| is_commit(commit));
        state.refs.retain(|named| named.peeled.or(named.target).is_some_and(has));
        let stats = resolved.stats;
        Ok(Loaded { state, objects: stats.objects, bytes: head_bytes + stats.received_bytes })
    }

    fn push_head(
        &self,
        mut bytes: Vec<u8>,
        mut paid: Reservation,
        chunk: &[u8],
        interrupt: &(dyn Interrupt + Sync),
    ) -> Result<Part, SavedError> {
        let mut rest = chunk;
        let mut fill = |bytes: &mut Vec<u8>, rest: &mut &[u8], len: usize| {
            let (taken, behind) = rest.split_at(rest.len().min(len.saturating_sub(bytes.len())));
            // Old and new exist together while a vector grows.
            paid.grow(2 * taken.len() as u64)?;
            bytes.extend_from_slice(taken);
            *rest = behind;
            Ok::<bool, LimitExceeded>(bytes.len() >= len)
        };
        let is_whole = fill(&mut bytes, &mut rest, FIXED_LEN)?;
        let fixed = Fixed::read(&bytes, self.store.format())?;
        let Some(fixed) = fixed.filter(|_| is_whole) else { return Ok(Part::Head { bytes, paid }) };
        let head_len = FIXED_LEN + CHECKSUM_LEN + fixed.state_len;
        if !fill(&mut bytes, &mut rest, head_len)? {
            return Ok(Part::Head { bytes, paid });
        }
        let (before, state) = bytes.split_at(FIXED_LEN + CHECKSUM_LEN);
        let (before, sum) = before.split_at(FIXED_LEN);
        if checksum(before, state)?[..] != *sum {
            return Err(SavedError::Checksum);
        }
        // What is parsed takes a few times what it was parsed of.
        paid.grow(4 * fixed.state_len as u64)?;
        let state = SavedState::parse(state, self.store.format())?;
        let staging = self.store.stage();
        let mut ingest = Ingest::new(self.store.format(), &self.limits, &self.budget, staging);
        ingest.push(rest, interrupt)?;
        let ingest = Box::new(ingest);
        Ok(Part::Pack { head_bytes: head_len as u64, state, ingest, paid })
    }
}

/// What stands before the checksum.
struct Fixed {
    state_len: usize,
}

impl Fixed {
    /// `None` while too little is there. What is there is judged at once.
    fn read(bytes: &[u8], expected: ObjectFormat) -> Result<Option<Self>, SavedError> {
        let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if !MAGIC.starts_with(magic) {
            return Err(SavedError::NotSaved);
        }
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        if let Some(version) = number(8)
            && version != VERSION
        {
            return Err(SavedError::Version(version));
        }
        match number(12) {
            None => return Ok(None),
            Some(n) if n == number_of(expected) => {}
            Some(n) => {
                let found = [ObjectFormat::Sha1, ObjectFormat::Sha256];
                let found = found.into_iter().find(|&format| number_of(format) == n);
                let unknown = SavedError::Malformed("its hash function has no such number");
                return Err(found.map_or(unknown, |found| SavedError::Format { found, expected }));
            }
        }
        let Some(state_len) = number(16) else { return Ok(None) };
        match usize::try_from(state_len) {
            Ok(state_len) if state_len <= MAX_STATE_BYTES => Ok(Some(Self { state_len })),
            _ => Err(SavedError::Malformed("its state has more than 1 MiB")),
        }
    }
}

impl std::fmt::Debug for Loading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loading").field("store", &self.store).finish_non_exhaustive()
    }
}
