//! A fetch, in whatever version it was asked: what both sides have, where history is cut, and
//! which objects are sent.

use std::sync::Arc;

use hashbrown::HashSet;

use super::boundary::{Boundary, boundary, bounds};
use super::filter_rule::FilterRule;
use super::pack_stream::{Forms, PackStream};
use super::placed::Placed;
use super::refusal::Refusal;
use super::select::{Wanted, select};
use super::served::Served;
use super::wants::sorted_tips;
use crate::error::{Error, ErrorKind};
use crate::graph::{Cuts, all_reach};
use crate::limits::Interrupt;
use crate::object::{Kind, TagRef};
use crate::oid::ObjectId;
use crate::protocol::{Deepen, FetchRequest};
use crate::store::{Objects, Ref, Refs};

/// A fetch that may be answered.
#[derive(Debug)]
pub(super) struct Fetch<'r> {
    pub(super) request: &'r FetchRequest,
    /// What is wanted, by id and by name.
    wants: Vec<ObjectId>,
    /// The refs wanted by name, with what they are.
    pub(super) named: Vec<(ObjectId, &'r [u8])>,
    /// The commits that the wants come to.
    tips: Vec<ObjectId>,
    /// Of what the client has, what is here too.
    pub(super) common: Vec<ObjectId>,
    /// All refs that are shown.
    refs: Vec<Ref>,
}

