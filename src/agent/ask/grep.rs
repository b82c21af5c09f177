//! Searches: what a question asks of `view::grep`, and hits with the lines around them.
//!
//! A page ends behind its last hit, and the search is not carried on to see whether there
//! is another one: that could cost a download. Only what `max_total` ends is carried on so
//! far, for no page comes behind it that would tell.

use bstr::BString;

use super::super::cursor::{Meaning, Position, Question};
use super::super::query::{GrepQuery, OutputMode};
use super::super::results::{
    Envelope, FileMatches, GrepItem, Hit, NearLine, SearchStats, Truncated,
};
use super::super::search::{Reached, Searched};
use super::super::snapshot::Snapshot;
use super::super::source::Source;
use super::super::spending::Spending;
use super::chosen::{check_paths, filter_of};
use super::page::{Offered, Page};
use super::{Ask, Call, Ended, bad_place, check_sizes, partial};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::view::glob::PathFilter;
use crate::view::grep::{
    self, ContextLine, FilePlace, FileRef, FileSummary, GrepOptions, GrepStats, MatchOptions,
    Matcher, Output, PatternKind, PatternSpec, SearchOptions, Sink,
};
use crate::view::likely::Turn;

/// Lines around a hit: a page that holds more of them than hits is no page of hits.
const MAX_CONTEXT: u32 = 1_000;

impl Ask for GrepQuery {
    type Item = GrepItem;
    const METHOD: &str = "grep";

    async fn run<S: Source, F: FnMut(GrepItem) -> Result<bool, Error>>(
        &self,
        call: Call<'_, S, F>,
    ) -> Result<Envelope, Error> {
        let globs = [&self.globs, &self.names, &self.types].map(Vec::len);
        let most = globs.into_iter().fold(self.patterns.len(), usize::max);
        check_sizes(most, self.paths.len())?;
        // Judged before anything is fetched.
        let limits = &*call.repo.limits;
        let matcher = self.matcher(limits)?;
        let filter = self.filter(limits)?;
        self.check_context()?;
        let call = call.bounded(self.budget.items(self.limit), self.max_bytes);
        let (cursor, question) = (self.cursor.as_ref(), self.question());
        let mut asking = call.begin(&self.at, cursor, question, &self.budget).await?;
        let (start, within) = start_of(&asking.at, asking.snapshot.first_turn())?;
        if let Err(error) = self.check_paths(&asking.snapshot, &filter).await {
            return asking.answer("gitsip.grep/1", Err(error));
        }
        let total_left = self.max_total.map(|total| total.saturating_sub(asking.found));
        if total_left == Some(0) {
            let truncated = Some(Truncated::Total);
            let ended = Ended { truncated, next: None, search: None };
            return Ok(asking.end("gitsip.grep/1", ended));
        }
        if let Some(left) = total_left {
            asking.page.at_most(left);
        }
        // One more tells whether there is more.
        let max_total = total_left.map(|left| left.saturating_add(1));
        let options =
            GrepOptions { filter, search: SearchOptions { max_total, ..self.search_options() } };
        let mut sink = Collector::new(self, within, total_left, &mut asking.page);
        let searched = asking.snapshot.search(matcher, options, start, &mut sink).await;
        let ended = sink.end(searched, asking.snapshot.spending())?;
        Ok(asking.end("gitsip.grep/1", ended))
    }
}

impl GrepQuery {
    fn question(&self) -> Question {
        let flags = [
            self.fixed_strings,
            self.ignore_case,
            self.smart_case,
            self.word,
            self.invert,
            self.multiline,
            self.binary,
        ];
        let flags = flags.iter().fold(0, |bits, &flag| bits << 1 | u64::from(flag));
        let meaning = Meaning::of(Self::METHOD)
            .text(&self.at)
            .texts(&self.patterns)
            .texts(&self.globs)
            .texts(&self.names)
            .texts(&self.types)
            .texts(&self.paths)
            .number(flags)
            .number(self.before.into())
            .number(self.after.into())
            .number(self.output_mode as u64)
            .optional(self.max_count)
            .optional(self.max_total)
            .optional(self.max_columns);
        // Files come in another order then.
        if self.budget.is_tight() { meaning.number(1) } else { meaning }.question()
    }

    /// What finds the lines.
    ///
    /// # Errors
    /// `Usage` for patterns that are none.
    pub(crate) fn matcher(&self, limits: &Limits) -> Result<Matcher, Error> {
        let kind = if self.fixed_strings { PatternKind::Fixed } else { PatternKind::Regex };
        let specs: Vec<PatternSpec<'_>> =
            self.patterns.iter().map(|text| PatternSpec { text, kind }).collect();
        let options = MatchOptions {
            ignore_case: self.ignore_case,
            smart_case: self.smart_case,
            word: self.word,
            multi_line: self.multiline,
            max_regex_bytes: limits.max_regex_bytes,
        };
        Ok(Matcher::new(&specs, &options)?)
    }

