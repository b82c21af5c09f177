//! Deltas: an object as copies from its base and inserted bytes.
//!
//! Follows `gitformat-pack`, "Deltified representation". [`Delta::parse`] proves in one
//! cheap pass that a delta fits its base and makes what it declares; [`Delta::apply`]
//! then cannot fail. Whoever applies it has therefore the true size of the result before
//! a byte is allocated for it. Making good deltas is not done here, only simple ones.

use super::DeltaError;
use super::entry::{HeaderError, decode_varint, encode_varint};

/// The two sizes a delta begins with. They are claims until [`Delta::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaSizes {
    /// Bytes of the base.
    pub base: u64,
    /// Bytes of the result.
    pub result: u64,
    /// Where the instructions begin.
    instructions: usize,
}

impl DeltaSizes {
    /// The sizes at the start of `delta`, to hold against caps before anything else.
    pub fn parse(delta: &[u8]) -> Result<Self, DeltaError> {
        let number = |bytes| match decode_varint(bytes) {
            Ok(found) => found.ok_or(DeltaError::Truncated),
            Err(HeaderError::BadKind(_) | HeaderError::BadVarint) => Err(DeltaError::BadVarint),
        };
        let (base, first) = number(delta)?;
        let (result, second) = number(&delta[first..])?;
        Ok(Self { base, result, instructions: first + second })
    }
}

/// A delta that was proven to fit a base of a certain size.
///
/// ```
/// use gitsip::pack::delta::{Delta, DeltaEncoder};
///
/// let base = b"the quick brown fox";
/// let mut encoder = DeltaEncoder::new(19, 15);
/// encoder.copy(0, 10).insert(b"red").copy(17, 2);
/// let bytes = encoder.finish();
/// let delta = Delta::parse(&bytes, 19)?;
/// assert_eq!(delta.result_len(), 15);
/// let mut out = Vec::new();
/// delta.apply(base, &mut out);
/// assert_eq!(out, b"the quick redox");
/// assert!(Delta::parse(&bytes, 18).is_err());
/// # Ok::<(), gitsip::pack::DeltaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Delta<'a> {
    instructions: &'a [u8],
    result_len: usize,
}

impl<'a> Delta<'a> {
    /// Proves that `delta` fits a base of `base_len` bytes. Allocates nothing.
    pub fn parse(delta: &'a [u8], base_len: usize) -> Result<Self, DeltaError> {
        let sizes = DeltaSizes::parse(delta)?;
        if sizes.base != base_len as u64 {
            return Err(DeltaError::WrongBaseSize {
                declared: sizes.base,
                actual: base_len as u64,
            });
        }
        let instructions = &delta[sizes.instructions..];
        let mut made: u64 = 0;
        let mut rest = instructions;
        while let Some((instruction, after)) = Instruction::decode(rest)? {
            rest = after;
            made += match instruction {
                Instruction::Copy { offset, len } => {
                    if offset as u64 + len as u64 > base_len as u64 {
                        return Err(DeltaError::CopyPastBase);
                    }
                    len as u64
                }
                Instruction::Insert(bytes) => bytes.len() as u64,
            };
            if made > sizes.result {
                return Err(DeltaError::ResultTooLong);
            }
        }
        match usize::try_from(made) {
            Ok(result_len) if made == sizes.result => Ok(Self { instructions, result_len }),
            _ => Err(DeltaError::ResultTooShort),
        }
    }

    /// Bytes of the result: what the instructions make, not merely what was declared.
    pub fn result_len(&self) -> usize {
        self.result_len
    }

    /// Appends the result to `out`. `base` must have the length the delta was parsed
    /// for; of another base only a part of the result is made.
    pub fn apply(&self, base: &[u8], out: &mut Vec<u8>) {
        out.reserve(self.result_len);
        let mut rest = self.instructions;
        while let Ok(Some((instruction, after))) = Instruction::decode(rest) {
            rest = after;
            match instruction {
                Instruction::Copy { offset, len } => {
                    let Some(bytes) = base.get(offset..offset + len) else { return };
                    out.extend_from_slice(bytes);
                }
                Instruction::Insert(bytes) => out.extend_from_slice(bytes),
            }
        }
    }
}

enum Instruction<'a> {
    Copy { offset: usize, len: usize },
    Insert(&'a [u8]),
}

