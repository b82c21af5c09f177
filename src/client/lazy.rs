//! From a missing set to as few requests as the host allows.
//!
//! Commits come with all their trees and no blobs, at depth 1. Trees and blobs are asked
//! for by id, never in one unfiltered request: wanting a tree without a filter sends its
//! whole subtree. Haves are sent only where a commit joins another that is held whole.

use crate::object::Kind;
use crate::oid::ObjectId;
use crate::protocol::{Deepen, FetchCapability, FetchRequest, Filter};
use crate::store::MissingSet;

/// Ids in one request: 50 bytes each, so a request body stays under 1 MiB.
const MAX_WANTS: usize = 16_384;

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

/// The request for commits at depth 1 with what `filter` lets through.
pub fn snapshot(
    commits: Vec<ObjectId>,
    filter: Option<Filter>,
    features: &FetchCapability,
    held: &[ObjectId],
) -> FetchRequest {
    // One held commit is enough for the host to leave out what is unchanged, and each
    // costs a line; it leaves trees out only of a thin pack.
    let haves: Vec<_> = held.iter().rev().take(1).copied().collect();
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
