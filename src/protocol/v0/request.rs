//! A fetch request in version 0: what is wanted and which capabilities are used, where
//! history is cut, what the client has.
//!
//! Follows git's `protocol-pack` ("Packfile Negotiation"). Over HTTP each request says
//! everything again, so one request is one body. Which objects may be wanted is not
//! decided here.

use super::Features;
use crate::limits::{Limits, Which, check};
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline::{self, Carriage, Reader, Token};
use crate::protocol::{
    Deepen, FetchRequest, ProtocolError, encode_line, encode_short, parse_id, quoted, unexpected,
};

const PLACE: &str = "a fetch request";

/// Appends `request`, sent as `agent` to a server with `features` whose repository is of
/// `format`. Of what the server does not advertise nothing is said, except a depth, a
/// filter and ids: whether to ask for those is the caller's to know.
///
/// ```
/// use gitsip::ObjectFormat;
/// use gitsip::protocol::FetchRequest;
/// use gitsip::protocol::v0::{Features, encode_fetch};
///
/// let wants = vec![ObjectFormat::Sha1.empty_tree()];
/// let request = FetchRequest { wants, done: true, ..FetchRequest::default() };
/// let features = Features { side_band_64k: true, ..Features::default() };
/// let mut body = Vec::new();
/// encode_fetch(&request, &features, "git/gitsip-0.1.0", ObjectFormat::Sha1, &mut body)?;
/// let want = b"0040want 4b825dc642cb6eb9a060e54bf8d69288fbee4904 side-band-64k\n";
/// assert_eq!(body, [&want[..], b"00000009done\n"].concat());
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
///
/// # Errors
/// When a ref's name or a filter is too long for a packet.
pub fn encode_fetch(
    request: &FetchRequest,
    features: &Features,
    agent: &str,
    format: ObjectFormat,
    out: &mut Vec<u8>,
) -> Result<(), ProtocolError> {
    let mut words = Vec::new();
    used(request, features).encode(&mut words);
    if features.object_format && format != ObjectFormat::Sha1 {
        words.extend_from_slice(format!(" object-format={format}").as_bytes());
    }
    if features.agent {
        words.extend_from_slice(format!(" agent={agent}").as_bytes());
    }
    for id in &request.wants {
        let words = std::mem::take(&mut words);
        encode_line(out, &[b"want ", id.to_string().as_bytes(), &words])?;
    }
    for id in &request.shallow {
        encode_short(out, &format!("shallow {id}"));
    }
    request.encode_deepen_bounds(out)?;
    if let Some(filter) = &request.filter {
        encode_line(out, &[b"filter ", filter.to_string().as_bytes()])?;
    }
    out.extend_from_slice(pktline::FLUSH);
    for id in &request.haves {
        encode_short(out, &format!("have {id}"));
    }
    if request.done {
        encode_short(out, "done");
    }
    Ok(())
}

/// What of `features` is used by `request`.
fn used(request: &FetchRequest, features: &Features) -> Features {
    let (since, not) = match &request.deepen {
        Deepen::Bounded { since, not } => (since.is_some(), !not.is_empty()),
        Deepen::None | Deepen::Depth(_) => (false, false),
    };
    Features {
        deepen_not: not,
        deepen_relative: request.deepen_relative,
        deepen_since: since,
        filter: request.filter.is_some(),
        include_tag: features.include_tag && request.include_tag,
        // Asked for even without a have: there are hosts that serve no one else.
        multi_ack: features.multi_ack && !features.multi_ack_detailed,
        multi_ack_detailed: features.multi_ack_detailed,
        no_progress: features.no_progress && request.no_progress,
        ofs_delta: features.ofs_delta && request.ofs_delta,
        side_band: features.side_band && !features.side_band_64k,
        side_band_64k: features.side_band_64k,
        thin_pack: features.thin_pack && request.thin_pack,
        ..Features::default()
    }
}

/// Reads the body of one request to a repository of `format`: what is asked for, and what
/// the client uses.
///
/// # Errors
/// When it is damaged, speaks of another hash, or has more lines or bytes than `limits`
/// allow refs.
pub fn decode_fetch(
    mut body: &[u8],
    format: ObjectFormat,
    limits: &Limits,
) -> Result<(FetchRequest, Features), ProtocolError> {
    let mut lines = RequestDecoder::new(format, limits);
    let mut asked = None;
    while let Some(step) = lines.push(&mut body)? {
        match (step, &mut asked) {
            (Step::Asked(request, used), _) => asked = Some((*request, used)),
            (Step::Have(id), Some((request, _))) => request.haves.push(id),
            (Step::Done, Some((request, _))) => request.done = true,
            // Between haves a client may wait for an answer, which over HTTP it does not.
            (Step::Have(_) | Step::Flush | Step::Done, _) => {}
        }
    }
    lines.finish()?;
    asked.ok_or(ProtocolError::Truncated { place: PLACE })
}

