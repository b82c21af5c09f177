//! The writing side of the answer to `fetch` in version 2: sections of lines, then a pack.
//!
//! Follows git's `protocol-v2` ("fetch", "output"). Which objects are common, where history
//! is cut and what is in the pack is the server's to know. Addresses of packs elsewhere
//! (`packfile-uris`) are not written.

use super::{PackCarrier, ProtocolError, encode_boundary, encode_line, encode_short};
use crate::oid::ObjectId;
use crate::pktline::{self, Band};

/// Writes an answer, section by section, into a buffer that the caller sends whenever it
/// likes.
///
/// git expects the sections in the order of the methods here. An answer ends with a pack
/// ([`packfile`](Self::packfile)), with an [`error`](Self::error), or, where the client has
/// to say more first, with an [`end`](Self::end).
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::FetchResponseWriter;
///
/// let mut out = Vec::new();
/// let mut answer = FetchResponseWriter::new();
/// answer.shallow_info(&mut out, &[ObjectFormat::Sha1.empty_tree()], &[]);
/// let pack = answer.packfile(&mut out);
/// pack.pack_data(&mut out, b"PACK");
/// pack.end(&mut out);
/// assert!(out.ends_with(b"000dpackfile\n0009\x01PACK0000"));
/// ```
#[derive(Debug, Default)]
#[must_use = "an answer without its end is cut off"]
pub struct FetchResponseWriter {
    has_section: bool,
    sideband_all: bool,
}

impl FetchResponseWriter {
    /// An answer without a section so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Carries every section on the sideband, for a request with
    /// [`sideband_all`](super::FetchRequest).
    pub fn with_sideband_all(mut self) -> Self {
        self.sideband_all = true;
        self
    }

    /// Appends what the server has of what the client has; no id at all is a NAK.
    /// Unless `is_ready`, the answer [ends](Self::end) here.
    pub fn acknowledgments(&mut self, out: &mut Vec<u8>, common: &[ObjectId], is_ready: bool) {
        self.begin(out, "acknowledgments");
        if common.is_empty() {
            self.line(out, "NAK");
        }
        for id in common {
            self.line(out, &format!("ACK {id}"));
        }
        if is_ready {
            self.line(out, "ready");
        }
    }

    /// Appends where history is cut, and where no longer.
    pub fn shallow_info(
        &mut self,
        out: &mut Vec<u8>,
        shallow: &[ObjectId],
        unshallow: &[ObjectId],
    ) {
        self.begin(out, "shallow-info");
        encode_boundary(out, self.band(), shallow, unshallow);
    }

    /// Appends what the refs wanted by name point to.
    ///
    /// # Errors
    /// When a name is too long for a packet.
    pub fn wanted_refs<'n>(
        &mut self,
        out: &mut Vec<u8>,
        refs: impl IntoIterator<Item = (ObjectId, &'n [u8])>,
    ) -> Result<(), ProtocolError> {
        self.begin(out, "wanted-refs");
        let band = self.band().as_bytes();
        for (id, name) in refs {
            encode_line(out, &[band, id.to_string().as_bytes(), b" ", name])?;
        }
        Ok(())
    }

    /// Begins the pack, after which nothing but the pack follows.
    pub fn packfile(mut self, out: &mut Vec<u8>) -> PackCarrier {
        self.begin(out, "packfile");
        PackCarrier::LARGE
    }

    /// Appends words for the person who waits. Before the pack there is room for them only
    /// where every section is on the sideband; elsewhere they are dropped.
    pub fn progress(&self, out: &mut Vec<u8>, text: &[u8]) {
        if self.sideband_all {
            pktline::encode_band(out, Band::Progress, text);
        }
    }

    /// Appends a sign of life, where every section is on the sideband.
    pub fn keepalive(&self, out: &mut Vec<u8>) {
        if self.sideband_all {
            out.extend_from_slice(pktline::KEEPALIVE);
        }
    }

    /// Appends why there is no answer, after which nothing is sent.
    pub fn error(self, out: &mut Vec<u8>, text: &[u8]) {
        match self.sideband_all {
            true => PackCarrier::LARGE.error(out, text),
            false => pktline::encode_error(out, text),
        }
    }

    /// Appends the end of an answer without a pack.
    pub fn end(self, out: &mut Vec<u8>) {
        out.extend_from_slice(pktline::FLUSH);
    }

    fn begin(&mut self, out: &mut Vec<u8>, name: &str) {
        if std::mem::replace(&mut self.has_section, true) {
            out.extend_from_slice(pktline::DELIMITER);
        }
        self.line(out, name);
    }

    fn line(&self, out: &mut Vec<u8>, line: &str) {
        encode_short(out, &format!("{}{line}", self.band()));
    }

    /// What a packet begins with.
    fn band(&self) -> &'static str {
        if self.sideband_all { "\x01" } else { "" }
    }
}
