//! Ranges of lines of a file.
//!
//! A line ends after its `\n` or at the end of the file: nothing is 0 lines, `"\n"` is 1,
//! `"a\nb"` is 2. Line ends are part of what is handed out.

use std::str::FromStr;

use bytes::Bytes;

use crate::error::{Error, ErrorKind};

/// Lines counted from 1, both ends included.
///
/// Written `A:B`, `A:`, `:B`, or `A` for one line.
///
/// ```
/// use bytes::Bytes;
/// use gitsip::view::lines::{LineRange, slice_lines};
///
/// let file = Bytes::from_static(b"one\ntwo\nthree");
/// let lines = slice_lines(&file, "2:9".parse()?);
/// assert_eq!(&lines.bytes[..], b"two\nthree");
/// assert_eq!((lines.first, lines.last, lines.total), (2, 3, 3));
/// # Ok::<(), gitsip::view::lines::InvalidRange>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The first line.
    pub first: u64,
    /// The last line; `None` is the end of the file.
    pub last: Option<u64>,
}

impl LineRange {
    /// Every line.
    pub const ALL: Self = Self { first: 1, last: None };
}

impl FromStr for LineRange {
    type Err = InvalidRange;

    fn from_str(text: &str) -> Result<Self, InvalidRange> {
        let number = |digits: &str| digits.parse().ok().filter(|&line: &u64| line > 0);
        let parse = || {
            let (first, last) = match text.split_once(':') {
                None => (number(text)?, Some(number(text)?)),
                Some((first, last)) => (
                    if first.is_empty() { 1 } else { number(first)? },
                    if last.is_empty() { None } else { Some(number(last)?) },
                ),
            };
            let forwards = text != ":" && last.is_none_or(|last| first <= last);
            forwards.then_some(Self { first, last })
        };
        parse().ok_or_else(|| InvalidRange(text.to_owned()))
    }
}

/// Text that is no range of lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is no range of lines: write A:B, A: or :B, counted from 1", .0.escape_debug())]
pub struct InvalidRange(pub String);

impl From<InvalidRange> for Error {
    fn from(error: InvalidRange) -> Self {
        Self::new(ErrorKind::Usage, error.to_string()).with_source(error)
    }
}

/// Some lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The first line here, counted from 1.
    pub first: u64,
    /// The last line here; less than `first` when there are none.
    pub last: u64,
    /// How many lines the file has.
    pub total: u64,
    /// The lines with their ends.
    pub bytes: Bytes,
}

/// The lines of `file` in `range`, as far as there are any; shares the file's bytes.
pub fn slice_lines(file: &Bytes, range: LineRange) -> Lines {
    let first = range.first.max(1);
    let mut start = (first == 1).then_some(0);
    let mut end = None;
    let mut total = 0;
    for newline in memchr::memchr_iter(b'\n', file) {
        total += 1;
        if total + 1 == first {
            start = Some(newline + 1);
        }
        if Some(total) == range.last {
            end = Some(newline + 1);
        }
    }
    if file.last().is_some_and(|&byte| byte != b'\n') {
        total += 1;
    }
    let last = range.last.map_or(total, |last| last.min(total));
    let bytes = match start {
        Some(start) if first <= last => file.slice(start..end.unwrap_or(file.len())),
        _ => Bytes::new(),
    };
    Lines { first, last: last.max(first - 1), total, bytes }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_0_lines_a_newline_is_1_and_a_newline_b_is_2() {
        for (file, total) in
            [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2), ("a\r\nb\r\n", 2)]
        {
            let lines = slice_lines(&Bytes::from_static(file.as_bytes()), LineRange::ALL);
            assert_eq!(
                (lines.total, lines.last, lines.bytes.as_ref()),
                (total, total, file.as_bytes())
            );
        }
    }

    #[test]
    fn ranges_past_the_end_are_clipped() {
        let file = Bytes::from_static(b"1\n2\n3");
        for (range, first, last, bytes) in [
            ("2:2", 2, 2, "2\n"),
            ("2", 2, 2, "2\n"),
            ("2:", 2, 3, "2\n3"),
            (":2", 1, 2, "1\n2\n"),
            ("3:99", 3, 3, "3"),
            ("4:99", 4, 3, ""),
            ("99:", 99, 98, ""),
            ("1:18446744073709551615", 1, 3, "1\n2\n3"),
        ] {
            let lines = slice_lines(&file, range.parse().unwrap());
            let want = Lines { first, last, total: 3, bytes: bytes.into() };
            assert_eq!(lines, want, "{range}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused_with_how_to_write_one() {
        for text in
            ["", ":", "0", "0:3", "3:2", "a:b", "1:2:3", "-1", "1:-1", "18446744073709551616"]
        {
            let error = text.parse::<LineRange>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("'{text}' is no range of lines: write A:B, A: or :B, counted from 1")
            );
        }
    }

    proptest! {
        #[test]
        fn slices_are_those_of_splitting_the_file(
            file in "[ab\n]{0,30}", first in 1u64..12, more in prop::option::of(0u64..12),
        ) {
            let all: Vec<&[u8]> = file.as_bytes().split_inclusive(|&byte| byte == b'\n').collect();
            let last = more.map(|more| first + more);
            let from = (first as usize - 1).min(all.len());
            let to = last.map_or(all.len(), |last| (last as usize).min(all.len()));
            let lines = slice_lines(&Bytes::from(file.clone()), LineRange { first, last });
            prop_assert_eq!(lines.bytes, all[from..to.max(from)].concat());
            prop_assert_eq!(lines.total, all.len() as u64);
            prop_assert_eq!(lines.last + 1 - lines.first, (to.max(from) - from) as u64);
        }
    }
}