/// What a client says, up to where it may wait for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// What it wants, and the capabilities it uses. Its haves follow.
    Asked(Box<FetchRequest>, Features),
    /// It has this.
    Have(ObjectId),
    /// It said some of what it has, or nothing yet, and may wait.
    Flush,
    /// It said all it will, and waits for the pack.
    Done,
}

/// Reads a client's request as it arrives, for a server that answers between its lines.
///
/// ```
/// use gitsip::protocol::v0::{RequestDecoder, Step};
/// use gitsip::{Limits, ObjectFormat};
///
/// let mut lines = RequestDecoder::new(ObjectFormat::Sha1, &Limits::default());
/// let mut input = &b"0032want 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n00000009done\n"[..];
/// assert!(matches!(lines.push(&mut input)?, Some(Step::Asked(..))));
/// assert_eq!(lines.push(&mut input)?, Some(Step::Done));
/// assert_eq!(lines.push(&mut input)?, None);
/// # Ok::<(), gitsip::protocol::ProtocolError>(())
/// ```
#[derive(Debug)]
pub struct RequestDecoder {
    reader: Reader,
    format: ObjectFormat,
    /// What is wanted, while that is being said.
    asking: Option<(FetchRequest, Features)>,
    is_done: bool,
    lines: u64,
    max_lines: u64,
}

impl RequestDecoder {
    /// At the start of a request to a repository of `format`.
    pub fn new(format: ObjectFormat, limits: &Limits) -> Self {
        Self {
            reader: Reader::new().with_max_other_bytes(limits.max_ref_bytes),
            format,
            asking: Some(Default::default()),
            is_done: false,
            lines: 0,
            max_lines: limits.max_refs,
        }
    }

    /// The next step; `None` when all input was used.
    ///
    /// # Errors
    /// As [`decode_fetch`]; the decoder is of no use afterwards.
    pub fn push(&mut self, input: &mut &[u8]) -> Result<Option<Step>, ProtocolError> {
        while let Some(token) = self.reader.next(input, Carriage::Lines)? {
            self.lines += 1;
            check(Which::Refs, self.max_lines, self.lines)?;
            match token {
                Token::Line => {
                    if let Some(step) = self.take_line()? {
                        return Ok(Some(step));
                    }
                }
                Token::Flush if !self.is_done => {
                    return Ok(Some(match self.asking.take() {
                        Some((request, used)) => Step::Asked(Box::new(request), used),
                        None => Step::Flush,
                    }));
                }
                token => return Err(unexpected(token, PLACE)),
            }
        }
        Ok(None)
    }

    /// Says that no input follows.
    ///
    /// # Errors
    /// When the request is cut off.
    pub fn finish(self) -> Result<(), ProtocolError> {
        match self.reader.is_between_packets() {
            true => Ok(()),
            false => Err(ProtocolError::Truncated { place: PLACE }),
        }
    }

    fn take_line(&mut self) -> Result<Option<Step>, ProtocolError> {
        let (line, format) = (self.reader.line(), self.format);
        if self.is_done {
            return Err(ProtocolError::TrailingBytes { place: PLACE });
        }
        let bad = || ProtocolError::bad_line(PLACE, line);
        let word = line.split(|&byte| byte == b' ').next().unwrap_or_default();
        let Some((request, used)) = &mut self.asking else {
            return match line.strip_prefix(b"have ") {
                Some(hex) => parse_id(hex, format, PLACE, line).map(|id| Some(Step::Have(id))),
                None if line == b"done" => {
                    self.is_done = true;
                    Ok(Some(Step::Done))
                }
                None => Err(bad()),
            };
        };
        match word {
            b"want" | b"shallow" | b"filter" => {}
            b"deepen" | b"deepen-since" | b"deepen-not" => {}
            _ => return Err(bad()),
        }
        // The first want has the capabilities behind it.
        let id_end = "want ".len() + format.hex_len();
        match line.get(id_end..).filter(|_| word == b"want" && request.wants.is_empty()) {
            Some(words) => {
                take_words(words, format, request, used)?;
                request.take(line.get(..id_end).unwrap_or(line), format)?;
            }
            None => request.take(line, format)?,
        }
        Ok(None)
    }
}

fn take_words(
    words: &[u8],
    format: ObjectFormat,
    request: &mut FetchRequest,
    features: &mut Features,
) -> Result<(), ProtocolError> {
    for word in words.split(|&byte| byte == b' ') {
        features.take(word);
        if let Some(name) = word.strip_prefix(b"object-format=") {
            let found = ObjectFormat::from_name(name)
                .ok_or_else(|| ProtocolError::UnknownFormat { name: quoted(name) })?;
            if found != format {
                return Err(ProtocolError::WrongFormat { expected: format, found });
            }
        }
    }
    request.deepen_relative = features.deepen_relative;
    request.include_tag = features.include_tag;
    request.no_progress = features.no_progress;
    request.ofs_delta = features.ofs_delta;
    request.thin_pack = features.thin_pack;
    Ok(())
}

#[cfg(test)]
mod tests;
