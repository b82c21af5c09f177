//! The order of names that hold version numbers: `v2.9` before `v2.10`.
//!
//! That of `strverscmp(3)`, which `git --sort=version:refname` uses as well: numbers compare
//! as numbers, and digits behind a zero as digits of a fraction.

use std::cmp::Ordering;

/// How `a` and `b` are ordered.
///
/// ```
/// use gitsip::view::version_order::compare;
///
/// let mut tags = ["v2.10", "v2.9", "v2.9-rc1", "v2.09"];
/// tags.sort_by(|a, b| compare(a.as_bytes(), b.as_bytes()));
/// assert_eq!(tags, ["v2.09", "v2.9", "v2.9-rc1", "v2.10"]);
/// ```
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a_rest, b_rest) =
        (a.get(common..).unwrap_or_default(), b.get(common..).unwrap_or_default());
    // The number in which they differ may begin before they do.
    let shared = a.get(..common).unwrap_or_default();
    let digits = shared.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let shared = shared.get(common - digits..).unwrap_or_default();
    let bytes = a_rest.cmp(b_rest);
    if starts_number(shared, a_rest) && starts_number(shared, b_rest) {
        return count_digits(a_rest).cmp(&count_digits(b_rest)).then(bytes);
    }
    let is_fraction = !shared.is_empty() && shared.iter().all(|&digit| digit == b'0');
    match (is_fraction, starts_with_digit(a_rest), starts_with_digit(b_rest)) {
        (true, true, false) => Ordering::Less,
        (true, false, true) => Ordering::Greater,
        _ => bytes,
    }
}

/// Whether the digits `shared` and what follows them are a number without a zero before it.
fn starts_number(shared: &[u8], rest: &[u8]) -> bool {
    shared.first().or(rest.first()).is_some_and(|digit| (b'1'..=b'9').contains(digit))
}

fn starts_with_digit(rest: &[u8]) -> bool {
    rest.first().is_some_and(u8::is_ascii_digit)
}

fn count_digits(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_numbers_and_zeros_begin_fractions() {
        // The first line is the example of strverscmp(3).
        for ascending in [
            &["000", "00", "01", "010", "09", "0", "1", "9", "10"][..],
            &["v1", "v1.1", "v1.2", "v1.10", "v1.10.1", "v2", "v10"],
            &["a", "a1", "a1b", "a2", "aa"],
        ] {
            for (i, a) in ascending.iter().enumerate() {
                for (j, b) in ascending.iter().enumerate() {
                    assert_eq!(compare(a.as_bytes(), b.as_bytes()), i.cmp(&j), "{a} {b}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_an_order(names in prop::collection::vec("[a01-9.]{0,6}", 3)) {
            let [a, b, c] = [0, 1, 2].map(|i| names[i].as_bytes());
            prop_assert_eq!(compare(a, b), compare(b, a).reverse());
            prop_assert_eq!(compare(a, b) == Ordering::Equal, a == b);
            if compare(a, b).is_le() && compare(b, c).is_le() {
                prop_assert!(compare(a, c).is_le());
            }
        }
    }
}
