//! Whether a client may have what it wants by id.
//!
//! What a ref names is its for the asking. Of the rest, what any ref reaches is: a lazy clone
//! asks for files and folders by id all the time, mostly for those of a branch's tip, so these
//! are looked at before anything else is.

use hashbrown::HashSet;

use super::known::KnownSet;
use super::refusal::Refusal;
use super::served::Served;
use crate::error::{Error, ErrorKind};
use crate::graph::{Marks, commit_facts};
use crate::limits::Interrupt;
use crate::object::{EntryKind, Kind, TreeRef};
use crate::oid::ObjectId;
use crate::store::{Objects, Ref, Refs};

impl<S: Objects + Refs + Sync> Served<S> {
    /// Refuses wants that may not be had: of what no ref of `refs`, all that are shown, names or
    /// reaches.
    pub(super) fn check_wants(
        &self,
        wants: &[ObjectId],
        refs: &[Ref],
        interrupt: &dyn Interrupt,
    ) -> Result<(), Refusal> {
        let counted = self.counted(refs)?;
        let refs = counted.as_deref().unwrap_or(refs);
        let reaches = self.options.allow_reachable_want;
        let named = |item: &Ref| item.target.into_iter().chain(item.peeled.filter(|_| reaches));
        let named: HashSet<ObjectId> = refs.iter().flat_map(named).collect();
        let mut open: Vec<ObjectId> =
            wants.iter().copied().filter(|id| !named.contains(id)).collect();
        if self.options.allow_any_want {
            for id in &open {
                if !self.store.contains(id)? {
                    return Err(not_ours(id));
                }
            }
            return Ok(());
        }
        // Absent ones first: they need no walk to be refused.
        for id in &open {
            if self.store.header(id)?.is_none() {
                return Err(not_ours(id));
            }
        }
        match open.first() {
            Some(id) if !reaches => return Err(not_ours(id)),
            Some(_) => {}
            None => return Ok(()),
        }
        let tips = sorted_tips(refs);
        if let Some(known) = self.known(&tips) {
            return known.check(&open);
        }
        self.drop_what_tips_hold(&mut open, refs, interrupt)?;
        if open.is_empty() {
            return Ok(());
        }
        self.reached_by(tips, interrupt)?.check(&open)
    }

    /// The refs that count for wants, if they are others than those that are shown.
    fn counted(&self, shown: &[Ref]) -> Result<Option<Vec<Ref>>, Refusal> {
        if !self.options.allow_hidden_want || self.options.own_hidden_refs.is_empty() {
            return Ok(None);
        }
        let mut refs = self.store.list(&[])?;
        refs.retain(|item| self.options.may_count(&item.name));
        Ok(Some(refs).filter(|refs| refs.len() > shown.len()))
    }

    /// Takes from `open` what is a file or a folder of some ref's own commit.
    fn drop_what_tips_hold(
        &self,
        open: &mut Vec<ObjectId>,
        refs: &[Ref],
        interrupt: &dyn Interrupt,
    ) -> Result<(), Refusal> {
        let mut look = TipLook {
            store: &self.store,
            missed: HashSet::new(),
            seen: Marks::new(self.store.format(), &self.budget),
            interrupt,
        };
        for id in &*open {
            let kind = self.store.header(id)?.map(|header| header.kind);
            if matches!(kind, Some(Kind::Blob | Kind::Tree)) {
                look.missed.insert(*id);
            }
        }
        let sought = look.missed.clone();
        let commits = refs.iter().filter_map(|item| item.peeled.or(item.target));
        for id in commits.take(MAX_TIPS) {
            if look.missed.is_empty() {
                break;
            }
            let kind = self.store.header(&id)?.map(|header| header.kind);
            if kind == Some(Kind::Commit)
                && let Some(facts) = commit_facts(&self.store, &id)?
            {
                look.look_in(facts.tree)?;
            }
        }
        open.retain(|id| look.missed.contains(id) || !sought.contains(id));
        Ok(())
    }
}

impl KnownSet {
    fn check(&self, wants: &[ObjectId]) -> Result<(), Refusal> {
        for id in wants {
            if !self.objects.contains(id)? {
                return Err(not_ours(id));
            }
        }
        Ok(())
    }
}

/// Looks for files and folders in the trees of tips; each tree is read once.
struct TipLook<'a, S> {
    store: &'a S,
    /// What was not met yet.
    missed: HashSet<ObjectId>,
    seen: Marks,
    interrupt: &'a dyn Interrupt,
}

impl<S: Objects> TipLook<'_, S> {
    fn look_in(&mut self, tree: ObjectId) -> Result<(), Refusal> {
        self.missed.remove(&tree);
        let mut waiting = vec![tree];
        while let Some(id) = waiting.pop() {
            self.interrupt.check().map_err(Error::from)?;
            let row = self.seen.row(&id).map_err(Error::from)?;
            if self.seen.add(row, 1) || self.missed.is_empty() {
                continue;
            }
            let Some(tree) = self.store.read(&id)?.filter(|object| object.kind == Kind::Tree)
            else {
                continue;
            };
            for entry in TreeRef::new(&tree.bytes, self.store.format()) {
                let entry = entry.map_err(Error::from)?;
                self.missed.remove(&entry.id);
                if entry.kind() == EntryKind::Tree {
                    waiting.push(entry.id);
                }
            }
        }
        Ok(())
    }
}

/// What the refs name, sorted and each once.
pub(super) fn sorted_tips(refs: &[Ref]) -> Vec<ObjectId> {
    let mut tips: Vec<ObjectId> = refs.iter().filter_map(|item| item.target).collect();
    tips.sort_unstable();
    tips.dedup();
    tips
}

/// git's own words, which clients know to look for.
fn not_ours(id: &ObjectId) -> Refusal {
    Refusal::told(ErrorKind::NotFound, format!("upload-pack: not our ref {id}"))
}

/// Of so many refs the trees are looked at before everything that refs reach is.
const MAX_TIPS: usize = 16;
