//! What to look for: patterns, the options that change their meaning, and how they
//! are parsed and confined to lines.
//!
//! The syntax is that of the regex crate over bytes with Unicode on, as in ripgrep.
//! After parsing, the expression itself is changed so that nothing in it can match a
//! line end (outside multi-line mode): the searcher may then run over a whole file at
//! once and still answer by lines. A carriage return is part of its line, as in git.
//! Lookaround and backreferences are not supported, by design of the regex crate.
//!
//! Compiling and matching are in `matcher.rs`.

use bstr::ByteSlice as _;
use regex_syntax::ast::{self, Ast};
use regex_syntax::hir::{
    Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look,
    Repetition,
};

use crate::error::{Error, ErrorKind};
use crate::limits::{LimitExceeded, Which};

/// How the text of a pattern is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatternKind {
    /// These bytes, literally.
    Fixed,
    /// A regular expression.
    #[default]
    Regex,
}

/// One pattern as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternSpec<'a> {
    /// Its text. A [`Regex`](PatternKind::Regex) must be UTF-8 and writes other bytes
    /// as `(?-u:\xFF)`; a [`Fixed`](PatternKind::Fixed) string may hold any bytes.
    pub text: &'a [u8],
    /// How to read the text.
    pub kind: PatternKind,
}

impl<'a> PatternSpec<'a> {
    /// A regular expression.
    pub fn regex(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { text: text.as_ref(), kind: PatternKind::Regex }
    }

    /// A fixed string.
    pub fn fixed(text: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { text: text.as_ref(), kind: PatternKind::Fixed }
    }
}

/// What patterns mean, all of them alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchOptions {
    /// Letters match in either case, by Unicode's simple folding.
    pub ignore_case: bool,
    /// Ignores case for each pattern that has a letter and no upper-case one.
    pub smart_case: bool,
    /// A match may neither begin nor end inside a word:
    /// `\b{start-half}(?:pattern)\b{end-half}`.
    pub word: bool,
    /// A match may hold line ends and ends with its file at the latest. `^` and `$`
    /// still anchor to lines; `\A` and `\z` then mean the file.
    pub multi_line: bool,
    /// Bytes the compiled patterns may occupy:
    /// [`Limits::max_regex_bytes`](crate::Limits::max_regex_bytes).
    pub max_regex_bytes: usize,
}

impl Default for MatchOptions {
    fn default() -> Self {
        Self {
            ignore_case: false,
            smart_case: false,
            word: false,
            multi_line: false,
            max_regex_bytes: crate::limits::Limits::default().max_regex_bytes,
        }
    }
}

/// Why patterns were refused. `pattern` counts from 0 in the order given, `offset`
/// counts bytes from the start of that pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The expression does not parse.
    #[error("pattern {} is no regular expression: {what} at byte {offset}; search for a fixed string if it is meant literally", pattern + 1)]
    Invalid {
        /// Which pattern.
        pattern: usize,
        /// Where.
        offset: usize,
        /// What is wrong, in the words of the regex crate.
        what: String,
    },
    /// The compiled patterns are too large, or their text is.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// A line end stands literally in a pattern, where a match cannot hold one.
    #[error("pattern {} holds a line end, which matches nothing within a line; ask for multi-line mode or give several patterns", pattern + 1)]
    LineEnd {
        /// Which pattern.
        pattern: usize,
    },
    /// No pattern was given.
    #[error("no pattern given; an empty pattern matches every line")]
    NoPattern,
    /// A regular expression is not UTF-8.
    #[error("pattern {} is not UTF-8 at byte {offset}; write the byte as (?-u:\\xFF) or search for a fixed string", pattern + 1)]
    NotUtf8 {
        /// Which pattern.
        pattern: usize,
        /// Where.
        offset: usize,
    },
    /// The expression uses something that regular expressions in linear time lack.
    #[error("pattern {} uses {construct} at byte {offset}, which is not supported; say it without, or narrow the result afterwards", pattern + 1)]
    Unsupported {
        /// Which pattern.
        pattern: usize,
        /// Where.
        offset: usize,
        /// What it uses.
        construct: &'static str,
    },
}

impl From<PatternError> for Error {
    fn from(error: PatternError) -> Self {
        match error {
            PatternError::Limit(limit) => {
                Self::from(limit).while_doing("compiling the pattern; give a smaller one")
            }
            error => Self::new(ErrorKind::Usage, error.to_string())
                .with_code("pattern")
                .with_source(error),
        }
    }
}

