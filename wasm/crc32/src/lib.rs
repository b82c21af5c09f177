//! CRC-32 (IEEE) in few bytes, in place of the crate of that name.
//!
//! The inflater checks gzip's checksum through it. gitsip reads no gzip in a page, where the
//! browser has done that, but no compiler can know, and the tables of a fast CRC-32 are 16 KB
//! that no compression makes smaller. It has what the inflater calls, and is right and slow.

#![no_std]

/// A checksum under way.
#[derive(Clone, Debug)]
pub struct Hasher(u32);

impl Hasher {
    /// Goes on behind bytes whose checksum is `crc`; 0 when there are none.
    pub fn new_with_initial(crc: u32) -> Self {
        Self(crc)
    }

    /// Takes in further bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0 = !bytes.iter().fold(!self.0, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                (crc >> 1) ^ (REVERSED_POLYNOMIAL & (crc & 1).wrapping_neg())
            })
        });
    }

    /// The checksum of all bytes.
    pub fn finalize(self) -> u32 {
        self.0
    }
}

const REVERSED_POLYNOMIAL: u32 = 0xedb8_8320;

#[cfg(test)]
mod tests {
    use super::Hasher;

    #[test]
    fn the_check_value_comes_out_in_one_piece_and_in_two() {
        for split in 0..=9 {
            let (head, tail) = b"123456789".split_at(split);
            let mut first = Hasher::new_with_initial(0);
            first.update(head);
            let mut second = Hasher::new_with_initial(first.finalize());
            second.update(tail);
            assert_eq!(second.finalize(), 0xcbf4_3926);
        }
    }
}
