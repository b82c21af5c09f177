//! Compiled patterns: the first matching line of a text, and the matches in a line.
//!
//! Whole texts are searched, never line by line. One literal is found by `memmem`,
//! several by Aho-Corasick, anything else by the regex crate. Patterns with Unicode
//! word boundaries, which force that crate off its fast engines in text that is not
//! ASCII, are searched without the boundaries first and confirmed on the line found; and so
//! are patterns that hold a literal which that crate does not look for.
//!
//! Knows nothing of files, line numbers or context; see `searcher.rs`.

use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr, memmem, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind, Look};

use super::pattern::{
    MatchOptions, PatternError, PatternSpec, parse_all, too_large, without_word_boundaries,
};
use super::required::required_by_all;

/// Compiled patterns; a clone shares them.
///
/// ```
/// use gitsip::view::grep::{MatchOptions, Matcher, PatternSpec};
///
/// let matcher = Matcher::new(&[PatternSpec::regex(r"foo\s+bar")], &MatchOptions::default())?;
/// assert!(matcher.is_match(b"xx\nfoo  bar\n"));
/// assert!(!matcher.is_match(b"foo\nbar\n"), "no class matches a line end");
///
/// let refused = Matcher::new(&[PatternSpec::regex("(?=x)")], &MatchOptions::default());
/// assert!(refused.unwrap_err().to_string().contains("look-ahead at byte 0"));
/// # Ok::<(), gitsip::view::grep::PatternError>(())
/// ```
#[derive(Clone)]
pub struct Matcher(Arc<Compiled>);

struct Compiled {
    /// Finds every matching line, and others too if there is `confirm`.
    candidates: Finder,
    /// Must match within a line that `candidates` found.
    confirm: Option<Regex>,
    /// Each pattern alone, exactly.
    each: Vec<Finder>,
    /// Where there are many literals: which of them a text holds, in one pass.
    held: Option<AhoCorasick>,
    multi_line: bool,
}

/// One way to find something.
enum Finder {
    /// Matches everywhere, emptily.
    Everywhere,
    One(Box<memmem::Finder<'static>>),
    Many(AhoCorasick),
    Regex(Regex),
}

/// A line of a text: its bytes are `start..end`, the line end at `end` not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Where a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchRange {
    /// The first byte, counted from the start of the line.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
    /// Which pattern, from 0 in the order they were given.
    pub pattern: usize,
}

impl Matcher {
    /// Compiles `specs`; a line matches if any of them does.
    ///
    /// # Errors
    /// See [`PatternError`].
    pub fn new(specs: &[PatternSpec<'_>], options: &MatchOptions) -> Result<Self, PatternError> {
        let mut hirs = parse_all(specs, options)?;
        if options.word {
            hirs = hirs.into_iter().map(between_word_bounds).collect();
        }
        let build = |hirs: &[Hir]| Finder::new(hirs, options.max_regex_bytes);
        let relaxed = match options.multi_line {
            true => None,
            false => relax(&hirs),
        };
        let (candidates, confirm) = match relaxed {
            Some(relaxed) => {
                let confirm = regex_of(&hirs, options.max_regex_bytes)?;
                (build(&relaxed)?, Some(confirm))
            }
            None => (build(&hirs)?, None),
        };
        // Compiled together they fitted, so they do one by one.
        let each: Vec<Finder> =
            hirs.iter().map(|hir| build(std::slice::from_ref(hir))).collect::<Result<_, _>>()?;
        let held = Finder::held(&each, options.max_regex_bytes)?;
        let multi_line = options.multi_line;
        Ok(Self(Arc::new(Compiled { candidates, confirm, each, held, multi_line })))
    }

    /// Whether any pattern matches anywhere in `text`.
    pub fn is_match(&self, text: &[u8]) -> bool {
        if self.0.multi_line {
            return (0..self.patterns()).any(|pattern| self.find_span(pattern, text, 0).is_some());
        }
        self.next_line(text, 0).is_some()
    }

    /// How many patterns there are.
    pub fn patterns(&self) -> usize {
        self.0.each.len()
    }

    pub(super) fn is_multi_line(&self) -> bool {
        self.0.multi_line
    }

    /// The first line that matches at or after `from`, where a line begins.
    pub(super) fn next_line(&self, text: &[u8], mut from: usize) -> Option<Line> {
        while from < text.len() {
            let at = self.0.candidates.find_within(text, from)?;
            if at == text.len() && text.ends_with(b"\n") {
                // An empty match after the last line end, where no line is.
                return None;
            }
            let line = line_around(text, from, at);
            match &self.0.confirm {
                Some(exact) if !exact.is_match(&text[line.start..line.end]) => from = line.end + 1,
                _ => return Some(line),
            }
        }
        None
    }

    /// The first match of one pattern in `text` that begins at or after `at` and is in
    /// a line. In multi-line mode `text` is a file, otherwise a line.
    fn find_span(&self, pattern: usize, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let span = self.0.each.get(pattern)?.find_at(text, at)?;
        let beyond = span.0 == text.len() && (text.is_empty() || text.ends_with(b"\n"));
        (!beyond).then_some(span)
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Matcher").field("patterns", &self.patterns()).finish_non_exhaustive()
    }
}

/// The matches of all patterns in one text, in order, each pattern's without overlap.
///
/// Holds the next match of every pattern so that none is looked for twice.
#[derive(Clone, Debug)]
pub(super) struct Spans<'a> {
    matcher: &'a Matcher,
    text: &'a [u8],
    next: Vec<Next>,
}

