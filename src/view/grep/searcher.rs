//! One file at a time: which lines are hits, their numbers, and the context around them.
//!
//! Goes from match to match over the whole text. Line ends are looked for around
//! matches only, and lines are counted only between them. Binary files (a NUL in the
//! first 8,000 bytes, as git decides) are left out unless asked for. Context is merged,
//! clamped and separated as `git grep -C` does it.
//!
//! Knows no trees and no stores; `mod.rs` brings the files.

use memchr::{memchr_iter, memrchr};

use super::lines::Lines;
use super::matcher::{Line, Matcher};
use super::scan::Known;
use super::sink::{ContextLine, FileRef, FileSummary, Found, Hit, Sink};
use crate::error::Error;
use crate::limits::Interrupt;
use crate::store::is_binary;

/// What to report of the lines that match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// How many there are in each file, to [`Sink::end`].
    Count,
    /// Which files have one, to [`Sink::end`].
    Files,
    /// The lines.
    #[default]
    Lines,
}

/// What is reported, and how much of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOptions {
    /// Report the lines where no pattern matches instead.
    pub invert: bool,
    /// Lines of context before each hit.
    pub before: usize,
    /// Lines of context after each hit.
    pub after: usize,
    /// Search binary files as if they were text.
    pub binary: bool,
    /// What to report.
    pub output: Output,
    /// The most lines found in one file. Context still follows the last.
    pub max_per_file: Option<u64>,
    /// The most found in all: lines for [`Output::Lines`], files for the others.
    pub max_total: Option<u64>,
}

impl SearchOptions {
    fn has_context(&self) -> bool {
        self.before > 0 || self.after > 0
    }
}

/// Where a search goes on within a file that an earlier search was stopped in. The default
/// is the file's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePlace {
    /// Where the next line begins, in bytes from the start of the file.
    pub offset: usize,
    /// How many lines are before it.
    pub lines_before: u64,
    /// Lines that begin before this byte were reported, be it as context.
    pub shown_to: usize,
    /// Lines found so far, which count for [`SearchOptions::max_per_file`].
    pub found: u64,
}

/// What became of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// It was left out because it is binary.
    pub binary: bool,
    /// Lines found.
    pub lines: u64,
    /// The sink or the total maximum ended the search: search no other file.
    pub stop: bool,
}

/// Searches one file after another.
///
/// ```
/// use gitsip::view::grep::{
///     FileRef, Hit, MatchOptions, Matcher, PatternSpec, SearchOptions, Searcher, Sink,
/// };
/// use gitsip::limits::NeverInterrupt;
/// use gitsip::{Error, ObjectFormat, ObjectId};
///
/// struct Numbers(Vec<u64>);
///
/// impl Sink for Numbers {
///     fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
///         self.0.push(hit.line_number);
///         Ok(true)
///     }
/// }
///
/// let matcher = Matcher::new(&[PatternSpec::fixed("b")], &MatchOptions::default())?;
/// let mut searcher = Searcher::new(matcher, SearchOptions::default());
/// let id = ObjectId::null(ObjectFormat::Sha1);
/// let file = FileRef { path: "letters".into(), id, text: b"a\nb\nab" };
/// let mut numbers = Numbers(Vec::new());
/// let searched = searcher.search(&file, &mut numbers, &NeverInterrupt)?;
/// assert_eq!((numbers.0, searched.lines), (vec![2, 3], 2));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Searcher {
    matcher: Matcher,
    options: SearchOptions,
    /// What is left of [`SearchOptions::max_total`].
    total_left: u64,
    /// Lines of an earlier file were reported, so a break separates the next.
    shown: bool,
}

impl Searcher {
    /// A searcher that has found nothing yet.
    pub fn new(matcher: Matcher, options: SearchOptions) -> Self {
        let total_left = options.max_total.unwrap_or(u64::MAX);
        Self { matcher, options, total_left, shown: false }
    }

    /// Searches `file` and tells `sink` what is found.
    ///
    /// # Errors
    /// Those of the sink, and `Cancelled` when `interrupt` says so.
    pub fn search(
        &mut self,
        file: &FileRef<'_>,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Searched, Error> {
        self.search_from(file, FilePlace::default(), sink, interrupt)
    }

