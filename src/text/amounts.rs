//! Amounts as people read them: bytes in decimal units, and times. Two digits say enough;
//! what is for a program has whole bytes and milliseconds instead.

use std::fmt;
use std::time::Duration;

/// A number of bytes: `999 B`, `1.2 kB`, `34 MB`.
///
/// ```
/// use gitsip::text::amounts::Bytes;
///
/// assert_eq!(Bytes(34_210).to_string(), "34 kB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// So many of something: `1 byte`, `2 bytes`.
///
/// ```
/// use gitsip::text::amounts::Count;
///
/// assert_eq!(Count(1, "byte").to_string(), "1 byte");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64, pub &'static str);

/// A time: `80 ms`, `2.1 s`, `45 s`, `3 min 20 s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        if bytes < 1000 {
            return write!(f, "{bytes} B");
        }
        let mut value = bytes as f64;
        let mut unit = "";
        for larger in ["kB", "MB", "GB", "TB", "PB", "EB"] {
            // What would be rounded to a thousand is one of the next unit.
            if !unit.is_empty() && value < 999.5 {
                break;
            }
            value /= 1000.0;
            unit = larger;
        }
        let digits = usize::from(value < 9.95);
        write!(f, "{value:.digits$} {unit}")
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, one) = *self;
        write!(f, "{number} {one}{}", if number == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(time) = *self;
        let seconds = time.as_secs_f64();
        if time < Duration::from_millis(1000) {
            write!(f, "{} ms", time.as_millis())
        } else if seconds < 9.95 {
            write!(f, "{seconds:.1} s")
        } else if time < Duration::from_secs(120) {
            write!(f, "{seconds:.0} s")
        } else {
            write!(f, "{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_two_digits_and_the_unit_that_fits() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (34_210, "34 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (12_300_000, "12 MB"),
            (5_000_000_000, "5.0 GB"),
            (u64::MAX, "18 EB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), shown);
        }
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        for (millis, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (2_140, "2.1 s"),
            (9_960, "10 s"),
            (45_400, "45 s"),
            (200_000, "3 min 20 s"),
        ] {
            assert_eq!(Time(Duration::from_millis(millis)).to_string(), shown);
        }
    }
}
