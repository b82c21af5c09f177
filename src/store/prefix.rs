//! The beginning of an id, as people type it.

/// An id's first hexadecimal digits: at least four.
///
/// ```
/// use gitsip::store::IdPrefix;
///
/// let prefix = IdPrefix::parse(b"4b825").unwrap();
/// assert!(prefix.matches(&[0x4b, 0x82, 0x5d, 0xc6]));
/// assert!(!prefix.matches(&[0x4b, 0x82, 0x6d, 0xc6]));
/// assert!(IdPrefix::parse(b"4b8").is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPrefix {
    /// Zero after the digits.
    bytes: [u8; 32],
    digits: usize,
}

impl IdPrefix {
    /// git's shortest abbreviation.
    pub const MIN_DIGITS: usize = 4;

    /// The prefix written as `hex`, in either case; `None` when it is no prefix of an
    /// id: too short, longer than an id, or not hexadecimal.
    pub fn parse(hex: &[u8]) -> Option<Self> {
        if hex.len() < Self::MIN_DIGITS || hex.len() > 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (at, &digit) in hex.iter().enumerate() {
            let value = char::from(digit).to_digit(16)? as u8;
            bytes[at / 2] |= if at % 2 == 0 { value << 4 } else { value };
        }
        Some(Self { bytes, digits: hex.len() })
    }

    /// Whether the id whose raw bytes are `raw` begins with it.
    pub fn matches(&self, raw: &[u8]) -> bool {
        let whole = self.digits / 2;
        raw.get(..whole) == Some(&self.bytes[..whole])
            && (self.digits.is_multiple_of(2)
                || raw.get(whole).is_some_and(|byte| byte & 0xf0 == self.bytes[whole]))
    }

    /// The first byte of every id that begins with it.
    pub fn first_byte(&self) -> u8 {
        self.bytes[0]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn odd_and_whole_prefixes_match_what_they_begin() {
        let raw: Vec<u8> = (0..20).map(|i| i * 13).collect();
        let hex: String = raw.iter().map(|byte| format!("{byte:02X}")).collect();
        for digits in 4..=40 {
            let prefix = IdPrefix::parse(&hex.as_bytes()[..digits]).unwrap();
            assert!(prefix.matches(&raw), "{digits}");
            let mut other = raw.clone();
            other[(digits - 1) / 2] ^= if digits % 2 == 0 { 1 } else { 0x10 };
            assert!(!prefix.matches(&other), "{digits}");
        }
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        assert_eq!(IdPrefix::parse(b"abc"), None);
        assert_eq!(IdPrefix::parse(b"abcg"), None);
        assert_eq!(IdPrefix::parse(&[b'a'; 65]), None);
        assert!(!IdPrefix::parse(&[b'a'; 42]).unwrap().matches(&[0xaa; 20]));
    }
}
