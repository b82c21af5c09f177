//! The command `object-info`: sizes of objects, without the objects.
//!
//! Follows git's `protocol-v2` ("object-info"), both directions. The answer is a few lines, so it
//! is read as a whole; who asks for many sizes at once is not served here.

use super::{ProtocolError, encode_command, encode_short, parse_id, unexpected};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline::{self, Carriage, PktError, Reader, Token};

const PLACE: &str = "the answer to object-info";
const ASKING: &str = "a request for object-info";

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

/// What a client wants to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectInfoRequest {
    /// Of these objects, each once.
    pub ids: Vec<ObjectId>,
    /// Their sizes; without it, nothing but their ids again.
    pub size: bool,
}

impl ObjectInfoRequest {
    /// Takes an argument of a request to a repository of `format`.
    pub(super) fn take(&mut self, line: &[u8], format: ObjectFormat) -> Result<(), ProtocolError> {
        match line.strip_prefix(b"oid ") {
            Some(hex) => self.ids.push(parse_id(hex, format, ASKING, line)?),
            None if line == b"size" => self.size = true,
            None => return Err(ProtocolError::bad_line(ASKING, line)),
        }
        Ok(())
    }
}

/// Appends the answer about `objects`: their sizes where `with_size`, nothing for those that are
/// not there. git ends these lines with nothing.
pub fn encode_object_sizes(
    objects: &[(ObjectId, Option<u64>)],
    with_size: bool,
    out: &mut Vec<u8>,
) {
    let mut line = |line: &str| {
        out.extend_from_slice(format!("{:04x}{line}", 4 + line.len()).as_bytes());
    };
    if with_size && !objects.is_empty() {
        line("size");
    }
    for (id, size) in objects {
        match (with_size, size) {
            (true, Some(size)) => line(&format!("{id} {size}")),
            (true, None) => line(&format!("{id} ")),
            (false, _) => line(&id.to_string()),
        }
    }
    out.extend_from_slice(pktline::FLUSH);
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
    fn an_answer_is_read_as_it_was_written() {
        let (sha1, sha256) = (ObjectFormat::Sha1, ObjectFormat::Sha256);
        for format in [sha1, sha256] {
            let here = format.empty_tree();
            let gone = ObjectId::from_raw(&vec![7; here.as_bytes().len()]).unwrap();
            let mut out = Vec::new();
            encode_object_sizes(&[(gone, None), (here, Some(u64::MAX))], true, &mut out);
            assert_eq!(decode_object_info(&out, format), Ok(vec![(here, u64::MAX)]));
        }
        let mut nothing = Vec::new();
        encode_object_sizes(&[], true, &mut nothing);
        assert_eq!(nothing, b"0000");
    }

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
