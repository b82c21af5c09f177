//! Packets cut anywhere, damaged, and talked over.

use proptest::prelude::*;

use super::*;
use crate::error::{Error, ErrorKind};

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