impl<'a> Instruction<'a> {
    /// The instruction at the start of `bytes` and what follows it; `None` at the end.
    #[inline(always)]
    fn decode(bytes: &'a [u8]) -> Result<Option<(Self, &'a [u8])>, DeltaError> {
        let Some((&op, rest)) = bytes.split_first() else { return Ok(None) };
        if op & COPY != 0 {
            let (offset, len, rest) = decode_copy(op, rest).ok_or(DeltaError::Truncated)?;
            return Ok(Some((Self::Copy { offset, len }, rest)));
        }
        if op == 0 {
            return Err(DeltaError::ReservedOpcode);
        }
        let (insert, rest) = rest.split_at_checked(usize::from(op)).ok_or(DeltaError::Truncated)?;
        Ok(Some((Self::Insert(insert), rest)))
    }
}

/// The operands of a copy: of four bytes of offset and three of length those that `op`
/// names. A length of zero is 64 KiB.
#[inline(always)]
fn decode_copy(op: u8, bytes: &[u8]) -> Option<(usize, usize, &[u8])> {
    let mut fields = [0u8; 8];
    let mut used = 0;
    for (bit, field) in fields.iter_mut().enumerate().take(7) {
        if op & 1 << bit != 0 {
            *field = *bytes.get(used)?;
            used += 1;
        }
    }
    let [o0, o1, o2, o3, l0, l1, l2, _] = fields;
    let offset = u32::from_le_bytes([o0, o1, o2, o3]) as usize;
    let len = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
    Some((offset, if len == 0 { DEFAULT_COPY_BYTES } else { len }, &bytes[used..]))
}

/// Writes a delta instruction by instruction. It does not check that they make what
/// the sizes say: tests need deltas that do not.
#[derive(Clone, Debug)]
pub struct DeltaEncoder(Vec<u8>);

impl DeltaEncoder {
    /// A delta that declares these sizes.
    pub fn new(base_len: u64, result_len: u64) -> Self {
        let mut bytes = Vec::new();
        encode_varint(base_len, &mut bytes);
        encode_varint(result_len, &mut bytes);
        Self(bytes)
    }

    /// Copies `len` bytes from `offset` of the base, in as many instructions as that
    /// takes.
    pub fn copy(&mut self, offset: u32, len: u32) -> &mut Self {
        let (mut offset, mut left) = (offset, len);
        while left > 0 {
            let len = left.min(MAX_COPY_BYTES);
            self.copy_once(offset, len);
            offset = offset.wrapping_add(len);
            left -= len;
        }
        self
    }

    /// Inserts `bytes`, in as many instructions as that takes.
    pub fn insert(&mut self, bytes: &[u8]) -> &mut Self {
        for piece in bytes.chunks(MAX_INSERT_BYTES) {
            self.0.push(piece.len() as u8);
            self.0.extend_from_slice(piece);
        }
        self
    }

    /// The delta.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn copy_once(&mut self, offset: u32, len: u32) {
        let at = self.0.len();
        self.0.push(COPY);
        let [o0, o1, o2, o3] = offset.to_le_bytes();
        let [l0, l1, l2, _] =
            if len as usize == DEFAULT_COPY_BYTES { [0; 4] } else { len.to_le_bytes() };
        for (bit, byte) in [o0, o1, o2, o3, l0, l1, l2].into_iter().enumerate() {
            if byte != 0 {
                self.0[at] |= 1 << bit;
                self.0.push(byte);
            }
        }
    }
}