#[derive(Clone, Copy, Debug)]
enum Next {
    /// Nothing of this pattern begins before this byte, except what was given out.
    Unknown(usize),
    Found(usize, usize),
    None,
}

impl<'a> Spans<'a> {
    /// In multi-line mode `text` is a file, otherwise a line.
    pub(super) fn new(matcher: &'a Matcher, text: &'a [u8]) -> Self {
        let Some(held) = &matcher.0.held else {
            return Self { matcher, text, next: vec![Next::Unknown(0); matcher.patterns()] };
        };
        let mut next = vec![Next::None; matcher.patterns()];
        for found in held.find_overlapping_iter(text) {
            if let Some(next @ Next::None) = next.get_mut(found.pattern().as_usize()) {
                *next = Next::Found(found.start(), found.end());
            }
        }
        Self { matcher, text, next }
    }

    /// Gives up every match that begins before `at`.
    pub(super) fn skip_to(&mut self, at: usize) {
        for next in &mut self.next {
            match *next {
                Next::Found(start, _) | Next::Unknown(start) if start < at => {
                    *next = Next::Unknown(at);
                }
                _ => {}
            }
        }
    }
}

impl Iterator for Spans<'_> {
    type Item = MatchRange;

    /// Of the matches that begin first the longest, of equals the pattern given first.
    fn next(&mut self) -> Option<MatchRange> {
        let mut best: Option<MatchRange> = None;
        for (pattern, next) in self.next.iter_mut().enumerate() {
            if let Next::Unknown(at) = *next {
                *next = match self.matcher.find_span(pattern, self.text, at) {
                    Some((start, end)) => Next::Found(start, end),
                    None => Next::None,
                };
            }
            let Next::Found(start, end) = *next else { continue };
            if best.is_none_or(|best| (start, best.end) < (best.start, end)) {
                best = Some(MatchRange { start, end, pattern });
            }
        }
        let best = best?;
        self.next[best.pattern] = Next::Unknown(after(best.start, best.end));
        Some(best)
    }
}

/// Where to look for the match that follows one.
fn after(start: usize, end: usize) -> usize {
    if end > start { end } else { end + 1 }
}

/// The line around `at`, which begins at or after `from`.
pub(super) fn line_around(text: &[u8], from: usize, at: usize) -> Line {
    let start = memrchr(b'\n', &text[from..at]).map_or(from, |i| from + i + 1);
    Line { start, end: line_end(text, at) }
}

/// Where the line around `at` ends.
pub(super) fn line_end(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i)
}

impl Finder {
    fn new(hirs: &[Hir], max_bytes: usize) -> Result<Self, PatternError> {
        if hirs.iter().any(|hir| matches!(hir.kind(), HirKind::Empty)) {
            return Ok(Self::Everywhere);
        }
        let literals: Option<Vec<&[u8]>> = hirs
            .iter()
            .map(|hir| match hir.kind() {
                HirKind::Literal(literal) => Some(&*literal.0),
                _ => None,
            })
            .collect();
        match literals.as_deref() {
            Some([one]) => Ok(Self::One(Box::new(memmem::Finder::new(one).into_owned()))),
            Some(many) => automaton(many, MatchKind::LeftmostLongest, max_bytes).map(Self::Many),
            None => regex_of(hirs, max_bytes).map(Self::Regex),
        }
    }

