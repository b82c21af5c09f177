//! The writing side of the answer to a fetch in version 0 and 1: where history is cut, what
//! both sides have in the words that the client understands, then a pack.
//!
//! Follows git's `protocol-pack` ("Packfile Negotiation", "Packfile Data") and
//! `protocol-capabilities` (`multi_ack`, `multi_ack_detailed`, `no-done`). One writer
//! answers one request, which over HTTP says everything again; the answer does too. Which
//! objects are common, and when enough is known, is the server's to decide.

use super::Features;
use crate::oid::ObjectId;
use crate::pktline;
use crate::protocol::{Deepen, FetchRequest, PackCarrier, encode_boundary, encode_short};

/// Writes the answer to one request into a buffer that the caller sends whenever it likes.
///
/// The server tells what it found in the order of the client's haves; which of it becomes a
/// line depends on what the client uses.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::FetchRequest;
/// use gitsip::protocol::v0::{Features, FetchResponseWriter};
///
/// // As `decode_fetch` gives them.
/// let request = FetchRequest { done: true, ..FetchRequest::default() };
/// let used = Features { side_band_64k: true, ..Features::default() };
///
/// let mut out = Vec::new();
/// let answer = FetchResponseWriter::new(&request, &used);
/// if let Some(pack) = answer.end_haves(&mut out) {
///     pack.pack_data(&mut out, b"PACK");
///     pack.end(&mut out);
/// }
/// assert_eq!(out, b"0008NAK\n0009\x01PACK0000");
/// ```
#[derive(Debug)]
#[must_use = "an answer without its end is cut off"]
pub struct FetchResponseWriter {
    acks: Acks,
    carrier: PackCarrier,
    is_done: bool,
    no_done: bool,
    /// Whether the client wants to know no more than where history is cut.
    asks_boundary_only: bool,
    /// Whether the client waits for lines about where history is cut.
    owes_shallow: bool,
    /// The last id that was told as common, or, without one, as enough.
    last: Option<ObjectId>,
    is_ready: bool,
}

/// How common objects are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    /// `multi_ack_detailed`
    Detailed,
    /// Only the first of them is.
    First,
    /// `multi_ack`
    Multi,
}

impl FetchResponseWriter {
    /// The answer to `request` from a client that uses `used`, both as
    /// [`decode_fetch`](super::decode_fetch) gives them.
    pub fn new(request: &FetchRequest, used: &Features) -> Self {
        Self {
            acks: match used {
                Features { multi_ack_detailed: true, .. } => Acks::Detailed,
                Features { multi_ack: true, .. } => Acks::Multi,
                _ => Acks::First,
            },
            carrier: match used {
                Features { side_band_64k: true, .. } => PackCarrier::LARGE,
                Features { side_band: true, .. } => PackCarrier::SMALL,
                _ => PackCarrier::PLAIN,
            },
            is_done: request.done,
            no_done: used.no_done,
            asks_boundary_only: super::asks_boundary_only(request),
            owes_shallow: request.deepen != Deepen::None,
            last: None,
            is_ready: false,
        }
    }

    /// Appends where history is cut, and where no longer. It comes before anything else.
    ///
    /// To a client that did not ask to cut history nothing is written, as it does not wait
    /// for that: the boundary of the server itself stands in the
    /// [listing](super::Listing::shallow).
    pub fn shallow_info(
        &mut self,
        out: &mut Vec<u8>,
        shallow: &[ObjectId],
        unshallow: &[ObjectId],
    ) {
        if !std::mem::take(&mut self.owes_shallow) {
            return;
        }
        encode_boundary(out, "", shallow, unshallow);
        out.extend_from_slice(pktline::FLUSH);
    }

    /// Appends that the server has `id` too.
    pub fn common(&mut self, out: &mut Vec<u8>, id: ObjectId) {
        self.shallow_info(out, &[], &[]);
        match self.acks {
            Acks::Detailed => encode_short(out, &format!("ACK {id} common")),
            Acks::First if self.last.is_none() => encode_short(out, &format!("ACK {id}")),
            Acks::First => {}
            Acks::Multi => encode_short(out, &format!("ACK {id} continue")),
        }
        self.last = Some(id);
    }

    /// Appends that the server knows enough. git says so beside an `id` that the server does
    /// not have (the client need not look behind it), or at the end beside the last common
    /// one. A client that hears of the first common object only has no ear for it.
    pub fn ready(&mut self, out: &mut Vec<u8>, id: ObjectId) {
        self.shallow_info(out, &[], &[]);
        match self.acks {
            Acks::Detailed => {
                self.is_ready = true;
                encode_short(out, &format!("ACK {id} ready"));
                self.last.get_or_insert(id);
            }
            Acks::First => {}
            Acks::Multi => encode_short(out, &format!("ACK {id} continue")),
        }
    }

    /// Appends what ends a block of haves where the client waits in the middle of a request,
    /// as it does on a connection that keeps its state. Such a request goes on up to its
    /// `done`, and is given to [`new`](Self::new) as one that says so.
    pub fn end_block(&mut self, out: &mut Vec<u8>) {
        self.shallow_info(out, &[], &[]);
        if self.last.is_none() || self.acks != Acks::First {
            encode_short(out, "NAK");
        }
    }

    /// Appends what ends the acknowledgments. `None` when the client has to say more first,
    /// in its next request: then the answer is whole.
    pub fn end_haves(mut self, out: &mut Vec<u8>) -> Option<PackCarrier> {
        self.shallow_info(out, &[], &[]);
        if self.asks_boundary_only {
            return None;
        }
        if !self.is_done {
            self.end_block(out);
        }
        if !(self.is_done || self.no_done && self.is_ready) {
            return None;
        }
        match self.last {
            Some(_) if self.acks == Acks::First => {}
            Some(last) => encode_short(out, &format!("ACK {last}")),
            None => encode_short(out, "NAK"),
        }
        Some(self.carrier)
    }

    /// Appends why there is no answer, after which nothing is sent.
    pub fn error(self, out: &mut Vec<u8>, text: &[u8]) {
        pktline::encode_error(out, text);
    }
}

#[cfg(test)]
mod tests;
