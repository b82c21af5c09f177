//! What a search hands out, and to whom: a [`Sink`] takes hits and context in order and
//! may stop the search at any of them.
//!
//! Nothing here prints; how lines look is for the faces above.

use bstr::BStr;

use super::matcher::{MatchRange, Matcher, Spans};
use crate::error::Error;
use crate::oid::ObjectId;

/// The file a search is in.
#[derive(Clone, Copy, Debug)]
pub struct FileRef<'a> {
    /// Its path from the root of the tree.
    pub path: &'a BStr,
    /// Its blob.
    pub id: ObjectId,
    /// Its content.
    pub text: &'a [u8],
}

/// A line that was searched for: one that matches, or under
/// [`invert`](super::SearchOptions::invert) one that does not.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// Where it is.
    pub file: &'a FileRef<'a>,
    /// Its number, from 1.
    pub line_number: u64,
    /// Where the line begins, in bytes from the start of the file.
    pub offset: usize,
    /// Its bytes without the line feed; a carriage return is part of it.
    pub line: &'a [u8],
    pub(super) found: Found<'a>,
}

/// How the matches of a hit are known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    /// The line does not match: that is why it was reported.
    Inverted,
    /// They are looked for in the line when asked for.
    InLine(&'a Matcher),
    /// They were found in the file; counted from its start.
    InFile(&'a [MatchRange]),
}

impl<'a> Hit<'a> {
    /// Where patterns match in the line: each pattern's matches without overlap, also
    /// where they overlap those of another, sorted by start, longer ones first. Empty
    /// matches are left out. Looked for when asked for.
    ///
    /// In multi-line mode a match is clipped to the line.
    pub fn ranges(&self) -> impl Iterator<Item = MatchRange> + use<'a> {
        self.matches(false)
    }

    /// The ranges that `git grep -o` prints: without any overlap, the leftmost first, of
    /// those that begin together the longest.
    pub fn distinct_ranges(&self) -> impl Iterator<Item = MatchRange> + use<'a> {
        self.matches(true)
    }

    /// The column of the first match in bytes, from 1, as `git grep --column` has it.
    /// `None` for an empty match and for a line that was wanted because none matches.
    pub fn column(&self) -> Option<usize> {
        self.ranges().next().map(|range| range.start + 1)
    }

    fn matches(&self, distinct: bool) -> Matches<'a> {
        let from = match self.found {
            Found::Inverted => Source::Stored([].iter()),
            Found::InLine(matcher) => Source::Spans(Spans::new(matcher, self.line)),
            Found::InFile(stored) => Source::Stored(stored.iter()),
        };
        let base = if matches!(self.found, Found::InFile(_)) { self.offset } else { 0 };
        Matches { from, base, line_bytes: self.line.len(), distinct, past: 0 }
    }
}

/// The matches of one line.
#[derive(Debug)]
struct Matches<'a> {
    from: Source<'a>,
    /// What the source's offsets count from.
    base: usize,
    line_bytes: usize,
    distinct: bool,
    /// The end of the last match given out.
    past: usize,
}

#[derive(Debug)]
enum Source<'a> {
    Spans(Spans<'a>),
    Stored(std::slice::Iter<'a, MatchRange>),
}

impl Iterator for Matches<'_> {
    type Item = MatchRange;

    fn next(&mut self) -> Option<MatchRange> {
        loop {
            let found = match &mut self.from {
                Source::Spans(spans) => spans.next()?,
                Source::Stored(stored) => *stored.next()?,
            };
            let start = found.start.saturating_sub(self.base);
            let end = found.end.saturating_sub(self.base).min(self.line_bytes);
            if start >= end || self.distinct && start < self.past {
                continue;
            }
            self.past = end;
            if let Source::Spans(spans) = &mut self.from
                && self.distinct
            {
                spans.skip_to(end);
            }
            return Some(MatchRange { start, end, pattern: found.pattern });
        }
    }
}

/// A line near a hit.
#[derive(Clone, Copy, Debug)]
pub struct ContextLine<'a> {
    /// Where it is.
    pub file: &'a FileRef<'a>,
    /// Its number, from 1.
    pub line_number: u64,
    /// Where the line begins, in bytes from the start of the file.
    pub offset: usize,
    /// Its bytes without the line feed.
    pub line: &'a [u8],
}

/// What a search found in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// Lines found, at most what the limits allow. Always 1 for
    /// [`Output::Files`](super::Output::Files).
    pub lines: u64,
}

/// Takes what a search finds, in order. Each method answers whether to go on; an error
/// ends the search and is passed on.
///
/// For each file with something found: [`begin`](Self::begin), then hits, context and
/// breaks, then [`end`](Self::end).
pub trait Sink {
    /// The first line of a file is about to come.
    fn begin(&mut self, _file: &FileRef<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    /// A line that was searched for.
    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error>;

    /// A line near one.
    fn context(&mut self, _line: &ContextLine<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    /// Lines were left out before the next one: where `git grep -C` prints `--`, also
    /// between files. Only when context was asked for.
    fn group_break(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    /// All of a file was reported. The only call for a file when just counts or names
    /// are wanted.
    fn end(&mut self, _file: &FileRef<'_>, _summary: &FileSummary) -> Result<bool, Error> {
        Ok(true)
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn begin(&mut self, file: &FileRef<'_>) -> Result<bool, Error> {
        (**self).begin(file)
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        (**self).hit(hit)
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        (**self).context(line)
    }

    fn group_break(&mut self) -> Result<bool, Error> {
        (**self).group_break()
    }

    fn end(&mut self, file: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        (**self).end(file, summary)
    }
}
