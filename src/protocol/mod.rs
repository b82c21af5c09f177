//! The messages of git's protocol, both directions, for client and server: version 2
//! here, versions 0 and 1 in [`v0`].
//!
//! Follows git's `protocol-v2`. Requests and answers are values with `encode`; what a
//! peer sends is decoded as it arrives, in any split, bounded, and without a byte
//! depending on how it was cut. Who sends what when is not decided here: that is
//! `client` and `server`.

mod advertisement;
mod capabilities;
mod fetch;
mod fetch_response;
mod fetch_writer;
mod filter;
#[cfg(test)]
mod fixture;
mod ls_refs;
mod object_info;
mod pack_carrier;
mod request;
mod sections;
pub mod v0;

use bstr::{BStr, BString, ByteSlice as _};

use crate::error::{Error, ErrorKind};
use crate::limits::LimitExceeded;
use crate::oid::{ObjectFormat, ObjectId};
use crate::pktline::{self, PktError, Token};
use crate::text::escape_for_people;

pub use advertisement::{Advertised, Advertisement};
pub use capabilities::{Capabilities, FetchCapability, LsRefsCapability, SERVICE_HEADER};
pub use fetch::{Deepen, FetchRequest};
pub use fetch_response::{FetchEvent, FetchResponse};
pub use fetch_writer::FetchResponseWriter;
pub use filter::Filter;
pub use ls_refs::{LsRefsRequest, LsRefsResponse, encode_ls_refs};
pub use object_info::{
    ObjectInfoRequest, decode_object_info, encode_object_info, encode_object_sizes,
};
pub use pack_carrier::PackCarrier;
pub use request::{Request, RequestDecoder};

/// Why a message could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A line that has no place where it stands.
    #[error("'{}' makes no sense in {place}", escape_for_people(line))]
    BadLine {
        /// The message or section.
        place: &'static str,
        /// The line, cut to [`ProtocolError::MAX_QUOTED_BYTES`].
        line: BString,
    },
    /// Refs as a plain file: the server only offers files, it does not speak git.
    #[error(
        "the server offers git's files but not its protocol ('dumb' HTTP); \
             ask its owner for smart HTTP, or clone it with git"
    )]
    DumbHttp,
    /// A web page instead of an answer.
    #[error(
        "a web page came instead of git's answer: a login, or a wall against programs; \
             check the address, which may lack '.git', or give credentials"
    )]
    Html,
    /// A limit was reached.
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// Something else than an answer.
    #[error("the answer is not git's protocol: it begins with '{}'", escape_for_people(start))]
    NotGit {
        /// Its first bytes.
        start: BString,
    },
    /// The packets are damaged, or the peer says that it gives up.
    #[error(transparent)]
    Packet(#[from] PktError),
    /// Bytes after the end of a message.
    #[error("bytes follow the end of {place}")]
    TrailingBytes {
        /// The message.
        place: &'static str,
    },
    /// The stream ended before the message did.
    #[error("the connection ended in the middle of {place}: try again")]
    Truncated {
        /// The message.
        place: &'static str,
    },
    /// A `0000`, `0001` or `0002` where none may stand.
    #[error("a {packet} packet has no place in {place}")]
    UnexpectedPacket {
        /// Which.
        packet: &'static str,
        /// The message or section.
        place: &'static str,
    },
    /// A command that is neither `ls-refs` nor `fetch`.
    #[error("unknown command '{}'", escape_for_people(name))]
    UnknownCommand {
        /// Its name.
        name: BString,
    },
    /// A filter this build does not know.
    #[error("filter '{}' not supported", escape_for_people(spec))]
    UnknownFilter {
        /// What was asked for.
        spec: BString,
    },
    /// An object format this build does not know.
    #[error(
        "the repository uses the object format '{}'; sha1 and sha256 are known",
        escape_for_people(name)
    )]
    UnknownFormat {
        /// Its name.
        name: BString,
    },
    /// A protocol version this build does not know.
    #[error("the server answers with '{}'; versions 0, 1 and 2 are known", escape_for_people(line))]
    UnknownVersion {
        /// Its first line.
        line: BString,
    },
    /// Ids of the other hash than the repository's.
    #[error("the repository uses {expected}, but the peer speaks of {found}")]
    WrongFormat {
        /// The repository's.
        expected: ObjectFormat,
        /// What came.
        found: ObjectFormat,
    },
}

impl ProtocolError {
    /// How much of a peer's line an error quotes.
    pub const MAX_QUOTED_BYTES: usize = 120;

    /// The remote's own words, when it was the remote that gave up.
    pub fn remote_text(&self) -> Option<&BStr> {
        match self {
            Self::Packet(PktError::Remote { text }) => Some(text.as_bstr()),
            _ => None,
        }
    }

    /// Whether the remote refused an object filter, advertised or not: the client may
    /// try without.
    pub fn is_filter_refusal(&self) -> bool {
        self.remote_text().is_some_and(|text| pktline::is_filter_refusal(text))
    }

