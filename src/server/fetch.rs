//! A fetch, in whatever version it was asked: what both sides have, where history is cut, and
//! which objects are sent.

use std::sync::Arc;

use bstr::BString;

use super::boundary::{Boundary, boundary, bounds};
use super::filter_rule::FilterRule;
use super::pack_stream::{Forms, PackStream};
use super::placed::Placed;
use super::refusal::Refusal;
use super::select::{Wanted, select};
use super::served::Served;
use super::wants::sorted_tips;
use crate::error::ErrorKind;
use crate::graph::{Cuts, Marks, Reach};
use crate::limits::{Interrupt, Reservation};
use crate::object::Kind;
use crate::oid::ObjectId;
use crate::protocol::{Deepen, FetchRequest};
use crate::store::{Objects, Ref, Refs, through_tags};

/// A fetch that may be answered.
#[derive(Debug)]
pub(super) struct Fetch {
    /// What was asked, without what the client has, which is in `common`.
    pub(super) request: FetchRequest,
    /// What is wanted, by id and by name, sorted and each once.
    wants: Vec<ObjectId>,
    /// The refs wanted by name, with what they are.
    pub(super) named: Vec<(ObjectId, BString)>,
    /// The commits that the wants come to.
    tips: Vec<ObjectId>,
    /// Of what the client has, what is here too, each once.
    common: Marks,
    /// Whether the wants reach that, once it was asked.
    enough: Option<Enough>,
    /// All refs that are shown.
    refs: Vec<Ref>,
    /// For the request.
    _paid: Reservation,
}

impl<S: Objects + Refs + Sync> Served<S> {
    /// Looks at what `request` wants and whether it may.
    pub(super) fn fetch(
        &self,
        mut request: FetchRequest,
        interrupt: &dyn Interrupt,
    ) -> Result<Fetch, Refusal> {
        if request.filter.is_some() && !self.options.allow_filter {
            return Err(Refusal::told(ErrorKind::Unsupported, "filtering not recognized"));
        }
        if !request.want_refs.is_empty() && !self.options.allow_ref_in_want {
            return Err(Refusal::told(ErrorKind::Unsupported, "refs are not wanted by name here"));
        }
        let refs = self.refs(&[])?;
        let haves = std::mem::take(&mut request.haves);
        let ids = 4 * request.wants.len() + request.want_refs.len() + request.shallow.len();
        let paid = self.budget.reserve((ids * size_of::<ObjectId>()) as u64)?;
        let mut named = Vec::new();
        for name in std::mem::take(&mut request.want_refs) {
            let found = refs.iter().find(|item| item.name == name);
            let id = found.and_then(|item| item.target).ok_or_else(|| {
                let name = crate::text::escape_for_people(&name);
                Refusal::told(ErrorKind::NotFound, format!("unknown ref {name}"))
            })?;
            named.push((id, name));
        }
        self.check_wants(&request.wants, &refs, interrupt)?;
        let wants = request.wants.iter().copied().chain(named.iter().map(|(id, _)| *id));
        let mut wants: Vec<ObjectId> = wants.collect();
        wants.sort_unstable();
        wants.dedup();
        let mut tips = Vec::new();
        for id in &wants {
            tips.extend(self.commit_of(id)?);
        }
        let common = Marks::new(self.store.format(), &self.budget);
        let mut fetch =
            Fetch { request, wants, named, tips, common, enough: None, refs, _paid: paid };
        for id in haves {
            self.have(&mut fetch, &id)?;
        }
        Ok(fetch)
    }

    /// Takes note of something that the client has; whether it is here too.
    pub(super) fn have(&self, fetch: &mut Fetch, id: &ObjectId) -> Result<bool, Refusal> {
        let is_here = fetch.common.find(id).is_some() || self.store.contains(id)?;
        if is_here {
            fetch.common.row(id)?;
        }
        Ok(is_here)
    }

