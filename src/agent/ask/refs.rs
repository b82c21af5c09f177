//! Refs by name, with the patterns of `git ls-remote`.

use std::cmp::Ordering;

use bstr::BString;

use super::super::cursor::{Cursor, Meaning, Position, Question};
use super::super::query::{RefOrder, RefsQuery};
use super::super::results::{AnswerStats, Envelope, RefItem};
use super::super::source::Source;
use super::page::Offered;
use super::{Ask, Call, bad_place, check_sizes};
use crate::error::Error;
use crate::view::ref_patterns::{RefChoice, RefPatterns};
use crate::view::version_order;

impl Ask for RefsQuery {
    type Item = RefItem;
    const METHOD: &str = "refs";

    async fn run<S: Source, F: FnMut(RefItem) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        let Call { repo, stop, mut page } = call.bounded(self.limit, self.max_bytes);
        check_sizes(self.patterns.len(), 0)?;
        let choice = RefChoice {
            patterns: RefPatterns::new(&self.patterns, &repo.limits)?,
            branches: self.branches,
            tags: self.tags,
            only_refs: self.only_refs,
        };
        let question = self.question();
        let before = repo.stats();
        let behind = match self.cursor.as_deref() {
            None => None,
            Some(text) => match Cursor::decode(text, question)?.at {
                Position::Behind(name) => Some(name),
                _ => return Err(bad_place()),
            },
        };
        let mut refs = stop.guard(repo.refs(&choice.prefixes())).await?;
        // What a host lists is its own affair; pages need an order.
        refs.sort_by(|a, b| self.compare(&a.name, &b.name));
        let is_given = |name: &BString, last: &BString| self.compare(name, last).is_le();
        let first =
            behind.map_or(0, |last| refs.partition_point(|named| is_given(&named.name, &last)));
        let (mut truncated, mut last) = (None, None);
        for mut named in refs.into_iter().skip(first).filter(|named| choice.wants(&named.name)) {
            named.peeled = named.peeled.filter(|_| !self.only_refs);
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

impl RefsQuery {
    fn question(&self) -> Question {
        let flags = [self.branches, self.tags, self.only_refs, self.reverse];
        let flags = flags.iter().fold(0, |bits, &flag| bits << 1 | u64::from(flag));
        let meaning = Meaning::of(Self::METHOD).texts(&self.patterns).number(flags);
        meaning.number(self.sort as u64).question()
    }

    /// Names differ, so that no two are equal.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = match self.sort {
            RefOrder::Name => (a != b"HEAD", a).cmp(&(b != b"HEAD", b)),
            RefOrder::Version => version_order::compare(a, b).then_with(|| a.cmp(b)),
        };
        if self.reverse { order.reverse() } else { order }
    }
}
