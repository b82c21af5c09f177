//! The lines of one text that a search is for, in order: those that match, or those
//! that do not.

use super::matcher::{Line, MatchRange, Matcher, Spans, line_around, line_end};
use super::sink::Found;
use crate::limits::{Interrupt, Interrupted};

/// The lines of `text` that are wanted.
pub(super) struct Lines<'a> {
    matching: Matching<'a>,
    text: &'a [u8],
    invert: bool,
    /// When inverted: the next line that matches, as far as it is known.
    upcoming: Upcoming,
}

enum Upcoming {
    Unknown,
    At(Line),
    None,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        matcher: &'a Matcher,
        text: &'a [u8],
        invert: bool,
        interrupt: &'a dyn Interrupt,
    ) -> Self {
        let blocks = matcher.is_multi_line().then(|| Blocks::new(matcher, text));
        let matching = Matching { matcher, text, interrupt, window: 0, blocks, known: None };
        Self { matching, text, invert, upcoming: Upcoming::Unknown }
    }

    /// The lines that were found before to match: their starts and ends.
    pub(super) fn known(
        matcher: &'a Matcher,
        text: &'a [u8],
        known: &'a [(u32, u32)],
        interrupt: &'a dyn Interrupt,
    ) -> Self {
        let known = Some(known.iter());
        let matching = Matching { matcher, text, interrupt, window: 0, blocks: None, known };
        Self { matching, text, invert: false, upcoming: Upcoming::Unknown }
    }

    /// The first wanted line that begins at or after `from`, where a line begins.
    pub(super) fn next(&mut self, mut from: usize) -> Result<Option<Line>, Interrupted> {
        if !self.invert {
            return self.matching.next(from);
        }
        while from < self.text.len() {
            if let Upcoming::Unknown = self.upcoming {
                self.upcoming = self.matching.next(from)?.map_or(Upcoming::None, Upcoming::At);
            }
            match self.upcoming {
                Upcoming::At(line) if line.start == from => {
                    self.upcoming = Upcoming::Unknown;
                    from = line.end + 1;
                }
                _ => return Ok(Some(Line { start: from, end: line_end(self.text, from) })),
            }
        }
        Ok(None)
    }

    /// How many lines are wanted, counting to `most` at most.
    pub(super) fn count(&mut self, most: u64) -> Result<u64, Interrupted> {
        let (mut found, mut from) = (0, 0);
        while found < most
            && let Some(line) = self.next(from)?
        {
            found += 1;
            from = line.end + 1;
        }
        Ok(found)
    }

    /// How the matches of `line`, the last one given out, are known.
    pub(super) fn found(&mut self, line: Line) -> Found<'_> {
        match &mut self.matching.blocks {
            _ if self.invert => Found::Inverted,
            Some(blocks) => Found::InFile(blocks.in_line(line)),
            None => Found::InLine(self.matching.matcher),
        }
    }
}

/// The lines of `text` that match.
struct Matching<'a> {
    matcher: &'a Matcher,
    text: &'a [u8],
    interrupt: &'a dyn Interrupt,
    /// Where the present window ends, which is with a line. Texts are searched in windows
    /// so that the interrupt is heard in between.
    window: usize,
    /// In multi-line mode, where a match makes all lines it touches match.
    blocks: Option<Blocks<'a>>,
    /// All lines that match, where they are known.
    known: Option<std::slice::Iter<'a, (u32, u32)>>,
}

impl Matching<'_> {
    fn next(&mut self, mut from: usize) -> Result<Option<Line>, Interrupted> {
        if let Some(blocks) = &mut self.blocks {
            return blocks.next(from, self.interrupt);
        }
        if let Some(known) = &mut self.known {
            let line =
                |&(start, end): &(u32, u32)| Line { start: start as usize, end: end as usize };
            return Ok(known.next().map(line));
        }
        while from < self.text.len() {
            if from >= self.window {
                self.open_window(from)?;
            }
            let window = self.text.get(..self.window).unwrap_or(self.text);
            if let Some(line) = self.matcher.next_line(window, from) {
                return Ok(Some(line));
            }
            from = self.window;
        }
        Ok(None)
    }

    /// The first window of a small file is all of it, and costs nothing.
    fn open_window(&mut self, from: usize) -> Result<(), Interrupted> {
        self.window = self.text.len();
        if self.window - from > WINDOW_BYTES {
            self.interrupt.check()?;
            self.window = self.window.min(line_end(self.text, from + WINDOW_BYTES) + 1);
        }
        Ok(())
    }
}

/// In multi-line mode: runs of lines that matches touch.
struct Blocks<'a> {
    text: &'a [u8],
    spans: Spans<'a>,
    /// The match that begins after the present block.
    pending: Option<MatchRange>,
    /// The present block: whole lines with their line ends.
    start: usize,
    end: usize,
    /// The matches that touch it.
    matches: Vec<MatchRange>,
    /// Those before this one end before the lines still to come.
    first_match: usize,
}

impl<'a> Blocks<'a> {
    fn new(matcher: &'a Matcher, text: &'a [u8]) -> Self {
        let mut spans = Spans::new(matcher, text);
        let pending = spans.next();
        Self { text, spans, pending, start: 0, end: 0, matches: Vec::new(), first_match: 0 }
    }

    fn next(
        &mut self,
        from: usize,
        interrupt: &dyn Interrupt,
    ) -> Result<Option<Line>, Interrupted> {
        while self.end <= from {
            let Some(found) = self.pending.take() else { return Ok(None) };
            interrupt.check()?;
            self.begin(found);
        }
        let start = self.start.max(from);
        Ok(Some(Line { start, end: line_end(self.text, start) }))
    }

    /// The block of lines that `first` touches, and all matches that begin in it.
    fn begin(&mut self, first: MatchRange) {
        self.matches.clear();
        self.first_match = 0;
        self.start = line_around(self.text, 0, first.start).start;
        self.end = self.start;
        let mut next = Some(first);
        while let Some(found) = next {
            if found.start >= self.end && !self.matches.is_empty() {
                break;
            }
            let last = found.start.max(found.end.saturating_sub(1));
            if last >= self.end {
                self.end = line_end(self.text, last) + 1;
            }
            if self.matches.len() < MAX_MATCHES_OF_BLOCK {
                self.matches.push(found);
            }
            next = self.spans.next();
        }
        self.pending = next;
    }

    /// The matches from the first that reaches into `line` on. Lines come in order.
    fn in_line(&mut self, line: Line) -> &[MatchRange] {
        while self.matches.get(self.first_match).is_some_and(|found| found.end <= line.start) {
            self.first_match += 1;
        }
        let rest = &self.matches[self.first_match..];
        &rest[..rest.partition_point(|found| found.start < line.end)]
    }
}

/// How much is searched between two looks at the interrupt.
const WINDOW_BYTES: usize = 64 << 10;

/// Matches of one block whose ranges are kept (24 MiB); beyond, lines are still found.
const MAX_MATCHES_OF_BLOCK: usize = 1 << 20;
