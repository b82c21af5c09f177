//! The writing side of a pack in an answer: the pack's pieces, words for people beside
//! them, and the end, in the packets that the client asked for.
//!
//! Follows git's `protocol-pack` ("Packfile Data"). A piece is framed as it is given and
//! nothing of it is kept, so a pack of any size passes through. When a client needs to hear
//! a keepalive is not decided here: there is no clock.

use crate::pktline::{self, Band, MAX_PACKET_BYTES, MAX_SMALL_PACKET_BYTES};

/// Writes a pack into a buffer that the caller sends whenever it likes.
///
/// It is given out where a pack may begin, by the writers of answers
/// ([`FetchResponseWriter`](super::FetchResponseWriter) and
/// [`v0::FetchResponseWriter`](super::v0::FetchResponseWriter)).
#[derive(Debug)]
#[must_use = "an answer without its end is cut off"]
pub struct PackCarrier {
    /// `None` where a pack comes without packets.
    max_packet_bytes: Option<usize>,
}

impl PackCarrier {
    /// On the sideband, in packets of up to 65,515 bytes of pack.
    pub(super) const LARGE: Self = Self { max_packet_bytes: Some(MAX_PACKET_BYTES) };
    /// On the sideband, in packets of up to 995 bytes of pack.
    pub(super) const SMALL: Self = Self { max_packet_bytes: Some(MAX_SMALL_PACKET_BYTES) };
    /// Without packets, up to the end of the answer.
    pub(super) const PLAIN: Self = Self { max_packet_bytes: None };

    /// Whether there is a sideband, on which words go beside the pack.
    pub fn is_banded(&self) -> bool {
        self.max_packet_bytes.is_some()
    }

    /// Appends more of the pack. A piece that fits is one packet.
    pub fn pack_data(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        match self.max_packet_bytes {
            Some(most) => pktline::encode_band_within(out, most, Band::Data, bytes),
            None => out.extend_from_slice(bytes),
        }
    }

    /// Appends words for the person who waits; without a sideband they are dropped. Whether
    /// the client wants any ([`no_progress`](super::FetchRequest::no_progress)) is the
    /// caller's to know.
    pub fn progress(&self, out: &mut Vec<u8>, text: &[u8]) {
        if let Some(most) = self.max_packet_bytes {
            pktline::encode_band_within(out, most, Band::Progress, text);
        }
    }

    /// Appends a sign of life while a pack is made; without a sideband there is none.
    pub fn keepalive(&self, out: &mut Vec<u8>) {
        if self.is_banded() {
            out.extend_from_slice(pktline::KEEPALIVE);
        }
    }

    /// Appends why the rest of the pack will not come, after which nothing is sent. Of
    /// `text` goes what one packet holds: clients stop reading there.
    ///
    /// Without a sideband nothing can be said in the middle of a pack: close the
    /// connection, and the client finds the pack cut off.
    pub fn error(self, out: &mut Vec<u8>, text: &[u8]) {
        if let Some(most) = self.max_packet_bytes {
            let room = most - "0000".len() - 1;
            let text = text.get(..room).unwrap_or(text);
            // Without a word it would be no packet at all.
            let text = if text.is_empty() { b"unknown error" } else { text };
            pktline::encode_band_within(out, most, Band::Error, text);
        }
    }

    /// Appends the end of the answer.
    pub fn end(self, out: &mut Vec<u8>) {
        if self.is_banded() {
            out.extend_from_slice(pktline::FLUSH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pktline::{Carriage, PktError, Reader, Token};

    /// The lengths of the packets in `bytes`.
    fn lengths(mut bytes: &[u8]) -> Vec<usize> {
        let mut lengths = Vec::new();
        while let Some(digits) = bytes.get(..4) {
            let len = usize::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
            lengths.push(len);
            bytes = &bytes[len.max(4)..];
        }
        lengths
    }

    #[test]
    fn packets_are_as_long_as_the_sideband_allows_and_no_longer() {
        let pack = vec![7; 140_000];
        for (carrier, full, last) in [
            (PackCarrier::LARGE, 65_520, 140_000 % 65_515 + 5),
            (PackCarrier::SMALL, 1_000, 140_000 % 995 + 5),
        ] {
            let mut out = Vec::new();
            carrier.pack_data(&mut out, &pack);
            let (tail, head) = lengths(&out).split_last().map(|(a, b)| (*a, b.to_vec())).unwrap();
            assert!(head.iter().all(|&len| len == full));
            assert_eq!((head.len(), tail), (140_000 / (full - 5), last));
        }
        let mut out = Vec::new();
        PackCarrier::PLAIN.pack_data(&mut out, &pack);
        assert_eq!(out, pack);
    }

    #[test]
    fn an_error_is_one_packet_however_long_or_empty_its_text() {
        for (carrier, most) in [(PackCarrier::LARGE, 65_515), (PackCarrier::SMALL, 995)] {
            let mut out = Vec::new();
            carrier.error(&mut out, &vec![b'x'; 70_000]);
            assert_eq!(lengths(&out), [most + 5]);
        }
        let mut out = Vec::new();
        PackCarrier::LARGE.error(&mut out, b"");
        let error = Reader::new().next(&mut out.as_slice(), Carriage::BandedStream);
        assert_eq!(error, Err(PktError::Remote { text: "unknown error".into() }));
    }

    #[test]
    fn without_a_sideband_nothing_but_the_pack_is_written() {
        let mut out = Vec::new();
        PackCarrier::PLAIN.progress(&mut out, b"50%");
        PackCarrier::PLAIN.keepalive(&mut out);
        PackCarrier::PLAIN.error(&mut out, b"disk on fire");
        PackCarrier::PLAIN.end(&mut out);
        assert_eq!(out, b"");
        PackCarrier::LARGE.keepalive(&mut out);
        PackCarrier::LARGE.end(&mut out);
        let token = Reader::new().next(&mut out.as_slice(), Carriage::BandedStream);
        assert_eq!(token, Ok(Some(Token::Flush)));
    }
}