/// A delta that makes `target` from `base` by copying what they share at both ends and
/// inserting the rest. Both must be under 4 GiB.
pub fn encode(base: &[u8], target: &[u8]) -> Vec<u8> {
    let prefix = base.iter().zip(target).take_while(|(a, b)| a == b).count();
    let (base_rest, target_rest) = (&base[prefix..], &target[prefix..]);
    let suffix =
        base_rest.iter().rev().zip(target_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut encoder = DeltaEncoder::new(base.len() as u64, target.len() as u64);
    encoder
        .copy(0, prefix as u32)
        .insert(&target_rest[..target_rest.len() - suffix])
        .copy((base.len() - suffix) as u32, suffix as u32);
    encoder.finish()
}

const COPY: u8 = 0x80;
const DEFAULT_COPY_BYTES: usize = 0x1_0000;
const MAX_COPY_BYTES: u32 = 0xff_ffff;
const MAX_INSERT_BYTES: usize = 127;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The format read off its description, one byte at a time.
    fn naive(delta: &[u8], base: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = delta.iter().copied();
        let mut size = || -> Option<u64> {
            let mut number = 0u128;
            for shift in (0..).step_by(7) {
                let byte = bytes.next()?;
                if shift > 63 {
                    return None;
                }
                number |= u128::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            u64::try_from(number).ok()
        };
        let (base_size, result_size) = (size()?, size()?);
        if base_size != base.len() as u64 {
            return None;
        }
        let mut out = Vec::new();
        while let Some(op) = bytes.next() {
            if op == 0 {
                return None;
            } else if op < 0x80 {
                for _ in 0..op {
                    out.push(bytes.next()?);
                }
            } else {
                let mut operand = |bits: std::ops::Range<u32>| -> Option<usize> {
                    let first = bits.start;
                    bits.filter(|bit| op >> bit & 1 == 1).try_fold(0, |sum, bit| {
                        Some(sum | usize::from(bytes.next()?) << (8 * (bit - first)))
                    })
                };
                let offset = operand(0..4)?;
                let len = Some(operand(4..7)?).filter(|&len| len > 0).unwrap_or(0x10000);
                out.extend_from_slice(base.get(offset..offset + len)?);
            }
        }
        (out.len() as u64 == result_size).then_some(out)
    }

    fn checked(delta: &[u8], base: &[u8]) -> Option<Vec<u8>> {
        let delta = Delta::parse(delta, base.len()).ok()?;
        let mut out = b"kept".to_vec();
        delta.apply(base, &mut out);
        assert_eq!(out.len(), 4 + delta.result_len());
        Some(out.split_off(4))
    }

    fn instructions() -> impl Strategy<Value = Vec<Result<(u32, u32), Vec<u8>>>> {
        let one = prop_oneof![
            (0..70_000u32, 1..70_000u32).prop_map(Ok),
            prop::collection::vec(any::<u8>(), 1..300).prop_map(Err),
        ];
        prop::collection::vec(one, 0..12)
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_naive_applier(
            base_len in 0..140_000usize,
            instructions in instructions(),
            lie in 0..8u64,
            flip in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let base: Vec<u8> = (0..base_len).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect();
            let made: u64 = instructions.iter().map(|one| match one {
                Ok((_, len)) => u64::from(*len),
                Err(bytes) => bytes.len() as u64,
            }).sum();
            let mut encoder = DeltaEncoder::new(base_len as u64, made + lie / 7);
            for one in &instructions {
                match one {
                    Ok((offset, len)) => encoder.copy(*offset, *len),
                    Err(bytes) => encoder.insert(bytes),
                };
            }
            let mut delta = encoder.finish();
            if let Some(flip) = flip {
                let bit = flip.index(delta.len() * 8);
                delta[bit / 8] ^= 1 << (bit % 8);
            }
            prop_assert_eq!(checked(&delta, &base), naive(&delta, &base));
        }

        #[test]
        fn any_bytes_are_answered_as_the_naive_applier_does(
            base_len in 0..128u8,
            rest in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut delta = vec![base_len];
            delta.extend(rest);
            let base = vec![1; usize::from(base_len)];
            prop_assert_eq!(checked(&delta, &base), naive(&delta, &base));
        }

        #[test]
        fn an_encoded_delta_makes_its_target(
            base in prop::collection::vec(0..4u8, 0..400),
            target in prop::collection::vec(0..4u8, 0..400),
        ) {
            prop_assert_eq!(checked(&encode(&base, &target), &base), Some(target));
        }
    }

    #[test]
    fn every_failure_is_its_own_error() {
        let base = [0u8; 100];
        let parse = |bytes: &[u8]| Delta::parse(bytes, base.len()).map(|d| d.result_len());
        assert_eq!(parse(&[100, 10, 0x90, 10]), Ok(10));
        assert_eq!(parse(&[100, 1, 0]), Err(DeltaError::ReservedOpcode));
        assert_eq!(parse(&[100, 10, 0x91, 95, 10]), Err(DeltaError::CopyPastBase));
        assert_eq!(parse(&[100, 10, 0x91, 95]), Err(DeltaError::Truncated));
        assert_eq!(parse(&[100, 3, 3, 1, 2]), Err(DeltaError::Truncated));
        assert_eq!(parse(&[100]), Err(DeltaError::Truncated));
        assert_eq!(parse(&[100, 10, 0x90, 10, 1, 7]), Err(DeltaError::ResultTooLong));
        assert_eq!(parse(&[100, 11, 0x90, 10]), Err(DeltaError::ResultTooShort));
        assert_eq!(
            parse(&[99, 10, 0x90, 10]),
            Err(DeltaError::WrongBaseSize { declared: 99, actual: 100 })
        );
        assert_eq!(parse(&[0xff; 11]), Err(DeltaError::BadVarint));
    }
}