    /// What tells which of many literals a text holds; nothing for few, or other patterns.
    fn held(each: &[Self], max_bytes: usize) -> Result<Option<AhoCorasick>, PatternError> {
        let literal = |finder: &Self| match finder {
            Self::One(finder) => Some(finder.needle().to_vec()),
            _ => None,
        };
        let literals: Option<Vec<Vec<u8>>> = each.iter().map(literal).collect();
        match literals {
            Some(literals) if literals.len() >= MANY_LITERALS => {
                automaton(&literals, MatchKind::Standard, max_bytes).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A place within or at the end of the first match at or after `from`.
    fn find_within(&self, text: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Everywhere => Some(from),
            Self::One(finder) => finder.find(&text[from..]).map(|at| from + at),
            Self::Many(automaton) => {
                automaton.find(aho_corasick::Input::new(text).range(from..)).map(|m| m.start())
            }
            Self::Regex(regex) => regex.shortest_match_at(text, from),
        }
    }

    /// The first match that begins at or after `from`.
    fn find_at(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        if from > text.len() {
            return None;
        }
        match self {
            Self::Everywhere => Some((from, from)),
            Self::One(finder) => {
                let start = from + finder.find(&text[from..])?;
                Some((start, start + finder.needle().len()))
            }
            Self::Many(automaton) => {
                let found = automaton.find(aho_corasick::Input::new(text).range(from..))?;
                Some((found.start(), found.end()))
            }
            Self::Regex(regex) => regex.find_at(text, from).map(|m| (m.start(), m.end())),
        }
    }
}

/// One regex for all of `hirs`. The regex crate takes text, and the printed form of an
/// expression means exactly that expression.
fn regex_of(hirs: &[Hir], max_bytes: usize) -> Result<Regex, PatternError> {
    let all = Hir::alternation(hirs.to_vec());
    RegexBuilder::new(&all.to_string())
        .size_limit(max_bytes)
        .nest_limit(NEST_LIMIT_OF_PRINTED)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(limit) => too_large(limit, limit.saturating_add(1)).into(),
            // The printed form nests deeper than printing can: also a matter of size.
            _ => too_large(max_bytes, max_bytes.saturating_add(1)).into(),
        })
}

fn automaton(
    literals: &[impl AsRef<[u8]>],
    kind: MatchKind,
    max_bytes: usize,
) -> Result<AhoCorasick, PatternError> {
    let automaton = AhoCorasick::builder()
        .match_kind(kind)
        .build(literals)
        .map_err(|_| too_large(max_bytes, max_bytes.saturating_add(1)))?;
    match automaton.memory_usage() {
        seen if seen > max_bytes => Err(too_large(max_bytes, seen).into()),
        _ => Ok(automaton),
    }
}

fn between_word_bounds(hir: Hir) -> Hir {
    Hir::concat(vec![
        Hir::look(Look::WordStartHalfUnicode),
        hir,
        Hir::look(Look::WordEndHalfUnicode),
    ])
}

/// Expressions that match in every line where `hirs` do, perhaps in others too, and are
/// found faster, if there are any.
fn relax(hirs: &[Hir]) -> Option<Vec<Hir>> {
    let without: Vec<_> = hirs.iter().map(without_word_boundaries).collect();
    let changed = without.iter().any(Option::is_some);
    let relaxed: Vec<Hir> = without
        .into_iter()
        .zip(hirs)
        .map(|(without, hir)| without.unwrap_or_else(|| hir.clone()))
        .collect();
    match required_by_all(&relaxed) {
        Some(literals) => Some(literals.into_iter().map(Hir::literal).collect()),
        None => changed.then_some(relaxed),
    }
}

/// From so many literals on, one pass tells faster which of them a line holds than a look
/// for each.
const MANY_LITERALS: usize = 8;

/// The parser lets patterns nest 250 deep; printing adds a group around some of them.
const NEST_LIMIT_OF_PRINTED: u32 = 1_024;