impl<S: Objects + Refs + Sync> Served<S> {
    /// Looks at what `request` wants and whether it may.
    pub(super) fn fetch<'r>(
        &self,
        request: &'r FetchRequest,
        interrupt: &dyn Interrupt,
    ) -> Result<Fetch<'r>, Refusal> {
        if request.filter.is_some() && !self.options.allow_filter {
            return Err(Refusal::told(ErrorKind::Unsupported, "filtering not recognized"));
        }
        let refs = self.refs(&[])?;
        let mut fetch = Fetch {
            request,
            wants: request.wants.clone(),
            named: Vec::new(),
            tips: Vec::new(),
            common: Vec::new(),
            refs,
        };
        for name in &request.want_refs {
            let found = fetch.refs.iter().find(|item| item.name == *name);
            let id = found.and_then(|item| item.target).ok_or_else(|| {
                let name = crate::text::escape_for_people(name);
                Refusal::told(ErrorKind::NotFound, format!("unknown ref {name}"))
            })?;
            fetch.named.push((id, name.as_slice()));
            fetch.wants.push(id);
        }
        self.check_wants(&request.wants, &fetch.refs, interrupt)?;
        for id in &fetch.wants {
            fetch.tips.extend(self.commit_of(id)?);
        }
        for id in &request.haves {
            if self.store.contains(id)? {
                fetch.common.push(*id);
            }
        }
        Ok(fetch)
    }

    /// Whether so much is known of what the client has that a pack for it is no larger than
    /// it need be: each want reaches something of it.
    pub(super) fn is_enough(
        &self,
        fetch: &Fetch<'_>,
        interrupt: &dyn Interrupt,
    ) -> Result<bool, Refusal> {
        if fetch.common.is_empty() {
            return Ok(false);
        }
        let mut targets = HashSet::new();
        for id in &fetch.common {
            targets.extend(self.commit_of(id)?);
        }
        let cuts: Cuts = fetch.request.shallow.iter().chain(&self.cuts).copied().collect();
        let (store, tips) = (&self.store, &fetch.tips);
        Ok(all_reach(store, tips, &targets, &cuts, &self.budget, interrupt)?)
    }

    /// Where history is cut for this client.
    pub(super) fn boundary(
        &self,
        fetch: &Fetch<'_>,
        interrupt: &dyn Interrupt,
    ) -> Result<Boundary, Refusal> {
        let mut not = Vec::new();
        for name in bounds(fetch.request) {
            let id = fetch.find_short(name).ok_or_else(|| {
                let name = crate::text::escape_for_people(name);
                let words = format!("git upload-pack: ambiguous deepen-not: {name}");
                Refusal::told(ErrorKind::NotFound, words)
            })?;
            not.extend(self.commit_of(&id)?);
        }
        let Self { store, cuts, budget, .. } = self;
        boundary(store, fetch.request, &fetch.tips, cuts, &not, budget, interrupt).map_err(
            |error| match error.kind() {
                ErrorKind::NotFound => Refusal::told(ErrorKind::NotFound, error.context()),
                _ => error.into(),
            },
        )
    }

    /// The pack of what is wanted and not had.
    pub(super) fn pack<'s>(
        &'s self,
        fetch: &Fetch<'_>,
        boundary: Boundary,
        interrupt: &dyn Interrupt,
    ) -> Result<PackStream<'s, S>, Refusal> {
        let request = fetch.request;
        let forms = Forms { ofs_delta: request.ofs_delta, thin: request.thin_pack };
        if let Some(all) = self.everything(fetch, &boundary, interrupt)? {
            let had = Box::new(|_: &ObjectId| false);
            return Ok(PackStream::new(&self.store, all, forms, had, self.means())?);
        }
        let mut wants = fetch.wants.clone();
        wants.extend(boundary.wants);
        let mut haves = fetch.common.clone();
        haves.extend(boundary.unshallow);
        let tags = fetch.refs.iter().filter(|_| request.include_tag);
        let tags = tags.filter_map(|item| Some((item.target?, item.peeled?))).collect();
        let filter = FilterRule::of(request.filter.as_ref());
        let wanted = Wanted { wants, haves, cuts: boundary.cuts, filter, tags };
        let Self { store, limits, budget, .. } = self;
        let chosen = select(store, &wanted, limits, budget, interrupt)?;
        let placed = Arc::new(Placed::new(store.packs(), chosen.ids(), budget)?);
        let had: Box<dyn Fn(&ObjectId) -> bool + Send> = if forms.thin && !wanted.haves.is_empty() {
            Box::new(move |id| chosen.is_had(id))
        } else {
            Box::new(|_| false)
        };
        Ok(PackStream::new(store, placed, forms, had, self.means())?)
    }

    /// What all refs reach, when that is what is asked for: by someone who has nothing and
    /// wants all of it.
    fn everything(
        &self,
        fetch: &Fetch<'_>,
        boundary: &Boundary,
        interrupt: &dyn Interrupt,
    ) -> Result<Option<Arc<Placed>>, Refusal> {
        let request = fetch.request;
        let is_plain = fetch.common.is_empty()
            && request.shallow.is_empty()
            && request.deepen == Deepen::None
            && request.filter.is_none()
            && boundary.wants.is_empty();
        let mut wants = fetch.wants.clone();
        wants.sort_unstable();
        wants.dedup();
        if !is_plain || wants != sorted_tips(&fetch.refs) {
            return Ok(None);
        }
        Ok(Some(Arc::clone(&self.reached_by(wants, interrupt)?.objects)))
    }

    /// The commit that an object is or, through tags, names.
    fn commit_of(&self, id: &ObjectId) -> Result<Option<ObjectId>, Refusal> {
        let mut at = *id;
        for _ in 0..MAX_TAG_DEPTH {
            match self.store.header(&at)?.map(|header| header.kind) {
                Some(Kind::Commit) => return Ok(Some(at)),
                Some(Kind::Tag) => {}
                _ => return Ok(None),
            }
            let Some(tag) = self.store.read(&at)? else { return Ok(None) };
            let parsed = TagRef::parse(&tag.bytes, self.store.format());
            at = parsed.map_err(Error::from)?.object();
        }
        Ok(None)
    }
}

impl Fetch<'_> {
    /// What the ref that a person calls `name` comes to; as in git, the first of these.
    fn find_short(&self, name: &[u8]) -> Option<ObjectId> {
        let folders: [&[u8]; 5] = [b"", b"refs/", b"refs/tags/", b"refs/heads/", b"refs/remotes/"];
        folders.iter().find_map(|folder| {
            let full = [folder, name].concat();
            self.refs.iter().find(|item| item.name == full).and_then(|item| item.target)
        })
    }
}

/// Far above any chain of tags that someone made in earnest.
const MAX_TAG_DEPTH: usize = 1_000;
