//! The examination of a host: which small questions show what it honours, whatever it
//! offers, and what is known after each answer.
//!
//! Each question is one that a lazy read also asks, so its answer tells how this host will
//! be read. Whatever a host sends, an answer is cut off after [`MAX_ANSWER_BYTES`], and the
//! conclusion drawn from what came until then. Nothing here sends, and nothing is kept of
//! the objects but ids, kinds and sizes.

mod facts;
pub mod headers;
mod meaning;
mod refs;
mod verdict;

use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};
use crate::protocol::v0::Features;
use crate::protocol::{Advertised, Deepen, FetchCapability, FetchRequest, Filter, LsRefsRequest};
use crate::store::{MissingSet, Ref};

use super::lazy;

use self::facts::{CommitFacts, TreeFacts};

pub use self::verdict::{End, Finding, Verdict};

/// Bytes of one answer after which it is cut off. 256 KiB: no commit, folder or listing of
/// a few refs is larger, and twenty of them are less than a web page.
pub const MAX_ANSWER_BYTES: u64 = 256 << 10;

/// A question about objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Probe {
    /// A file by its id.
    BlobById,
    /// Without files of a byte or more.
    BlobLimit,
    /// Without files.
    BlobNone,
    /// Two filters at once.
    Combine,
    /// A commit that is no tip, by its id.
    CommitById,
    /// Without the history of a tag.
    DeepenNot,
    /// Without history before a time.
    DeepenSince,
    /// Without history.
    Depth,
    /// How much a snapshot is without a filter; asked where an answer was cut too early to
    /// show whether a filter left anything out.
    Everything,
    /// Without what is no commit.
    ObjectType,
    /// A folder by its id.
    TreeById,
    /// Without folders and files.
    TreeDepth,
}

impl Probe {
    /// Its name in tables and for machines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlobById => "blob by id",
            Self::BlobLimit => "filter blob:limit",
            Self::BlobNone => "filter blob:none",
            Self::Combine => "filter combine",
            Self::CommitById => "commit by id",
            Self::DeepenNot => "deepen-not",
            Self::DeepenSince => "deepen-since",
            Self::Depth => "depth 1",
            Self::Everything => "everything",
            Self::ObjectType => "filter object:type",
            Self::TreeById => "tree by id",
            Self::TreeDepth => "filter tree:0",
        }
    }

    fn filter(self) -> Option<Filter> {
        match self {
            Self::BlobLimit => Some(Filter::BlobLimit(1)),
            Self::BlobNone => Some(Filter::BlobNone),
            Self::Combine => Some(Filter::Combine(vec![Filter::BlobNone, Filter::TreeDepth(1)])),
            Self::ObjectType => Some(Filter::ObjectType(Kind::Commit)),
            Self::TreeDepth => Some(Filter::TreeDepth(0)),
            _ => None,
        }
    }
}

/// What to do about a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Ask this.
    Send(Box<FetchRequest>),
    /// Nothing: an earlier answer showed it, or nobody needs to know.
    Settled,
    /// Nothing, for this reason.
    Skip(&'static str),
}

/// What is known of one host and repository.
#[derive(Clone, Debug)]
pub struct Examination {
    version: u8,
    format: ObjectFormat,
    features: FetchCapability,
    v0: Option<Features>,
    offers_unborn: bool,
    offers_object_info: bool,
    refs: Vec<Ref>,
    /// Whether that is all there are of those that were asked for, as far as is known.
    refs_came: bool,
    commit: Option<CommitFacts>,
    /// Trees that came.
    trees: Vec<TreeFacts>,
    /// The smallest file seen, and whether its size is known.
    blob: Option<(u64, ObjectId)>,
    /// Objects of the snapshot, by what a pack without a filter says.
    everything: Option<u64>,
    /// Filters whose answers were cut, and how many objects those were to have.
    undecided: Vec<(Probe, u64)>,
    findings: Vec<Finding>,
}

