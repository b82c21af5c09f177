//! The sink that prints hits the way `git grep -n` does, in its colours where somebody
//! sees them.

use std::ops::Range;

use crate::cli::color::{MATCH, NAME, NUMBER, Paint, SEPARATOR};
use crate::cli::output::{Names, Output, push_fmt};
use crate::error::Error;
use crate::text::amounts::Count;
use crate::view::excerpt::excerpt;
use crate::view::grep::{ContextLine, FileRef, FileSummary, Hit, Output as Report, Sink};

/// How hits look.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) names: Names,
    pub(super) paint: Paint,
    /// Names stand above their lines, not before each.
    pub(super) heading: bool,
    /// Print matches in place of lines.
    pub(super) only_matching: bool,
    /// Longer texts are cut.
    pub(super) max_columns: Option<usize>,
}

/// Prints what is found.
pub(super) struct Printer {
    out: Output,
    look: Look,
    report: Report,
    quiet: bool,
    /// The path of the present file as it is printed.
    name: Vec<u8>,
    /// A file was printed before.
    printed: bool,
    /// Lines were left out, and not within a file as far as is known.
    break_due: bool,
}

impl Printer {
    pub(super) fn new(out: &Output, look: Look, report: Report, quiet: bool) -> Self {
        let (name, printed, break_due) = (Vec::new(), false, false);
        Self { out: out.clone(), look, report, quiet, name, printed, break_due }
    }

    /// One line: name, number and text, with `sign` in between. `ranges` of the text are
    /// what was searched for.
    fn push_line(
        &self,
        bytes: &mut Vec<u8>,
        sign: u8,
        line_number: u64,
        text: &[u8],
        ranges: impl Iterator<Item = Range<usize>>,
    ) {
        if !self.look.heading {
            bytes.extend_from_slice(&self.name);
            self.push_separator(bytes, sign);
        }
        if self.look.paint.is_on() {
            self.look.paint.push(bytes, NUMBER, line_number.to_string().as_bytes());
        } else {
            push_fmt(bytes, format_args!("{line_number}"));
        }
        self.push_separator(bytes, sign);
        self.push_text(bytes, text, ranges);
        bytes.push(b'\n');
    }

    fn push_separator(&self, bytes: &mut Vec<u8>, sign: u8) {
        match self.look.names {
            Names::Quoted => self.look.paint.push(bytes, SEPARATOR, &[sign]),
            Names::Raw => bytes.push(self.look.names.separator(sign)),
        }
    }

    /// Ranges are looked for only when they are needed.
    fn push_text(
        &self,
        bytes: &mut Vec<u8>,
        text: &[u8],
        ranges: impl Iterator<Item = Range<usize>>,
    ) {
        let mut ranges = ranges.peekable();
        let shown = match self.look.max_columns {
            Some(max) if text.len() > max => {
                excerpt(text, ranges.peek().cloned().unwrap_or(0..0), max)
            }
            _ => 0..text.len(),
        };
        if shown.start > 0 {
            push_fmt(bytes, format_args!("[... {}] ", count_bytes(shown.start)));
        }
        let mut at = shown.start;
        if self.look.paint.is_on() {
            for range in ranges.take_while(|range| range.start < shown.end) {
                let (start, end) = (range.start.max(at), range.end.min(shown.end));
                bytes.extend_from_slice(text.get(at..start).unwrap_or_default());
                self.look.paint.push(bytes, MATCH, text.get(start..end).unwrap_or_default());
                at = end.max(at);
            }
        }
        bytes.extend_from_slice(text.get(at..shown.end).unwrap_or_default());
        if shown.end < text.len() {
            push_fmt(bytes, format_args!(" [... {}]", count_bytes(text.len() - shown.end)));
        }
    }

    /// The line between groups of lines of one file, or of two where names are in lines.
    fn push_break(&mut self, bytes: &mut Vec<u8>) {
        if std::mem::take(&mut self.break_due) {
            self.look.paint.push(bytes, SEPARATOR, b"--");
            bytes.push(b'\n');
        }
    }
}

fn count_bytes(bytes: usize) -> Count {
    Count(bytes as u64, "byte")
}

impl Sink for Printer {
    fn begin(&mut self, file: &FileRef<'_>) -> Result<bool, Error> {
        self.name.clear();
        let mut quoted = Vec::new();
        self.look.names.push(&mut quoted, file.path);
        self.look.paint.push(&mut self.name, NAME, &quoted);
        if self.look.heading && self.report == Report::Lines {
            self.break_due = false;
            let out = self.out.clone();
            let mut out = out.lock();
            let bytes = out.bytes();
            if std::mem::replace(&mut self.printed, true) {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(&self.name);
            bytes.push(self.look.names.end());
        }
        Ok(true)
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        let out = self.out.clone();
        let mut out = out.lock();
        self.push_break(out.bytes());
        let ranges = hit.distinct_ranges().map(|range| range.start..range.end);
        if self.look.only_matching {
            for range in ranges {
                let text = hit.line.get(range).unwrap_or_default();
                let whole = std::iter::once(0..text.len());
                self.push_line(out.bytes(), b':', hit.line_number, text, whole);
            }
        } else {
            self.push_line(out.bytes(), b':', hit.line_number, hit.line, ranges);
        }
        out.settle()
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        if self.look.only_matching {
            return Ok(true);
        }
        let out = self.out.clone();
        let mut out = out.lock();
        self.push_break(out.bytes());
        self.push_line(out.bytes(), b'-', line.line_number, line.line, std::iter::empty());
        out.settle()
    }

    fn group_break(&mut self) -> Result<bool, Error> {
        self.break_due = true;
        Ok(true)
    }

    fn end(&mut self, file: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        if self.quiet || self.report == Report::Lines {
            return Ok(true);
        }
        self.begin(file)?;
        let mut out = self.out.lock();
        let bytes = out.bytes();
        bytes.extend_from_slice(&self.name);
        if self.report == Report::Count {
            self.push_separator(bytes, b':');
            push_fmt(bytes, format_args!("{}\n", summary.lines));
        } else {
            bytes.push(self.look.names.end());
        }
        out.settle()
    }
}
