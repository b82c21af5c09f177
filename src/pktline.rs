//! pkt-lines: how every message of git's protocol is cut into packets, and the sideband
//! that carries a pack beside progress and errors.
//!
//! Follows git's `protocol-common` ("pkt-line Format") and `protocol-pack` ("Packfile
//! Data"). The reader is a machine without I/O: it takes input cut anywhere, buffers a
//! line until it is whole, and hands payload on band 1 out as slices of the input,
//! uncopied. What the lines mean is `protocol`'s business.

use bstr::{BString, ByteSlice as _};

use crate::error::{Error, ErrorKind};
use crate::limits::{LimitExceeded, Which, check};
use crate::text::escape_for_people;

/// Bytes of the longest packet, length digits included (git's `LARGE_PACKET_MAX`).
pub const MAX_PACKET_BYTES: usize = 65_520;
/// Bytes of payload in the longest packet.
pub const MAX_DATA_BYTES: usize = MAX_PACKET_BYTES - HEAD_BYTES;
/// Ends a message.
pub const FLUSH: &[u8; 4] = b"0000";
/// Divides the sections of a message (version 2).
pub const DELIMITER: &[u8; 4] = b"0001";
/// Ends a response on a connection without state (version 2).
pub const RESPONSE_END: &[u8; 4] = b"0002";

const HEAD_BYTES: usize = 4;

/// Why packets could not be read or written. `offset` counts bytes of the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PktError {
    /// A packet on no known band, where bands are spoken.
    #[error("the packet at byte {offset} is on the unknown band {band}")]
    BadBand {
        /// Where the packet begins.
        offset: u64,
        /// The number it begins with.
        band: u8,
    },
    /// Four bytes that are no length.
    #[error("'{}' at byte {offset} is no packet length", escape_for_people(digits))]
    BadLength {
        /// Where they are.
        offset: u64,
        /// What stands there.
        digits: [u8; 4],
    },
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// The peer ended the conversation: an `ERR` packet, or band 3.
    #[error("the remote says: {}", escape_for_people(text.trim_ascii()))]
    Remote {
        /// Its words, as they came.
        text: BString,
    },
    /// A packet to be written is longer than a packet may be.
    #[error("a line of {len} bytes does not fit into a packet of {MAX_DATA_BYTES}")]
    TooLong {
        /// Bytes of its payload.
        len: usize,
    },
    /// The stream ended inside a packet.
    #[error("the stream ends inside the packet at byte {offset}")]
    Truncated {
        /// Where the packet begins.
        offset: u64,
    },
}

impl From<PktError> for Error {
    fn from(error: PktError) -> Self {
        let kind = match &error {
            PktError::Limit(limit) => return Self::from(*limit),
            PktError::BadBand { .. } | PktError::BadLength { .. } => ErrorKind::Malformed,
            PktError::Remote { text } => kind_of_remote_text(text),
            PktError::TooLong { .. } => ErrorKind::Usage,
            PktError::Truncated { .. } => ErrorKind::Transport,
        };
        let code = match &error {
            PktError::Remote { text } if text.contains_str("not our ref") => "not_our_ref",
            _ => kind.code(),
        };
        Self::new(kind, error.to_string()).with_code(code).with_source(error)
    }
}

/// Who is to blame, from words that servers are known to use. Anything unknown is the
/// host's failure.
fn kind_of_remote_text(text: &[u8]) -> ErrorKind {
    const NOT_FOUND: &[&str] =
        &["not our ref", "not found", "unknown ref", "does not exist", "not exported"];
    const AUTH: &[&str] = &["access denied", "authentication", "permission denied", "unauthorized"];
    let text = text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| text.contains_str(words));
    if is_filter_refusal(&text) {
        ErrorKind::Unsupported
    } else if says(NOT_FOUND) {
        ErrorKind::NotFound
    } else if says(AUTH) {
        ErrorKind::Auth
    } else {
        ErrorKind::Transport
    }
}

