//! Which part of a long line is shown: what was found in it, with some of what is around.
//!
//! How what is left out is told is for the faces above.

use std::ops::Range;

/// The part of `line` that shows `focus`, at most `max_bytes` long. A third of the room
/// that the focus leaves is for what stands before it, and the rest for what follows; what
/// one side does not need is the other's.
///
/// UTF-8 is not cut inside a character, so that the part may be a few bytes shorter. Of a
/// focus that does not fit its beginning is shown.
///
/// ```
/// use gitsip::view::excerpt::excerpt;
///
/// let line = b"a long line with a needle in the middle of it";
/// assert_eq!(&line[excerpt(line, 19..25, 15)], b" a needle in th");
/// assert_eq!(excerpt(line, 19..25, 100), 0..line.len());
/// ```
pub fn excerpt(line: &[u8], focus: Range<usize>, max_bytes: usize) -> Range<usize> {
    if line.len() <= max_bytes {
        return 0..line.len();
    }
    let first = focus.start.min(line.len());
    let last = focus.end.clamp(first, line.len()).min(first.saturating_add(max_bytes));
    let room = max_bytes - (last - first);
    let wanted_behind = line.len() - last;
    let before = (room / 3).max(room.saturating_sub(wanted_behind)).min(first);
    let behind = (room - before).min(wanted_behind);
    let (mut start, mut end) = (first - before, last + behind);
    // A character has at most three bytes behind its first.
    for _ in 0..3 {
        if start < end && is_inside_char(line, start) {
            start += 1;
        }
        if start < end && is_inside_char(line, end) {
            end -= 1;
        }
    }
    start..end
}

/// Whether a cut before `at` would be inside a character.
fn is_inside_char(line: &[u8], at: usize) -> bool {
    line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(line: &str, focus: Range<usize>, max_bytes: usize) -> &str {
        line.get(excerpt(line.as_bytes(), focus, max_bytes)).expect("no character is cut")
    }

    #[test]
    fn room_that_one_side_does_not_need_is_the_others() {
        let line = "0123456789abcdefghij";
        for (focus, max_bytes, want) in [
            (0..1, 5, "01234"),
            (19..20, 5, "fghij"),
            (10..11, 7, "89abcde"),
            (2..3, 10, "0123456789"),
            (5..15, 4, "5678"),
            (0..0, 3, "012"),
            (20..20, 3, "hij"),
            (99..99, 3, "hij"),
            (3..4, 0, ""),
        ] {
            assert_eq!(shown(line, focus.clone(), max_bytes), want, "{focus:?}");
        }
    }

    proptest! {
        #[test]
        fn whole_characters_and_as_much_of_the_focus_as_fits_are_shown(
            line in "[a-z\u{e9}\u{65e5}\u{1f600}]{0,30}", at in 0usize..100, len in 0usize..20,
            max_bytes in 0usize..60,
        ) {
            let focus = at..at + len;
            let part = excerpt(line.as_bytes(), focus.clone(), max_bytes);
            prop_assert!(part.len() <= max_bytes);
            prop_assert!(part.is_empty() || line.get(part.clone()).is_some());
            if line.len() <= max_bytes {
                prop_assert_eq!(part, 0..line.len());
            } else if line.get(focus.clone()).is_some() && len <= max_bytes {
                prop_assert!(part.start <= focus.start && focus.end <= part.end);
                prop_assert!(part.len() + 6 >= max_bytes, "room is used");
            }
        }

        #[test]
        fn no_bytes_are_too_odd(
            line in prop::collection::vec(any::<u8>(), 0..40), at in any::<usize>(), end in any::<usize>(),
            max_bytes in 0usize..50,
        ) {
            prop_assert!(line.get(excerpt(&line, at..end, max_bytes)).is_some());
        }
    }
}
