//! What a listing of refs proves.

use crate::store::Ref;
use crate::text::escape_for_people;

use super::verdict::{End, Finding, Verdict};
use super::{Examination, REF_PREFIXES};

impl Examination {
    /// Takes the answer to the [question about refs](Self::refs_request), or what came of
    /// it; of a host that lists its refs unasked, judges those.
    pub fn take_refs(&mut self, came: Option<Vec<Ref>>, end: &End) {
        let asked = came.is_some();
        self.refs.extend(came.unwrap_or_default());
        let failed = end.verdict().filter(|_| asked);
        self.refs_came = failed.is_none();
        let prefixes = match &failed {
            Some(failed) => failed.clone(),
            None if !asked => {
                (Verdict::Unknown, format!("version {} lists all refs", self.version))
            }
            None => self.judge_prefixes(),
        };
        let judged = [
            ("ref prefixes", prefixes, None),
            ("symrefs", failed.clone().unwrap_or_else(|| self.judge_symrefs()), None),
            ("peeled tags", failed.clone().unwrap_or_else(|| self.judge_peeled()), None),
            (
                "unborn HEAD",
                failed.unwrap_or_else(|| self.judge_unborn()),
                (self.version == 2).then_some(self.offers_unborn),
            ),
        ];
        for (name, (verdict, note), offered) in judged {
            self.findings.push(Finding { name, offered, verdict, note });
        }
    }

    fn judge_prefixes(&self) -> (Verdict, String) {
        let is_asked_for = |item: &&Ref| {
            REF_PREFIXES.iter().any(|prefix| item.name.starts_with(prefix.as_bytes()))
        };
        let others = self.refs.iter().filter(|item| !is_asked_for(item)).count();
        let branch = self.head().and_then(|head| head.symref_target.as_ref());
        match branch {
            _ if others > 0 => (Verdict::Ignored, format!("{others} other refs came")),
            Some(_) if self.head().is_some_and(|head| head.target.is_some()) => {
                (Verdict::Honoured, String::new())
            }
            _ => (Verdict::Unknown, "no ref is known that was not asked for".into()),
        }
    }

    fn judge_symrefs(&self) -> (Verdict, String) {
        match self.head() {
            Some(Ref { symref_target: Some(branch), .. }) => {
                (Verdict::Honoured, format!("HEAD is {}", escape_for_people(branch)))
            }
            Some(_) => (Verdict::Ignored, "HEAD names no branch, or is on none".into()),
            None => (Verdict::Unknown, "there is no HEAD".into()),
        }
    }

    fn judge_peeled(&self) -> (Verdict, String) {
        if self.refs.iter().any(|item| item.peeled.is_some()) {
            return (Verdict::Honoured, String::new());
        }
        (Verdict::Unknown, "no annotated tag is known".into())
    }

    fn judge_unborn(&self) -> (Verdict, String) {
        match self.head() {
            Some(Ref { target: None, .. }) => (Verdict::Honoured, String::new()),
            None if self.refs.is_empty() && self.offers_unborn => {
                (Verdict::Ignored, "no HEAD was told of".into())
            }
            None => (Verdict::Unknown, "there is no HEAD".into()),
            Some(_) => (Verdict::Unknown, "HEAD has a commit".into()),
        }
    }

    fn head(&self) -> Option<&Ref> {
        self.refs.iter().find(|item| item.name == "HEAD")
    }
}
