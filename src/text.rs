//! Bytes of a peer, made safe to show to a person.
//!
//! Server messages, ref names and paths may hold terminal escapes, C1 controls and
//! bidirectional overrides. This file makes them visible; it does not quote paths the
//! way git does and is not meant to be undone. [`amounts`] is about numbers.

pub mod amounts;

/// `bytes` on one line without anything a terminal would obey: control characters,
/// C1 controls, bidirectional marks and line separators are written as escapes, and
/// bytes that are not UTF-8 as `\xNN`. Everything else stays as it is.
///
/// ```
/// use gitsip::text::escape_for_people;
///
/// assert_eq!(escape_for_people("caf\u{e9} \u{1b}[31m".as_bytes()), "caf\u{e9} \\x1b[31m");
/// assert_eq!(escape_for_people(b"caf\xe9\n"), "caf\\xe9\\n");
/// ```
pub fn escape_for_people(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            push_char(&mut shown, char);
        }
        for &byte in chunk.invalid() {
            push_byte(&mut shown, byte);
        }
    }
    shown
}

fn push_char(shown: &mut String, char: char) {
    match char {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        '\0'..='\x1f' | '\x7f' => push_byte(shown, char as u8),
        _ if is_deceptive(char) => shown.extend(char.escape_unicode()),
        _ => shown.push(char),
    }
}

fn push_byte(shown: &mut String, byte: u8) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    shown.push_str("\\x");
    shown.push(DIGITS[usize::from(byte >> 4)]);
    shown.push(DIGITS[usize::from(byte & 15)]);
}

/// C1 controls, marks that reorder or break the line they stand in, and the byte order
/// mark, which nobody sees.
fn is_deceptive(char: char) -> bool {
    matches!(
        char,
        '\u{80}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_instead() {
        for (bytes, shown) in [
            (&b"plain text, \\ and \"quotes\""[..], "plain text, \\ and \"quotes\""),
            (b"\x07\x1b]0;title\x7f", "\\x07\\x1b]0;title\\x7f"),
            ("\u{9b}31m".as_bytes(), "\\u{9b}31m"),
            ("a\u{202e}b\u{2069}\u{200f}".as_bytes(), "a\\u{202e}b\\u{2069}\\u{200f}"),
            ("日本語".as_bytes(), "日本語"),
            (b"\xff\xe6\x97", "\\xff\\xe6\\x97"),
            (b"two\r\n\tlines", "two\\r\\n\\tlines"),
        ] {
            assert_eq!(escape_for_people(bytes), shown);
        }
    }
    proptest! {
        #[test]
        fn no_bytes_leave_a_control_or_a_mark(
            bytes in prop::collection::vec(any::<u8>(), 0..60), text: String,
        ) {
            for shown in [escape_for_people(&bytes), escape_for_people(text.as_bytes())] {
                prop_assert!(!shown.chars().any(|char| char.is_control() || is_deceptive(char)));
            }
        }
    }
}