    /// Whether so much is known of what the client has that a pack for it is no larger than
    /// it need be: each want reaches something of it.
    pub(super) fn is_enough(
        &self,
        fetch: &mut Fetch,
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Refusal> {
        if fetch.common.is_empty() {
            return Ok(false);
        }
        let Self { store, budget, cuts, .. } = self;
        let enough = match &mut fetch.enough {
            Some(enough) => enough,
            none => {
                let mut reach = Reach::new(store.format(), budget);
                for tip in &fetch.tips {
                    reach.tip(store, tip)?;
                }
                let cuts = fetch.request.shallow.iter().chain(cuts).copied().collect();
                none.insert(Enough { reach, cuts, told: 0 })
            }
        };
        for id in fetch.common.ids().skip(enough.told) {
            enough.told += 1;
            if let Some(commit) = self.commit_of(&id)? {
                enough.reach.target(store, &commit)?;
            }
        }
        Ok(enough.reach.all(store, &enough.cuts, interrupt)?)
    }

    /// Where history is cut for this client.
    pub(super) fn boundary(
        &self,
        fetch: &Fetch,
        interrupt: &dyn Interrupt,
    ) -> Result<Boundary, Refusal> {
        let mut not = Vec::new();
        for name in bounds(&fetch.request) {
            let id = fetch.find_short(name).ok_or_else(|| {
                let name = crate::text::escape_for_people(name);
                let words = format!("git upload-pack: ambiguous deepen-not: {name}");
                Refusal::told(ErrorKind::NotFound, words)
            })?;
            not.extend(self.commit_of(&id)?);
        }
        let Self { store, cuts, budget, .. } = self;
        boundary(store, &fetch.request, &fetch.tips, cuts, &not, budget, interrupt).map_err(
            |error| match error.kind() {
                ErrorKind::NotFound => Refusal::told(ErrorKind::NotFound, error.context()),
                _ => error.into(),
            },
        )
    }

    /// The pack of what is wanted and not had.
    pub(super) fn pack<'s>(
        &'s self,
        fetch: &Fetch,
        boundary: Boundary,
        interrupt: &dyn Interrupt,
    ) -> Result<PackStream<'s, S>, Refusal> {
        let request = &fetch.request;
        let forms = Forms { ofs_delta: request.ofs_delta, thin: request.thin_pack };
        if let Some(all) = self.everything(fetch, &boundary, interrupt)? {
            let had = Box::new(|_: &ObjectId| false);
            let stream = PackStream::new(&self.store, all, forms, had, self.means())?;
            return Ok(stream.for_wants(fetch.wants.len()));
        }
        let mut wants = fetch.wants.clone();
        wants.extend(boundary.wants);
        let mut haves: Vec<ObjectId> = fetch.common.ids().collect();
        haves.extend(boundary.unshallow);
        let tags = fetch.refs.iter().filter(|_| request.include_tag);
        let tags = tags.filter_map(|item| Some((item.target?, item.peeled?))).collect();
        let filter = FilterRule::of(request.filter.as_ref());
        let wanted = Wanted { wants, haves, cuts: boundary.cuts, filter, tags };
        let Self { store, limits, budget, .. } = self;
        let mut chosen = select(store, &wanted, limits, budget, interrupt)?;
        let placed = Arc::new(chosen.take_placed(store, store.packs(), budget)?);
        let had: Box<dyn Fn(&ObjectId) -> bool + Send> = if forms.thin && !wanted.haves.is_empty() {
            Box::new(move |id| chosen.is_had(id))
        } else {
            Box::new(|_| false)
        };
        let stream = PackStream::new(store, placed, forms, had, self.means())?;
        Ok(stream.for_wants(fetch.wants.len()))
    }

    /// What all refs reach, when that is what is asked for: by someone who has nothing and
    /// wants all of it.
    fn everything(
        &self,
        fetch: &Fetch,
        boundary: &Boundary,
        interrupt: &dyn Interrupt,
    ) -> Result<Option<Arc<Placed>>, Refusal> {
        let request = &fetch.request;
        let is_plain = fetch.common.is_empty()
            && request.shallow.is_empty()
            && request.deepen == Deepen::None
            && request.filter.is_none()
            && boundary.wants.is_empty();
        let tips = sorted_tips(&fetch.refs);
        if !is_plain || fetch.wants != tips {
            return Ok(None);
        }
        Ok(Some(Arc::clone(&self.reached_by(tips, interrupt)?.objects)))
    }

    /// The commit that an object is or, through tags, names.
    fn commit_of(&self, id: &ObjectId) -> Result<Option<ObjectId>, Refusal> {
        for step in through_tags(&self.store, *id) {
            if let (id, Some(Kind::Commit)) = step? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }
}

/// What was found out of what the client has.
#[derive(Debug)]
struct Enough {
    reach: Reach,
    /// Where the client's history and that of the repository end.
    cuts: Cuts,
    /// Of so many that both have `reach` was told.
    told: usize,
}

impl Fetch {
    /// Of what the client has, what is here too, each once.
    pub(super) fn common(&self) -> impl Iterator<Item = ObjectId> {
        self.common.ids()
    }

    /// What the ref that a person calls `name` comes to; as in git, the first of these.
    fn find_short(&self, name: &[u8]) -> Option<ObjectId> {
        let folders: [&[u8]; 5] = [b"", b"refs/", b"refs/tags/", b"refs/heads/", b"refs/remotes/"];
        folders.iter().find_map(|folder| {
            let full = [folder, name].concat();
            self.refs.iter().find(|item| item.name == full).and_then(|item| item.target)
        })
    }
}