/// Whether a server's words refuse an object filter, in any of the ways git and the
/// large hosts put it.
pub fn is_filter_refusal(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains_str("filter")
        && ["not supported", "unsupported", "not allowed", "not recognized", "not enabled"]
            .into_iter()
            .any(|words| text.contains_str(words))
}

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
    for piece in data.chunks(MAX_DATA_BYTES - 1) {
        out.extend_from_slice(format!("{:04x}", piece.len() + 1 + HEAD_BYTES).as_bytes());
        out.push(band as u8);
        out.extend_from_slice(piece);
    }
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Everything read from a stream, pieces of the same band joined.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Seen {
        tokens: Vec<(&'static str, Vec<u8>)>,
        error: Option<PktError>,
    }

    impl Seen {
        fn add(&mut self, name: &'static str, bytes: &[u8]) {
            match self.tokens.last_mut() {
                Some((last, joined)) if *last == name && ["data", "progress"].contains(&name) => {
                    joined.extend_from_slice(bytes);
                }
                _ => self.tokens.push((name, bytes.to_vec())),
            }
        }
    }

    fn read(pieces: &[&[u8]], carriage: Carriage) -> Seen {
        let mut seen = Seen::default();
        let mut reader = Reader::new();
        for &piece in pieces {
            let mut input = piece;
            loop {
                match reader.next(&mut input, carriage) {
                    Ok(None) => break assert!(input.is_empty()),
                    Ok(Some(Token::Line)) => seen.add("line", reader.line()),
                    Ok(Some(Token::Data(bytes))) => seen.add("data", bytes),
                    Ok(Some(Token::Progress(bytes))) => seen.add("progress", bytes),
                    Ok(Some(Token::Flush)) => seen.add("flush", b""),
                    Ok(Some(Token::Delimiter)) => seen.add("delimiter", b""),
                    Ok(Some(Token::ResponseEnd)) => seen.add("response-end", b""),
                    Err(error) => {
                        seen.error = Some(error);
                        return seen;
                    }
                }
            }
        }
        seen.error = reader.finish().err();
        seen
    }

    fn lines(input: &[u8]) -> Result<Vec<Vec<u8>>, PktError> {
        let seen = read(&[input], Carriage::Lines);
        match seen.error {
            Some(error) => Err(error),
            None => Ok(seen.tokens.into_iter().map(|(_, bytes)| bytes).collect()),
        }
    }

    fn remote(text: &str) -> PktError {
        PktError::Remote { text: text.into() }
    }

    #[test]
    fn only_four_hexadecimal_digits_are_a_length() {
        for digits in [b"-001", b"0x1f", b"0003", b"ZZZZ", b"fff1", b"ffff", b" 004", b"+004"] {
            let input = [b"0005a", &digits[..], b"                "].concat();
            assert_eq!(lines(&input), Err(PktError::BadLength { offset: 5, digits: *digits }));
        }
        assert_eq!(lines(b"0004").unwrap(), [b""]);
        assert_eq!(lines(b"000Ahello\n").unwrap(), [b"hello"]);
        let longest = [b"fff0", vec![b'x'; MAX_DATA_BYTES].as_slice()].concat();
        assert_eq!(lines(&longest).unwrap(), [vec![b'x'; MAX_DATA_BYTES]]);
    }

    #[test]
    fn bands_are_taken_apart_and_keepalives_say_nothing() {
        let input = b"0005\x010008\x01abc0007\x02hi0005\x010006\x01d00040000";
        let seen = read(&[input], Carriage::BandedStream);
        let want: [(&str, &[u8]); 4] =
            [("data", b"abc"), ("progress", b"hi"), ("data", b"d"), ("flush", b"")];
        assert_eq!(seen.tokens, want.map(|(name, bytes)| (name, bytes.to_vec())));
        assert_eq!(seen.error, None);
    }

    #[test]
    fn the_remote_is_quoted_when_it_gives_up() {
        for (input, carriage, error) in [
            (&b"0010ERR no\x1b[31m\n"[..], Carriage::Lines, remote("no\x1b[31m\n")),
            (b"0008\x01abc000a\x03died.", Carriage::BandedStream, remote("died.")),
            (b"0008\x01abc00ff\x03half of it", Carriage::BandedStream, remote("half of it")),
            (b"000dERR later", Carriage::BandedStream, remote("later")),
            (b"000e\x01ERR inner", Carriage::BandedLines, remote("inner")),
            (b"0005\x07", Carriage::BandedStream, PktError::BadBand { offset: 0, band: 7 }),
        ] {
            assert_eq!(read(&[input], carriage).error, Some(error));
        }
        assert_eq!(remote("no\x1b[31m\n").to_string(), "the remote says: no\\x1b[31m");
    }

    #[test]
    fn a_cut_packet_is_no_end() {
        for cut in [1, 4, 6] {
            let input = &b"0005a0007bcd"[..5 + cut];
            assert_eq!(lines(input), Err(PktError::Truncated { offset: 5 }));
        }
    }

    #[test]
    fn blame_follows_the_remotes_words() {
        for (text, kind) in [
            ("upload-pack: not our ref 1234", ErrorKind::NotFound),
            ("Repository not found.", ErrorKind::NotFound),
            ("access denied or repository not exported: /x", ErrorKind::NotFound),
            ("Permission denied to robot", ErrorKind::Auth),
            ("filter 'sparse:oid' not supported", ErrorKind::Unsupported),
            ("internal server error", ErrorKind::Transport),
        ] {
            assert_eq!(Error::from(remote(text)).kind(), kind, "{text}");
        }
    }

    #[test]
    fn what_is_too_long_is_split_on_a_band_and_refused_as_a_line() {
        let data = vec![7; 2 * MAX_DATA_BYTES];
        let mut out = Vec::new();
        assert_eq!(encode(&mut out, &data), Err(PktError::TooLong { len: data.len() }));
        assert!(out.is_empty());
        encode_band(&mut out, Band::Data, &data);
        assert_eq!(read(&[&out], Carriage::BandedStream).tokens, [("data", data)]);
        assert!(out.starts_with(b"fff0\x01"));
    }

    fn packets() -> impl Strategy<Value = Vec<u8>> {
        let packet = prop_oneof![
            3 => prop::collection::vec(any::<u8>(), 0..20).prop_map(|data| {
                let mut out = Vec::new();
                encode(&mut out, &data).unwrap();
                out
            }),
            4 => (1u8..=2, prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(band, data)| {
                let mut out = Vec::new();
                encode_parts(&mut out, &[&[band], &data]).unwrap();
                out
            }),
            1 => prop::sample::select(vec![
                FLUSH.to_vec(), DELIMITER.to_vec(), RESPONSE_END.to_vec(), b"0005\x01".to_vec(),
                b"000aERR no".to_vec(), b"0007\x03no".to_vec(), b"00".to_vec(), b"-001".to_vec(),
            ]),
        ];
        prop::collection::vec(packet, 0..12).prop_map(|packets| packets.concat())
    }

    proptest! {
        #[test]
        fn where_the_input_is_cut_changes_nothing(
            input in packets(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
            cuts.sort_unstable();
            cuts.push(input.len());
            let mut from = 0;
            let pieces: Vec<_> =
                cuts.iter().map(|&to| &input[std::mem::replace(&mut from, to)..to]).collect();
            let bytes: Vec<_> = input.chunks(1).collect();
            for carriage in [Carriage::Lines, Carriage::BandedLines, Carriage::BandedStream] {
                let whole = read(&[&input], carriage);
                prop_assert_eq!(&read(&pieces, carriage), &whole);
                prop_assert_eq!(&read(&bytes, carriage), &whole);
            }
        }

        #[test]
        fn what_is_written_is_read_back(all in prop::collection::vec("[a-z]{0,9}", 0..9)) {
            let mut out = Vec::new();
            for line in &all {
                encode_parts(&mut out, &[line.as_bytes(), b"\n"]).unwrap();
            }
            let all: Vec<_> = all.into_iter().map(String::into_bytes).collect();
            prop_assert_eq!(lines(&out), Ok(all));
        }
    }
}
