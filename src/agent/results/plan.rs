//! What a search would cost.

use crate::oid::ObjectId;

/// What a search of some files would cost now. Only `bytes_estimated` is an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The commit it is about.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::text::as_hex"))]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: ObjectId,
    /// Whether all folders are held, so that all files were counted. Otherwise every number
    /// is of what is known, and more comes to it.
    pub is_complete: bool,
    /// Files that would be searched, each as often as it is there.
    pub files: u64,
    /// Folders that are known to be missing.
    pub trees_missing: u64,
    /// Distinct files that are not held.
    pub blobs_missing: u64,
    /// Requests that would be sent, as long as the host sends files by id; of a question,
    /// the one that looks up the ref included.
    pub requests: u64,
    /// Bytes of the content of those missing files whose size is known.
    pub bytes_known: u64,
    /// Missing files whose size is not known.
    pub blobs_of_unknown_size: u64,
    /// Bytes that would be received for the missing files, about.
    pub bytes_estimated: u64,
    /// What that was estimated from; `null` when nothing is missing.
    pub estimated_from: Option<EstimatedFrom>,
}

/// What an estimate of bytes to be received was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EstimatedFrom {
    /// What at least 16 files of the same question that are held take when they are packed.
    Held,
    /// What files take in repositories of programs: 3 KiB each, or, where sizes are known, a
    /// quarter of those.
    Typical,
}
