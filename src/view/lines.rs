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
