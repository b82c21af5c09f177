//! pkt-lines: how every message of git's protocol is cut into packets, and the sideband
//! that carries a pack beside progress and errors.
//!
//! Follows git's `protocol-common` ("pkt-line Format") and `protocol-pack` ("Packfile
//! Data"). The reader is a machine without I/O: it takes input cut anywhere, buffers a
//! line until it is whole, and hands payload on band 1 out as slices of the input,
//! uncopied. What the lines mean is `protocol`'s business.

mod error;

use crate::limits::{LimitExceeded, Which, check};

pub use error::{PktError, is_filter_refusal};

/// Bytes of the longest packet, length digits included (git's `LARGE_PACKET_MAX`).
pub const MAX_PACKET_BYTES: usize = 65_520;
/// Bytes of payload in the longest packet.
pub const MAX_DATA_BYTES: usize = MAX_PACKET_BYTES - HEAD_BYTES;
/// Bytes of the longest packet of the first sideband (`side-band` without `64k`), length
/// digits included.
pub const MAX_SMALL_PACKET_BYTES: usize = 1_000;
/// Ends a message.
pub const FLUSH: &[u8; 4] = b"0000";
/// Divides the sections of a message (version 2).
pub const DELIMITER: &[u8; 4] = b"0001";
/// Ends a response on a connection without state (version 2).
pub const RESPONSE_END: &[u8; 4] = b"0002";
/// Says on the sideband that this side is still there: a packet of band 1 without data.
pub const KEEPALIVE: &[u8; 5] = b"0005\x01";

const HEAD_BYTES: usize = 4;

/// Appends one packet that holds `data`.
///
/// ```
/// let mut out = Vec::new();
/// gitsip::pktline::encode(&mut out, b"want\n")?;
/// assert_eq!(out, b"0009want\n");
/// # Ok::<(), gitsip::pktline::PktError>(())
/// ```
///
/// # Errors
/// When `data` is longer than [`MAX_DATA_BYTES`].
pub fn encode(out: &mut Vec<u8>, data: &[u8]) -> Result<(), PktError> {
    encode_parts(out, &[data])
}

/// Appends one packet that holds `parts` one after the other.
///
/// # Errors
/// When they are longer than [`MAX_DATA_BYTES`] together.
pub fn encode_parts(out: &mut Vec<u8>, parts: &[&[u8]]) -> Result<(), PktError> {
    let len = parts.iter().fold(0usize, |sum, part| sum.saturating_add(part.len()));
    if len > MAX_DATA_BYTES {
        return Err(PktError::TooLong { len });
    }
    out.extend_from_slice(format!("{:04x}", len + HEAD_BYTES).as_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    Ok(())
}

/// Appends `data` on `band`, in as many packets as it takes; none when it is empty.
pub fn encode_band(out: &mut Vec<u8>, band: Band, data: &[u8]) {
    encode_band_within(out, MAX_PACKET_BYTES, band, data);
}

/// The same in packets of at most `max_packet_bytes`, length digits and band included;
/// what is too small for a byte of data, or over [`MAX_PACKET_BYTES`], is taken for the
/// nearest that is not.
pub fn encode_band_within(out: &mut Vec<u8>, max_packet_bytes: usize, band: Band, data: &[u8]) {
    let beside = HEAD_BYTES + 1;
    let max_packet_bytes = max_packet_bytes.clamp(beside + 1, MAX_PACKET_BYTES);
    for piece in data.chunks(max_packet_bytes - beside) {
        out.extend_from_slice(format!("{:04x}", piece.len() + 1 + HEAD_BYTES).as_bytes());
        out.push(band as u8);
        out.extend_from_slice(piece);
    }
}

/// Appends the packet in which one side tells the other, instead of a line, that it gives
/// up and why. Of `text` goes what a packet holds.
pub fn encode_error(out: &mut Vec<u8>, text: &[u8]) {
    let mark = b"ERR ";
    let text = text.get(..MAX_DATA_BYTES - mark.len()).unwrap_or(text);
    out.extend_from_slice(format!("{:04x}", HEAD_BYTES + mark.len() + text.len()).as_bytes());
    out.extend_from_slice(mark);
    out.extend_from_slice(text);
}

/// The channels of the sideband.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Band {
    /// The payload.
    Data = 1,
    /// Words for a person.
    Progress = 2,
    /// Words for a person, after which nothing follows.
    Error = 3,
}

/// What packets are to be read as. It may change between any two packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carriage {
    /// Each packet is a line.
    Lines,
    /// Each packet begins with its band, and band 1 carries lines (`sideband-all`).
    BandedLines,
    /// Each packet begins with its band, and band 1 carries a stream of bytes.
    BandedStream,
}

