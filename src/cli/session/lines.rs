//! The lines of an input, each of them short enough.
//!
//! What ends a line is `\n` or `\r\n`; the last one may have no end. A mark of byte order
//! before the first is passed over, and so are blank lines. A line that is too long costs
//! no more memory than one that is not.

use std::io::{self, BufRead, ErrorKind};

/// What came of the next line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// It was longer than lines may be and has been passed over.
    TooLong,
}

/// Reads lines.
pub(super) struct Lines<R> {
    input: R,
    max_bytes: usize,
    is_first: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R, max_bytes: usize) -> Self {
        Self { input, max_bytes, is_first: true }
    }

    /// The next line that is not blank, without its end; `None` when there is none.
    ///
    /// # Errors
    /// Those of the input, which is at its end then.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let Some(line) = self.read()? else { return Ok(None) };
            let Line::Text(mut text) = line else { return Ok(Some(line)) };
            if std::mem::take(&mut self.is_first) && text.starts_with(BYTE_ORDER_MARK) {
                text.drain(..BYTE_ORDER_MARK.len());
            }
            if !text.trim_ascii().is_empty() {
                return Ok(Some(Line::Text(text)));
            }
        }
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        let (mut line, mut is_too_long, mut has_begun) = (Vec::new(), false, false);
        loop {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            let end = memchr::memchr(b'\n', bytes);
            if bytes.is_empty() && !has_begun {
                return Ok(None);
            }
            has_begun = true;
            let is_over = end.is_some() || bytes.is_empty();
            let text = &bytes[..end.unwrap_or(bytes.len())];
            let taken = end.map_or(bytes.len(), |at| at + 1);
            is_too_long |= line.len() + text.len() > self.max_bytes;
            if is_too_long {
                line = Vec::new();
            } else {
                line.extend_from_slice(text);
            }
            self.input.consume(taken);
            if is_over {
                return Ok(Some(if is_too_long { Line::TooLong } else { Line::Text(line) }));
            }
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// The lines of `input`, of which `piece` bytes are read at once.
    fn lines(input: &[u8], max_bytes: usize, piece: usize) -> Vec<Line> {
        let mut lines = Lines::new(BufReader::with_capacity(piece, input), max_bytes);
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    fn text(text: &str) -> Line {
        Line::Text(text.into())
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let input = b"\xef\xbb\xbfone\r\n\n \t\r\ntwo\n123456789\n12345678\r\n\nlast";
        let expected = [text("one\r"), text("two"), Line::TooLong, Line::TooLong, text("last")];
        for piece in 1..=input.len() {
            assert_eq!(lines(input, 8, piece), expected, "pieces of {piece}");
        }
    }

    #[test]
    fn what_is_as_long_as_allowed_is_a_line() {
        assert_eq!(lines(b"12345678\n123456789", 8, 3), [text("12345678"), Line::TooLong]);
        assert_eq!(lines(b"", 8, 3), []);
        assert_eq!(lines(b"\n\xef\xbb\xbfa", 8, 3), [text("\u{feff}a")], "not the first");
    }
}
