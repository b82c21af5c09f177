//! Searches against a naive searcher, mode by mode, and the cases worth naming.

#![allow(clippy::unwrap_used)]

use bstr::{BString, ByteSlice as _};
use proptest::prelude::*;
use regex::bytes::{Regex, RegexBuilder};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::limits::{Interrupt, Interrupted, NeverInterrupt};
use crate::oid::{ObjectFormat, ObjectId};

/// What a sink saw.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Begin,
    Break,
    Context(u64, BString),
    End(u64),
    Hit(u64, BString, Vec<MatchRange>),
}

#[derive(Default)]
struct Record {
    events: Vec<Event>,
    stop_after: Option<usize>,
}

impl Record {
    fn add(&mut self, event: Event) -> Result<bool, Error> {
        self.events.push(event);
        Ok(self.stop_after.is_none_or(|most| self.events.len() < most))
    }
}

impl Sink for Record {
    fn begin(&mut self, _: &FileRef<'_>) -> Result<bool, Error> {
        self.add(Event::Begin)
    }

    fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
        assert_eq!(hit.file.text[hit.offset..].get(..hit.line.len()), Some(hit.line));
        self.add(Event::Hit(hit.line_number, hit.line.into(), hit.ranges().collect()))
    }

    fn context(&mut self, line: &ContextLine<'_>) -> Result<bool, Error> {
        self.add(Event::Context(line.line_number, line.line.into()))
    }

    fn group_break(&mut self) -> Result<bool, Error> {
        self.add(Event::Break)
    }

    fn end(&mut self, _: &FileRef<'_>, summary: &FileSummary) -> Result<bool, Error> {
        self.add(Event::End(summary.lines))
    }
}

fn file(text: &[u8]) -> FileRef<'_> {
    FileRef { path: "f".into(), id: ObjectId::null(ObjectFormat::Sha1), text }
}

fn search(
    specs: &[PatternSpec<'_>],
    matching: &MatchOptions,
    options: &SearchOptions,
    text: &[u8],
) -> Vec<Event> {
    let matcher = Matcher::new(specs, matching).unwrap();
    let mut record = Record::default();
    let mut searcher = Searcher::new(matcher, options.clone());
    searcher.search(&file(text), &mut record, &NeverInterrupt).unwrap();
    record.events
}

/// The numbers of the lines of `text` that match the regex `pattern`.
fn lines_of(pattern: &str, text: &[u8]) -> Vec<u64> {
    numbers(&search(
        &[PatternSpec::regex(pattern)],
        &MatchOptions::default(),
        &SearchOptions::default(),
        text,
    ))
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Hit(number, ..) => Some(*number),
            _ => None,
        })
        .collect()
}

/// The naive searcher: one regex per pattern, line by line, nothing clever.
fn naive(
    specs: &[PatternSpec<'_>],
    matching: &MatchOptions,
    options: &SearchOptions,
    text: &[u8],
) -> Vec<Event> {
    if !options.binary && text.iter().take(8_000).any(|&byte| byte == 0) {
        return Vec::new();
    }
    let regexes: Vec<Regex> = specs.iter().map(|spec| naive_regex(spec, matching)).collect();
    let mut lines: Vec<(usize, &[u8])> = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let start = lines.last().map_or(0, |(start, last)| start + last.len() + 1);
        lines.push((start, line.strip_suffix(b"\n").unwrap_or(line)));
    }
    let ranges: Vec<Option<Vec<MatchRange>>> = lines
        .iter()
        .map(|&(start, line)| match matching.multi_line {
            true => naive_ranges(&regexes, text, start, line.len()),
            false => naive_ranges(&regexes, line, 0, line.len()),
        })
        .collect();
    let most = options.max_per_file.unwrap_or(u64::MAX).min(options.max_total.unwrap_or(u64::MAX));
    let hits: Vec<usize> = (0..lines.len())
        .filter(|&i| ranges[i].is_some() != options.invert)
        .take(usize::try_from(most).unwrap_or(usize::MAX))
        .collect();
    let mut events = Vec::new();
    let mut last = None;
    for i in 0..lines.len() {
        let near = |&hit: &usize| i <= hit + options.after && hit <= i + options.before;
        if !hits.iter().any(near) {
            continue;
        }
        let left_out = last.is_some_and(|last| last + 1 < i);
        events.extend(last.is_none().then_some(Event::Begin));
        events.extend((left_out && options.before + options.after > 0).then_some(Event::Break));
        let (number, line) = (i as u64 + 1, BString::from(lines[i].1));
        events.push(match hits.contains(&i) {
            true => Event::Hit(number, line, ranges[i].clone().unwrap_or_default()),
            false => Event::Context(number, line),
        });
        last = Some(i);
    }
    events.extend(last.map(|_| Event::End(hits.len() as u64)));
    events
}

