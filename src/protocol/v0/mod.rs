//! The messages of git's protocol versions 0 and 1, as they are over HTTP.
//!
//! Follows git's `protocol-pack` and `protocol-capabilities`. A server lists all its refs
//! at once and its capabilities with the first; a request is one list of lines; the
//! answer has no sections. Version 1 is version 0 with a line before it. What is asked
//! for is the same [`FetchRequest`] as in version 2, and answers are
//! the same [`FetchEvent`](super::FetchEvent)s; words that version 0 does not have
//! (`want-ref`, `sideband-all`, `wait-for-done`) are left out of a request.

mod listing;
mod request;
mod response;
mod writer;

use super::FetchRequest;

pub use listing::Listing;
pub(super) use listing::ListingReader;
pub use request::{RequestDecoder, Step, decode_fetch, encode_fetch};
pub use response::FetchResponse;
pub use writer::FetchResponseWriter;

/// Whether `request` is one that git's client sends first over HTTP to learn where history
/// will be cut. It has nothing to acknowledge, and so its answer says no more than that.
fn asks_boundary_only(request: &FetchRequest) -> bool {
    !request.done && request.haves.is_empty()
}

/// What one side says it can do or, in a request, which of it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `agent`: names of programs are exchanged.
    pub agent: bool,
    /// `allow-reachable-sha1-in-want`: what refs reach can be wanted by id.
    pub allow_reachable: bool,
    /// `allow-tip-sha1-in-want`: tips that are not listed can be wanted by id.
    pub allow_tip: bool,
    /// `deepen-not`: history can be cut at what refs reach.
    pub deepen_not: bool,
    /// `deepen-relative`: depth can be counted from where history is cut.
    pub deepen_relative: bool,
    /// `deepen-since`: history can be cut at a time.
    pub deepen_since: bool,
    /// `filter`: objects can be left out by kind and size.
    pub filter: bool,
    /// `include-tag`: annotated tags of what is sent can come along.
    pub include_tag: bool,
    /// `multi_ack`: common objects are acknowledged one by one.
    pub multi_ack: bool,
    /// `multi_ack_detailed`: the same, and it is said what an acknowledgment means.
    pub multi_ack_detailed: bool,
    /// `no-done`: a pack may follow without being asked for.
    pub no_done: bool,
    /// `no-progress`: text for people can be left out.
    pub no_progress: bool,
    /// `object-format`: the hash is told.
    pub object_format: bool,
    /// `ofs-delta`: deltas may name their base by distance.
    pub ofs_delta: bool,
    /// `shallow`: history can be cut.
    pub shallow: bool,
    /// `side-band`: the pack comes in packets of at most 1,000 bytes beside text.
    pub side_band: bool,
    /// `side-band-64k`: the same in packets of any length.
    pub side_band_64k: bool,
    /// `thin-pack`: deltas may have a base that is not sent.
    pub thin_pack: bool,
}

impl Features {
    /// Whether the pack comes in packets.
    const fn is_banded(&self) -> bool {
        self.side_band || self.side_band_64k
    }

    /// The features by name, in git's order; those with a value are given elsewhere.
    fn names(&mut self) -> [(&'static [u8], &mut bool); 16] {
        [
            (b"multi_ack", &mut self.multi_ack),
            (b"thin-pack", &mut self.thin_pack),
            (b"side-band", &mut self.side_band),
            (b"side-band-64k", &mut self.side_band_64k),
            (b"ofs-delta", &mut self.ofs_delta),
            (b"shallow", &mut self.shallow),
            (b"deepen-since", &mut self.deepen_since),
            (b"deepen-not", &mut self.deepen_not),
            (b"deepen-relative", &mut self.deepen_relative),
            (b"no-progress", &mut self.no_progress),
            (b"include-tag", &mut self.include_tag),
            (b"multi_ack_detailed", &mut self.multi_ack_detailed),
            (b"allow-tip-sha1-in-want", &mut self.allow_tip),
            (b"allow-reachable-sha1-in-want", &mut self.allow_reachable),
            (b"no-done", &mut self.no_done),
            (b"filter", &mut self.filter),
        ]
    }

    /// Takes one capability; whether it is known here.
    fn take(&mut self, word: &[u8]) -> bool {
        let mut known = false;
        for (name, on) in self.names() {
            if name == word {
                *on = true;
                known = true;
            }
        }
        self.agent |= word.starts_with(b"agent=");
        self.object_format |= word.starts_with(b"object-format=");
        known
    }

    /// The names of what is on, each after a space.
    fn encode(mut self, out: &mut Vec<u8>) {
        for (name, on) in self.names() {
            if *on {
                out.push(b' ');
                out.extend_from_slice(name);
            }
        }
    }
}
