//! The names nearest to one that does not exist, for "did you mean".

use bstr::BStr;

/// Those of `names` nearest to `name`, which is none of them, nearest first.
///
/// Near is: the same but for case, or at most a third of the bytes (three at most)
/// inserted, left out, exchanged or swapped with their neighbour.
pub fn nearest<'n>(names: impl IntoIterator<Item = &'n BStr>, name: &BStr) -> Vec<&'n BStr> {
    let allowed = (name.len() / 3).clamp(1, 3);
    if name.len() > MAX_COMPARED_BYTES {
        return Vec::new();
    }
    let mut near: Vec<(usize, &BStr)> = names
        .into_iter()
        .take(MAX_COMPARED)
        .filter(|other| other.len().abs_diff(name.len()) <= allowed)
        .filter_map(|other| {
            let distance = match other.eq_ignore_ascii_case(name) {
                true => 0,
                false => edits(name, other, allowed)?,
            };
            Some((distance, other))
        })
        .collect();
    near.sort_by_key(|&(distance, _)| distance);
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// Edits between two names, when they are at most `allowed`: optimal string alignment
/// over bytes.
fn edits(a: &[u8], b: &[u8], allowed: usize) -> Option<usize> {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut least = (above[j] + usize::from(x != y)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        if row.iter().min().is_none_or(|&least| least > allowed) {
            return None;
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|&distance| distance <= allowed)
}

/// Names suggested at once.
const MAX_SUGGESTIONS: usize = 3;
/// Names compared for one suggestion: more take time that an error message is not worth.
const MAX_COMPARED: usize = 10_000;
/// Longer names are not compared.
const MAX_COMPARED_BYTES: usize = 128;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn suggested(names: &[&str], name: &str) -> Vec<String> {
        let names = names.iter().map(|&name| BStr::new(name));
        nearest(names, BStr::new(name)).into_iter().map(ToString::to_string).collect()
    }

    #[test]
    fn slips_of_the_finger_are_recognised_and_strangers_are_not() {
        let names = ["Cargo.toml", "README.md", "main.c", "main.rs", "mod.rs", "src"];
        for (asked, want) in [
            ("mian.rs", &["main.rs"][..]),
            ("main.r", &["main.c", "main.rs"]),
            ("cargo.toml", &["Cargo.toml"]),
            ("Readme.md", &["README.md"]),
            ("scr", &["src"]),
            ("sr", &["src"]),
            ("lib", &[]),
            ("x", &[]),
            ("", &[]),
        ] {
            assert_eq!(suggested(&names, asked), want, "{asked}");
        }
    }

    #[test]
    fn the_nearest_come_first_and_only_three_are_told() {
        let names = ["a1", "a2", "a3", "a4", "A"];
        assert_eq!(suggested(&names, "a"), ["A", "a1", "a2"]);
        let long = "x".repeat(5_000);
        assert_eq!(suggested(&[&long], &long), [""; 0], "too long to compare");
    }

    /// Optimal string alignment by its definition.
    fn naive(a: &[u8], b: &[u8]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([a_rest @ .., x], [b_rest @ .., y]) => {
                let mut least = naive(a_rest, b_rest) + usize::from(x != y);
                least = least.min(naive(a_rest, b) + 1).min(naive(a, b_rest) + 1);
                if let ([a_rest @ .., w], [b_rest @ .., z]) = (a_rest, b_rest)
                    && (w, x) == (y, z)
                {
                    least = least.min(naive(a_rest, b_rest) + 1);
                }
                least
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn edits_are_those_of_the_definition(a in "[ab]{0,5}", b in "[ab]{0,5}", allowed in 0usize..4) {
            let naive = naive(a.as_bytes(), b.as_bytes());
            let want = Some(naive).filter(|&edits| edits <= allowed);
            prop_assert_eq!(edits(a.as_bytes(), b.as_bytes(), allowed), want);
        }
    }
}