fn naive_regex(spec: &PatternSpec<'_>, matching: &MatchOptions) -> Regex {
    let text = spec.text.to_str().unwrap();
    let mut text = match spec.kind {
        PatternKind::Fixed => regex::escape(text),
        PatternKind::Regex => text.to_owned(),
    };
    let spelled = match spec.kind {
        PatternKind::Fixed => text.clone(),
        PatternKind::Regex => Regex::new(r"\\(p?.)")
            .unwrap()
            .replace_all(text.as_bytes(), &b""[..])
            .to_str()
            .unwrap()
            .to_owned(),
    };
    let upper = spelled.chars().any(char::is_uppercase);
    let lower = spelled.chars().any(char::is_lowercase);
    if matching.word {
        text = format!(r"\b{{start-half}}(?:{text})\b{{end-half}}");
    }
    RegexBuilder::new(&text)
        .multi_line(true)
        .case_insensitive(matching.ignore_case || matching.smart_case && lower && !upper)
        .build()
        .unwrap()
}

/// The matches that touch the line of `len` bytes at `start`: `None` if there are none,
/// without the empty ones.
fn naive_ranges(
    regexes: &[Regex],
    text: &[u8],
    start: usize,
    len: usize,
) -> Option<Vec<MatchRange>> {
    let mut touched = false;
    let mut ranges = Vec::new();
    for (pattern, regex) in regexes.iter().enumerate() {
        for found in regex.find_iter(text) {
            let last = found.start().max(found.end().saturating_sub(1));
            if last < start || found.start() > start + len {
                continue;
            }
            touched = true;
            let from = found.start().saturating_sub(start);
            let to = found.end().saturating_sub(start).min(len);
            if from < to {
                ranges.push((
                    found.start(),
                    MatchRange { start: from, end: to, pattern },
                    found.end(),
                ));
            }
        }
    }
    ranges.sort_by_key(|&(at, range, end)| (at, std::cmp::Reverse(end), range.pattern));
    touched.then(|| ranges.into_iter().map(|(_, range, _)| range).collect())
}

pub(super) fn any_text() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&[u8]] = &[
        b"a",
        b"b",
        b"ab",
        b"A",
        b"B",
        b" ",
        b"_",
        b"\n",
        b"\n",
        b"\n",
        b"\r\n",
        b"\t",
        b"\xff",
        "é".as_bytes(),
        "É".as_bytes(),
        "ſ".as_bytes(),
        b"s",
        b".",
        b"a b",
        b"foo",
        b"\xc3",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

pub(super) fn any_spec() -> impl Strategy<Value = PatternSpec<'static>> {
    const REGEXES: &[&str] = &[
        "a",
        "ab",
        "a|ab",
        "^a",
        "a$",
        "",
        "^$",
        "^",
        "$",
        "b*",
        r"a\s+b",
        r"\s",
        r"[^a]",
        r"\W",
        "(?s)a.b",
        "a.b",
        r"\ba",
        r"a\b",
        r"\B",
        r"\bé",
        "é",
        "(?i)é",
        r"\w+b",
        "(a|b)+",
        "[ab]{2}",
        "A",
        "s",
        "S",
        r"\xff",
        r"(?-u:\xff)",
        r".",
        r"\pL",
        r"\Aa",
        r"b\z",
        "foo",
        "a b|b",
        r"\r$",
    ];
    const FIXED: &[&str] = &["a", "ab", "", ".", "é", "foo", "A", "b", "a b", "s"];
    prop_oneof![
        3 => prop::sample::select(REGEXES).prop_map(PatternSpec::regex),
        2 => prop::sample::select(FIXED).prop_map(PatternSpec::fixed),
    ]
}

