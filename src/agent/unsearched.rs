//! How much a search left out when there was nothing more to spend.
//!
//! It is counted from what is held: folders are, once a search has begun, and files that are
//! not have a size here only if the host has told it. Counting ends where it would take longer
//! than it is worth.

use crate::limits::{Limits, NeverInterrupt};
use crate::object::EntryKind;
use crate::oid::ObjectId;
use crate::store::Objects;
use crate::view::Step;
use crate::view::glob::PathFilter;
use crate::view::likely::Turn;
use crate::view::walk::{Place, Walk, WalkOptions};

use super::results::Unsearched;
use super::search::Reached;

/// Files that are counted: some 50 ms of work.
const MAX_FILES: u64 = 200_000;

/// What of `tree` passes `filter` and is not searched yet; nothing known where folders are
/// missing or there are too many.
pub(super) fn count(
    objects: &impl Objects,
    known_size: impl Fn(&ObjectId) -> Option<u64>,
    tree: ObjectId,
    filter: &PathFilter,
    reached: &Reached,
    limits: &Limits,
) -> Unsearched {
    let mut left = Count { files: 0, bytes: 0, of_unknown_size: 0 };
    let later = PathFilter::clone(filter).in_turn(Turn::Later);
    let (first, then) = match reached.turn {
        None => (filter.clone(), None),
        Some(Turn::First) => (filter.clone().in_turn(Turn::First), Some(later)),
        Some(Turn::Later) => (later, None),
    };
    let begin = Place::default();
    let parts = [Some((first, &reached.place)), then.map(|filter| (filter, &begin))];
    for (filter, place) in parts.into_iter().flatten() {
        if left.add(objects, &known_size, tree, filter, place, limits).is_none() {
            return Unsearched::default();
        }
    }
    Unsearched {
        files: Some(left.files),
        bytes_known: left.bytes,
        files_of_unknown_size: left.of_unknown_size,
    }
}

struct Count {
    files: u64,
    bytes: u64,
    of_unknown_size: u64,
}

impl Count {
    /// `None` when that cannot be told.
    fn add(
        &mut self,
        objects: &impl Objects,
        known_size: &impl Fn(&ObjectId) -> Option<u64>,
        tree: ObjectId,
        filter: PathFilter,
        place: &Place,
        limits: &Limits,
    ) -> Option<()> {
        let options = WalkOptions { filter, ..WalkOptions::default() };
        let mut walk = Walk::new(tree, options, limits).starting_at(place);
        loop {
            let id = match walk.next(objects, &NeverInterrupt).ok()? {
                Step::Done => return Some(()),
                Step::Missing(_) => return None,
                Step::Item(entry) => match entry.mode.kind() {
                    EntryKind::Blob | EntryKind::Executable => entry.id,
                    _ => continue,
                },
            };
            self.files += 1;
            if self.files > MAX_FILES {
                return None;
            }
            let held = objects.header(&id).ok()?.map(|header| header.size);
            match held.or_else(|| known_size(&id)) {
                Some(size) => self.bytes = self.bytes.saturating_add(size),
                None => self.of_unknown_size += 1,
            }
        }
    }
}
