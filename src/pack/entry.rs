//! Entry headers: type, size and base, as they stand before each deflate stream.
//!
//! Follows `gitformat-pack`, "Pack file entry" and "Deltified representation". Decoding
//! works on whatever bytes are there and asks for more when a header is cut anywhere;
//! it knows nothing of offsets, caps or of whether a base exists.

use crate::object::Kind;
use crate::oid::{ObjectFormat, ObjectId};

/// What an entry's stream holds, and for a delta where its base is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryForm {
    /// The object's content.
    Whole(Kind),
    /// A delta against the entry that begins `distance` bytes earlier.
    OfsDelta {
        /// Bytes from the base's start to this entry's start.
        distance: u64,
    },
    /// A delta against the object called `base`, before or after this entry or outside
    /// the pack.
    RefDelta {
        /// The base's id.
        base: ObjectId,
    },
}

/// An entry's header.
///
/// ```
/// use gitsip::object::Kind;
/// use gitsip::pack::entry::{EntryForm, EntryHeader};
/// use gitsip::ObjectFormat;
///
/// let header = EntryHeader { form: EntryForm::Whole(Kind::Blob), inflated_size: 300 };
/// let mut bytes = Vec::new();
/// header.encode(&mut bytes);
/// assert_eq!(EntryHeader::decode(&bytes, ObjectFormat::Sha1), Ok(Some((header, 2))));
/// assert_eq!(EntryHeader::decode(&bytes[..1], ObjectFormat::Sha1), Ok(None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHeader {
    /// What the stream holds.
    pub form: EntryForm,
    /// Bytes the stream inflates to: of the delta, for a delta.
    pub inflated_size: u64,
}

/// Why a header was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A type that does not exist: 0 or 5.
    #[error("invalid entry type {0}")]
    BadKind(u8),
    /// A number of more than 64 bits.
    #[error("a number of more than 64 bits")]
    BadVarint,
}

impl EntryHeader {
    /// The most bytes a header can have: two numbers of ten bytes, or one and an id.
    pub const MAX_LEN: usize = 10 + 32;

    /// The header at the start of `bytes` and its length; `None` when it goes on after
    /// `bytes`, which cannot be once there are [`MAX_LEN`](Self::MAX_LEN) of them.
    pub fn decode(
        bytes: &[u8],
        format: ObjectFormat,
    ) -> Result<Option<(Self, usize)>, HeaderError> {
        let Some((kind, inflated_size, mut len)) = decode_type_and_size(bytes)? else {
            return Ok(None);
        };
        let rest = &bytes[len..];
        let form = match kind {
            1 => EntryForm::Whole(Kind::Commit),
            2 => EntryForm::Whole(Kind::Tree),
            3 => EntryForm::Whole(Kind::Blob),
            4 => EntryForm::Whole(Kind::Tag),
            OFS_DELTA => {
                let Some((distance, used)) = decode_distance(rest)? else { return Ok(None) };
                len += used;
                EntryForm::OfsDelta { distance }
            }
            REF_DELTA => {
                let Some(raw) = rest.get(..format.raw_len()) else { return Ok(None) };
                let Ok(base) = ObjectId::from_raw(raw) else { return Ok(None) };
                len += raw.len();
                EntryForm::RefDelta { base }
            }
            other => return Err(HeaderError::BadKind(other)),
        };
        Ok(Some((Self { form, inflated_size }, len)))
    }

    /// Appends the header to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let kind = match self.form {
            EntryForm::Whole(Kind::Commit) => 1,
            EntryForm::Whole(Kind::Tree) => 2,
            EntryForm::Whole(Kind::Blob) => 3,
            EntryForm::Whole(Kind::Tag) => 4,
            EntryForm::OfsDelta { .. } => OFS_DELTA,
            EntryForm::RefDelta { .. } => REF_DELTA,
        };
        encode_type_and_size(kind, self.inflated_size, out);
        match self.form {
            EntryForm::Whole(_) => {}
            EntryForm::OfsDelta { distance } => encode_distance(distance, out),
            EntryForm::RefDelta { base } => out.extend_from_slice(base.as_bytes()),
        }
    }
}