pub(super) fn any_matching() -> impl Strategy<Value = MatchOptions> {
    (any::<bool>(), any::<bool>(), prop::bool::weighted(0.3)).prop_map(
        |(ignore_case, smart_case, word)| MatchOptions {
            ignore_case,
            smart_case,
            word,
            ..MatchOptions::default()
        },
    )
}

pub(super) fn any_options() -> impl Strategy<Value = SearchOptions> {
    let most = || prop::option::weighted(0.2, 0u64..4);
    (any::<bool>(), 0usize..3, 0usize..3, any::<bool>(), most(), most()).prop_map(
        |(invert, before, after, binary, max_per_file, max_total)| SearchOptions {
            invert,
            before,
            after,
            binary,
            output: Output::Lines,
            max_per_file,
            max_total,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_mode_agrees_with_the_naive_searcher(
        specs in prop::collection::vec(any_spec(), 1..4),
        matching in any_matching(),
        options in any_options(),
        text in any_text(),
    ) {
        let expected = naive(&specs, &matching, &options, &text);
        prop_assert_eq!(search(&specs, &matching, &options, &text), expected.clone());

        let count = SearchOptions { output: Output::Count, ..options.clone() };
        // A total counts files there, and this is one.
        let whole = SearchOptions { max_total: None, ..options.clone() };
        let counted: Vec<Event> = naive(&specs, &matching, &whole, &text)
            .into_iter()
            .filter(|event| matches!(event, Event::End(_)) && options.max_total != Some(0))
            .collect();
        prop_assert_eq!(search(&specs, &matching, &count, &text), counted.clone());

        let files = SearchOptions { output: Output::Files, ..options };
        let found: Vec<Event> = counted.iter().map(|_| Event::End(1)).collect();
        prop_assert_eq!(search(&specs, &matching, &files, &text), found);
    }

    #[test]
    fn multi_line_mode_agrees_with_the_naive_searcher(
        pattern in prop::sample::select(&[
            r"a\nb", r"\n", r"(?s)a.*b", r"\s+", r"[^a]+", "", "^", "$", r"\z", r"\A", "a$", "^b",
            r"b\n\n", "a|a\nb", r"\n\z",
        ][..]),
        second in prop::option::of(prop::sample::select(&["a", "b\na", "^$"][..])),
        word in prop::bool::weighted(0.2),
        options in any_options(),
        text in any_text(),
    ) {
        let specs: Vec<_> =
            std::iter::once(pattern).chain(second).map(PatternSpec::regex).collect();
        let matching = MatchOptions { multi_line: true, word, ..MatchOptions::default() };
        let expected = naive(&specs, &matching, &options, &text);
        prop_assert_eq!(search(&specs, &matching, &options, &text), expected);
    }

    #[test]
    fn no_pattern_panics(text in "[a-z\\\\\\[\\](){}|*+?^$.0-9<>:=!-]{0,16}", word in any::<bool>()) {
        let matching = MatchOptions { word, max_regex_bytes: 1 << 16, ..MatchOptions::default() };
        let pattern = PatternSpec::regex(&text);
        if let Ok(matcher) = Matcher::new(&[pattern], &matching) {
            let at_once = matcher.is_match(b"ab 01\nxyz\n\n(:)");
            let by_lines = [&b"ab 01"[..], b"xyz", b"\n", b"(:)"].map(|line| matcher.is_match(line));
            prop_assert_eq!(at_once, by_lines.contains(&true));
        }
    }
}

#[test]
fn anchors_are_those_of_lines() {
    let text = b"foo\nxfoo\nfoox\n\nfoo";
    assert_eq!(lines_of("^foo", text), [1, 3, 5]);
    assert_eq!(lines_of("foo$", text), [1, 2, 5]);
    assert_eq!(lines_of("^$", text), [4]);
    assert_eq!(lines_of(r"\Afoo\z", text), [1, 5]);
    assert_eq!(lines_of("foo$", b"foo\r\n"), [] as [u64; 0], "a carriage return is text");
}

#[test]
fn an_empty_pattern_matches_every_line_and_no_more() {
    assert_eq!(lines_of("", b""), [] as [u64; 0]);
    assert_eq!(lines_of("", b"\n"), [1]);
    assert_eq!(lines_of("", b"a\nb"), [1, 2]);
    assert_eq!(lines_of("^|$|x*", b"a\n\nb\n"), [1, 2, 3]);
}

#[test]
fn no_class_and_no_dot_matches_a_line_end() {
    for pattern in
        [r"a\s+b", r"a[^x]b", r"a\Wb", "(?s)a.b", r"a(?-u:\W)b", r"a(?s-u:.)b", r"a[\n\r]b"]
    {
        assert_eq!(lines_of(pattern, b"a\nb\n"), [] as [u64; 0], "{pattern}");
    }
    assert_eq!(lines_of(r"a[\n\r]b", b"a\rb"), [1]);
}

#[test]
fn a_line_is_found_once_wherever_it_is() {
    let long = [b"x".repeat(3 << 20), b"needle".to_vec(), b"y".repeat(1 << 20)].concat();
    let text = [&b"a\n"[..], &long, b"\nneedle needle"].concat();
    for pattern in ["needle", "(?i)NEEDLE", r"\bneedle\b|xneedley", "need.e"] {
        assert_eq!(lines_of(pattern, &text), [2, 3], "{pattern}");
    }
}

#[test]
fn lines_are_found_on_both_sides_of_a_window() {
    let invert = SearchOptions { invert: true, ..SearchOptions::default() };
    for first in (64 << 10) - 10..(64 << 10) + 3 {
        let text = format!("{}\nneedle\n\n{}needle", "a".repeat(first), "b\n".repeat(50_000));
        let text = text.as_bytes();
        assert_eq!(lines_of("^needle$", text), [2, 50_004], "{first}");
        assert_eq!(lines_of("^$", text), [3], "{first}");
        let specs = [PatternSpec::regex("b")];
        let events = search(&specs, &MatchOptions::default(), &invert, text);
        assert_eq!(numbers(&events), [1, 2, 3, 50_004], "{first}");
    }
}

#[test]
fn many_hits_before_a_long_line_take_no_longer_than_their_number() {
    let text = [b"x\n".repeat(20_000), vec![b'y'; 32 << 20]].concat();
    let checks = std::cell::Cell::new(0);
    struct Count<'a>(&'a std::cell::Cell<u32>);
    impl Interrupt for Count<'_> {
        fn check(&self) -> Result<(), Interrupted> {
            self.0.set(self.0.get() + 1);
            Ok(())
        }
    }
    let matcher = Matcher::new(&[PatternSpec::fixed("x")], &MatchOptions::default()).unwrap();
    let mut searcher = Searcher::new(matcher, SearchOptions::default());
    let searched = searcher.search(&file(&text), &mut Record::default(), &Count(&checks)).unwrap();
    assert_eq!(searched.lines, 20_000);
    assert_eq!(checks.get(), 1, "one window, looked for once");
}

