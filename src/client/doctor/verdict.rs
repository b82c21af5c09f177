//! What an answer proves. What is offered proves nothing: verdicts are given by what came
//! and what did not.

use crate::client::sample::{Sampled, SampledObject};
use crate::error::{Error, ErrorKind};
use crate::object::{CommitRef, Kind};
use crate::oid::ObjectId;
use crate::pktline::PktError;
use crate::protocol::{Deepen, FetchRequest, ProtocolError};
use crate::text::amounts::Count;
use crate::text::escape_for_people;

use super::facts::TreeFacts;
use super::{Examination, Probe};

/// What a host does with something that it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The question failed for a reason that may have nothing to do with it.
    Failed,
    /// It does it.
    Honoured,
    /// It answers as if it had not been asked for it.
    Ignored,
    /// It says no.
    Refused,
    /// No answer could show it.
    Unknown,
}

impl Verdict {
    /// The word for it, in tables and for machines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Honoured => "honoured",
            Self::Ignored => "ignored",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// Whether the host offers it, where there is a word for offering it.
    pub offered: Option<bool>,
    /// What it does.
    pub verdict: Verdict,
    /// What shows it, or the host's own words, safe to show; may be empty.
    pub note: String,
}

impl Finding {
    /// One of something that has no word for offering it.
    pub fn new(name: &'static str, verdict: Verdict, note: impl Into<String>) -> Self {
        Self { name, offered: None, verdict, note: note.into() }
    }
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Here, because it had become too long.
    Cut,
    /// With an error that may have nothing to do with the question.
    Failed(String),
    /// With the host's no: its words.
    Refused(String),
    /// As it should.
    Whole,
}

impl End {
    /// How an answer ended that came with `status` and broke off with `error`.
    pub fn of(status: u16, error: &Error) -> Self {
        let words = error.context().to_owned();
        if status != 200 {
            let is_no = matches!(status, 400..=499) && error.kind() != ErrorKind::RateLimited;
            return if is_no { Self::Refused(words) } else { Self::Failed(words) };
        }
        if error.kind() == ErrorKind::Limit {
            return Self::Cut;
        }
        // How git refuses what it does not expect in a request.
        if error.code() == "empty_answer" && error.kind() == ErrorKind::Transport {
            return Self::Refused(WORDLESS.to_owned());
        }
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            if let Some(PktError::Remote { text }) = error.downcast_ref() {
                let text = text.trim_ascii();
                let text = text.get(..MAX_WORDS_BYTES).unwrap_or(text);
                return Self::Refused(format!("'{}'", escape_for_people(text)));
            }
            if let Some(ProtocolError::Truncated { .. }) = error.downcast_ref() {
                return Self::Refused(WORDLESS.to_owned());
            }
            cause = error.source();
        }
        Self::Failed(words)
    }

    /// The verdict of an end that is no answer.
    pub(super) fn verdict(&self) -> Option<(Verdict, String)> {
        match self {
            Self::Cut | Self::Whole => None,
            Self::Failed(words) => Some((Verdict::Failed, words.clone())),
            Self::Refused(words) => Some((Verdict::Refused, words.clone())),
        }
    }
}

impl Examination {
    /// Takes the answer to a `request` that [`ask`](Self::ask) named for `probe`.
    pub fn judge(&mut self, probe: Probe, request: &FetchRequest, sampled: &Sampled, end: &End) {
        self.learn(sampled);
        if request.deepen == Deepen::Depth(1) && self.verdict(Probe::Depth.name()).is_none() {
            let is_filters_fault = request.filter.is_some() && end.verdict().is_some();
            let is_about_tip = self.tip().is_some_and(|tip| request.wants.contains(&tip));
            if is_about_tip && (!is_filters_fault || probe == Probe::Depth) {
                let judged = end.verdict().unwrap_or_else(|| self.judge_depth(sampled, end));
                self.find(Probe::Depth, judged);
            }
        }
        if request.filter.is_none() && request.deepen == Deepen::Depth(1) {
            self.everything = self.everything.or(sampled.declared);
        }
        let judged = match probe {
            Probe::Depth => return,
            Probe::Everything => return self.decide(),
            _ => match end.verdict() {
                Some((Verdict::Refused, words)) if sampled.declared.is_some() => {
                    (Verdict::Failed, format!("it gave up in the middle: {words}"))
                }
                Some((Verdict::Refused, words))
                    if probe == Probe::DeepenNot && words == WORDLESS =>
                {
                    (Verdict::Unknown, words)
                }
                Some(ended) => ended,
                None => match self.judge_answer(probe, request, sampled, end) {
                    Some(judged) => judged,
                    None => return self.undecided.push((probe, sampled.declared.unwrap_or(0))),
                },
            },
        };
        self.find(probe, judged);
    }

