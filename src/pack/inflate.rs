//! Deflate, both ways: the only file that names a zlib crate.
//!
//! [`Inflater`] takes a stream in pieces and keeps its output in a scratch buffer that
//! grows as bytes appear; [`ExactInflater`] inflates a stream that is all there, which is
//! faster. Neither writes more than the size it was told, and neither believes that size
//! before the bytes are there. The format is zlib's (RFC 1950), its checksum is verified.

use sirocco::Format;
use sirocco::inflate::{Decoder, Error, Scanner};

use crate::limits::{Budget, LimitExceeded, Reservation};

/// Why a stream was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InflateError {
    /// The stream is damaged; the text says how.
    #[error("{0}")]
    Damaged(&'static str),
    /// The output would be larger than the budget allows.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The stream holds more bytes than declared.
    #[error("it holds more bytes than declared")]
    TooLong,
    /// The stream holds fewer bytes than declared.
    #[error("it holds fewer bytes than declared")]
    TooShort,
}

/// What a call of [`Inflater::push`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// Input bytes used; the rest must be given again.
    pub consumed: usize,
    /// Whether the stream ended here, with its checksum and its size right.
    pub done: bool,
}

/// Inflates one stream after another, each in as many pieces as it comes in.
///
/// The output of the present stream stays in one buffer, which the next stream uses
/// again. A call does at most 64 KiB of output, so that whoever drives it can look at
/// the clock.
pub struct Inflater {
    decoder: Box<Decoder>,
    /// Initialised bytes, of which `..len` are the present stream's output.
    scratch: Vec<u8>,
    len: usize,
    declared: u64,
    fresh: bool,
    /// What goes through a stream whose output nobody wants.
    scanner: Option<Box<Scanner>>,
    held: Reservation,
}

impl Inflater {
    /// Output bytes of one [`push`](Self::push) at most.
    pub const STEP_BYTES: usize = 64 << 10;

    /// Scratch above this is given back when the next stream needs far less.
    const KEEP_BYTES: usize = 1 << 20;

    /// An inflater whose buffer is spent from `budget` as it grows.
    pub fn new(budget: &Budget) -> Self {
        Self {
            decoder: Box::new(Decoder::new(Format::Zlib)),
            scratch: Vec::new(),
            len: 0,
            declared: 0,
            fresh: true,
            scanner: None,
            held: budget.empty(),
        }
    }

    /// Starts a stream that should inflate to `declared` bytes, abandoning any other.
    pub fn begin(&mut self, declared: u64) {
        self.decoder.reset();
        self.scanner = None;
        self.len = 0;
        self.declared = declared;
        self.fresh = true;
        if self.scratch.len() > Self::KEEP_BYTES && declared < Self::KEEP_BYTES as u64 {
            self.scratch = Vec::new();
            // Shrinking a reservation cannot fail.
            let _ = self.held.resize(0);
        }
    }

    /// Starts a stream of which only the end is looked for: no output is made, and no memory
    /// spent. Its size is checked as ever, its checksum is not.
    pub fn begin_skipping(&mut self, declared: u64) {
        self.begin(declared);
        self.scanner = Some(Box::new(Scanner::new(Format::Zlib)));
    }

    /// Inflates some of `input`.
    ///
    /// After an error the stream is over; only [`begin`](Self::begin) makes sense.
    pub fn push(&mut self, input: &[u8]) -> Result<Inflated, InflateError> {
        if let Some(scanner) = &mut self.scanner {
            let consumed = match scanner.scan(input, false) {
                Ok(end) => end,
                Err(error) => return Err(InflateError::Damaged(describe(error))),
            };
            let (done, size) = (consumed.is_some(), scanner.total_out());
            if size > self.declared {
                return Err(InflateError::TooLong);
            }
            if done && size < self.declared {
                return Err(InflateError::TooShort);
            }
            return Ok(Inflated { consumed: consumed.unwrap_or(input.len()), done });
        }
        let window = self.window()?;
        // When the whole stream is likely to be here, decode as if it were: that loop is
        // faster. Should it not be, or be bad, the other one finds out from the start.
        if std::mem::take(&mut self.fresh) && input.len() as u64 >= self.declared / 2 {
            match self.decoder.decompress(input, &mut self.scratch[..window], true) {
                Ok(progress) => {
                    self.len = progress.output.len();
                    let (consumed, done) = (progress.consumed, progress.done);
                    return self.after(consumed, done);
                }
                Err(_) => self.decoder.reset(),
            }
        }
        match self.decoder.decompress(input, &mut self.scratch[..window], false) {
            Ok(progress) => {
                self.len += progress.output.len();
                let (consumed, done) = (progress.consumed, progress.done);
                self.after(consumed, done)
            }
            // There was room for all that was declared.
            Err(Error::BufferFull) => Err(InflateError::TooLong),
            Err(error) => Err(InflateError::Damaged(describe(error))),
        }
    }

