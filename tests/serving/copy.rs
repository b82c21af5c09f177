//! What a client has in the end, to compare.

use std::collections::BTreeSet;
use std::path::Path;

use super::support::git::Git;

/// A client's copy, and what git makes of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) objects: BTreeSet<String>,
    pub(crate) refs: String,
    pub(crate) shallow: BTreeSet<String>,
}

impl Copy {
    /// What is in the repository of `git`, which is sound.
    #[track_caller]
    pub(crate) fn of(git: &Git, folder: &Path) -> Self {
        git.run(["fsck", "--strict", "--no-dangling"]);
        let list = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"];
        let shallow = std::fs::read_to_string(folder.join("shallow")).unwrap_or_default();
        Self {
            objects: git.run(list).lines().map(str::to_owned).collect(),
            refs: git.run(["for-each-ref"]),
            shallow: shallow.lines().map(str::to_owned).collect(),
        }
    }
}