    /// Adds why a probe was not asked.
    pub fn skip(&mut self, probe: Probe, why: &str) {
        if probe != Probe::Everything {
            self.find(probe, (Verdict::Unknown, why.to_owned()));
        }
    }

    /// `None` when the answer was cut too early.
    fn judge_answer(
        &self,
        probe: Probe,
        request: &FetchRequest,
        sampled: &Sampled,
        end: &End,
    ) -> Option<(Verdict, String)> {
        match probe {
            Probe::BlobById | Probe::CommitById | Probe::TreeById => {
                let wanted = request.wants.first()?;
                Some(judge_id(wanted, sampled, end))
            }
            Probe::DeepenNot => Some(self.judge_not(request, sampled, end)),
            Probe::DeepenSince => Some(self.judge_since(sampled, end)),
            _ => self.judge_filter(probe, sampled, end),
        }
    }

    fn judge_filter(
        &self,
        probe: Probe,
        sampled: &Sampled,
        end: &End,
    ) -> Option<(Verdict, String)> {
        let root = self.commit.as_ref().map(|commit| commit.tree);
        let is_unwanted = |object: &&SampledObject| match (probe, object.kind) {
            (Probe::TreeDepth | Probe::ObjectType, kind) => kind != Kind::Commit,
            (Probe::BlobLimit, Kind::Blob) => object.size > 0,
            (Probe::Combine, Kind::Tree) => Some(object.id) != root,
            (_, kind) => kind == Kind::Blob,
        };
        let unwanted = sampled.objects.iter().filter(is_unwanted).count();
        if unwanted > 0 {
            let note = format!("{unwanted} objects came that it leaves out");
            return Some((Verdict::Ignored, note));
        }
        if *end == End::Cut {
            return None;
        }
        let Some(commit) = self.commit.as_ref().filter(|_| sampled.count(Kind::Commit) > 0) else {
            return Some((Verdict::Failed, "the commit did not come".into()));
        };
        let has_files = |tree: &TreeFacts| {
            tree.blob.is_some_and(|blob| sampled.find(&blob).is_none())
                && sampled.find(&tree.id).is_some()
        };
        let left_out = match probe {
            Probe::TreeDepth | Probe::ObjectType => commit.tree != self.format.empty_tree(),
            _ => self.trees.iter().any(has_files),
        };
        Some(if left_out {
            (Verdict::Honoured, String::new())
        } else {
            (Verdict::Unknown, "there is nothing to leave out".into())
        })
    }

    /// Compares cut answers with what a snapshot has without a filter.
    fn decide(&mut self) {
        let Some(everything) = self.everything else { return };
        for (probe, declared) in std::mem::take(&mut self.undecided) {
            let note = format!("{declared} of {everything} objects announced");
            let verdict = if declared < everything { Verdict::Honoured } else { Verdict::Ignored };
            self.find(probe, (verdict, note));
        }
    }

    /// Says of what is undecided after all probes that it is.
    pub fn finish(&mut self) {
        self.decide();
        for (probe, _) in std::mem::take(&mut self.undecided) {
            self.find(probe, (Verdict::Unknown, "its answer was cut too early to tell".into()));
        }
    }