    /// The output of the present stream so far.
    pub fn bytes(&self) -> &[u8] {
        &self.scratch[..self.len]
    }

    fn after(&self, consumed: usize, done: bool) -> Result<Inflated, InflateError> {
        if done && (self.len as u64) < self.declared {
            return Err(InflateError::TooShort);
        }
        Ok(Inflated { consumed, done })
    }

    /// How much of the scratch the next call may fill: a step more than there is, never
    /// more than declared. Makes the scratch that long, by doubling.
    fn window(&mut self) -> Result<usize, LimitExceeded> {
        let window = self.len + Self::STEP_BYTES;
        let window = usize::try_from(self.declared).map_or(window, |declared| declared.min(window));
        if self.scratch.len() < window {
            // Doubled so that it seldom moves, but never beyond what this stream may need.
            let doubled = self.scratch.len().saturating_mul(2).max(Self::STEP_BYTES);
            let needed = usize::try_from(self.declared).unwrap_or(usize::MAX);
            let len = window.max(doubled.min(needed.max(Self::STEP_BYTES)));
            self.held.resize(len as u64)?;
            self.scratch.reserve_exact(len - self.scratch.len());
            self.scratch.resize(len, 0);
        }
        Ok(window)
    }
}

/// Inflates streams that are in one piece and whose size is known.
pub struct ExactInflater(Box<Decoder>);

impl Default for ExactInflater {
    fn default() -> Self {
        Self(Box::new(Decoder::new(Format::Zlib)))
    }
}

impl ExactInflater {
    /// Inflates the stream at the start of `input` into `out`, which will hold exactly
    /// its `size` bytes and may hold anything before. Returns the stream's length.
    ///
    /// The caller has checked `size` against its cap and budget. A size that `input`
    /// cannot possibly inflate to (deflate reaches 1,032 to 1) is refused before `out`
    /// grows.
    pub fn inflate(
        &mut self,
        input: &[u8],
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, InflateError> {
        if size / MAX_DEFLATE_RATIO > input.len() {
            return Err(InflateError::TooShort);
        }
        // Not cleared first: what is there need not be zeroed again.
        out.resize(size, 0);
        self.0.reset();
        match self.0.decompress(input, out, true) {
            Ok(progress) if progress.done && progress.output.len() == size => Ok(progress.consumed),
            Ok(progress) if progress.done => Err(InflateError::TooShort),
            Ok(_) | Err(Error::BufferFull) => Err(InflateError::TooLong),
            Err(error) => Err(InflateError::Damaged(describe(error))),
        }
    }
}

/// As [`ExactInflater::inflate`], for a single stream.
///
/// ```
/// use gitsip::pack::inflate::{deflate, inflate_exact};
///
/// let stream = deflate(b"hello hello hello", 6);
/// let mut out = Vec::new();
/// assert_eq!(inflate_exact(&stream, 17, &mut out), Ok(stream.len()));
/// assert_eq!(out, b"hello hello hello");
/// assert!(inflate_exact(&stream, 16, &mut out).is_err());
/// ```
pub fn inflate_exact(input: &[u8], size: usize, out: &mut Vec<u8>) -> Result<usize, InflateError> {
    ExactInflater::default().inflate(input, size, out)
}

/// `bytes` as a zlib stream. `level` is zlib's, 0 to 9; more counts as 9.
pub fn deflate(bytes: &[u8], level: u8) -> Vec<u8> {
    sirocco::compress(Format::Zlib, sirocco::deflate::Level::new(level.min(9)), bytes)
}

fn describe(error: Error) -> &'static str {
    match error {
        Error::BadData => "invalid deflate data",
        Error::ChecksumMismatch => "its Adler-32 checksum does not match",
        Error::PresetDictionary => "it needs a preset dictionary",
        Error::Truncated => "the stream is cut off",
        _ => "the stream cannot be decoded",
    }
}

