//! Refs by name, with the patterns of `git ls-remote`.

use bstr::BString;

use super::super::cursor::{Cursor, Meaning, Position};
use super::super::query::RefsQuery;
use super::super::repo::Repo;
use super::super::results::{AnswerStats, Envelope, RefItem};
use super::super::source::Source;
use super::super::stop::Stop;
use super::page::{Offered, Page};
use super::{Ask, bad_place, check_sizes};
use crate::error::Error;
use crate::view::ref_patterns::RefPatterns;

impl Ask for RefsQuery {
    type Item = RefItem;

    async fn run<S: Source, F: FnMut(RefItem) -> Result<bool, Error>>(
        &self,
        repo: &Repo<S>,
        stop: &Stop,
        page: Page<F>,
    ) -> Result<Envelope, Error> {
        let mut page = page.bounded(self.limit, self.max_bytes);
        check_sizes(self.patterns.len(), 0)?;
        let patterns = RefPatterns::new(&self.patterns, &repo.limits)?;
        let question = Meaning::of("refs").texts(&self.patterns).question();
        let before = repo.stats();
        let behind = match self.cursor.as_deref() {
            None => None,
            Some(text) => match Cursor::decode(text, question)?.at {
                Position::Behind(name) => Some(name),
                _ => return Err(bad_place()),
            },
        };
        let mut refs = stop.guard(repo.refs(patterns.prefixes())).await?;
        // What a host lists is its own affair; pages need an order.
        refs.sort_by(|a, b| order(&a.name).cmp(&order(&b.name)));
        let first =
            behind.map_or(0, |name| refs.partition_point(|r| order(&r.name) <= order(&name)));
        let (mut truncated, mut last) = (None, None);
        for named in refs.into_iter().skip(first).filter(|named| patterns.matches(&named.name)) {
            let name = named.name.clone();
            match page.offer(RefItem::from(named))? {
                Offered::Taken => last = Some(name),
                Offered::Refused(why) => {
                    truncated = Some(why);
                    break;
                }
            }
        }
        let next = last.filter(|_| truncated.is_some()).map(|name| {
            let at = Position::Behind(name);
            Cursor { question, commit: None, ref_name: None, found: page.taken(), at }.encode()
        });
        let stats = AnswerStats::between(&before, repo.stats());
        Ok(Envelope {
            schema: "gitsip.refs/1",
            commit: None,
            ref_name: None,
            truncated,
            next,
            stats,
        })
    }
}

/// By name, `HEAD` first.
fn order(name: &BString) -> (bool, &[u8]) {
    (name != "HEAD", name)
}