    fn judge_depth(&self, sampled: &Sampled, end: &End) -> (Verdict, String) {
        let more = sampled.count(Kind::Commit).saturating_sub(1);
        let is_told = self.tip().is_some_and(|tip| sampled.shallow.contains(&tip));
        let parent = self.commit.as_ref().map(|commit| commit.parent);
        match parent {
            _ if more > 0 => (Verdict::Ignored, format!("{more} older commits came")),
            _ if is_told => (Verdict::Honoured, String::new()),
            Some(None) => (Verdict::Unknown, "its history has one commit".into()),
            Some(Some(_)) if *end == End::Whole => {
                (Verdict::Honoured, "without saying where history is cut".into())
            }
            _ => (Verdict::Unknown, "its answer was cut too early to tell".into()),
        }
    }

    fn judge_since(&self, sampled: &Sampled, end: &End) -> (Verdict, String) {
        let facts = self.commit.as_ref();
        let (parent, since) = facts.map_or((None, None), |commit| (commit.parent, commit.seconds));
        let came = parent.and_then(|parent| sampled.find(&parent));
        let seconds = came.and_then(|object| {
            let commit = CommitRef::parse(object.content.as_deref()?, self.format).ok()?;
            Some(commit.committer()?.time?.seconds)
        });
        match came {
            Some(_) if seconds >= since => {
                (Verdict::Unknown, "the last commits have the same time".into())
            }
            Some(_) => (Verdict::Ignored, "older commits came".into()),
            None if sampled.shallow.is_empty() && *end == End::Cut => {
                (Verdict::Unknown, "its answer was cut too early to tell".into())
            }
            None => (Verdict::Honoured, String::new()),
        }
    }

    fn judge_not(&self, request: &FetchRequest, sampled: &Sampled, end: &End) -> (Verdict, String) {
        let Deepen::Bounded { not, .. } = &request.deepen else {
            return (Verdict::Unknown, String::new());
        };
        let tag = self.refs.iter().find(|item| not.contains(&item.name));
        let excluded = tag.and_then(|tag| tag.peeled.or(tag.target));
        match excluded.and_then(|id| sampled.find(&id)) {
            Some(_) => (Verdict::Ignored, "the commit of the tag came".into()),
            None if !sampled.shallow.is_empty() => (Verdict::Honoured, String::new()),
            None if *end == End::Cut => {
                (Verdict::Unknown, "its answer was cut too early to tell".into())
            }
            None => {
                let name = tag.map_or(b"".as_slice(), |tag| tag.name.as_slice());
                let name = escape_for_people(name.get(..MAX_WORDS_BYTES).unwrap_or(name));
                (Verdict::Unknown, format!("'{name}' shares no history with the tip"))
            }
        }
    }

    /// Takes the answer to the [question](Self::ask_object_info) for the size of `id`.
    pub fn judge_object_info(&mut self, sizes: &[(ObjectId, u64)], id: &ObjectId) {
        let judged = match sizes.iter().find(|(told, _)| told == id) {
            Some((_, size)) => (Verdict::Honoured, format!("a file of {}", Count(*size, "byte"))),
            None => (Verdict::Ignored, "no size was told".into()),
        };
        self.note_object_info(judged);
    }

    /// Adds why the host was not asked for sizes, or how it refused.
    pub fn note_object_info(&mut self, (verdict, note): (Verdict, String)) {
        let offered = Some(self.offers_object_info);
        self.findings.push(Finding { name: "object-info", offered, verdict, note });
    }

    fn find(&mut self, probe: Probe, (verdict, note): (Verdict, String)) {
        let offered = self.is_offered(probe);
        self.findings.push(Finding { name: probe.name(), offered, verdict, note });
    }
}

fn judge_id(wanted: &ObjectId, sampled: &Sampled, end: &End) -> (Verdict, String) {
    // Of one object that is too large the beginning came, and nothing before it.
    let has_begun = sampled.declared == Some(1) && sampled.objects.is_empty();
    match (sampled.find(wanted), end) {
        (Some(_), _) => (Verdict::Honoured, String::new()),
        (None, End::Cut) if has_begun => (Verdict::Honoured, "it was too long to end".into()),
        (None, End::Cut) => (Verdict::Unknown, "its answer was cut too early to tell".into()),
        (None, _) => (Verdict::Ignored, "it was left out without a word".into()),
    }
}

/// Bytes of a host's words that are told.
const MAX_WORDS_BYTES: usize = 300;
const WORDLESS: &str = "it ends its answer without a word";
