//! What walks over history ask of a commit.

use crate::oid::ObjectId;

/// What a walk needs to know of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFacts {
    /// Its snapshot.
    pub tree: ObjectId,
    /// The commits before it.
    pub parents: Vec<ObjectId>,
    /// When it was made, in seconds since 1970; 0 where it does not say.
    pub seconds: u64,
}
