//! A filter as a walk asks it: one rule for each kind of object.

use crate::object::Kind;
use crate::protocol::Filter;

/// What a [`Filter`] lets through. Several filters together let through what each of them
/// does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FilterRule {
    /// Blobs of so many bytes or more are left out.
    blob_limit: Option<u64>,
    /// Trees and blobs so many steps below a root or more are left out.
    tree_depth: Option<u32>,
    /// Everything but this kind is left out.
    only: Option<Kind>,
    /// Two kinds are asked for at once: nothing is both.
    nothing: bool,
}

impl FilterRule {
    pub(super) fn of(filter: Option<&Filter>) -> Self {
        let mut rule = Self::default();
        if let Some(filter) = filter {
            rule.restrict(filter);
        }
        rule
    }

    /// Combinations hold no combinations once they are read, so this goes one step deep.
    fn restrict(&mut self, filter: &Filter) {
        match filter {
            Filter::BlobLimit(bytes) => {
                self.blob_limit = Some(self.blob_limit.map_or(*bytes, |limit| limit.min(*bytes)));
            }
            Filter::BlobNone => self.blob_limit = Some(0),
            Filter::Combine(parts) => parts.iter().for_each(|part| self.restrict(part)),
            Filter::ObjectType(kind) => {
                self.nothing |= self.only.is_some_and(|only| only != *kind);
                self.only = Some(*kind);
            }
            Filter::TreeDepth(depth) => {
                self.tree_depth = Some(self.tree_depth.map_or(*depth, |least| least.min(*depth)));
            }
        }
    }

    /// Whether objects of `kind` are let through, as far as the kind alone tells.
    pub(super) fn takes(self, kind: Kind) -> bool {
        let by_kind = !self.nothing && self.only.is_none_or(|only| only == kind);
        by_kind && !(kind == Kind::Blob && self.blob_limit == Some(0))
    }

    /// Whether trees and blobs `depth` steps below a root are let through.
    pub(super) fn takes_depth(self, depth: u32) -> bool {
        self.tree_depth.is_none_or(|first| depth < first)
    }

    /// The size of the smallest blob that is left out, where sizes matter.
    pub(super) fn blob_limit(self) -> Option<u64> {
        self.blob_limit.filter(|_| self.takes(Kind::Blob))
    }

    /// Whether depths matter, so that a folder may count again when it is met higher up.
    pub(super) fn asks_depth(self) -> bool {
        self.tree_depth.is_some()
    }

    /// Whether a tree `depth` steps below a root need be read at all: something below it may
    /// be let through.
    pub(super) fn looks_below(self, depth: u32) -> bool {
        let wants_any = self.takes(Kind::Tree) || self.takes(Kind::Blob);
        wants_any && self.takes_depth(depth.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 4] = [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag];

    fn rule(spec: &str) -> FilterRule {
        FilterRule::of(Some(&Filter::parse(spec.as_bytes()).unwrap()))
    }

    #[test]
    fn each_filter_leaves_out_what_git_says() {
        let all = FilterRule::of(None);
        assert!(KINDS.iter().all(|kind| all.takes(*kind)) && all.takes_depth(u32::MAX));
        let none = rule("blob:none");
        assert!(!none.takes(Kind::Blob) && none.takes(Kind::Tree) && none.blob_limit().is_none());
        assert_eq!(rule("blob:limit=7").blob_limit(), Some(7));
        assert!(!rule("tree:0").takes_depth(0) && !rule("tree:0").looks_below(0));
        assert!(rule("tree:2").takes_depth(1) && !rule("tree:2").looks_below(1));
        let commits = rule("object:type=commit");
        assert!(commits.takes(Kind::Commit) && !commits.takes(Kind::Tag));
        assert!(!commits.looks_below(0));
        // Blobs are found only by reading trees, which are left out themselves.
        assert!(rule("object:type=blob").looks_below(5));
    }

    #[test]
    fn filters_together_let_through_what_each_does() {
        let both = rule("combine:blob:limit=9+blob:limit=4+tree:3+tree:2");
        assert_eq!((both.blob_limit(), both.tree_depth), (Some(4), Some(2)));
        let neither = rule("combine:object:type=tree+object:type=blob");
        assert!(KINDS.iter().all(|kind| !neither.takes(*kind)));
    }
}