impl Examination {
    /// Of the host that said `advertised`.
    pub fn new(advertised: &Advertised) -> Self {
        let (capabilities, version, v0, refs) = match advertised {
            Advertised::Capabilities(capabilities) => (capabilities, 2, None, Vec::new()),
            Advertised::Listing(listing) => (
                &listing.capabilities,
                listing.version,
                Some(listing.features),
                listing.refs.clone(),
            ),
        };
        Self {
            version,
            format: capabilities.object_format,
            features: capabilities.fetch.unwrap_or_default(),
            v0,
            offers_unborn: capabilities.ls_refs.is_some_and(|ls_refs| ls_refs.unborn),
            offers_object_info: capabilities.object_info,
            refs,
            refs_came: true,
            commit: None,
            trees: Vec::new(),
            blob: None,
            everything: None,
            undecided: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The version of the protocol that it is examined in.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The hash of its ids.
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// What was found out, in the order of a table.
    pub fn findings(&self) -> Vec<Finding> {
        let place = |finding: &Finding| ORDER.iter().position(|name| *name == finding.name);
        let mut findings = self.findings.clone();
        findings.sort_by_key(|finding| place(finding).unwrap_or(ORDER.len()));
        findings
    }

    /// Adds what was found out by other means than probes.
    pub fn note(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// The question about refs, of a host that does not list all of them unasked.
    pub fn refs_request(&self) -> Option<LsRefsRequest> {
        (self.version == 2).then(|| LsRefsRequest {
            prefixes: REF_PREFIXES.iter().map(|prefix| (*prefix).into()).collect(),
            symrefs: true,
            peel: true,
            unborn: self.offers_unborn,
        })
    }

    /// All probes, in the order to ask them in: what a commit is comes first.
    pub fn probes(&self) -> [Probe; 12] {
        let (first, second) = if self.features.filter {
            (Probe::TreeDepth, Probe::Depth)
        } else {
            (Probe::Depth, Probe::TreeDepth)
        };
        [
            first,
            second,
            Probe::BlobNone,
            Probe::BlobLimit,
            Probe::ObjectType,
            Probe::Combine,
            Probe::Everything,
            Probe::CommitById,
            Probe::TreeById,
            Probe::BlobById,
            Probe::DeepenSince,
            Probe::DeepenNot,
        ]
    }

    /// How to ask `probe` now.
    pub fn ask(&self, probe: Probe) -> Ask {
        let Some(tip) = self.tip() else {
            return Ask::Skip(if self.refs_came { "the repository is empty" } else { NO_REF });
        };
        if self.verdict(probe.name()).is_some() {
            return Ask::Settled;
        }
        let small = self.smallest_filter();
        let snapshot = |filter| lazy::snapshot(vec![tip], filter, &ASKED_ANYWAY, &[]);
        let request = match probe {
            Probe::Everything if self.undecided.is_empty() || self.everything.is_some() => {
                return Ask::Settled;
            }
            Probe::Everything => snapshot(None),
            Probe::Depth => snapshot(small),
            Probe::TreeDepth => snapshot(probe.filter()),
            Probe::BlobLimit | Probe::BlobNone | Probe::Combine | Probe::ObjectType => {
                let is_refused = self.verdict(Probe::TreeDepth.name()) == Some(Verdict::Refused);
                if is_refused && !self.features.filter {
                    return Ask::Skip("not offered, and another filter is refused");
                }
                snapshot(probe.filter())
            }
            Probe::CommitById | Probe::TreeById | Probe::BlobById => {
                let (id, kind) = match self.target(probe) {
                    Ok(target) => target,
                    Err(why) => return Ask::Skip(why),
                };
                by_id(id, kind, small)
            }
            Probe::DeepenSince => match self.commit.as_ref() {
                Some(CommitFacts { parent: Some(_), seconds: since @ Some(_), .. }) => {
                    let deepen = Deepen::Bounded { since: *since, not: Vec::new() };
                    FetchRequest { deepen, ..snapshot(small) }
                }
                Some(_) => return Ask::Skip("its history has one commit"),
                None => return Ask::Skip(NO_COMMIT),
            },
            Probe::DeepenNot => match self.other_tag() {
                Some(tag) => {
                    let deepen = Deepen::Bounded { since: None, not: vec![tag.name.clone()] };
                    FetchRequest { deepen, ..snapshot(small) }
                }
                None => return Ask::Skip("there is no tag behind the tip"),
            },
        };
        Ask::Send(Box::new(request))
    }

    /// The file whose size the host is asked for, if it offers to tell.
    pub fn ask_object_info(&self) -> Result<ObjectId, &'static str> {
        match self.blob {
            _ if !self.offers_object_info => Err("not offered"),
            Some((_, id)) => Ok(id),
            None => Err(NO_BLOB),
        }
    }

    /// The object that is asked for by its id.
    fn target(&self, probe: Probe) -> Result<(ObjectId, Kind), &'static str> {
        let commit = self.commit.as_ref().ok_or(NO_COMMIT)?;
        match probe {
            Probe::CommitById => {
                let parent = commit.parent.ok_or("its history has one commit")?;
                Ok((parent, Kind::Commit))
            }
            Probe::TreeById => Ok((commit.tree, Kind::Tree)),
            _ => self.blob.map(|(_, id)| (id, Kind::Blob)).ok_or(NO_BLOB),
        }
    }

    /// The commit that the probes are about: that of `HEAD`, else of a branch, else of
    /// whatever ref there is.
    fn tip(&self) -> Option<ObjectId> {
        let named = |item: &&Ref| item.name == "HEAD";
        let branch = |item: &&Ref| item.name.starts_with(b"refs/heads/");
        let held = || self.refs.iter().filter(|item| item.target.is_some());
        let item = held().find(named).or_else(|| held().find(branch)).or_else(|| held().next())?;
        item.peeled.or(item.target)
    }

    /// The tag that history is cut at: one where the tip's parent is, which surely lies behind
    /// it, else the last one that is not where the tip is.
    fn other_tag(&self) -> Option<&Ref> {
        let commit_of = |item: &Ref| item.peeled.or(item.target);
        let tags = || self.refs.iter().rev().filter(|item| item.name.starts_with(b"refs/tags/"));
        let (tip, parent) = (self.tip(), self.commit.as_ref().and_then(|commit| commit.parent));
        let behind = tags().find(|item| parent.is_some() && commit_of(item) == parent);
        behind.or_else(|| {
            tags().find(|item| commit_of(item).is_some_and(|commit| Some(commit) != tip))
        })
    }

    /// What makes an answer about a commit smallest, of what is known to work.
    fn smallest_filter(&self) -> Option<Filter> {
        [Probe::TreeDepth, Probe::BlobNone]
            .into_iter()
            .find(|probe| self.verdict(probe.name()) == Some(Verdict::Honoured))
            .and_then(Probe::filter)
    }

    fn verdict(&self, name: &str) -> Option<Verdict> {
        self.findings.iter().find(|finding| finding.name == name).map(|finding| finding.verdict)
    }

    fn is_offered(&self, probe: Probe) -> Option<bool> {
        match (probe, &self.v0) {
            (Probe::BlobById | Probe::CommitById | Probe::TreeById, None) => None,
            (Probe::BlobById | Probe::CommitById | Probe::TreeById, Some(v0)) => {
                Some(v0.allow_reachable)
            }
            (Probe::DeepenNot, Some(v0)) => Some(v0.deepen_not),
            (Probe::DeepenSince, Some(v0)) => Some(v0.deepen_since),
            (Probe::DeepenNot | Probe::DeepenSince | Probe::Depth, _) => {
                Some(self.features.shallow)
            }
            _ => Some(self.features.filter),
        }
    }
}

/// The question for one object.
fn by_id(id: ObjectId, kind: Kind, small: Option<Filter>) -> FetchRequest {
    if kind == Kind::Commit {
        return lazy::snapshot(vec![id], small, &ASKED_ANYWAY, &[]);
    }
    let plain = FetchCapability { filter: false, ..ASKED_ANYWAY };
    let mut asked = lazy::requests(&MissingSet::of(id, Some(kind)), &plain, &[]);
    FetchRequest { filter: small, ..asked.pop().unwrap_or_default() }
}

/// Everything is asked, offered or not.
const ASKED_ANYWAY: FetchCapability = FetchCapability {
    filter: true,
    packfile_uris: false,
    ref_in_want: false,
    shallow: true,
    sideband_all: false,
    wait_for_done: false,
};

/// `HEAD`, where a history begins; tags, of which some say what they point to. No branch,
/// so that one that comes shows that prefixes are ignored.
const REF_PREFIXES: [&str; 2] = ["HEAD", "refs/tags/"];
const NO_BLOB: &str = "no file is known to ask for";
const NO_REF: &str = "its refs could not be listed";
const NO_COMMIT: &str = "the commit never came";

/// Findings in the order of the table.
const ORDER: [&str; 24] = [
    "version 2",
    "version 1",
    "version 0",
    "ref prefixes",
    "symrefs",
    "peeled tags",
    "unborn HEAD",
    "depth 1",
    "deepen-since",
    "deepen-not",
    "filter blob:none",
    "filter blob:limit",
    "filter tree:0",
    "filter object:type",
    "filter combine",
    "commit by id",
    "tree by id",
    "blob by id",
    "object-info",
    "bundle-uri",
    "packfile-uris",
    "gzip",
    "CORS preflight",
    "CORS answers",
];

#[cfg(test)]
mod tests;
