//! Ranges over made-up histories, held against sets of ancestors.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::graph::Reach;
use crate::limits::NeverInterrupt;
use crate::object::{Commit, hash_object};
use crate::oid::ObjectFormat;
use crate::store::{Header, Object, PackedEntry, StoreError};

/// Commits by their number; the parents of each have lower ones.
#[derive(Debug)]
struct History {
    ids: Vec<ObjectId>,
    parents: Vec<Vec<usize>>,
    objects: BTreeMap<ObjectId, Bytes>,
    reads: Cell<usize>,
}

impl History {
    fn new(commits: &[(Vec<usize>, u64)]) -> Self {
        let mut history = Self {
            ids: Vec::new(),
            parents: Vec::new(),
            objects: BTreeMap::new(),
            reads: Cell::new(0),
        };
        for (number, (parents, seconds)) in commits.iter().enumerate() {
            let mut commit = Commit::new(ObjectFormat::Sha1.empty_tree());
            let parents: BTreeSet<usize> = parents
                .iter()
                .filter(|_| number > 0)
                .map(|parent| parent % number.max(1))
                .collect();
            commit.parents = parents.iter().map(|&parent| history.ids[parent]).collect();
            let who = format!("A <a@example.com> {seconds} +0000");
            commit.push_header(b"committer", who.as_bytes());
            commit.message = Some(format!("{number}\n").into());
            let mut bytes = Vec::new();
            commit.encode(&mut bytes);
            let id = hash_object(ObjectFormat::Sha1, Kind::Commit, &bytes).unwrap();
            history.ids.push(id);
            history.parents.push(parents.into_iter().collect());
            history.objects.insert(id, bytes.into());
        }
        history
    }

    /// What `tips` reach, without going on after a cut.
    fn reached(&self, tips: &[usize], cuts: &[usize]) -> BTreeSet<usize> {
        let mut waiting = tips.to_vec();
        let mut reached = BTreeSet::new();
        while let Some(at) = waiting.pop() {
            if reached.insert(at) && !cuts.contains(&at) {
                waiting.extend(&self.parents[at]);
            }
        }
        reached
    }

    fn ids(&self, numbers: &[usize]) -> Vec<ObjectId> {
        numbers.iter().map(|&number| self.ids[number]).collect()
    }

    fn range(&self, tips: &[usize], excluded: &[usize], cuts: &[usize]) -> Vec<usize> {
        let cuts: Cuts = self.ids(cuts).into_iter().collect();
        let budget = Budget::new(1 << 20);
        let (tips, excluded) = (self.ids(tips), self.ids(excluded));
        let found = range(self, &cuts, &tips, &excluded, None, &budget, &NeverInterrupt).unwrap();
        let number = |id: &ObjectId| self.ids.iter().position(|of| of == id).unwrap();
        let parent = |at: u32| found.commits[at as usize].id;
        let check = |commit: &InRange| {
            let at = number(&commit.id);
            let parents = &self.parents[at];
            let first = parents.first().filter(|_| !cuts.contains(&commit.id));
            let first = first
                .map(|&at| self.ids[at])
                .filter(|id| found.commits.iter().any(|commit| commit.id == *id));
            assert_eq!(commit.first_parent.map(parent), first);
            at
        };
        found.commits.iter().map(check).collect()
    }
}

impl Objects for History {
    fn format(&self) -> ObjectFormat {
        ObjectFormat::Sha1
    }

    fn header(&self, id: &ObjectId) -> Result<Option<Header>, StoreError> {
        let header = |bytes: &Bytes| Header { kind: Kind::Commit, size: bytes.len() as u64 };
        Ok(self.objects.get(id).map(header))
    }

    fn read(&self, id: &ObjectId) -> Result<Option<Object>, StoreError> {
        self.reads.set(self.reads.get() + 1);
        let object = |bytes: &Bytes| Object { kind: Kind::Commit, bytes: bytes.clone() };
        Ok(self.objects.get(id).map(object))
    }

    fn packed(&self, _: &ObjectId) -> Result<Option<PackedEntry>, StoreError> {
        Ok(None)
    }

    fn ids_with_prefix(&self, _: &[u8], _: usize) -> Result<Vec<ObjectId>, StoreError> {
        Ok(Vec::new())
    }
}

/// Commits with up to three parents, and times that are `slack` off at most.
fn histories(slack: u64) -> impl Strategy<Value = (History, [Vec<usize>; 3])> {
    let commit = (prop::collection::vec(0usize..1_000, 0..4), 0..=slack);
    prop::collection::vec(commit, 1..40).prop_flat_map(|commits| {
        let dated: Vec<_> = (1_000_u64..)
            .step_by(10)
            .zip(commits)
            .map(|(time, (parents, off))| (parents, time + off))
            .collect();
        let some = prop::collection::vec(0..dated.len(), 0..4);
        (Just(dated), [some.clone(), some.clone(), some])
            .prop_map(|(dated, chosen)| (History::new(&dated), chosen))
    })
}