/// The expressions of all `specs`, each confined to lines unless in multi-line mode.
pub(super) fn parse_all(
    specs: &[PatternSpec<'_>],
    options: &MatchOptions,
) -> Result<Vec<Hir>, PatternError> {
    if specs.is_empty() {
        return Err(PatternError::NoPattern);
    }
    check_text_size(specs, options.max_regex_bytes)?;
    specs.iter().enumerate().map(|(pattern, spec)| parse(pattern, spec, options)).collect()
}

/// Refuses text so long that the mere parsing of it could take more memory than the
/// compiled pattern may: `\pL` makes some 5 KiB of three bytes.
fn check_text_size(specs: &[PatternSpec<'_>], max_regex_bytes: usize) -> Result<(), LimitExceeded> {
    let charge = |spec: &PatternSpec<'_>| match spec.kind {
        PatternKind::Fixed => spec.text.len().saturating_mul(16).saturating_add(256),
        PatternKind::Regex => spec.text.len().saturating_mul(256).saturating_add(256),
    };
    let seen = specs.iter().fold(0usize, |sum, spec| sum.saturating_add(charge(spec)));
    if seen > max_regex_bytes {
        return Err(too_large(max_regex_bytes, seen));
    }
    Ok(())
}

pub(super) fn too_large(allowed: usize, seen: usize) -> LimitExceeded {
    LimitExceeded { which: Which::RegexBytes, allowed: allowed as u64, seen: seen as u64 }
}

fn parse(
    pattern: usize,
    spec: &PatternSpec<'_>,
    options: &MatchOptions,
) -> Result<Hir, PatternError> {
    let hir = match spec.kind {
        PatternKind::Fixed => fixed(pattern, spec.text, options)?,
        PatternKind::Regex => {
            let text = spec
                .text
                .to_str()
                .map_err(|error| PatternError::NotUtf8 { pattern, offset: error.valid_up_to() })?;
            regex(pattern, text, options)?
        }
    };
    if options.multi_line {
        return Ok(without_captures(hir));
    }
    confine(hir).map_err(|LineEnd| PatternError::LineEnd { pattern })
}

fn regex(pattern: usize, text: &str, options: &MatchOptions) -> Result<Hir, PatternError> {
    let ast = ast::parse::Parser::new().parse(text).map_err(|error| refusal(pattern, &error))?;
    translate(pattern, text, &ast, ignores_case(options, || Letters::of_ast(&ast)))
}

fn translate(
    pattern: usize,
    text: &str,
    ast: &Ast,
    ignore_case: bool,
) -> Result<Hir, PatternError> {
    regex_syntax::hir::translate::TranslatorBuilder::new()
        .utf8(false)
        .multi_line(true)
        .case_insensitive(ignore_case)
        .build()
        .translate(text, ast)
        .map_err(|error| PatternError::Invalid {
            pattern,
            offset: error.span().start.offset,
            what: error.kind().to_string(),
        })
}

fn refusal(pattern: usize, error: &ast::Error) -> PatternError {
    let text = error.pattern();
    let offset = error.span().start.offset;
    let rest = text.get(offset..).unwrap_or_default();
    // Where the group begins that the parser stopped in.
    let group = text.get(..offset).and_then(|before| before.rfind("(?")).unwrap_or(offset);
    let in_group = |start: &str| text.get(group..).is_some_and(|text| text.starts_with(start));
    let (offset, construct) = match error.kind() {
        ast::ErrorKind::UnsupportedBackreference => (offset, "a backreference"),
        ast::ErrorKind::EscapeUnrecognized
            if rest.starts_with("\\k") || rest.starts_with("\\g") =>
        {
            (offset, "a backreference")
        }
        ast::ErrorKind::UnsupportedLookAround if rest.starts_with("(?<") => (offset, "look-behind"),
        ast::ErrorKind::UnsupportedLookAround => (offset, "look-ahead"),
        ast::ErrorKind::FlagUnrecognized if in_group("(?P=") => (group, "a backreference"),
        ast::ErrorKind::FlagUnrecognized if in_group("(?>") => (group, "an atomic group"),
        ast::ErrorKind::FlagUnrecognized if in_group("(?(") => (group, "a conditional"),
        kind => return PatternError::Invalid { pattern, offset, what: kind.to_string() },
    };
    PatternError::Unsupported { pattern, offset, construct }
}

/// A fixed string: its valid UTF-8 folds case when asked, other bytes are themselves.
fn fixed(pattern: usize, text: &[u8], options: &MatchOptions) -> Result<Hir, PatternError> {
    if !ignores_case(options, || Letters::of_text(text)) {
        return Ok(Hir::literal(text));
    }
    let mut parts = Vec::new();
    for chunk in text.utf8_chunks() {
        let escaped = regex_syntax::escape(chunk.valid());
        let ast =
            ast::parse::Parser::new().parse(&escaped).map_err(|error| refusal(pattern, &error))?;
        parts.push(translate(pattern, &escaped, &ast, true)?);
        parts.push(Hir::literal(chunk.invalid()));
    }
    Ok(Hir::concat(parts))
}

fn ignores_case(options: &MatchOptions, letters: impl FnOnce() -> Letters) -> bool {
    options.ignore_case
        || options.smart_case && matches!(letters(), Letters { any: true, upper: false })
}

/// Which letters a pattern spells out; `\W` and `\pL` spell out none.
#[derive(Clone, Copy, Default)]
struct Letters {
    any: bool,
    upper: bool,
}

impl Letters {
    fn of_text(text: &[u8]) -> Self {
        let mut letters = Self::default();
        text.chars().for_each(|c| letters.add(c));
        letters
    }

    fn of_ast(ast: &Ast) -> Self {
        ast::visit(ast, Self::default()).unwrap_or_else(|never| match never {})
    }

    fn add(&mut self, c: char) {
        self.any |= c.is_alphabetic();
        self.upper |= c.is_uppercase();
    }
}

impl ast::Visitor for Letters {
    type Output = Self;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Self, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.add(literal.c);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ast::ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ast::ClassSetItem::Literal(literal) => self.add(literal.c),
            ast::ClassSetItem::Range(range) => {
                self.add(range.start.c);
                self.add(range.end.c);
            }
            _ => {}
        }
        Ok(())
    }
}