/// Deflate cannot do better: 258 bytes from two bits.
const MAX_DEFLATE_RATIO: usize = 1_032;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Inflates `stream` in pieces of `piece` bytes; what came out and was left over.
    fn in_pieces(
        stream: &[u8],
        declared: u64,
        piece: usize,
    ) -> Result<(Vec<u8>, usize), InflateError> {
        let budget = Budget::new(1 << 30);
        let mut inflater = Inflater::new(&budget);
        inflater.begin(declared);
        let mut at = 0;
        loop {
            let end = stream.len().min(at + piece);
            let step = inflater.push(&stream[at..end])?;
            at += step.consumed;
            if step.done {
                return Ok((inflater.bytes().to_vec(), stream.len() - at));
            }
            if at == stream.len() {
                return Err(InflateError::Damaged("cut"));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_split_gives_the_same_bytes_or_the_same_error(
            words in prop::collection::vec(0..40u8, 0..3_000),
            level in 0..10u8,
            off_by in -2..3i64,
            flip in prop::option::of(any::<prop::sample::Index>()),
            piece in 1..200usize,
        ) {
            let mut stream = deflate(&words, level);
            if let Some(flip) = flip {
                let bit = flip.index(stream.len() * 8);
                stream[bit / 8] ^= 1 << (bit % 8);
            }
            stream.extend(b"next entry");
            let declared = (words.len() as i64 + off_by).max(0) as u64;
            let whole = in_pieces(&stream, declared, stream.len());
            prop_assert_eq!(&in_pieces(&stream, declared, piece), &whole);
            prop_assert_eq!(&in_pieces(&stream, declared, 1), &whole);
            if flip.is_none() && declared == words.len() as u64 {
                prop_assert_eq!(whole, Ok((words, 10)));
            }
        }
    }

    #[test]
    fn wrong_sizes_are_told_apart() {
        let stream = deflate(&[7; 1000], 6);
        for piece in [1, 1000] {
            assert_eq!(in_pieces(&stream, 999, piece), Err(InflateError::TooLong));
            assert_eq!(in_pieces(&stream, 0, piece), Err(InflateError::TooLong));
            assert_eq!(in_pieces(&stream, 1001, piece), Err(InflateError::TooShort));
        }
        let mut out = Vec::new();
        assert_eq!(inflate_exact(&stream, 999, &mut out), Err(InflateError::TooLong));
        assert_eq!(inflate_exact(&stream, 1001, &mut out), Err(InflateError::TooShort));
        assert_eq!(inflate_exact(&stream, 1000, &mut out), Ok(stream.len()));
    }

    #[test]
    fn a_bomb_stops_at_the_declared_size_and_spends_no_more_than_appeared() {
        let stream = deflate(&vec![0; 8 << 20], 9);
        let budget = Budget::new(1 << 30);
        let mut inflater = Inflater::new(&budget);
        inflater.begin(10);
        let first = inflater.push(&stream).unwrap();
        assert_eq!(inflater.push(&stream[first.consumed..]), Err(InflateError::TooLong));
        assert!(inflater.bytes().len() <= 10);

        inflater.begin(1 << 40);
        inflater.push(&stream[..64]).unwrap();
        assert!(budget.used_bytes() <= 2 * Inflater::STEP_BYTES as u64);
        let mut out = Vec::new();
        assert_eq!(inflate_exact(&stream, 1 << 30, &mut out), Err(InflateError::TooShort));
        assert_eq!(out.capacity(), 0);
    }

    #[test]
    fn a_stream_a_little_over_half_of_the_budget_fits() {
        let content = vec![1; (5 << 20) + 1];
        let budget = Budget::new(content.len() as u64 + 1_000);
        let mut inflater = Inflater::new(&budget);
        let stream = deflate(&content, 1);
        inflater.begin(content.len() as u64);
        let mut at = 0;
        while !{
            let step = inflater.push(&stream[at..]).unwrap();
            at += step.consumed;
            step.done
        } {}
        assert_eq!(inflater.bytes(), content);
        assert_eq!(budget.used_bytes(), content.len() as u64);
    }

    #[test]
    fn a_large_scratch_is_given_back() {
        let budget = Budget::new(8 << 20);
        let mut inflater = Inflater::new(&budget);
        let large = deflate(&vec![1; 3 << 20], 1);
        inflater.begin(3 << 20);
        let mut at = 0;
        while !{
            let step = inflater.push(&large[at..]).unwrap();
            at += step.consumed;
            step.done
        } {}
        assert!(budget.used_bytes() >= 3 << 20);
        inflater.begin(5);
        assert_eq!(budget.used_bytes(), 0);
    }
}
