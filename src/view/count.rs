//! How much is below a folder, at any depth, without visiting it path by path: a tree that
//! is in many places is counted once and its numbers are used again, so that folders
//! within folders that name more paths than anybody could walk are counted as well.

use hashbrown::HashMap;

use super::ViewError;
use super::trees::Trees;
use crate::limits::{Interrupt, Limits, Which, check};
use crate::object::{EntryKind, Kind, TreeIter};
use crate::oid::ObjectId;
use crate::store::{Lookup, MissingSet, Objects};

/// What is below a folder. Numbers that do not fit stay at the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files, links and submodules.
    pub files: u64,
    /// Folders.
    pub folders: u64,
}

/// Counts what is below trees, each distinct tree once.
#[derive(Debug)]
pub struct Counter {
    limits: Limits,
    trees: Trees,
    known: HashMap<ObjectId, Counts>,
}

impl Counter {
    /// One that knows nothing yet.
    pub fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), trees: Trees::new(limits), known: HashMap::new() }
    }

    /// What is below the tree `root`, or the trees that are missing to say so. A folder
    /// that is damaged counts as far as it can be read.
    ///
    /// # Errors
    /// [`ViewError::Limit`] below [`max_tree_depth`](Limits::max_tree_depth) folders and
    /// for more distinct trees than a walk may visit entries; those of the store.
    pub fn count(
        &mut self,
        objects: &impl Objects,
        root: &ObjectId,
        interrupt: &dyn Interrupt,
    ) -> Result<Lookup<Counts>, ViewError> {
        let mut missing = MissingSet::default();
        // Each folder is met twice: to go into what is in it, and when all that is known.
        let mut open = vec![(*root, 1u32, false)];
        while let Some((id, depth, is_entered)) = open.pop() {
            if self.known.contains_key(&id) {
                continue;
            }
            let Some(tree) = self.trees.read(objects, &id)? else {
                if missing.len() < MAX_MISSING {
                    missing.insert(id, Some(Kind::Tree));
                }
                continue;
            };
            interrupt.check()?;
            check(Which::TreeDepth, self.limits.max_tree_depth.into(), depth.into())?;
            check(Which::WalkEntries, self.limits.max_walk_entries, self.known.len() as u64)?;
            let occupied = (open.len() * size_of::<(ObjectId, u32, bool)>()) as u64;
            check(Which::Memory, self.limits.max_memory / 8, occupied)?;
            if !is_entered {
                open.push((id, depth, true));
            }
            let mut counts = Some(Counts::default());
            for entry in TreeIter::new(&tree, id.format()).map_while(Result::ok) {
                if entry.kind() != EntryKind::Tree {
                    counts = counts.map(|counts| counts.and(Counts { files: 1, folders: 0 }));
                    continue;
                }
                let below = self.known.get(&entry.id);
                counts = counts
                    .zip(below)
                    .map(|(counts, below)| counts.and(*below).and(Counts { files: 0, folders: 1 }));
                let is_last = open.last().is_some_and(|(last, ..)| *last == entry.id);
                if below.is_none() && !is_entered && !is_last {
                    open.push((entry.id, depth + 1, false));
                }
            }
            // What is in it is missing when its numbers are not known the second time.
            if let Some(counts) = counts.filter(|_| is_entered) {
                self.known.insert(id, counts);
            }
        }
        match self.known.get(root) {
            Some(counts) => Ok(Lookup::Ready(*counts)),
            None => Ok(Lookup::Missing(missing)),
        }
    }
}

impl Counts {
    fn and(self, other: Self) -> Self {
        Self {
            files: self.files.saturating_add(other.files),
            folders: self.folders.saturating_add(other.folders),
        }
    }
}

/// Trees asked for at once.
const MAX_MISSING: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::fixture::Fixture;
    use super::super::walk::{Walk, WalkOptions};
    use super::*;
    use crate::limits::NeverInterrupt;
    use crate::object::Mode;

    #[test]
    fn numbers_are_those_of_a_walk_whatever_is_missing_at_first() {
        let fixture = Fixture::new();
        let paths = ["a/1/x", "a/1/y", "a/2/deep/er/x", "b", "c/1/x", "c/1/y", "link@=b"];
        let root = fixture.snapshot(&paths);
        let options = WalkOptions { trees: true, ..WalkOptions::default() };
        let mut walk = Walk::new(root, options, &Limits::default());
        let (mut want, mut trees) = (Counts::default(), vec![root]);
        while let Step::Item(entry) = walk.next(&fixture, &NeverInterrupt).unwrap() {
            if entry.mode == Mode::TREE {
                want.folders += 1;
                trees.push(entry.id);
            } else {
                want.files += 1;
            }
        }
        fixture.hide_all(Kind::Tree, trees);
        let mut counter = Counter::new(&Limits::default());
        let mut rounds = 0;
        let counts = loop {
            match counter.count(&fixture, &root, &NeverInterrupt).unwrap() {
                Lookup::Ready(counts) => break counts,
                Lookup::Missing(missing) => fixture.fetch(&missing),
            }
            rounds += 1;
            assert!(rounds <= 5, "a level at a time");
        };
        assert_eq!(counts, want);
        assert_eq!(counts, Counts { files: 7, folders: 7 });
    }

    #[test]
    fn a_bomb_is_counted_without_being_walked() {
        let fixture = Fixture::new();
        let mut tree = fixture.snapshot(&["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7"]);
        for _ in 0..30 {
            let names: Vec<String> = (0..8).map(|number| format!("d{number}")).collect();
            let entries: Vec<_> =
                names.iter().map(|name| (Mode::TREE, name.as_bytes(), tree)).collect();
            tree = fixture.tree(&entries);
        }
        let mut counter = Counter::new(&Limits::default());
        let Lookup::Ready(counts) = counter.count(&fixture, &tree, &NeverInterrupt).unwrap() else {
            panic!()
        };
        assert_eq!(counts.files, u64::MAX);
        assert!(fixture.most_reads() <= 1);
    }

    #[test]
    fn a_nest_ends_at_the_depth_limit() {
        let fixture = Fixture::new();
        let mut tree = fixture.snapshot(&["f"]);
        for _ in 0..5_000 {
            tree = fixture.tree(&[(Mode::TREE, b"d", tree)]);
        }
        let mut counter = Counter::new(&Limits::default());
        let error = counter.count(&fixture, &tree, &NeverInterrupt).unwrap_err();
        assert!(matches!(error, ViewError::Limit(limit) if limit.which == Which::TreeDepth));
    }
}