#[test]
fn text_that_is_not_utf_8_is_searched() {
    let text = b"\xff\xfe caf\xe9 foo\nfoo \x80\n";
    assert_eq!(lines_of("foo", text), [1, 2]);
    assert_eq!(lines_of(r"(?-u:\xe9) foo", text), [1]);
    let options = SearchOptions::default();
    let fixed = |ignore_case| {
        let matching = MatchOptions { ignore_case, ..MatchOptions::default() };
        numbers(&search(&[PatternSpec::fixed(b"CAF\xe9")], &matching, &options, text))
    };
    assert_eq!(fixed(false), [] as [u64; 0]);
    assert_eq!(fixed(true), [1]);
}

#[test]
fn a_nul_in_the_first_8000_bytes_makes_a_file_binary() {
    let mut text = b"foo\n".repeat(2_000);
    text.push(0);
    assert!(!is_binary(&text));
    text[7_999] = 0;
    assert!(is_binary(&text));
    let matcher = Matcher::new(&[PatternSpec::fixed("foo")], &MatchOptions::default()).unwrap();
    let mut record = Record::default();
    let mut searcher = Searcher::new(matcher.clone(), SearchOptions::default());
    let searched = searcher.search(&file(&text), &mut record, &NeverInterrupt).unwrap();
    assert_eq!(searched, Searched { binary: true, lines: 0, stop: false });
    let mut searcher =
        Searcher::new(matcher, SearchOptions { binary: true, ..SearchOptions::default() });
    assert_eq!(searcher.search(&file(&text), &mut record, &NeverInterrupt).unwrap().lines, 2_000);
}