/// What a [`Reader`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// A piece of payload from band 1, as it came: where pieces are cut means nothing.
    Data(&'a [u8]),
    /// `0001`
    Delimiter,
    /// `0000`
    Flush,
    /// A whole line, in [`Reader::line`].
    Line,
    /// A piece of text for a person from band 2, as it came.
    Progress(&'a [u8]),
    /// `0002`
    ResponseEnd,
}

/// Reads packets from input that is cut anywhere.
///
/// It buffers at most one line, so at most [`MAX_DATA_BYTES`].
///
/// ```
/// use gitsip::pktline::{Carriage, Reader, Token};
///
/// let mut reader = Reader::new();
/// let mut input = &b"0006a\n0000"[..];
/// assert_eq!(reader.next(&mut input, Carriage::Lines)?, Some(Token::Line));
/// assert_eq!(reader.line(), b"a");
/// assert_eq!(reader.next(&mut input, Carriage::Lines)?, Some(Token::Flush));
/// assert_eq!(reader.next(&mut input, Carriage::Lines)?, None);
/// reader.finish()?;
/// # Ok::<(), gitsip::pktline::PktError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    state: State,
    /// Length digits that have come.
    head: [u8; HEAD_BYTES],
    head_len: usize,
    /// Bytes of the present packet that have not come.
    left: usize,
    /// The present line, or the last one.
    line: Vec<u8>,
    /// Bytes taken before the present packet.
    offset: u64,
    packet_bytes: u64,
    /// Bytes that were no payload of a [`Carriage::BandedStream`].
    other_bytes: u64,
    max_other_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between packets, or among length digits.
    Head,
    /// Before the first byte of a packet on some band.
    BandByte { lines: bool },
    /// In a line, or in text to be kept whole.
    Buffered(Meaning),
    /// In a piece of band 1 that is a stream.
    Data,
    /// In a piece of band 2.
    Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// A line, which may be an `ERR` packet.
    Line,
    /// A packet without a band where one is needed: an `ERR` packet or damage.
    Bandless,
    /// The text of band 3.
    Fatal,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    /// A reader at the start of a stream of any length.
    pub fn new() -> Self {
        Self {
            state: State::Head,
            head: [0; HEAD_BYTES],
            head_len: 0,
            left: 0,
            line: Vec::new(),
            offset: 0,
            packet_bytes: 0,
            other_bytes: 0,
            max_other_bytes: u64::MAX,
        }
    }

    /// The same for a stream of which at most `bytes` are no [`Token::Data`]: lines, text
    /// for a person, and what packets add, so that keepalives without end have one.
    #[must_use]
    pub fn with_max_other_bytes(mut self, bytes: u64) -> Self {
        self.max_other_bytes = bytes;
        self
    }

    /// The next token; `None` when all input was used. `input` is left at what follows
    /// the token.
    ///
    /// # Errors
    /// When a length or a band is none, and when the peer says that it gives up. The
    /// reader is of no use afterwards.
    pub fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
        carriage: Carriage,
    ) -> Result<Option<Token<'a>>, PktError> {
        loop {
            match self.state {
                State::Head => {
                    let Some(len) = self.take_head(input)? else { return Ok(None) };
                    if let Some(token) = self.begin(len, carriage)? {
                        return Ok(Some(token));
                    }
                }
                State::BandByte { lines } => {
                    let Some((&band, rest)) = input.split_first() else { return Ok(None) };
                    self.take_band(band, lines, rest, input)?;
                }
                State::Buffered(meaning) => {
                    let piece = self.take_piece(input);
                    self.line.extend_from_slice(piece);
                    if self.left > 0 {
                        return Ok(None);
                    }
                    self.state = State::Head;
                    return self.end_buffered(meaning).map(Some);
                }
                State::Data | State::Progress => {
                    let progress = self.state == State::Progress;
                    let piece = self.take_piece(input);
                    if self.left == 0 {
                        self.state = State::Head;
                    }
                    match (piece, progress) {
                        ([], _) if self.left > 0 => return Ok(None),
                        // A keepalive: a packet on a band without anything in it.
                        ([], _) => {}
                        (_, true) => return Ok(Some(Token::Progress(piece))),
                        (_, false) => return Ok(Some(Token::Data(piece))),
                    }
                }
            }
        }
    }

    /// The line of the last [`Token::Line`], without its line end.
    pub fn line(&self) -> &[u8] {
        self.line.strip_suffix(b"\n").unwrap_or(&self.line)
    }

    /// Whether the stream stands between two packets.
    pub fn is_between_packets(&self) -> bool {
        self.state == State::Head && self.head_len == 0
    }

    /// Says that no input follows.
    ///
    /// # Errors
    /// When a packet is cut off. If the peer was just saying why it gives up, the error
    /// is what came of that.
    pub fn finish(&self) -> Result<(), PktError> {
        match self.state {
            _ if self.is_between_packets() => Ok(()),
            State::Buffered(Meaning::Fatal) => {
                Err(PktError::Remote { text: self.line.as_slice().into() })
            }
            _ => Err(PktError::Truncated { offset: self.offset }),
        }
    }

    /// The whole packet's length, once its four digits have come.
    fn take_head(&mut self, input: &mut &[u8]) -> Result<Option<usize>, PktError> {
        if self.head_len == 0 {
            self.offset += std::mem::take(&mut self.packet_bytes);
        }
        let wanted = &mut self.head[self.head_len..];
        let taken = wanted.len().min(input.len());
        let (digits, rest) = input.split_at(taken);
        wanted[..taken].copy_from_slice(digits);
        *input = rest;
        self.head_len += taken;
        if self.head_len < HEAD_BYTES {
            return Ok(None);
        }
        self.head_len = 0;
        let bad = PktError::BadLength { offset: self.offset, digits: self.head };
        let len = decode_length(self.head).filter(|&len| len != 3 && len <= MAX_PACKET_BYTES);
        let len = len.ok_or(bad)?;
        self.packet_bytes = len.max(HEAD_BYTES) as u64;
        Ok(Some(len))
    }

    /// Enters the packet of length `len`, unless it is a token in itself.
    fn begin(
        &mut self,
        len: usize,
        carriage: Carriage,
    ) -> Result<Option<Token<'static>>, PktError> {
        self.count_other(HEAD_BYTES)?;
        self.left = match len {
            0 => return Ok(Some(Token::Flush)),
            1 => return Ok(Some(Token::Delimiter)),
            2 => return Ok(Some(Token::ResponseEnd)),
            _ => len.saturating_sub(HEAD_BYTES),
        };
        if carriage == Carriage::Lines {
            self.count_other(self.left)?;
        }
        self.line.clear();
        self.state = match carriage {
            Carriage::Lines => State::Buffered(Meaning::Line),
            // An empty packet says nothing on any band.
            _ if self.left == 0 => State::Head,
            Carriage::BandedLines => State::BandByte { lines: true },
            Carriage::BandedStream => State::BandByte { lines: false },
        };
        Ok(None)
    }

    fn take_band<'a>(
        &mut self,
        band: u8,
        lines: bool,
        rest: &'a [u8],
        input: &mut &'a [u8],
    ) -> Result<(), PktError> {
        self.count_other(if band == 1 && !lines { 1 } else { self.left })?;
        self.state = match band {
            // Nothing but the band is a keepalive, not an empty line.
            1 if lines && self.left > 1 => State::Buffered(Meaning::Line),
            1 => State::Data,
            2 => State::Progress,
            3 => State::Buffered(Meaning::Fatal),
            // The byte belongs to the text and is taken with it.
            _ => {
                self.state = State::Buffered(Meaning::Bandless);
                return Ok(());
            }
        };
        self.left = self.left.saturating_sub(1);
        *input = rest;
        Ok(())
    }

    fn count_other(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.other_bytes = self.other_bytes.saturating_add(bytes as u64);
        check(Which::RefBytes, self.max_other_bytes, self.other_bytes)
    }

    fn take_piece<'a>(&mut self, input: &mut &'a [u8]) -> &'a [u8] {
        let (piece, rest) = input.split_at(self.left.min(input.len()));
        self.left -= piece.len();
        *input = rest;
        piece
    }

    fn end_buffered(&self, meaning: Meaning) -> Result<Token<'static>, PktError> {
        let refusal = self.line.strip_prefix(b"ERR ");
        match (meaning, refusal) {
            (Meaning::Fatal, _) => Err(PktError::Remote { text: self.line.as_slice().into() }),
            (_, Some(text)) => Err(PktError::Remote { text: text.into() }),
            (Meaning::Line, None) => Ok(Token::Line),
            (Meaning::Bandless, None) => Err(PktError::BadBand {
                offset: self.offset,
                band: self.line.first().copied().unwrap_or_default(),
            }),
        }
    }
}

/// Exactly four hexadecimal digits.
fn decode_length(head: [u8; HEAD_BYTES]) -> Option<usize> {
    head.iter().try_fold(0usize, |sum, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(sum << 4 | usize::try_from(value).ok()?)
    })
}

#[cfg(test)]
mod tests;