    /// Searches the lines of `file` from `place` on: with what was reported up to there it
    /// is what [`search`](Self::search) reports, if lines are what is reported.
    ///
    /// # Errors
    /// Those of [`search`](Self::search).
    pub fn search_from(
        &mut self,
        file: &FileRef<'_>,
        place: FilePlace,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Searched, Error> {
        if !self.options.binary && is_binary(file.text) {
            return Ok(Searched { binary: true, ..Searched::default() });
        }
        self.search_known(file, place, Known::Something, sink, interrupt)
    }

    /// The same for a file that is no binary one, or is searched nevertheless, and of which
    /// something is known already.
    pub(super) fn search_known(
        &mut self,
        file: &FileRef<'_>,
        place: FilePlace,
        known: Known<'_>,
        sink: &mut (impl Sink + ?Sized),
        interrupt: &dyn Interrupt,
    ) -> Result<Searched, Error> {
        let allowed = match self.options.output {
            Output::Count => u64::MAX,
            Output::Files => 1,
            Output::Lines => self.total_left,
        };
        let per_file = self.options.max_per_file.unwrap_or(u64::MAX);
        let allowed = allowed.min(per_file.saturating_sub(place.found));
        if allowed == 0 || self.total_left == 0 {
            return Ok(Searched { stop: self.total_left == 0, ..Searched::default() });
        }
        let Self { matcher, options, .. } = self;
        let mut lines = match known {
            Known::Lines(known) => Lines::known(matcher, file.text, known, interrupt),
            _ => Lines::new(matcher, file.text, options.invert, interrupt),
        };
        let (found, go_on) = match (options.output, known) {
            (Output::Lines, _) => {
                let mut report = Report {
                    options,
                    file,
                    sink,
                    counter: LineCounter { at: place.offset, before: place.lines_before },
                    shown_to: (place.found > 0).then_some(place.shown_to.max(place.offset)),
                    separate: self.shown,
                };
                let found = report.all(&mut lines, place.offset, allowed)?;
                self.shown |= report.shown_to.is_some();
                found
            }
            (_, Known::Count(lines)) => (lines.min(allowed), true),
            _ => (lines.count(allowed)?, true),
        };
        if found == 0 {
            return Ok(Searched { stop: !go_on, ..Searched::default() });
        }
        self.total_left -= if self.options.output == Output::Lines { found } else { 1 };
        let go_on = go_on && sink.end(file, &FileSummary { lines: found })?;
        Ok(Searched { binary: false, lines: found, stop: !go_on || self.total_left == 0 })
    }

    pub(super) fn options(&self) -> &SearchOptions {
        &self.options
    }

    pub(super) fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Whether no further line is wanted.
    pub(super) fn has_enough(&self) -> bool {
        self.total_left == 0
    }
}

/// Reports the lines of one file.
struct Report<'a, S: ?Sized> {
    options: &'a SearchOptions,
    file: &'a FileRef<'a>,
    sink: &'a mut S,
    counter: LineCounter,
    /// Where the line after the last one reported begins.
    shown_to: Option<usize>,
    /// Whether a break goes before the first line.
    separate: bool,
}

impl<S: Sink + ?Sized> Report<'_, S> {
    /// Reports at most `allowed` hits, beginning at `from`: how many there were, and
    /// whether to go on.
    fn all(
        &mut self,
        lines: &mut Lines<'_>,
        mut from: usize,
        allowed: u64,
    ) -> Result<(u64, bool), Error> {
        let mut found = 0;
        while found < allowed {
            let Some(line) = lines.next(from)? else { break };
            from = line.end + 1;
            let go_on = if found == 0 {
                (!(self.separate && self.options.has_context()) || self.sink.group_break()?)
                    && self.sink.begin(self.file)?
            } else {
                self.after_context(line.start)?
            };
            if !(go_on && self.before_context(line.start)? && self.hit(line, lines.found(line))?) {
                return Ok((found, false));
            }
            found += 1;
        }
        let go_on = found == 0 || self.after_context(self.file.text.len())?;
        Ok((found, go_on))
    }

    fn hit(&mut self, line: Line, found: Found<'_>) -> Result<bool, Error> {
        let hit = Hit {
            file: self.file,
            line_number: self.counter.number_at(self.file.text, line.start),
            offset: line.start,
            line: &self.file.text[line.start..line.end],
            found,
        };
        self.shown_to = Some(line.end + 1);
        self.sink.hit(&hit)
    }

    /// The lines after the last one reported, up to `limit`.
    fn after_context(&mut self, limit: usize) -> Result<bool, Error> {
        for _ in 0..self.options.after {
            match self.shown_to {
                Some(start) if start < limit => {
                    if !self.context(start)? {
                        return Ok(false);
                    }
                }
                _ => break,
            }
        }
        Ok(true)
    }

    /// A break where lines are left out, then the lines before a hit at `start`.
    fn before_context(&mut self, start: usize) -> Result<bool, Error> {
        let text = self.file.text;
        let floor = self.shown_to.unwrap_or(0);
        let mut first = start;
        for _ in 0..self.options.before {
            if first <= floor {
                break;
            }
            first = memrchr(b'\n', &text[floor..first - 1]).map_or(floor, |i| floor + i + 1);
        }
        let left_out = self.shown_to.is_some_and(|shown_to| first > shown_to);
        if left_out && self.options.has_context() && !self.sink.group_break()? {
            return Ok(false);
        }
        while first < start {
            if !self.context(first)? {
                return Ok(false);
            }
            first = self.shown_to.unwrap_or(start);
        }
        Ok(true)
    }

    fn context(&mut self, start: usize) -> Result<bool, Error> {
        let text = self.file.text;
        let end = super::matcher::line_end(text, start);
        let line = ContextLine {
            file: self.file,
            line_number: self.counter.number_at(text, start),
            offset: start,
            line: &text[start..end],
        };
        self.shown_to = Some(end + 1);
        self.sink.context(&line)
    }
}

/// Counts line ends, forwards only.
#[derive(Debug, Default)]
struct LineCounter {
    at: usize,
    before: u64,
}

impl LineCounter {
    /// The number of the line that begins at `start`, from 1.
    fn number_at(&mut self, text: &[u8], start: usize) -> u64 {
        self.before += memchr_iter(b'\n', &text[self.at..start]).count() as u64;
        self.at = start;
        self.before + 1
    }
}
