//! What the findings mean for whoever reads from this host, in a few sentences.
//!
//! What a read has to do without is said in the words of the [`Fallback`]s that a read
//! would report.

use super::{Examination, Probe, Verdict};
use crate::client::ladder::Fallback;

impl Examination {
    /// What reading from this host is like: sentences for people.
    pub fn meaning(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        sentences.push(match self.tip() {
            Some(_) => self.cost(),
            None if self.refs_came => "The repository is empty: nothing can be read yet.".into(),
            None => "Nothing can be read: its refs could not be listed.".into(),
        });
        let fallbacks = self.fallbacks();
        if fallbacks.is_empty() && self.tip().is_some() {
            sentences.push("Nothing comes that was not asked for.".into());
        }
        sentences.extend(fallbacks.iter().map(|fallback| sentence(&fallback.to_string())));
        let cors = ["CORS preflight", "CORS answers"].map(|name| self.verdict(name));
        if cors.iter().all(Option::is_some) {
            let is_open = cors == [Some(Verdict::Honoured); 2];
            sentences.push(if is_open {
                "Web pages can read from this host.".into()
            } else {
                "Web pages cannot read from this host: it does not allow them to (CORS).".into()
            });
        }
        sentences
    }

    /// Requests that it takes to read one file, cold.
    fn cost(&self) -> String {
        let offer =
            if self.version == 2 { "the offer, the refs" } else { "the offer with the refs" };
        let is_lazy = self.features.filter
            && self.verdict(Probe::BlobNone.name()) == Some(Verdict::Honoured)
            && self.verdict(Probe::BlobById.name()) == Some(Verdict::Honoured);
        let (objects, what) =
            if is_lazy { (2, "the folders, the file") } else { (1, "a whole snapshot") };
        let requests = objects + if self.version == 2 { 2 } else { 1 };
        format!("Reading one file takes {requests} requests: {offer}, {what}.")
    }

    /// What a read would have to do without.
    fn fallbacks(&self) -> Vec<Fallback> {
        let is = |probe: Probe, verdict| self.verdict(probe.name()) == Some(verdict);
        let mut fallbacks = Vec::new();
        if self.version < 2 {
            fallbacks.push(Fallback::OldVersion(self.version));
        }
        if self.verdict("ref prefixes") == Some(Verdict::Ignored) {
            fallbacks.push(Fallback::IgnoresPrefixes);
        }
        if self.tip().is_none() {
            return fallbacks;
        }
        if !self.features.filter {
            fallbacks.push(Fallback::CannotFilter);
        } else if is(Probe::BlobNone, Verdict::Refused) {
            fallbacks.push(Fallback::RefusesFilters);
        } else if is(Probe::BlobNone, Verdict::Ignored) {
            fallbacks.push(Fallback::IgnoresFilters);
        } else if is(Probe::BlobLimit, Verdict::Refused) {
            fallbacks.push(Fallback::RefusesSizes);
        }
        if !self.features.shallow {
            fallbacks.push(Fallback::CannotCutHistory);
        } else if is(Probe::Depth, Verdict::Refused) {
            fallbacks.push(Fallback::RefusesDepth);
        }
        if is(Probe::BlobById, Verdict::Refused) {
            fallbacks.push(Fallback::RefusesIds);
        } else if is(Probe::BlobById, Verdict::Ignored) {
            fallbacks.push(Fallback::LeavesOutIds);
        }
        fallbacks
    }
}

fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).chain(['.']).collect()
}