    fn bad_line(place: &'static str, line: &[u8]) -> Self {
        Self::BadLine { place, line: quoted(line) }
    }
}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Self {
        let kind = match error {
            ProtocolError::Limit(limit) => return limit.into(),
            ProtocolError::Packet(error) => return error.into(),
            ProtocolError::BadLine { .. }
            | ProtocolError::NotGit { .. }
            | ProtocolError::TrailingBytes { .. }
            | ProtocolError::UnexpectedPacket { .. }
            | ProtocolError::WrongFormat { .. } => ErrorKind::Malformed,
            ProtocolError::DumbHttp
            | ProtocolError::UnknownCommand { .. }
            | ProtocolError::UnknownFilter { .. }
            | ProtocolError::UnknownFormat { .. }
            | ProtocolError::UnknownVersion { .. } => ErrorKind::Unsupported,
            ProtocolError::Html => ErrorKind::NotFound,
            ProtocolError::Truncated { .. } => ErrorKind::Transport,
        };
        let code = match error {
            ProtocolError::DumbHttp => "dumb_http",
            ProtocolError::Html => "web_page",
            _ => kind.code(),
        };
        Self::new(kind, error.to_string()).with_code(code).with_source(error)
    }
}

/// The error for a packet without content where it has no place.
fn unexpected(token: Token<'_>, place: &'static str) -> ProtocolError {
    let packet = match token {
        Token::Delimiter => "delimiter",
        Token::Flush => "flush",
        Token::ResponseEnd => "response-end",
        Token::Data(_) | Token::Line | Token::Progress(_) => "data",
    };
    ProtocolError::UnexpectedPacket { packet, place }
}

/// The start of a peer's line, for an error.
fn quoted(line: &[u8]) -> BString {
    line.get(..ProtocolError::MAX_QUOTED_BYTES).unwrap_or(line).into()
}

/// The id written as `hex`, which must be one of `format`; `line` is quoted if it is no
/// id at all.
fn parse_id(
    hex: &[u8],
    format: ObjectFormat,
    place: &'static str,
    line: &[u8],
) -> Result<ObjectId, ProtocolError> {
    let id = ObjectId::from_hex(hex).map_err(|_| ProtocolError::bad_line(place, line))?;
    if id.format() != format {
        return Err(ProtocolError::WrongFormat { expected: format, found: id.format() });
    }
    Ok(id)
}

/// Appends a packet of `parts` and a line end.
fn encode_line(out: &mut Vec<u8>, parts: &[&[u8]]) -> Result<(), PktError> {
    let line = parts.concat();
    pktline::encode_parts(out, &[&line, b"\n"])
}

/// Appends a packet of `line` and a line end. For what is made of words and ids only,
/// and so always fits.
fn encode_short(out: &mut Vec<u8>, line: &str) {
    let packet_bytes = 4 + line.len() + 1;
    out.extend_from_slice(format!("{packet_bytes:04x}{line}\n").as_bytes());
}

/// Appends where history is cut, each packet beginning with `band`. git ends these lines, of
/// all, with nothing.
fn encode_boundary(out: &mut Vec<u8>, band: &str, shallow: &[ObjectId], unshallow: &[ObjectId]) {
    for (word, ids) in [("shallow", shallow), ("unshallow", unshallow)] {
        for id in ids {
            let line = format!("{band}{word} {id}");
            out.extend_from_slice(format!("{:04x}{line}", 4 + line.len()).as_bytes());
        }
    }
}

/// Appends what every request begins with.
fn encode_command(
    out: &mut Vec<u8>,
    command: &str,
    agent: &str,
    format: ObjectFormat,
) -> Result<(), PktError> {
    encode_short(out, &format!("command={command}"));
    encode_line(out, &[b"agent=", agent.as_bytes()])?;
    // SHA-1 is what a request without a format means.
    if format != ObjectFormat::Sha1 {
        encode_short(out, &format!("object-format={format}"));
    }
    out.extend_from_slice(pktline::DELIMITER);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_is_one_line_with_its_blame() {
        let remote = |text: &str| ProtocolError::from(PktError::Remote { text: text.into() });
        for (error, kind, says) in [
            (ProtocolError::Html, ErrorKind::NotFound, "web page"),
            (ProtocolError::DumbHttp, ErrorKind::Unsupported, "dumb"),
            (remote("not our ref 1"), ErrorKind::NotFound, "the remote says: not our ref 1"),
            (remote("filter x not supported"), ErrorKind::Unsupported, "filter"),
            (ProtocolError::bad_line("x", b"\x1b["), ErrorKind::Malformed, "'\\x1b[' makes"),
            (ProtocolError::Truncated { place: "x" }, ErrorKind::Transport, "middle of x"),
        ] {
            let error = Error::from(error);
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().contains(says), "{error}");
            assert!(!error.to_string().contains(['\n', '\x1b']), "{error}");
        }
        assert!(remote("git upload-pack: filter 'tree' not supported").is_filter_refusal());
        assert!(!remote("out of coffee").is_filter_refusal());
    }

    #[test]
    fn ids_are_checked_for_their_hash_first() {
        let expected = ObjectFormat::Sha1;
        let other = "a".repeat(64);
        assert_eq!(
            parse_id(other.as_bytes(), expected, "x", b"line"),
            Err(ProtocolError::WrongFormat { expected, found: ObjectFormat::Sha256 })
        );
        assert_eq!(
            parse_id(b"../../etc", expected, "x", b"line"),
            Err(ProtocolError::BadLine { place: "x", line: "line".into() })
        );
    }
}