    /// Which files are searched.
    ///
    /// # Errors
    /// `Usage` for globs, paths and types that are none.
    pub(crate) fn filter(&self, limits: &Limits) -> Result<PathFilter, Error> {
        filter_of(&self.globs, &self.names, &self.types, &self.paths, limits)
    }

    /// What of the lines is reported.
    pub(crate) fn search_options(&self) -> SearchOptions {
        let lines = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        SearchOptions {
            invert: self.invert,
            before: lines(self.before),
            after: lines(self.after),
            binary: self.binary,
            output: match self.output_mode {
                OutputMode::Lines => Output::Lines,
                OutputMode::Files => Output::Files,
                OutputMode::Count => Output::Count,
            },
            max_per_file: self.max_count,
            max_total: self.max_total,
        }
    }

    /// A path that is not there is a slip of the pen, not a search without a hit.
    ///
    /// # Errors
    /// `NotFound` for the first that is not.
    pub(crate) async fn check_paths<S: Source>(
        &self,
        snapshot: &Snapshot<S>,
        filter: &PathFilter,
    ) -> Result<(), Error> {
        check_paths(snapshot, &self.paths, filter).await
    }

    /// # Errors
    /// `Usage` for more lines around a hit than are given.
    fn check_context(&self) -> Result<(), Error> {
        let lines = self.before.max(self.after);
        if lines <= MAX_CONTEXT {
            return Ok(());
        }
        let why = format!("{lines} lines of context are more than {MAX_CONTEXT}");
        Err(Error::new(ErrorKind::Usage, why).with_code("too_many"))
    }
}

/// Fills a page.
struct Collector<'a, F> {
    query: &'a GrepQuery,
    page: &'a mut Page<F>,
    max_columns: usize,
    /// The file that the search is in, once something was found in it.
    file: Option<BString>,
    /// Behind the last hit on the page, if that is in `file`.
    behind: Option<FilePlace>,
    /// A hit that may get more lines, and what is behind it.
    pending: Option<(Hit, FilePlace)>,
    /// Lines before the next hit.
    before: Vec<NearLine>,
    /// Where this page began within a file.
    start: Option<(BString, FilePlace)>,
    refused: Option<Truncated>,
    /// All of `file` was searched.
    file_ended: bool,
    /// What this page may have of the total of all pages.
    total_left: Option<u64>,
    /// Something was found beyond that.
    is_beyond_total: bool,
}

impl<'a, F: FnMut(GrepItem) -> Result<bool, Error>> Collector<'a, F> {
    fn new(
        query: &'a GrepQuery,
        start: Option<(BString, FilePlace)>,
        total_left: Option<u64>,
        page: &'a mut Page<F>,
    ) -> Self {
        // One line does not take more than a page, whatever is asked for.
        let most = page.bytes_left().clamp(MIN_COLUMNS, MAX_COLUMNS);
        let columns = query.max_columns.unwrap_or(u64::MAX).min(most);
        Self {
            query,
            page,
            max_columns: usize::try_from(columns).unwrap_or(usize::MAX),
            file: None,
            behind: None,
            pending: None,
            before: Vec::new(),
            start,
            refused: None,
            file_ended: false,
            total_left,
            is_beyond_total: false,
        }
    }

    /// Whether all pages together have as much as they may.
    fn is_total(&self) -> bool {
        self.total_left.is_some_and(|left| self.page.taken() >= left)
    }

    /// Whether the search may end here, with no more room and nothing more to find out.
    fn is_full(&self) -> bool {
        self.page.is_full() && !self.is_total()
    }

    /// Puts the pending hit on the page. Whether there is room for another one.
    fn flush(&mut self) -> Result<bool, Error> {
        let Some((hit, behind)) = self.pending.take() else { return Ok(!self.is_full()) };
        match self.page.offer(GrepItem::Hit(hit))? {
            Offered::Taken => {
                self.behind = Some(behind);
                if self.is_full() {
                    self.refused = Some(Truncated::Limit);
                }
            }
            Offered::Refused(why) => self.refused = Some(why),
        }
        Ok(self.refused.is_none())
    }

    /// How many hits of the file are on this page and the ones before.
    fn found(&self) -> u64 {
        match (&self.pending, &self.behind) {
            (Some((_, behind)), _) | (None, Some(behind)) => behind.found,
            (None, None) => 0,
        }
    }