/// Appends a type (three bits) and a size, as an entry begins. Any type number is
/// encoded, so that tests can make invalid ones.
pub fn encode_type_and_size(kind: u8, size: u64, out: &mut Vec<u8>) {
    let mut byte = (kind & 7) << 4 | (size & 15) as u8;
    let mut rest = size >> 4;
    while rest != 0 {
        out.push(byte | CONTINUES);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

/// Appends the distance of an OFS_DELTA: big-endian groups of seven bits, each group
/// but the last less one.
pub fn encode_distance(distance: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; 10];
    let mut first = bytes.len() - 1;
    bytes[first] = (distance & 0x7f) as u8;
    let mut rest = distance >> 7;
    while rest != 0 {
        rest -= 1;
        first -= 1;
        bytes[first] = CONTINUES | (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.extend_from_slice(&bytes[first..]);
}

/// Appends a little-endian number of seven bits a byte, as deltas use for sizes.
pub fn encode_varint(number: u64, out: &mut Vec<u8>) {
    let mut rest = number;
    while rest > 0x7f {
        out.push(CONTINUES | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The little-endian number at the start of `bytes` and its length, or `None` when it
/// goes on after them.
pub fn decode_varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, HeaderError> {
    decode_groups(bytes, 0, 0)
}

fn decode_type_and_size(bytes: &[u8]) -> Result<Option<(u8, u64, usize)>, HeaderError> {
    let Some((&first, rest)) = bytes.split_first() else { return Ok(None) };
    let kind = first >> 4 & 7;
    let low = u64::from(first & 15);
    if first & CONTINUES == 0 {
        return Ok(Some((kind, low, 1)));
    }
    Ok(decode_groups(rest, low, 4)?.map(|(size, len)| (kind, size, len + 1)))
}

/// Seven bits a byte, least significant first, put above the `shift` bits in `low`.
fn decode_groups(
    bytes: &[u8],
    low: u64,
    mut shift: u32,
) -> Result<Option<(u64, usize)>, HeaderError> {
    let mut number = low;
    for (at, &byte) in bytes.iter().enumerate() {
        let group = u64::from(byte & 0x7f);
        if shift >= u64::BITS || (group << shift) >> shift != group {
            return Err(HeaderError::BadVarint);
        }
        number |= group << shift;
        if byte & CONTINUES == 0 {
            return Ok(Some((number, at + 1)));
        }
        shift += 7;
    }
    if shift >= u64::BITS { Err(HeaderError::BadVarint) } else { Ok(None) }
}

fn decode_distance(bytes: &[u8]) -> Result<Option<(u64, usize)>, HeaderError> {
    let mut distance: u64 = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let above =
            if at == 0 { 0 } else { distance.checked_add(1).ok_or(HeaderError::BadVarint)? };
        if above > u64::MAX >> 7 {
            return Err(HeaderError::BadVarint);
        }
        distance = above << 7 | u64::from(byte & 0x7f);
        if byte & CONTINUES == 0 {
            return Ok(Some((distance, at + 1)));
        }
    }
    if bytes.len() >= 10 { Err(HeaderError::BadVarint) } else { Ok(None) }
}

const OFS_DELTA: u8 = 6;
const REF_DELTA: u8 = 7;
const CONTINUES: u8 = 0x80;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn forms() -> impl Strategy<Value = EntryForm> {
        let kinds =
            prop_oneof![Just(Kind::Commit), Just(Kind::Tree), Just(Kind::Blob), Just(Kind::Tag)];
        prop_oneof![
            kinds.prop_map(EntryForm::Whole),
            any::<u64>().prop_map(|distance| EntryForm::OfsDelta { distance }),
            any::<[u8; 20]>()
                .prop_map(|raw| EntryForm::RefDelta { base: ObjectId::from_raw(&raw).unwrap() }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded_and_every_cut_asks_for_more(
            form in forms(),
            inflated_size: u64,
            shift in 0..64u32,
        ) {
            let header = EntryHeader { form, inflated_size: inflated_size >> shift };
            let mut bytes = Vec::new();
            header.encode(&mut bytes);
            prop_assert!(bytes.len() <= EntryHeader::MAX_LEN);
            for cut in 0..bytes.len() {
                prop_assert_eq!(EntryHeader::decode(&bytes[..cut], ObjectFormat::Sha1), Ok(None));
            }
            prop_assert_eq!(
                EntryHeader::decode(&bytes, ObjectFormat::Sha1),
                Ok(Some((header, bytes.len())))
            );
        }

        #[test]
        fn varints_come_back(number: u64, shift in 0..64u32) {
            let mut bytes = Vec::new();
            encode_varint(number >> shift, &mut bytes);
            prop_assert_eq!(decode_varint(&bytes), Ok(Some((number >> shift, bytes.len()))));
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let answer = EntryHeader::decode(&bytes, ObjectFormat::Sha256);
            prop_assert!(bytes.len() < EntryHeader::MAX_LEN || answer != Ok(None));
        }
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_refused_before_they_end() {
        for (prefix, bad) in [(0xb0, [0xff; 11]), (0xb0, [0x80; 11]), (0xe0, [0x80; 11])] {
            let mut bytes = vec![prefix];
            bytes.extend(bad);
            assert_eq!(
                EntryHeader::decode(&bytes, ObjectFormat::Sha1),
                Err(HeaderError::BadVarint)
            );
        }
        let mut distance = vec![0x60];
        distance.extend([0xff; 10]);
        assert_eq!(EntryHeader::decode(&distance, ObjectFormat::Sha1), Err(HeaderError::BadVarint));
        assert_eq!(decode_varint(&[0xff; 10]), Err(HeaderError::BadVarint));
    }

    #[test]
    fn types_0_and_5_are_refused_as_soon_as_they_are_seen() {
        for kind in [0, 5] {
            let mut bytes = Vec::new();
            encode_type_and_size(kind, 3, &mut bytes);
            assert_eq!(
                EntryHeader::decode(&bytes, ObjectFormat::Sha1),
                Err(HeaderError::BadKind(kind))
            );
        }
    }
}