proptest! {
    #[test]
    fn a_range_is_what_one_side_reaches_and_the_other_does_not(
        (history, [tips, excluded, cuts]) in histories(0),
    ) {
        let found = history.range(&tips, &excluded, &cuts);
        let theirs = history.reached(&excluded, &cuts);
        let ours = history.reached(&tips, &cuts);
        let expected: Vec<usize> =
            ours.into_iter().rev().filter(|at| !theirs.contains(at)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn with_clocks_that_differ_nothing_is_lost(
        (history, [tips, excluded, cuts]) in histories(400),
    ) {
        let found: BTreeSet<usize> =
            history.range(&tips, &excluded, &cuts).into_iter().collect();
        let theirs = history.reached(&excluded, &cuts);
        let all = history.reached(&tips, &cuts);
        prop_assert!(all.difference(&theirs).all(|at| found.contains(at)));
        prop_assert!(found.is_subset(&all));
    }

    #[test]
    fn enough_is_known_when_each_tip_reaches_a_target(
        (history, [tips, targets, cuts]) in histories(0),
    ) {
        let cut: Cuts = history.ids(&cuts).into_iter().collect();
        let budget = Budget::new(1 << 20);
        let mut reach = Reach::new(ObjectFormat::Sha1, &budget);
        for tip in history.ids(&tips) {
            reach.tip(&history, &tip).unwrap();
        }
        for known in 0..=targets.len() {
            let targets = &targets[..known];
            if let Some(target) = targets.last() {
                reach.target(&history, &history.ids[*target]).unwrap();
            }
            let reaches = |tip: &usize| {
                targets.iter().any(|target| history.reached(&[*tip], &cuts).contains(target))
            };
            let found = reach.all(&history, &cut, &NeverInterrupt).unwrap();
            prop_assert_eq!(found, tips.iter().all(reaches), "{:?} to {:?}", tips, targets);
        }
        prop_assert!(history.reads.get() <= history.ids.len() + targets.len());
        drop(reach);
        prop_assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn what_is_too_old_and_what_that_reaches_is_left_out() {
    let chain: Vec<(Vec<usize>, u64)> =
        (0..10).map(|n: u64| (vec![(n.max(1) - 1) as usize], n * 100)).collect();
    let history = History::new(&chain);
    let (cuts, budget) = (Cuts::default(), Budget::new(1 << 20));
    let tips = history.ids(&[9]);
    let found = range(&history, &cuts, &tips, &[], Some(650), &budget, &NeverInterrupt).unwrap();
    assert_eq!(found.commits.len(), 3);
    drop(found);
    assert_eq!(budget.used_bytes(), 0);
}

#[test]
fn a_commit_that_is_missing_is_an_error_on_one_side_only() {
    let mut history = History::new(&[(vec![], 1), (vec![0], 2), (vec![1], 3)]);
    history.objects.remove(&history.ids[0]);
    let (cuts, budget) = (Cuts::default(), Budget::new(1 << 20));
    let (tips, had) = (history.ids(&[2]), history.ids(&[1]));
    let walk =
        |had: &[ObjectId]| range(&history, &cuts, &tips, had, None, &budget, &NeverInterrupt);
    assert_eq!(walk(&[]).unwrap_err().kind(), ErrorKind::Corrupt);
    let found = walk(&had).unwrap();
    assert_eq!((found.commits.len(), &found.edges[..]), (1, &had[..]));
}

/// Someone who names what all have, one by one, and wants what reaches none of it.
#[test]
fn each_question_goes_on_where_the_last_one_ended() {
    let mut commits: Vec<_> = (0..300).map(|n: u64| (vec![(n.max(1) - 1) as usize], n)).collect();
    commits.extend((300..400).map(|n| (vec![n as usize - 300], n)));
    let history = History::new(&commits);
    let mut reach = Reach::new(ObjectFormat::Sha1, &Budget::new(1 << 20));
    for tip in &history.ids[300..] {
        reach.tip(&history, tip).unwrap();
    }
    for target in history.ids[1..300].iter().rev() {
        reach.target(&history, target).unwrap();
        assert!(!reach.all(&history, &Cuts::default(), &NeverInterrupt).unwrap());
    }
    reach.target(&history, &history.ids[0]).unwrap();
    assert!(reach.all(&history, &Cuts::default(), &NeverInterrupt).unwrap());
    assert!(history.reads.get() <= 700, "{}", history.reads.get());
}