    fn end(mut self, searched: Searched, spending: &Spending) -> Result<Ended, Error> {
        let Searched { stats, reached, error, unsearched } = searched;
        if self.refused.is_none() {
            // Lines that were still to come around it are not waited for.
            self.flush()?;
        }
        let truncated = match error {
            None if self.is_beyond_total => Some(Truncated::Total),
            None => self.refused,
            Some(error) => match spending.why_ended(&error).or_else(|| partial(&error)) {
                // Whether there is more was not found out; what was asked for is all here.
                why if self.is_total()
                    && (why.is_some() || error.kind() != ErrorKind::Cancelled) =>
                {
                    Some(Truncated::Total)
                }
                Some(why) if self.page.taken() > 0 || spending.why_ended(&error).is_some() => {
                    Some(self.refused.unwrap_or(why))
                }
                _ => return Err(error),
            },
        };
        let next = match truncated {
            None | Some(Truncated::Total) => None,
            Some(_) => Some(self.position(reached)),
        };
        let search = SearchStats { unsearched, ..SearchStats::of(&stats) };
        Ok(Ended { truncated, next, search: Some(search) })
    }

    /// Where the next page begins, given how far the search has come.
    fn position(self, reached: Reached) -> Position {
        let Reached { turn, place, .. } = reached;
        let position = match (self.file, self.behind) {
            _ if self.file_ended => Position::At(place.behind()),
            (Some(path), Some(behind)) => Position::Within(place, path, behind),
            _ => Position::At(place),
        };
        match turn {
            Some(Turn::Later) => Position::Later(Box::new(position)),
            _ => position,
        }
    }
}

impl<F: FnMut(GrepItem) -> Result<bool, Error>> Sink for Collector<'_, F> {
    fn begin(&mut self, file: &FileRef<'_>) -> Result<bool, Error> {
        self.file = Some(file.path.into());
        let start = self.start.take().filter(|(path, _)| *path == file.path);
        self.behind = start.map(|(_, within)| within);
        self.before.clear();
        Ok(true)
    }

    fn hit(&mut self, hit: &grep::Hit<'_>) -> Result<bool, Error> {
        if !self.flush()? {
            return Ok(false);
        }
        if self.is_total() {
            self.is_beyond_total = true;
            return Ok(false);
        }
        let offset = hit.offset + hit.line.len() + 1;
        let behind = FilePlace {
            offset,
            lines_before: hit.line_number,
            shown_to: offset,
            found: self.found() + 1,
        };
        let mut item = Hit::of(hit, self.max_columns);
        item.before = std::mem::take(&mut self.before);
        self.pending = Some((item, behind));
        if self.query.after == 0 { self.flush() } else { Ok(true) }
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        let near = NearLine::of(line, self.max_columns);
        match &mut self.pending {
            Some((hit, behind)) if line.line_number <= hit.line + u64::from(self.query.after) => {
                hit.after.push(near);
                behind.shown_to = line.offset + line.line.len() + 1;
            }
            _ => self.before.push(near),
        }
        Ok(true)
    }

    fn end(&mut self, file: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        let goes_on = match self.query.output_mode {
            OutputMode::Lines => self.flush()?,
            _ if self.is_total() => {
                self.is_beyond_total = true;
                false
            }
            mode => {
                let count = (mode == OutputMode::Count).then_some(summary.lines);
                let item = GrepItem::File(FileMatches::of(file, count));
                match self.page.offer(item)? {
                    Offered::Taken if self.is_full() => {
                        self.file_ended = true;
                        self.refused = Some(Truncated::Limit);
                    }
                    Offered::Taken => {}
                    Offered::Refused(why) => self.refused = Some(why),
                }
                self.refused.is_none()
            }
        };
        if goes_on {
            (self.file, self.behind) = (None, None);
        }
        Ok(goes_on)
    }
}

impl SearchStats {
    fn of(stats: &GrepStats) -> Self {
        Self {
            files_searched: stats.files_searched,
            files_matched: stats.files_matched,
            binary_files_skipped: stats.files_binary,
            bytes_searched: stats.bytes_searched,
            unsearched: None,
        }
    }
}

/// Where a search begins that is to go on `at` a position, and the file that is there if it
/// begins within one.
fn start_of(
    at: &Option<Position>,
    first_turn: Option<Turn>,
) -> Result<(Reached, Option<(BString, FilePlace)>), Error> {
    let (turn, at) = match (at, first_turn) {
        (Some(Position::Later(at)), Some(_)) => (Some(Turn::Later), Some(&**at)),
        (at, turn) => (turn, at.as_ref()),
    };
    Ok(match at {
        None => (Reached { turn, ..Reached::default() }, None),
        Some(Position::At(place)) => (Reached { turn, place: place.clone(), within: None }, None),
        Some(Position::Within(place, path, within)) => {
            let reached = Reached { turn, place: place.clone(), within: Some(*within) };
            (reached, Some((path.clone(), *within)))
        }
        Some(_) => return Err(bad_place()),
    })
}

/// Bytes that are given of a line at least.
const MIN_COLUMNS: u64 = 64;
/// Bytes that are given of a line at most: as many as a page has by default.
const MAX_COLUMNS: u64 = 4 << 20;
