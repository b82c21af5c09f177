//! The command `object-info`: sizes of objects, without the objects.
//!
//! Follows git's `protocol-v2` ("object-info"). The answer is a few lines, so it is read as
//! a whole; who asks for many sizes at once is not served here.

use super::{ProtocolError, encode_command, encode_short, parse_id, unexpected};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline::{self, Carriage, PktError, Reader, Token};

const PLACE: &str = "the answer to object-info";

/// Appends a request for the sizes of `ids`, sent as `agent` to a repository of `format`.
///
/// # Errors
/// When `agent` is too long for a packet.
pub fn encode_object_info(
    ids: &[ObjectId],
    agent: &str,
    format: ObjectFormat,
    out: &mut Vec<u8>,
) -> Result<(), PktError> {
    encode_command(out, "object-info", agent, format)?;
    encode_short(out, "size");
    for id in ids {
        encode_short(out, &format!("oid {id}"));
    }
    out.extend_from_slice(pktline::FLUSH);
    Ok(())
}

/// The sizes in the answer of a repository of `format`: those of objects that it has.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::decode_object_info;
///
/// let answer = b"0009size\n0030e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 05\n0000";
/// let sizes = decode_object_info(answer, ObjectFormat::Sha1)?;
/// assert_eq!((sizes.len(), sizes[0].1), (1, 5));
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
///
/// # Errors
/// When it is damaged, ends early, or speaks of another hash; and the peer's own words
/// when it gave up.
pub fn decode_object_info(
    mut answer: &[u8],
    format: ObjectFormat,
) -> Result<Vec<(ObjectId, u64)>, ProtocolError> {
    let mut reader = Reader::new();
    let mut sizes = Vec::new();
    let mut is_first = true;
    while let Some(token) = reader.next(&mut answer, Carriage::Lines)? {
        let line = match token {
            Token::Line => reader.line(),
            Token::Flush if answer.is_empty() => return Ok(sizes),
            Token::Flush => return Err(ProtocolError::TrailingBytes { place: PLACE }),
            token => return Err(unexpected(token, PLACE)),
        };
        if std::mem::take(&mut is_first) {
            if line != b"size" {
                return Err(ProtocolError::bad_line(PLACE, line));
            }
            continue;
        }
        let mut words = line.split(|&byte| byte == b' ');
        let id = parse_id(words.next().unwrap_or_default(), format, PLACE, line)?;
        let digits = words.next().unwrap_or_default();
        // Nothing follows the id of an object that is not there.
        if digits.is_empty() {
            continue;
        }
        let size = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        sizes.push((id, size.ok_or_else(|| ProtocolError::bad_line(PLACE, line))?));
    }
    Err(ProtocolError::Truncated { place: PLACE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_or_an_error() {
        let sha1 = ObjectFormat::Sha1;
        let line = format!("0032{} 1234\n", sha1.empty_tree());
        let lacking = format!("002d{}\n", sha1.empty_tree());
        let whole = format!("0009size\n{lacking}{line}0000");
        let sizes = vec![(sha1.empty_tree(), 1234)];
        assert_eq!(decode_object_info(whole.as_bytes(), sha1), Ok(sizes));
        for cut in 0..whole.len() {
            assert!(decode_object_info(&whole.as_bytes()[..cut], sha1).is_err(), "{cut}");
        }
        let more = format!("{whole}0000");
        let minus = whole.replace("1234", "-234");
        for bad in [more.as_str(), &minus, &line, "0009soze\n0000", "000dERR no\n\n"] {
            assert!(decode_object_info(bad.as_bytes(), sha1).is_err(), "{bad}");
        }
        assert!(decode_object_info(whole.as_bytes(), ObjectFormat::Sha256).is_err());
    }
}
