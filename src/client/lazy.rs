//! From a missing set to as few requests as the host allows.
//!
//! Commits come with all their trees and no blobs, at depth 1. Trees and blobs are asked
//! for by id, never in one unfiltered request: wanting a tree without a filter sends its
//! whole subtree. Haves are sent only where a commit joins another that is held whole.

use std::num::NonZeroU32;

use crate::object::Kind;
use crate::oid::ObjectId;
use crate::protocol::{Deepen, FetchCapability, FetchRequest, Filter};
use crate::store::MissingSet;

/// Ids in one request: 50 bytes each, so a request body stays under 1 MiB.
const MAX_WANTS: usize = 16_384;

/// Commits that a host is told are held: 100 bytes each. Callers that move between a few
/// branches and tags name all of them.
pub const MAX_HAVES: usize = 32;

/// The requests that bring `missing`. `held` are commits whose trees are all held, newest
/// last: a commit that joins them brings only what differs.
pub fn requests(
    missing: &MissingSet,
    features: &FetchCapability,
    held: &[ObjectId],
) -> Vec<FetchRequest> {
    let mut commits = Vec::new();
    let mut trees = Vec::new();
    let mut blobs = Vec::new();
    for item in missing.iter() {
        match item.kind {
            Some(Kind::Tree) => trees.push(item.id),
            Some(Kind::Blob) => blobs.push(item.id),
            Some(Kind::Commit | Kind::Tag) | None => commits.push(item.id),
        }
    }
    let mut requests = Vec::new();
    if !commits.is_empty() {
        requests.push(snapshot(commits, Some(Filter::BlobNone), features, held));
    }
    for wants in trees.chunks(MAX_WANTS).chain(blobs.chunks(MAX_WANTS)) {
        requests.push(FetchRequest {
            wants: wants.to_vec(),
            filter: supported(Filter::BlobNone, features),
            ..plain()
        });
    }
    requests
}

/// The request that brings history of `depth` commits from `tips` on, or all of it, into
/// a store that may hold anything.
pub fn history(
    tips: Vec<ObjectId>,
    depth: Option<NonZeroU32>,
    filter: Option<Filter>,
    features: &FetchCapability,
) -> FetchRequest {
    FetchRequest {
        wants: tips,
        deepen: depth.map_or(Deepen::None, |depth| Deepen::Depth(depth.get())),
        filter: filter.and_then(|filter| supported(filter, features)),
        ..plain()
    }
}

/// The request for commits at depth 1 with what `filter` lets through.
pub fn snapshot(
    commits: Vec<ObjectId>,
    filter: Option<Filter>,
    features: &FetchCapability,
    held: &[ObjectId],
) -> FetchRequest {
    // The host leaves out what any of them has, and does so for trees only in a thin pack.
    // Their own history is not held, so that a branch that went back to it is sent.
    let haves: Vec<_> = held.iter().rev().take(MAX_HAVES).copied().collect();
    FetchRequest {
        wants: commits,
        thin_pack: !haves.is_empty(),
        shallow: haves.clone(),
        haves,
        deepen: if features.shallow { Deepen::Depth(1) } else { Deepen::None },
        filter: filter.and_then(|filter| supported(filter, features)),
        ..plain()
    }
}

fn plain() -> FetchRequest {
    FetchRequest { done: true, ofs_delta: true, no_progress: true, ..FetchRequest::default() }
}

fn supported(filter: Filter, features: &FetchCapability) -> Option<Filter> {
    features.filter.then_some(filter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oid::ObjectFormat;

    const ALL: FetchCapability = FetchCapability {
        filter: true,
        packfile_uris: false,
        ref_in_want: false,
        shallow: true,
        sideband_all: false,
        wait_for_done: false,
    };

    fn id(number: u64) -> ObjectId {
        let hex = format!("{number:040x}");
        ObjectId::from_hex(hex.as_bytes()).unwrap_or(ObjectFormat::Sha1.empty_tree())
    }

    fn set(kind: Option<Kind>, ids: impl IntoIterator<Item = u64>) -> MissingSet {
        let mut set = MissingSet::default();
        for number in ids {
            set.insert(id(number), kind);
        }
        set
    }

    #[test]
    fn trees_and_blobs_never_share_a_request_and_no_request_is_too_long() {
        let mut missing = set(Some(Kind::Blob), 0..40_000);
        missing.extend(&set(Some(Kind::Tree), 50_000..50_010));
        missing.extend(&set(Some(Kind::Commit), [60_000]));
        let sizes: Vec<_> =
            requests(&missing, &ALL, &[]).iter().map(|request| request.wants.len()).collect();
        assert_eq!(sizes, [1, 10, MAX_WANTS, MAX_WANTS, 40_000 - 2 * MAX_WANTS]);
        for request in requests(&missing, &ALL, &[]) {
            assert_eq!(request.filter, Some(Filter::BlobNone));
            assert!(request.done && !request.thin_pack && request.haves.is_empty());
        }
    }

    #[test]
    fn a_commit_joins_the_newest_of_what_is_held() {
        let held: Vec<_> = (0..100).map(id).collect();
        let joined = requests(&set(None, [200]), &ALL, &held).remove(0);
        assert_eq!(joined.haves.len(), MAX_HAVES);
        assert_eq!(joined.haves[0], id(99));
        assert_eq!(joined.haves, joined.shallow);
        assert!(joined.thin_pack);
        assert_eq!(joined.deepen, Deepen::Depth(1));
    }

    #[test]
    fn what_a_host_cannot_do_is_not_asked_of_it() {
        let old = FetchCapability::default();
        let request = requests(&set(None, [1]), &old, &[]).remove(0);
        assert_eq!((request.filter, request.deepen), (None, Deepen::None));
    }
}