/// A literal line end where a match holds none.
struct LineEnd;

/// `hir` changed so that no match holds a line end, without captures. `\A` and `\z`
/// become the bounds of a line, because a line is all that is searched at a time.
///
/// This and the other rewrites recur as deep as the parser let the pattern nest
/// (250 groups), which its author chose.
fn confine(hir: Hir) -> Result<Hir, LineEnd> {
    rewrite(hir, &|leaf| match leaf {
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => Err(LineEnd),
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&ClassUnicode::new([ClassUnicodeRange::new('\n', '\n')]));
            Ok(Hir::class(Class::Unicode(class)))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&ClassBytes::new([ClassBytesRange::new(b'\n', b'\n')]));
            Ok(Hir::class(Class::Bytes(class)))
        }
        HirKind::Look(Look::Start) => Ok(Hir::look(Look::StartLF)),
        HirKind::Look(Look::End) => Ok(Hir::look(Look::EndLF)),
        leaf => Ok(same(leaf)),
    })
}

fn without_captures(hir: Hir) -> Hir {
    rewrite(hir, &|leaf| Ok::<_, std::convert::Infallible>(same(leaf)))
        .unwrap_or_else(|never| match never {})
}

/// `hir` without Unicode word boundaries: it matches wherever `hir` does, and perhaps
/// elsewhere. `None` if there are none to remove.
pub(super) fn without_word_boundaries(hir: &Hir) -> Option<Hir> {
    hir.properties().look_set().contains_word_unicode().then(|| {
        rewrite(hir.clone(), &|leaf| {
            Ok::<_, std::convert::Infallible>(match leaf {
                HirKind::Look(look) if look_is_unicode_word(look) => Hir::empty(),
                leaf => same(leaf),
            })
        })
        .unwrap_or_else(|never| match never {})
    })
}

fn look_is_unicode_word(look: Look) -> bool {
    regex_syntax::hir::LookSet::singleton(look).contains_word_unicode()
}

/// `hir` with each leaf replaced and captures dropped.
fn rewrite<E>(hir: Hir, leaf: &impl Fn(HirKind) -> Result<Hir, E>) -> Result<Hir, E> {
    match hir.into_kind() {
        HirKind::Repetition(repetition) => Ok(Hir::repetition(Repetition {
            sub: Box::new(rewrite(*repetition.sub, leaf)?),
            ..repetition
        })),
        HirKind::Capture(capture) => rewrite(*capture.sub, leaf),
        HirKind::Concat(subs) => Ok(Hir::concat(
            subs.into_iter().map(|sub| rewrite(sub, leaf)).collect::<Result<_, _>>()?,
        )),
        HirKind::Alternation(subs) => Ok(Hir::alternation(
            subs.into_iter().map(|sub| rewrite(sub, leaf)).collect::<Result<_, _>>()?,
        )),
        kind => leaf(kind),
    }
}

/// The leaf as it was.
fn same(leaf: HirKind) -> Hir {
    match leaf {
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Look(look) => Hir::look(look),
        _ => Hir::empty(),
    }
}
