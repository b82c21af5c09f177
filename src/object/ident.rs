//! Who and when: the value of an `author`, `committer` or `tagger` header.
//!
//! Splits the line as git's `split_ident_line` does, so that lines no program should
//! write still give a name. Nothing here knows a calendar.

use std::ops::Range;

use bstr::{BStr, ByteSlice as _};

/// A person and a time, borrowed from their header.
///
/// ```
/// use gitsip::object::{IdentRef, Time};
///
/// let ident = IdentRef::parse(b"A U Thor <author@example.com> 1234567890 -0730");
/// assert_eq!((ident.name, ident.email), ("A U Thor".into(), "author@example.com".into()));
/// assert_eq!(ident.time, Some(Time { seconds: 1_234_567_890, offset_minutes: -450 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentRef<'a> {
    /// The whole value, as it is stored.
    pub raw: &'a BStr,
    /// The name; empty when the line has none.
    pub name: &'a BStr,
    /// What stands between the first `<` and the next `>`; empty when nothing does.
    pub email: &'a BStr,
    /// The time, when the line has a readable one.
    pub time: Option<Time>,
}

/// A moment as git stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Time {
    /// Seconds since 1970 began in UTC.
    pub seconds: u64,
    /// What the author's clock was ahead of UTC, in minutes. 0 when the zone cannot be
    /// read, as in `--700`.
    pub offset_minutes: i32,
}

impl<'a> IdentRef<'a> {
    /// Reads a header's value; whatever it is, something can be said about it.
    pub fn parse(line: &'a [u8]) -> Self {
        let raw = line.as_bstr();
        let slice = |range: Range<usize>| line.get(range).unwrap_or_default();
        let Some(open) = memchr::memchr(b'<', line) else {
            return Self { raw, name: line.trim_ascii().as_bstr(), email: b"".into(), time: None };
        };
        let name = slice(0..open).trim_ascii_end().as_bstr();
        // Mail addresses that hold a `>` themselves: the last one ends the person, the
        // first one the address.
        let (email, time) = match memchr::memchr(b'>', slice(open + 1..line.len())) {
            Some(len) => {
                let close = memchr::memrchr(b'>', line).unwrap_or(open + 1 + len);
                (slice(open + 1..open + 1 + len), Time::parse(slice(close + 1..line.len())))
            }
            None => (slice(open + 1..line.len()), None),
        };
        Self { raw, name, email: email.as_bstr(), time }
    }
}

impl Time {
    fn parse(text: &[u8]) -> Option<Self> {
        let (digits, rest) = split_digits(text.trim_ascii_start());
        let seconds = number(digits)?;
        Some(Self { seconds, offset_minutes: offset_minutes(rest.trim_ascii_start()) })
    }
}

/// `+hhmm` read as git reads it: the last two digits are minutes, whatever comes before
/// is hours, and numbers that no zone could be count as none.
fn offset_minutes(zone: &[u8]) -> i32 {
    let sign = match zone.first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return 0,
    };
    let (digits, _) = split_digits(zone.get(1..).unwrap_or_default());
    let Some(number) = number(digits).and_then(|n| i32::try_from(n).ok()) else { return 0 };
    sign * (number / 100 * 60 + number % 100)
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, digit| {
        sum.checked_mul(10)?.checked_add(u64::from(digit.wrapping_sub(b'0')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines_give_what_git_reads_from_them() {
        let time = |seconds, offset_minutes| Some(Time { seconds, offset_minutes });
        for (line, name, email, want) in [
            ("A <a@b> 1 +0000", "A", "a@b", time(1, 0)),
            ("A<b <A<b@c>> 5 +0100", "A", "b <A<b@c", time(5, 60)),
            ("A <a@b> 1112911993 --700", "A", "a@b", time(1_112_911_993, 0)),
            ("A <a@b> 1112911993 -700", "A", "a@b", time(1_112_911_993, -420)),
            ("A <a@b> 7 +051800", "A", "a@b", time(7, 518 * 60)),
            ("A <a@b> 7 +99999999999", "A", "a@b", time(7, 0)),
            ("A <a@b> 99999999999999999999 +0000", "A", "a@b", None),
            ("A <a@b>  8", "A", "a@b", time(8, 0)),
            ("A <a@b>", "A", "a@b", None),
            ("A <a@b 1 +0000", "A", "a@b 1 +0000", None),
            ("<a@b> 1 +0000", "", "a@b", time(1, 0)),
            ("nobody", "nobody", "", None),
            ("", "", "", None),
            ("A <a>b@c> 9 -0130", "A", "a", time(9, -90)),
        ] {
            let ident = IdentRef::parse(line.as_bytes());
            assert_eq!((ident.name, ident.email), (name.into(), email.into()), "{line}");
            assert_eq!(ident.time, want, "{line}");
            assert_eq!(ident.raw, line);
        }
    }
}
