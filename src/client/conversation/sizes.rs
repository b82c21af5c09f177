//! The answer to `object-info`: a line for each object, read when all of them are there.

use crate::error::{Error, ErrorKind};
use crate::limits::{Budget, Reservation};
use crate::oid::{ObjectFormat, ObjectId};
use crate::protocol::decode_object_info;

/// Bytes of the lines around those of the objects.
const MAX_FRAME_BYTES: usize = 64;

/// Bytes of a line beside the id: its length, a space, a number of 64 bits, a line feed.
const MAX_LINE_BYTES: usize = 4 + 1 + 20 + 1;

/// An answer that is coming.
#[derive(Debug)]
pub(super) struct Sizes {
    format: ObjectFormat,
    text: Vec<u8>,
    max_bytes: usize,
    paid: Reservation,
}

impl Sizes {
    /// The answer about `ids` objects of `format`.
    pub(super) fn new(ids: usize, format: ObjectFormat, budget: &Budget) -> Self {
        let lines = ids.saturating_mul(format.hex_len() + MAX_LINE_BYTES);
        let max_bytes = lines.saturating_add(MAX_FRAME_BYTES);
        Self { format, text: Vec::new(), max_bytes, paid: budget.empty() }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if chunk.len() > self.max_bytes.saturating_sub(self.text.len()) {
            let why = "the answer to object-info is longer than what was asked for; check the host";
            return Err(Error::new(ErrorKind::Malformed, why));
        }
        self.paid.grow(chunk.len() as u64)?;
        self.text.extend_from_slice(chunk);
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Vec<(ObjectId, u64)>, Error> {
        Ok(decode_object_info(&self.text, self.format)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_no_longer_than_the_question_lets_it_be() {
        let (sha1, budget) = (ObjectFormat::Sha1, Budget::new(10_000));
        let id = sha1.empty_tree();
        let answer = format!("0009size\n0042{id} {}\n0000", u64::MAX);
        let mut sizes = Sizes::new(1, sha1, &budget);
        for byte in answer.as_bytes() {
            sizes.push(&[*byte]).unwrap();
        }
        assert_eq!(sizes.finish().unwrap(), [(id, u64::MAX)]);
        let mut sizes = Sizes::new(1, sha1, &budget);
        assert_eq!(sizes.push(&[b'0'; 200]).unwrap_err().kind(), ErrorKind::Malformed);
        let mut sizes = Sizes::new(1_000, sha1, &budget);
        let refused = (0..100).find_map(|_| sizes.push(&[b'0'; 1_000]).err());
        assert_eq!(refused.unwrap().kind(), ErrorKind::Limit);
    }
}
