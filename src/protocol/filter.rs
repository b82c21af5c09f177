//! Object filters: which objects a server leaves out of a pack.
//!
//! Follows git's `rev-list --filter` and `list-objects-filter-options.c`. `sparse:`
//! filters, which make a server read a file of the repository, are not supported.

use std::fmt;

use super::{ProtocolError, quoted};
use crate::object::Kind;

/// Combinations inside combinations; no program writes more than one.
const MAX_NESTING: u32 = 4;
/// Filters in one combination. There are four kinds, so more than a few say nothing new.
const MAX_PARTS: usize = 64;

/// Which objects are left out, unless they are wanted by id.
///
/// ```
/// use gitsip::protocol::Filter;
///
/// let filter = Filter::parse(b"combine:blob:limit=1m+tree:3")?;
/// assert_eq!(filter, Filter::Combine(vec![Filter::BlobLimit(1 << 20), Filter::TreeDepth(3)]));
/// assert_eq!(filter.to_string(), "combine:blob:limit=1048576+tree:3");
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Blobs of at least so many bytes.
    BlobLimit(u64),
    /// All blobs.
    BlobNone,
    /// What any of these leaves out.
    Combine(Vec<Self>),
    /// Everything but objects of this kind.
    ObjectType(Kind),
    /// Trees and blobs that are so many or more steps below a root: 0 leaves out all,
    /// 1 all but root trees.
    TreeDepth(u32),
}

impl Filter {
    /// Reads the form that is sent. A combination inside a combination is dissolved in
    /// it, which means the same.
    ///
    /// # Errors
    /// When the form is not known.
    pub fn parse(spec: &[u8]) -> Result<Self, ProtocolError> {
        let unknown = || ProtocolError::UnknownFilter { spec: quoted(spec) };
        if !spec.starts_with(b"combine:") {
            return parse_simple(spec).ok_or_else(unknown);
        }
        let mut parts = Vec::new();
        let mut waiting = vec![(spec.to_vec(), 0)];
        while let Some((part, depth)) = waiting.pop() {
            if waiting.len() + parts.len() >= MAX_PARTS {
                return Err(unknown());
            }
            match part.strip_prefix(b"combine:") {
                Some(_) if depth == MAX_NESTING => return Err(unknown()),
                Some(inner) => {
                    for piece in inner.rsplit(|&byte| byte == b'+').take(MAX_PARTS + 1) {
                        waiting.push((decode_percent(piece).ok_or_else(unknown)?, depth + 1));
                    }
                }
                None => parts.push(parse_simple(&part).ok_or_else(unknown)?),
            }
        }
        Ok(Self::Combine(parts))
    }
}

/// The form that is sent.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlobLimit(bytes) => write!(f, "blob:limit={bytes}"),
            Self::BlobNone => f.write_str("blob:none"),
            Self::ObjectType(kind) => write!(f, "object:type={kind}"),
            Self::TreeDepth(depth) => write!(f, "tree:{depth}"),
            Self::Combine(parts) => {
                f.write_str("combine:")?;
                for (number, part) in parts.iter().enumerate() {
                    let plus = if number > 0 { "+" } else { "" };
                    // Of the bytes that filters here are made of, only these two have
                    // a meaning in a combination.
                    let part = part.to_string().replace('%', "%25").replace('+', "%2B");
                    write!(f, "{plus}{part}")?;
                }
                Ok(())
            }
        }
    }
}

fn parse_simple(spec: &[u8]) -> Option<Filter> {
    if spec == b"blob:none" {
        Some(Filter::BlobNone)
    } else if let Some(bytes) = spec.strip_prefix(b"blob:limit=") {
        parse_bytes(bytes).map(Filter::BlobLimit)
    } else if let Some(depth) = spec.strip_prefix(b"tree:") {
        parse_bytes(depth).and_then(|depth| u32::try_from(depth).ok()).map(Filter::TreeDepth)
    } else if let Some(kind) = spec.strip_prefix(b"object:type=") {
        Kind::from_name(kind).map(Filter::ObjectType)
    } else {
        None
    }
}

/// A number with git's units `k`, `m` and `g`.
fn parse_bytes(text: &[u8]) -> Option<u64> {
    let (digits, unit) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 1 << 10),
        (b'm' | b'M', digits) => (digits, 1 << 20),
        (b'g' | b'G', digits) => (digits, 1 << 30),
        _ => (text, 1),
    };
    parse_number(digits)?.checked_mul(unit)
}

/// Digits and nothing else.
pub(super) fn parse_number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn decode_percent(text: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'%' {
            decoded.push(byte);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        decoded.push(u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?);
        rest = after;
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_known_is_refused() {
        for spec in [
            "",
            "blob",
            "blob:limit=",
            "blob:limit=-1",
            "blob:limit=+1",
            "blob:limit=99999999999g",
            "tree:",
            "tree:4294967296",
            "object:type=note",
            "sparse:oid=main:x",
            "combine:",
            "combine:tree:1+",
            "combine:tree%3",
            "combine:tree%+a1",
            "combine:combine%3Acombine%253Acombine%25253Acombine%2525253Atree:1",
        ] {
            let error = ProtocolError::UnknownFilter { spec: spec.into() };
            assert_eq!(Filter::parse(spec.as_bytes()), Err(error), "{spec}");
        }
    }

    #[test]
    fn escaped_and_nested_combinations_are_dissolved() {
        let want = Filter::Combine(vec![
            Filter::BlobNone,
            Filter::TreeDepth(1),
            Filter::ObjectType(Kind::Commit),
        ]);
        for spec in [
            "combine:blob:none+tree:1+object:type=commit",
            "combine:blob%3anone+combine%3Atree%3A1%2Bobject:type%3Dcommit",
        ] {
            assert_eq!(Filter::parse(spec.as_bytes()).unwrap(), want);
        }
        let nested = Filter::Combine(vec![
            Filter::BlobNone,
            Filter::Combine(vec![Filter::TreeDepth(1), Filter::ObjectType(Kind::Commit)]),
        ]);
        assert_eq!(Filter::parse(nested.to_string().as_bytes()).unwrap(), want);
    }

    #[test]
    fn a_combination_has_an_end() {
        let spec = |parts: usize| format!("combine:{}", vec!["tree:1"; parts].join("+"));
        let parsed = Filter::parse(spec(MAX_PARTS).as_bytes()).unwrap();
        assert_eq!(parsed, Filter::Combine(vec![Filter::TreeDepth(1); MAX_PARTS]));
        for parts in [MAX_PARTS + 1, MAX_PARTS + 2, 8_000] {
            assert!(Filter::parse(spec(parts).as_bytes()).is_err(), "{parts}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(limit in any::<u64>(), depth in any::<u32>()) {
            for filter in [
                Filter::BlobNone, Filter::BlobLimit(limit), Filter::TreeDepth(depth),
                Filter::ObjectType(Kind::Tag),
                Filter::Combine(vec![Filter::BlobLimit(limit), Filter::TreeDepth(depth)]),
            ] {
                prop_assert_eq!(Filter::parse(filter.to_string().as_bytes()).unwrap(), filter);
            }
        }

        #[test]
        fn no_bytes_panic(spec in prop::collection::vec(any::<u8>(), 0..40)) {
            let spec = [b"combine:", spec.as_slice()].concat();
            if let Ok(filter) = Filter::parse(&spec) {
                prop_assert!(matches!(filter, Filter::Combine(_)));
            }
        }
    }
}