#[test]
fn two_patterns_on_one_line_are_one_line_and_both_reported() {
    let specs = [PatternSpec::regex("a+"), PatternSpec::fixed("b"), PatternSpec::regex("aab")];
    let events = search(&specs, &MatchOptions::default(), &SearchOptions::default(), b"aab\n");
    let range = |start, end, pattern| MatchRange { start, end, pattern };
    let all = vec![range(0, 3, 2), range(0, 2, 0), range(2, 3, 1)];
    assert_eq!(events[1], Event::Hit(1, "aab".into(), all));
}

#[test]
fn distinct_ranges_do_not_overlap() {
    struct Distinct(Vec<(usize, usize)>, Option<usize>);
    impl Sink for Distinct {
        fn hit(&mut self, hit: &Hit<'_>) -> Result<bool, Error> {
            self.0 = hit.distinct_ranges().map(|range| (range.start, range.end)).collect();
            self.1 = hit.column();
            Ok(true)
        }
    }
    let specs = [PatternSpec::fixed("xa"), PatternSpec::fixed("aa"), PatternSpec::regex("-*")];
    let matcher = Matcher::new(&specs, &MatchOptions::default()).unwrap();
    let mut distinct = Distinct(Vec::new(), None);
    let mut searcher = Searcher::new(matcher, SearchOptions::default());
    let _ = searcher.search(&file(b" xaaa--"), &mut distinct, &NeverInterrupt).unwrap();
    assert_eq!((distinct.0, distinct.1), (vec![(1, 3), (3, 5), (5, 7)], Some(2)));
}

#[test]
fn context_is_separated_between_files() {
    let matcher = Matcher::new(&[PatternSpec::fixed("x")], &MatchOptions::default()).unwrap();
    let options = SearchOptions { after: 1, ..SearchOptions::default() };
    let mut searcher = Searcher::new(matcher, options);
    let mut record = Record::default();
    for text in [&b"x\na\n"[..], b"b\n", b"x\n"] {
        let _ = searcher.search(&file(text), &mut record, &NeverInterrupt).unwrap();
    }
    let hit = |range| Event::Hit(1, "x".into(), vec![range]);
    let range = MatchRange { start: 0, end: 1, pattern: 0 };
    assert_eq!(
        record.events,
        [
            Event::Begin,
            hit(range),
            Event::Context(2, "a".into()),
            Event::End(1),
            Event::Break,
            Event::Begin,
            hit(range),
            Event::End(1),
        ]
    );
}

#[test]
fn a_sink_stops_the_search_at_any_call() {
    let matcher = Matcher::new(&[PatternSpec::fixed("x")], &MatchOptions::default()).unwrap();
    let options = SearchOptions { before: 1, after: 1, ..SearchOptions::default() };
    let text = b"x\na\nb\nc\nx\na\n";
    let mut whole = Record::default();
    let mut searcher = Searcher::new(matcher.clone(), options.clone());
    let _ = searcher.search(&file(text), &mut whole, &NeverInterrupt).unwrap();
    assert_eq!(whole.events.len(), 8);
    for most in 1..8 {
        let mut record = Record { stop_after: Some(most), ..Record::default() };
        let mut searcher = Searcher::new(matcher.clone(), options.clone());
        let searched = searcher.search(&file(text), &mut record, &NeverInterrupt).unwrap();
        assert!(searched.stop);
        assert_eq!(record.events, whole.events[..most]);
    }
}

#[test]
fn the_total_maximum_counts_over_files() {
    let matcher = Matcher::new(&[PatternSpec::fixed("x")], &MatchOptions::default()).unwrap();
    let options = SearchOptions { max_total: Some(3), ..SearchOptions::default() };
    let mut searcher = Searcher::new(matcher, options);
    let mut record = Record::default();
    let mut found = |text| searcher.search(&file(text), &mut record, &NeverInterrupt).unwrap();
    assert_eq!(found(b"x\nx\n"), Searched { binary: false, lines: 2, stop: false });
    assert_eq!(found(b"x\nx\n"), Searched { binary: false, lines: 1, stop: true });
    assert_eq!(found(b"x\nx\n"), Searched { binary: false, lines: 0, stop: true });
}

