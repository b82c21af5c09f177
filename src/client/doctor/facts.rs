//! What later questions need to know of the objects that came.

use super::Examination;
use crate::client::sample::Sampled;
use crate::object::{CommitRef, EntryKind, Kind, TreeRef};
use crate::oid::ObjectId;

/// What matters of the commit at the tip.
#[derive(Clone, Debug)]
pub(super) struct CommitFacts {
    pub(super) tree: ObjectId,
    pub(super) parent: Option<ObjectId>,
    pub(super) seconds: Option<u64>,
}

/// What matters of a tree.
#[derive(Clone, Debug)]
pub(super) struct TreeFacts {
    pub(super) id: ObjectId,
    /// A file in it that no filter would want; links to other repositories are none.
    pub(super) blob: Option<ObjectId>,
}

impl Examination {
    /// Remembers what later questions need.
    pub(super) fn learn(&mut self, sampled: &Sampled) {
        let tip = self.tip();
        for object in &sampled.objects {
            let Some(content) = &object.content else {
                if self.blob.is_none_or(|(size, _)| object.size < size) {
                    self.blob = Some((object.size, object.id));
                }
                continue;
            };
            match object.kind {
                Kind::Commit if Some(object.id) == tip && self.commit.is_none() => {
                    self.commit = CommitRef::parse(content, self.format).ok().map(|commit| {
                        let time = commit.committer().and_then(|committer| committer.time);
                        CommitFacts {
                            tree: commit.tree(),
                            parent: commit.parents().next(),
                            seconds: time.map(|time| time.seconds),
                        }
                    });
                }
                Kind::Tree if self.trees.iter().all(|tree| tree.id != object.id) => {
                    self.learn_tree(object.id, content);
                }
                _ => {}
            }
        }
    }

    fn learn_tree(&mut self, id: ObjectId, content: &[u8]) {
        let entries = TreeRef::new(content, self.format).iter().map_while(Result::ok);
        let mut files =
            entries.filter(|entry| !matches!(entry.kind(), EntryKind::Tree | EntryKind::Gitlink));
        // Small ones by their names, where no size is known.
        let first = files.next().map(|entry| (entry.name.starts_with(b"."), entry.id));
        let blob = first.map(|(is_hidden, id)| {
            let hidden = files.find(|entry| entry.name.starts_with(b".")).map(|entry| entry.id);
            if is_hidden { id } else { hidden.unwrap_or(id) }
        });
        if let (None, Some(blob)) = (self.blob, blob) {
            self.blob = Some((u64::MAX, blob));
        }
        self.trees.push(TreeFacts { id, blob });
    }
}
