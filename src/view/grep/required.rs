//! Literals of which every match of an expression holds one: looked for first, they spare
//! the expression most lines.
//!
//! The regex crate finds such literals at the beginning of an expression and in the middle
//! of most; here are those that it does not use. That they are searched for in place of the
//! expression is right where a line that holds one is then judged by the expression itself.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};

/// The literals of `hirs` of which any match of any holds one, if they are worth it.
pub(super) fn required_by_all(hirs: &[Hir]) -> Option<Vec<Vec<u8>>> {
    if hirs.iter().any(begins_with_literals) {
        return None;
    }
    all_of(hirs).filter(|literals| is_worth_it(literals))
}

/// Whether the regex crate finds candidates for `hir` by its beginning.
fn begins_with_literals(hir: &Hir) -> bool {
    let mut prefixes = Extractor::new().extract(hir);
    prefixes.optimize_for_prefix_by_preference();
    prefixes.min_literal_len().is_some_and(|len| len > 1)
}

/// Literals of which every match of each of `hirs` holds one.
fn all_of(hirs: &[Hir]) -> Option<Vec<Vec<u8>>> {
    let mut literals = Vec::new();
    for hir in hirs {
        literals.extend(required(hir)?);
        if literals.len() > MAX_LITERALS {
            return None;
        }
    }
    Some(literals)
}

/// Literals of which every match of `hir` holds one; recurs as deep as the pattern nests.
fn required(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Concat(subs) => {
            subs.iter().filter_map(required).max_by_key(|literals| shortest(literals))
        }
        HirKind::Alternation(subs) => all_of(subs),
        _ => None,
    }
}

fn shortest(literals: &[Vec<u8>]) -> usize {
    literals.iter().map(Vec::len).min().unwrap_or(0)
}

/// Short literals are in every other line, which is then looked at twice.
fn is_worth_it(literals: &[Vec<u8>]) -> bool {
    shortest(literals) >= MIN_LITERAL_BYTES
}

const MIN_LITERAL_BYTES: usize = 4;
/// So many are looked for at the speed of a few.
const MAX_LITERALS: usize = 16;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(patterns: &[&str]) -> Option<Vec<String>> {
        let parse = |pattern: &&str| regex_syntax::Parser::new().parse(pattern).unwrap();
        let hirs: Vec<Hir> = patterns.iter().map(parse).collect();
        let literals = required_by_all(&hirs)?;
        Some(literals.into_iter().map(|literal| String::from_utf8(literal).unwrap()).collect())
    }

    #[test]
    fn the_longest_part_that_must_be_there_is_found() {
        assert_eq!(of(&[r"\w+_colour\("]).unwrap(), ["_colour("]);
        assert_eq!(of(&[r"[a-z]+foobar.*(longest)+[0-9]*"]).unwrap(), ["longest"]);
        assert_eq!(of(&[r"\d+(apple|banana|pear)x?\s"]).unwrap(), ["apple", "banana", "pear"]);
        assert_eq!(of(&[r"\s+one_word", r".other"]).unwrap(), ["one_word", "other"]);
    }

    #[test]
    fn what_may_be_absent_short_or_found_anyway_is_none() {
        for pattern in [
            r"\w+(colour)?",
            r"\w+(colour|\d+)",
            r"\d+abc\d+",
            r"colour\w+",
            r"\w+",
            "",
            "(?i)[a-z]colour",
        ] {
            assert_eq!(of(&[pattern]), None, "{pattern}");
        }
        assert_eq!(of(&[r"\s+one_word", r"\w+"]), None);
    }
}