#[test]
fn a_search_hears_an_interrupt_within_one_file() {
    struct Stop;
    impl Interrupt for Stop {
        fn check(&self) -> Result<(), Interrupted> {
            Err(Interrupted::Deadline)
        }
    }
    let matcher = Matcher::new(&[PatternSpec::fixed("x")], &MatchOptions::default()).unwrap();
    let mut searcher = Searcher::new(matcher, SearchOptions::default());
    let text = b"a\n".repeat(1 << 20);
    let error = searcher.search(&file(&text), &mut Record::default(), &Stop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn smart_case_looks_at_each_pattern_alone() {
    let matching = MatchOptions { smart_case: true, ..MatchOptions::default() };
    let found = |pattern: &str| {
        numbers(&search(
            &[PatternSpec::regex(pattern)],
            &matching,
            &SearchOptions::default(),
            b"foo\nFoo\nFOO\n",
        ))
    };
    assert_eq!(found("foo"), [1, 2, 3]);
    assert_eq!(found("Foo"), [2]);
    assert_eq!(found(r"fo\w"), [1, 2, 3]);
    assert_eq!(found("[F]oo"), [2]);
    assert_eq!(found(r"\W?fo\pL"), [1, 2, 3], "the letters of escapes do not count");
}

#[test]
fn refusals_say_what_and_where() {
    let refused = |pattern: &str| {
        let specs = [PatternSpec::regex("ok"), PatternSpec::regex(pattern)];
        Matcher::new(&specs, &MatchOptions::default()).unwrap_err()
    };
    let unsupported =
        |construct, offset| PatternError::Unsupported { pattern: 1, offset, construct };
    assert_eq!(refused("a(?=b)"), unsupported("look-ahead", 1));
    assert_eq!(refused("a(?!b)"), unsupported("look-ahead", 1));
    assert_eq!(refused("(?<=a)b"), unsupported("look-behind", 0));
    assert_eq!(refused("(?<!a)b"), unsupported("look-behind", 0));
    assert_eq!(refused(r"(a)\1"), unsupported("a backreference", 3));
    assert_eq!(refused(r"(?<n>a)\k<n>"), unsupported("a backreference", 7));
    assert_eq!(refused(r"(?P<n>a)(?P=n)"), unsupported("a backreference", 8));
    assert_eq!(refused("a(?>b)"), unsupported("an atomic group", 1));
    assert_eq!(refused("(a)?(?(1)b)"), unsupported("a conditional", 4));
    assert_eq!(refused("a\nb"), PatternError::LineEnd { pattern: 1 });
    assert_eq!(refused(r"a\n?b"), PatternError::LineEnd { pattern: 1 });
    assert!(matches!(refused("a[b"), PatternError::Invalid { pattern: 1, offset: 1, .. }));
    assert!(matches!(refused(r"\p{Foo}"), PatternError::Invalid { pattern: 1, offset: 0, .. }));
    for pattern in ["a(?=b)", "a\nb", "a[b", "(?x)\n(", r"\p{Foo}"] {
        let error = Error::from(refused(pattern));
        assert_eq!((error.kind(), error.code()), (ErrorKind::Usage, "pattern"));
        assert!(!error.to_string().contains('\n'), "{error}");
        assert!(error.to_string().contains("pattern 2"), "{error}");
    }
    assert_eq!(
        Matcher::new(&[PatternSpec::regex(b"a\xff")], &MatchOptions::default()).unwrap_err(),
        PatternError::NotUtf8 { pattern: 0, offset: 1 }
    );
    assert_eq!(Matcher::new(&[], &MatchOptions::default()).unwrap_err(), PatternError::NoPattern);
}

#[test]
fn large_patterns_are_a_limit() {
    fn limit(spec: PatternSpec<'_>) -> crate::limits::LimitExceeded {
        let error = Matcher::new(&[spec], &MatchOptions::default()).unwrap_err();
        Error::from(error).limit().unwrap()
    }
    assert_eq!(limit(PatternSpec::regex(r"((\pL{100}){100}){100}")).allowed, 16 << 20);
    assert!(limit(PatternSpec::regex(&r"\pL".repeat(100_000))).seen > 16 << 20);
    assert!(limit(PatternSpec::fixed(&"x".repeat(2 << 20))).seen > 16 << 20);
    let nested = format!("{}a{}", "(".repeat(240), ")".repeat(240));
    assert_eq!(lines_of(&nested, b"a\n"), [1]);
    let starred = format!("{}a{}", "(?:b".repeat(80), ")*".repeat(80));
    assert_eq!(lines_of(&starred, b"x\n"), [1]);
}
