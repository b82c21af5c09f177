//! Paths as git prints them: in double quotes with C's escapes when they hold a byte that
//! is not printable ASCII (`core.quotePath`, its default), or as they are.
//!
//! Follows git's `quote.c`. Text of files is never quoted.

/// Appends `path` as git prints it without `-z`.
pub(super) fn push_quoted(out: &mut Vec<u8>, path: &[u8]) {
    if !path.iter().copied().any(must_be_quoted) {
        out.extend_from_slice(path);
        return;
    }
    out.push(b'"');
    for &byte in path {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0x07 => out.extend(br"\a"),
            0x08 => out.extend(br"\b"),
            b'\t' => out.extend(br"\t"),
            b'\n' => out.extend(br"\n"),
            0x0b => out.extend(br"\v"),
            0x0c => out.extend(br"\f"),
            b'\r' => out.extend(br"\r"),
            0x20..=0x7e => out.push(byte),
            _ => out.extend([b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
        }
    }
    out.push(b'"');
}

fn must_be_quoted(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\' | 0x7f..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(path: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_quoted(&mut out, path);
        out
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        for plain in ["", "a", "src/main.rs", "with space", "it's", "$x;*?~"] {
            assert_eq!(quoted(plain.as_bytes()), plain.as_bytes());
        }
    }

    #[test]
    fn everything_else_is_escaped_as_in_c() {
        for (path, shown) in [
            (&b"caf\xc3\xa9"[..], &br#""caf\303\251""#[..]),
            (b"caf\xe9", br#""caf\351""#),
            (b"say \"hi\"", br#""say \"hi\"""#),
            (b"back\\slash", br#""back\\slash""#),
            (b"\x07\x08\t\n\x0b\x0c\r", br#""\a\b\t\n\v\f\r""#),
            (b"\x01\x1b\x1f\x7f\x80\xff", br#""\001\033\037\177\200\377""#),
        ] {
            assert_eq!(quoted(path), shown, "{}", String::from_utf8_lossy(shown));
        }
    }
}
