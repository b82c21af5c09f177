//! Whether a client may have what it wants by id.
//!
//! What a ref names is its for the asking. Of the rest, what any ref reaches is: a lazy clone
//! asks for files and folders by id all the time, mostly for those of a branch's tip, so these
//! are looked at before anything else is.

use std::borrow::Cow;

use hashbrown::HashSet;

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
        let refs = self.counted(refs)?;
        let (absent, open) = self.not_named(wants, &refs)?;
        // What is not here needs no walk to be refused.
        let refused =
            if absent.is_empty() { self.unreached(open, &refs, interrupt)? } else { absent };
        refused.first().map_or(Ok(()), |id| Err(not_ours(id)))
    }

    /// Those of `wants` that may not be had.
    pub(super) fn refused(
        &self,
        wants: &[ObjectId],
        refs: &[Ref],
        interrupt: &dyn Interrupt,
    ) -> Result<Vec<ObjectId>, Refusal> {
        let refs = self.counted(refs)?;
        let (mut refused, open) = self.not_named(wants, &refs)?;
        refused.extend(self.unreached(open, &refs, interrupt)?);
        Ok(refused)
    }

    /// Of `wants` what is not here at all, and what may be had only if `refs` reach it.
    fn not_named(
        &self,
        wants: &[ObjectId],
        refs: &[Ref],
    ) -> Result<(Vec<ObjectId>, Vec<ObjectId>), Refusal> {
        let options = &self.options;
        let peeled = |item: &Ref| item.peeled.filter(|_| options.allow_reachable_want);
        let named = refs.iter().flat_map(|item| item.target.into_iter().chain(peeled(item)));
        let named: HashSet<ObjectId> = named.collect();
        let (mut absent, mut open) = (Vec::new(), Vec::new());
        for id in wants.iter().filter(|id| !named.contains(*id)) {
            if options.allow_any_want {
                if !self.store.contains(id)? {
                    absent.push(*id);
                }
            } else if self.store.header(id)?.is_some() {
                open.push(*id);
            } else {
                absent.push(*id);
            }
        }
        Ok((absent, open))
    }

    /// Those of `open`, which are here, that `refs` do not reach, or that nobody may have for
    /// that alone.
    fn unreached(
        &self,
        mut open: Vec<ObjectId>,
        refs: &[Ref],
        interrupt: &dyn Interrupt,
    ) -> Result<Vec<ObjectId>, Refusal> {
        if open.is_empty() || !self.options.allow_reachable_want {
            return Ok(open);
        }
        let tips = sorted_tips(refs);
        let known = match self.known(&tips) {
            Some(known) => known,
            None => {
                self.drop_what_tips_hold(&mut open, refs, interrupt)?;
                if open.is_empty() {
                    return Ok(open);
                }
                self.reached_by(tips, interrupt)?
            }
        };
        let mut unreached = Vec::new();
        for id in open {
            if !known.objects.contains(&id)? {
                unreached.push(id);
            }
        }
        Ok(unreached)
    }

    /// The refs that count for wants: those that are shown, and perhaps others.
    fn counted<'r>(&self, shown: &'r [Ref]) -> Result<Cow<'r, [Ref]>, Refusal> {
        if !self.options.allow_hidden_want || self.options.own_hidden_refs.is_empty() {
            return Ok(Cow::Borrowed(shown));
        }
        let mut refs = self.store.list(&[])?;
        refs.retain(|item| self.options.may_count(&item.name));
        Ok(Cow::Owned(refs))
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
