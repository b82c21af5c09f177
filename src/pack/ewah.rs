//! Compressed bits: EWAH, as it stands in bitmap files.
//!
//! Follows `gitformat-bitmap`, "Appendix A". Bits come in words of 64, the lowest bit first. A
//! marker says how many words of only zeros or only ones follow, and how many words as they
//! are come after these.

use super::helper::Chunk;
use super::id_table::u32_at;

/// Compressed bits within a file, which were checked to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ewah {
    words: Chunk,
}

impl Ewah {
    /// The bits that begin at `at`, and where they end. `None` when they are damaged, or need
    /// more than `max_words` words.
    pub(crate) fn parse(bytes: &[u8], at: usize, max_words: usize) -> Option<(Self, usize)> {
        // The count of bits says nothing new, and the place of the last marker is for writers.
        let words = u32_at(bytes, at.checked_add(4)?)? as usize;
        let start = at.checked_add(8)?;
        let end = words.checked_mul(8)?.checked_add(start).filter(|&end| end <= bytes.len())?;
        u32_at(bytes, end)?;
        let ewah = Self { words: Chunk { start, end } };
        let mut left = max_words as u64;
        let mut literals = 0;
        for word in ewah.words(bytes) {
            if literals > 0 {
                literals -= 1;
                continue;
            }
            let marker = Marker::of(word);
            left = left.checked_sub(marker.run)?.checked_sub(marker.literals)?;
            literals = marker.literals;
        }
        (literals == 0).then_some((ewah, end + 4))
    }

    /// Flips the bits of `into` that are set here.
    pub(crate) fn xor_into(&self, bytes: &[u8], into: &mut [u64]) {
        let mut place = 0_usize;
        let mut literals = 0;
        for word in self.words(bytes) {
            if literals > 0 {
                literals -= 1;
                if let Some(into) = into.get_mut(place) {
                    *into ^= word;
                }
                place += 1;
                continue;
            }
            let marker = Marker::of(word);
            literals = marker.literals;
            let end = place.saturating_add(usize::try_from(marker.run).unwrap_or(usize::MAX));
            if marker.is_of_ones {
                into.get_mut(place..end).into_iter().flatten().for_each(|word| *word = !*word);
            }
            place = end;
        }
    }

    fn words<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let (words, _) = self.words.of(bytes).as_chunks();
        words.iter().map(|word| u64::from_be_bytes(*word))
    }
}

/// What follows in a list of words.
struct Marker {
    is_of_ones: bool,
    /// Words that are not there, since they are all the same.
    run: u64,
    /// Words that follow as they are.
    literals: u64,
}

impl Marker {
    fn of(word: u64) -> Self {
        Self { is_of_ones: word & 1 == 1, run: word >> 1 & 0xffff_ffff, literals: word >> 33 }
    }
}
