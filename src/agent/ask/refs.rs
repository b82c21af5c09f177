//! Refs by name, with the patterns of `git ls-remote`.

use bstr::{BString, ByteSlice as _};
use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::super::cursor::{Cursor, Meaning, Position};
use super::super::query::RefsQuery;
use super::super::repo::Repo;
use super::super::results::{AnswerStats, Envelope, RefItem};
use super::super::source::Source;
use super::super::stop::Stop;
use super::page::{Offered, Page};
use super::{Ask, bad_place, check_sizes};
use crate::error::Error;
use crate::store::Ref;
use crate::view::ViewError;

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
        let patterns = RefPatterns::new(&self.patterns)?;
        let question = Meaning::of("refs").texts(&self.patterns).question();
        let before = repo.stats();
        let behind = match self.cursor.as_deref() {
            None => None,
            Some(text) => match Cursor::decode(text, question)?.at {
                Position::Behind(name) => Some(name),
                _ => return Err(bad_place()),
            },
        };
        let mut refs = stop.guard(repo.refs(&[])).await?;
        // What a host lists is its own affair; pages need an order.
        refs.sort_by(|a, b| order(&a.name).cmp(&order(&b.name)));
        let first =
            behind.map_or(0, |name| refs.partition_point(|r| order(&r.name) <= order(&name)));
        let (mut truncated, mut last) = (None, None);
        for named in refs.into_iter().skip(first).filter(|named| patterns.are_for(named)) {
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

/// Patterns of `git ls-remote`: each must match a ref's name from some slash on, and `*`
/// crosses slashes.
struct RefPatterns(Option<GlobSet>);

impl RefPatterns {
    fn new(patterns: &[String]) -> Result<Self, Error> {
        if patterns.is_empty() {
            return Ok(Self(None));
        }
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let bad = |what: &globset::ErrorKind| ViewError::BadGlob {
                pattern: pattern.clone(),
                what: what.to_string(),
            };
            // Braces are plain characters to git.
            let plain = pattern.replace('{', "[{]").replace('}', "[}]");
            let glob = GlobBuilder::new(&format!("*/{plain}")).build();
            set.add(glob.map_err(|error| bad(error.kind()))?);
        }
        let set = set.build().map_err(|error| ViewError::BadGlob {
            pattern: error.glob().unwrap_or_default().into(),
            what: error.kind().to_string(),
        })?;
        Ok(Self(Some(set)))
    }

    fn are_for(&self, named: &Ref) -> bool {
        let Some(set) = &self.0 else { return true };
        let path = [b"/", named.name.as_bytes()].concat();
        set.is_match_candidate(&Candidate::from_bytes(&path))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_the_last_parts_of_a_name_as_in_ls_remote() {
        for (pattern, matching, others) in [
            ("main", &["refs/heads/main", "refs/heads/x/main"][..], &["refs/heads/domain"][..]),
            ("heads/main", &["refs/heads/main"], &["refs/heads/x/main"]),
            ("refs/heads/*", &["refs/heads/a", "refs/heads/a/b"], &["refs/tags/a"]),
            ("v1.*", &["refs/tags/v1.2", "refs/heads/v1.x/y"], &["refs/tags/xv1.2"]),
            ("[ab]", &["refs/heads/a"], &["refs/heads/c"]),
            ("{a,b}", &["refs/heads/{a,b}"], &["refs/heads/a"]),
            ("HEAD", &["HEAD", "refs/remotes/o/HEAD"], &["refs/heads/x"]),
        ] {
            let patterns = RefPatterns::new(&[pattern.to_owned()]).unwrap();
            let is_for = |name: &str| {
                let (target, peeled, symref_target) = (None, None, None);
                patterns.are_for(&Ref { name: name.into(), target, peeled, symref_target })
            };
            assert!(matching.iter().all(|name| is_for(name)), "{pattern}");
            assert!(!others.iter().any(|name| is_for(name)), "{pattern}");
        }
        assert_eq!(RefPatterns::new(&["[".into()]).err().unwrap().code(), "bad_glob");
    }
}
